#include "engine/collectives/streams.hpp"

#include <atoll/engine/am.hpp>

#include "engine/collectives/matching.hpp"
#include "engine/collectives/under_way.hpp"

namespace atl::engine {

using transport::message;

void sending::hear_grants(collective& c) {
  while (message* const m = take_step(c, shape_.tag | grant_tag, shape_.peer)) {
    granted_ += header_of(*m).at;
    release(m);
  }
  if (granted_ == 0) return;
  collectives_under_way::here().heard_of(charged_);
  charged_ = 0;
}

bool sending::send_next(collective& c, std::byte const* data, row_view const* row) {
  if (sent_ >= granted_) hear_grants(c);
  auto& all = collectives_under_way::here();
  bool const granted = sent_ < granted_;
  std::size_t const charge = granted ? 0 : shape_.charge_of(sent_);
  if (!granted && (sent_ >= shape_.ahead || !all.may_run_ahead(charge))) return false;
  step segment{shape_.tag, shape_.begin_of(sent_)};
  segment.data = data;
  segment.row = row;
  segment.bytes = shape_.bytes_of(sent_);
  if (!send_step(c, shape_.peer, segment)) return false;
  ++sent_;
  all.ran_ahead(charge);
  charged_ += charge;
  return true;
}

void sending::close(collective& c) {
  if (charged_ != 0) hear_grants(c);
  c.route->unheard += charged_;
}

bool sending::go_on(collective& c, row_view const& array, std::size_t there) {
  while (!complete()) {
    std::size_t const begin = shape_.begin_of(sent_);
    std::size_t const bytes = shape_.bytes_of(sent_);
    if (begin + bytes > there) return false;
    std::byte const* const data = array.in_one_piece(begin, bytes);
    if (!send_next(c, data, data == nullptr ? &array : nullptr)) return false;
  }
  return true;
}

/// Elements of other sizes than here can be as many bytes in other segments.
bool receiving::fits(collective const& c, message const& m) const {
  step_header const h = header_of(m);
  std::size_t const index = h.at / shape_.segment;
  if (h.at % shape_.segment == 0 && index < segments_ && data_of(m).bytes == shape_.bytes_of(index))
      [[likely]]
    return true;
  mismatch(*c.route, c.call, m.source, h.signature);
  return false;
}

bool receiving::go_on(collective& c, row_view const& array) {
  // Before what has come ahead is taken, so that never more is taken than was granted.
  if (granted_ == 0) (void)grant(c, std::min<std::size_t>(window, segments_));
  while (!complete()) {
    message* const m = take_step(c, shape_.tag, shape_.peer);
    if (m == nullptr) break;
    if (!fits(c, *m)) {
      release(m);
      break;
    }
    step_data const d = data_of(*m);
    std::size_t const at = header_of(*m).at;
    array.copy_in(at, d.data, d.bytes);
    release(m);
    for (ahead_ |= 1U << (at / shape_.segment - taken_); (ahead_ & 1U) != 0; ahead_ >>= 1U) ++taken_;
  }
  // Nobody waits for a segment yet.
  if (std::size_t const more = to_grant(false); more != 0) (void)grant(c, more);
  return complete();
}

message* receiving::take_next(collective& c) {
  message* const m = take_step_at(c, shape_.tag, shape_.peer, shape_.begin_of(taken_));
  if (m == nullptr) return nullptr;
  if (!fits(c, *m)) {
    release(m);
    return nullptr;
  }
  ++taken_;
  return m;
}

bool receiving::grant(collective& c, std::size_t more) {
  step const go_on{shape_.tag | grant_tag, more, shape_.charge_of_all()};
  if (go_on.more != 0) {
    // Its sender may hear of it as late as at the end of the team, when this rank may have left that already.
    send_counted_step(c, shape_.peer, go_on, c.route->kept_back);
  } else if (!send_step(c, shape_.peer, go_on)) {
    return false;
  }
  granted_ += more;
  return true;
}

}  // namespace atl::engine
