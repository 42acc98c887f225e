// Bruck's gather: in round k send the blocks gathered so far to rank me - 2^k, and get as many from rank
// me + 2^k. The own block and those behind it are always a row in the result (which goes on at its beginning),
// so that blocks arrive where they belong. A round's data are sent on as soon as those before them are there.

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/collectives/by_messages.hpp"
#include "engine/collectives/streams.hpp"

namespace atl::engine {

namespace {

class bruck_gather final : public collective {
 public:
  bruck_gather(void const* mine, std::size_t bytes, void* all)
      : bytes_(bytes), mine_(mine), all_(static_cast<std::byte*>(all)) {}

  void begin() override {
    std::byte* const own = all_ + static_cast<std::size_t>(team->rank_me) * bytes_;
    if (bytes_ != 0 && own != mine_) std::memmove(own, mine_, bytes_);
    for (std::int32_t have = 1; have < team->rank_n; have *= 2) plan_round(have);
    (void)go_on();
  }
  bool advance() override { return go_on(); }

 private:
  /// Neighbouring blocks that go to one rank in one round, or come from one.
  template <class Stream>
  struct part {
    std::size_t begin;  ///< bytes between the own block's beginning and this, in the row
    std::byte* data;
    std::size_t bytes;
    Stream stream;
  };

  /// `count` blocks from that of `owner` on: two parts where the row goes on at the result's beginning.
  /// `distance`: from the own block.
  template <class Stream>
  void plan(std::vector<part<Stream>>& parts, std::int32_t owner, std::int32_t distance, std::int32_t count,
            std::int32_t peer) {
    std::int32_t const until_end = std::min(count, team->rank_n - owner);
    add(parts, owner, distance, until_end, peer, 2 * round_);
    if (until_end < count) add(parts, 0, distance + until_end, count - until_end, peer, 2 * round_ + 1);
  }
  template <class Stream>
  void add(std::vector<part<Stream>>& parts, std::int32_t owner, std::int32_t distance, std::int32_t count,
           std::int32_t peer, std::uint32_t number) {
    stream_shape shape{gather_tag + number, team->to_world(peer), bytes_of(count)};
    shape.granted = shape.bytes <= eager_bytes ? 1 : 0;
    parts.push_back({bytes_of(distance), all_ + bytes_of(owner), shape.bytes, Stream(shape)});
  }
  std::size_t bytes_of(std::int32_t blocks) const { return static_cast<std::size_t>(blocks) * bytes_; }

  void plan_round(std::int32_t have) {
    std::int32_t const n = team->rank_n;
    std::int32_t const count = std::min(have, n - have);
    std::int32_t const from = (team->rank_me + have) % n;
    plan(outgoing_, team->rank_me, 0, count, (team->rank_me - have + n) % n);
    plan(incoming_, from, have, count, from);
    ++round_;
  }

  bool go_on() {
    bool complete = true;
    std::size_t there = bytes_;  // of the row
    for (auto& p : incoming_) {
      bool const all = p.stream.go_on(*this, p.data);
      if (complete) there = p.begin + p.stream.there();
      complete &= all;
    }
    for (auto& p : outgoing_)
      complete &= p.stream.go_on(*this, p.data, std::min(there - std::min(there, p.begin), p.bytes));
    return complete;
  }

  std::size_t bytes_;
  void const* mine_;
  std::byte* all_;
  std::uint32_t round_ = 0;
  std::vector<part<sending>> outgoing_;  ///< in the order of the row, round after round
  std::vector<part<receiving>> incoming_;
};

}  // namespace

collective* make_gather(team_view& team, collective_signature signature, on_done done, void const* mine,
                        std::size_t bytes, void* all) {
  return make<bruck_gather>(team, signature, done, mine, bytes, all);
}

}  // namespace atl::engine
