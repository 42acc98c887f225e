#include "engine/collectives/streams.hpp"

#include <cstring>

#include <atoll/engine/am.hpp>

#include "engine/collectives/matching.hpp"

namespace atl::engine {

using transport::message;

bool sending::may_send(collective& c) {
  while (sent_ == granted_) {
    message* const m = take_step(c, shape_.tag | grant_tag, shape_.peer);
    if (m == nullptr) return false;
    granted_ += header_of(*m).at;
    release(m);
  }
  return true;
}

bool sending::send_next(collective& c, std::byte const* data) {
  if (!may_send(c)) return false;
  step segment{shape_.tag, shape_.begin_of(sent_)};
  segment.data = data;
  segment.bytes = shape_.bytes_of(sent_);
  if (!send_step(c, shape_.peer, segment)) return false;
  ++sent_;
  return true;
}

bool sending::go_on(collective& c, std::byte const* data, std::size_t there) {
  for (; !complete();) {
    if (shape_.begin_of(sent_) + shape_.bytes_of(sent_) > there) return false;
    if (!send_next(c, data + shape_.begin_of(sent_))) return false;
  }
  return true;
}

/// Elements of other sizes than here can be as many bytes in other segments.
void receiving::check(collective const& c, message const& m) const {
  step_header const h = header_of(m);
  std::size_t const index = h.at / shape_.segment;
  if (h.at % shape_.segment != 0 || index >= shape_.segments() || data_of(m).bytes != shape_.bytes_of(index))
      [[unlikely]]
    mismatch(*c.route, c.call, m.source, h.signature);
}

bool receiving::go_on(collective& c, std::byte* data) {
  while (!complete()) {
    message* const m = take_step(c, shape_.tag, shape_.peer);
    if (m == nullptr) break;
    check(c, *m);
    step_data const d = data_of(*m);
    std::size_t const at = header_of(*m).at;
    if (d.bytes != 0) std::memcpy(data + at, d.data, d.bytes);
    release(m);
    for (ahead_ |= 1U << (at / shape_.segment - taken_); (ahead_ & 1U) != 0; ahead_ >>= 1U) ++taken_;
  }
  std::size_t const more =
      std::min<std::size_t>(not_granted(), window - std::min<std::size_t>(outstanding(), window));
  // One message for two segments, but for those that nobody waits for yet.
  if (more != 0 && (more >= window / 2 || more == not_granted())) (void)grant(c, more);
  return complete();
}

message* receiving::take_next(collective& c) {
  message* const m = take_step_at(c, shape_.tag, shape_.peer, shape_.begin_of(taken_));
  if (m == nullptr) return nullptr;
  check(c, *m);
  ++taken_;
  return m;
}

bool receiving::grant(collective& c, std::size_t more) {
  if (!send_step(c, shape_.peer, {shape_.tag | grant_tag, more})) return false;
  granted_ += more;
  return true;
}

}  // namespace atl::engine
