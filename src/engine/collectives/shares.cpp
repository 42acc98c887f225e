#include "engine/collectives/shares.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <atoll/engine/am.hpp>

#include "engine/collectives/array_ascent.hpp"
#include "engine/collectives/under_way.hpp"

namespace atl::engine {

namespace {

// Peers may be ahead by twice the chunks that are open at once, at most; rounds are fewer than 32.
constexpr std::uint32_t tags_of_chunk = 32;
constexpr std::uint32_t chunk_numbers = 256;
static_assert(up_tag + tags_of_chunk * chunk_numbers <= down_tag &&
              down_tag + tags_of_chunk * chunk_numbers <= gather_tag);

std::uint32_t tag_of(std::uint32_t first, std::uint32_t chunk) {
  return first + chunk % chunk_numbers * tags_of_chunk;
}

}  // namespace

stretch shares::of(std::int32_t first, std::int32_t many) const {
  std::int32_t const from = (first + hosts) % hosts;
  std::size_t const begin = begin_of(from);
  if (from + many <= hosts) return {begin, begin_of(from + many) - begin};
  return {begin, count - begin + begin_of(from + many - hosts)};
}

// ---- plan

void shared_chunk::open(collective& c, reduction const& chunk, std::uint32_t number) {
  r_ = chunk;
  segment_ = shape_of_reduction(r_, 0, false).segment;
  team_parts const parts(*c.team);
  shares const all{parts.count(), r_.count};
  plan_reduce_scatter(c, parts, all, tag_of(up_tag, number));
  plan_all_gather(c, parts, all, tag_of(down_tag, number));
}

void shared_chunk::plan_reduce_scatter(collective const& c, team_parts const& parts, shares const& all,
                                       std::uint32_t tag) {
  std::int32_t const n = parts.count();
  std::int32_t const me = parts.mine();
  auto const furthest = static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(n - 1)));
  std::size_t lead = 0;  // elements that do not come in the first round
  for (std::int32_t distance = furthest; distance > 0; distance /= 2, ++tag) {
    std::int32_t const many = std::min(distance, n - distance);
    round& next = rounds_.emplace_back();
    plan(next.out, c, parts.leader_of(parts.after_mine(n - distance)), all.of(me - distance - many + 1, many),
         tag, false);
    plan(next.in, c, parts.leader_of(parts.after_mine(distance)), all.of(me - many + 1, many), tag, false);
    next.lead = std::exchange(lead, 0);
    if (distance == furthest) {
      // What comes is combined with a copy of the own values; what does not come in this round, is copied now.
      stretch const others = all.of(me - furthest + 1, furthest - many);
      lead = others.count;
      if (r_.source != r_.target) copy_own(order_of(others), 0, bytes_of(others.count));
    }
  }
}

void shared_chunk::plan_all_gather(collective const& c, team_parts const& parts, shares const& all,
                                   std::uint32_t tag) {
  std::int32_t const n = parts.count();
  std::int32_t const me = parts.mine();
  for (std::int32_t distance = 1; distance < n; distance *= 2, ++tag) {
    std::int32_t const many = std::min(distance, n - distance);
    round& next = back_.emplace_back();
    plan(next.out, c, parts.leader_of(parts.after_mine(n - distance)), all.of(me, many), tag, true);
    plan(next.in, c, parts.leader_of(parts.after_mine(distance)), all.of(me + distance - n, many), tag, true);
  }
}

template <class Stream>
void shared_chunk::plan(half<Stream>& h, collective const& c, std::int32_t rank, stretch what,
                        std::uint32_t tag, bool entered) {
  h.what = what;
  if (!h.any()) return;
  h.order = order_of(what);
  stream_shape shape{tag, c.team->to_world(rank), bytes_of(what.count), segment_};
  // A share is complete when all have given to it, and so have opened this chunk. Before that only the small ones go ahead:
  // the result needs everyone, so nobody can be ahead by more than the chunks that are open at once.
  std::size_t const unasked = entered ? window : shape.bytes <= eager_bytes ? 1 : 0;
  shape.granted = static_cast<std::uint32_t>(std::min(unasked, shape.segments()));
  h.kept = shape.granted == 0 ? std::min(segment_, shape.bytes) : 0;
  h.stream = Stream(shape);
}

// ---- elements

std::size_t shared_chunk::front(stretch const& s, std::size_t own) const noexcept {
  if (own >= r_.count) return s.count;
  return own <= s.begin ? 0 : std::min(own - s.begin, s.count);
}

