#include "engine/collectives/object_streams.hpp"

#include <algorithm>

#include <atoll/engine/am.hpp>

namespace atl::engine {

using transport::message;

namespace {

stream_shape body_of(object_edge const& edge, std::size_t bytes) {
  return {edge.tag | body_tag, edge.peer, bytes};
}

}  // namespace

bool object_sending::send_head(collective& c, object_functions::packed const& what) {
  if (edge_.waits) {
    message* const leave = take_step(c, edge_.tag | grant_tag, edge_.peer);
    if (leave == nullptr) return false;
    release(leave);
    edge_.waits = false;
  }
  step head{edge_.tag, what.bytes, what.alignment};
  if (what.bytes <= eager_bytes) {
    head.data = what.data;
    head.bytes = what.bytes;
    head.alignment = std::max(what.alignment, transport::buffer_alignment);
  }
  if (!send_step(c, edge_.peer, head)) return false;
  body_ = sending(body_of(edge_, what.bytes));
  return head_sent_ = true;
}

bool object_sending::go_on(collective& c, object_functions::packed const& what, std::size_t there) {
  bool const small = what.bytes <= eager_bytes;
  if (small && there < what.bytes) return false;
  if (!head_sent_ && !send_head(c, what)) return false;
  return small || body_.go_on(c, what.data, there);
}

bool object_receiving::go_on(collective& c) {
  if (edge_.waits && !leave_given_) {
    leave_given_ = send_step(c, edge_.peer, {edge_.tag | grant_tag, 1});
    if (!leave_given_) return false;
  }
  if (!begun()) {
    message* const head = take_step(c, edge_.tag, edge_.peer);
    if (head == nullptr) return false;
    step_header const h = header_of(*head);
    if (h.at <= eager_bytes) {
      step_data const d = data_of(*head);
      small_ = head;
      what_ = {d.data, d.bytes, d.alignment};
    } else {
      release(head);
      std::size_t const alignment = std::max<std::size_t>(h.more, transport::buffer_alignment);
      what_ = {large_.get((h.at + alignment - 1) / alignment, alignment), h.at, alignment};
      body_ = receiving(body_of(edge_, h.at));
    }
  }
  return small_ != nullptr || body_.go_on(c, const_cast<std::byte*>(what_.data));
}

std::size_t object_receiving::there() const noexcept {
  if (small_ != nullptr) return what_.bytes;
  return begun() ? body_.there() : 0;
}

void object_receiving::drop() noexcept {
  if (small_ != nullptr) release(small_);
  small_ = nullptr;
  large_.drop();
}

}  // namespace atl::engine