block_order shared_chunk::order_of(stretch const& s) const {
  block_order order;
  std::size_t const until_end = std::min(s.count, r_.count - s.begin);
  order.add(static_cast<std::int32_t>(s.begin), static_cast<std::int32_t>(until_end));
  if (until_end < s.count) order.add(0, static_cast<std::int32_t>(s.count - until_end));
  return order;
}

void shared_chunk::copy_own(block_order const& order, std::size_t at, std::size_t bytes) const {
  row_view const from(r_.source, r_.element_bytes, order, at);
  row_view(r_.target, r_.element_bytes, order, at).copy_from(from, bytes);
}

// ---- to go on

void shared_chunk::go_on(collective& c, std::size_t own, bool in_turn) {
  bool sent = false;
  do {
    grant_more(c, in_turn);
    sent = scatter(c, own);
  } while (combine_segment(c, own));
  complete_ = gather(c) && sent;
}

/// What goes out was combined in the rounds before it, each of which waits for the one before.
bool shared_chunk::scatter(collective& c, std::size_t own) {
  bool sent = true;
  for (std::size_t k = 0; k < rounds_.size(); ++k) {
    half<sending>& out = rounds_[k].out;
    if (!out.any() || out.stream.complete()) continue;
    std::size_t there = bytes_of(front(out.what, own));
    if (k != 0) {
      there = std::min(there, bytes_of(rounds_[k].lead) + rounds_[k - 1].in.stream.there());
    }
    row_view const row(k == 0 ? r_.source : r_.target, r_.element_bytes, out.order);
    sent &= out.stream.go_on(c, row, there);
  }
  return sent;
}

/// The next one in the order of rounds, if it is there.
bool shared_chunk::combine_segment(collective& c, std::size_t own) {
  while (turn_ < rounds_.size() && (!rounds_[turn_].in.any() || rounds_[turn_].in.stream.complete())) ++turn_;
  if (combined()) return false;
  half<receiving>& in = rounds_[turn_].in;
  std::size_t const at = in.stream.there();
  std::size_t const bytes = std::min(segment_, bytes_of(in.what.count) - at);
  if (at + bytes > bytes_of(front(in.what, own))) return false;
  message* const m = in.stream.take_next(c);
  if (m == nullptr) return false;
  if (turn_ == 0 && r_.source != r_.target) copy_own(in.order, at, bytes);
  std::byte const* const theirs = data_of(*m).data;
  row_view const ours(r_.target, r_.element_bytes, in.order);
  ours.each_piece(at, bytes, [&](std::byte* data, std::size_t offset, std::size_t piece) {
    r_.combine(data, theirs + offset, piece / r_.element_bytes, r_.operation);
  });
  release(m);
  if (!unkept_) collectives_under_way::here().keep_less(in.kept);
  unkept_ = false;
  return true;
}

/// What comes in a later round, or in a chunk after one that is not combined, must lie somewhere. The segment whose turn it
/// is may always come, so that of all heads the furthest behind goes on.
void shared_chunk::grant_more(collective& c, bool in_turn) {
  auto& all = collectives_under_way::here();
  for (std::size_t k = turn_; k < rounds_.size(); ++k) {
    half<receiving>& in = rounds_[k].in;
    bool const none = in.stream.outstanding() == 0;
    std::size_t const wanted = in.stream.to_grant(none);
    if (!in.any() || wanted == 0) continue;
    std::size_t more = 0;
    while (more < wanted && all.keep(in.kept)) ++more;
    bool const unkept = more == 0 && none && in_turn && k == turn_;
    if (unkept) more = 1;
    if (more == 0) return;
    if (!in.stream.grant(c, more)) return all.keep_less(unkept ? 0 : more * in.kept);
    unkept_ |= unkept;
  }
}

bool shared_chunk::gather(collective& c) {
  // What comes is put where it belongs at once: my values of it have left, or it would not be complete.
  half<receiving> const& mine = rounds_.back().in;
  std::size_t there = mine.stream.there();
  bool come = there == bytes_of(mine.what.count);
  for (round& r : back_) {
    if (!r.in.any()) continue;
    bool const all = r.in.stream.go_on(c, row_view(r_.target, r_.element_bytes, r.in.order));
    if (come) there += r.in.stream.there();
    come &= all;
  }
  gathered_ = come;
  bool sent = true;
  for (round& r : back_) {
    if (!r.out.any()) continue;
    row_view const row(r_.target, r_.element_bytes, r.out.order);
    sent &= r.out.stream.go_on(c, row, std::min(there, bytes_of(r.out.what.count)));
  }
  return come && sent;
}

}  // namespace atl::engine
