// All to all: in round k a block goes to rank me + k, another comes from rank me - k. A few rounds are open at a
// time, so that memory does not grow with the team. Who is furthest behind finds its partners in the same round or
// a later one, so it always goes on.

#include <algorithm>
#include <cstring>
#include <deque>

#include "engine/collectives/blocks.hpp"
#include "engine/collectives/streams.hpp"

namespace atl::engine {

namespace {

constexpr std::size_t rounds_at_once = 4;

class all_to_all final : public collective {
 public:
  all_to_all(void const* source, std::size_t bytes, void* target)
      : bytes_(bytes),
        source_(static_cast<std::byte const*>(source)),
        target_(static_cast<std::byte*>(target)) {}

  void begin() override {
    if (bytes_ != 0) std::memcpy(target_ + at(team->rank_me), source_ + at(team->rank_me), bytes_);
    (void)advance();
  }
  bool advance() override {
    for (;;) {
      while (open_.size() < rounds_at_once && next_ < team->rank_n) open_round(next_++);
      for (round& r : open_) {
        bool const sent = r.to.go_on(*this, source_ + r.send_at, bytes_);
        r.complete = r.from.go_on(*this, target_ + r.take_at) && sent;
      }
      if (open_.empty()) return true;
      if (!open_.front().complete) return false;
      while (!open_.empty() && open_.front().complete) open_.pop_front();
    }
  }

 private:
  struct round {
    std::size_t send_at;
    std::size_t take_at;
    sending to;
    receiving from;
    bool complete = false;
  };

  std::size_t at(std::int32_t rank) const noexcept { return static_cast<std::size_t>(rank) * bytes_; }

  void open_round(std::int32_t k) {
    std::int32_t const n = team->rank_n;
    std::int32_t const to = (team->rank_me + k) % n;
    std::int32_t const from = (team->rank_me - k + n) % n;
    stream_shape shape{gather_tag, team->to_world(to), bytes_};
    shape.granted = bytes_ <= eager_bytes ? 1 : 0;
    sending const out(shape);
    shape.peer = team->to_world(from);
    open_.push_back({at(to), at(from), out, receiving(shape)});
  }

  std::size_t bytes_;
  std::byte const* source_;
  std::byte* target_;
  std::int32_t next_ = 1;  ///< round
  std::deque<round> open_;
};

}  // namespace

collective* make_all_to_all(team_view& team, collective_signature signature, on_done done, void const* source,
                            std::size_t bytes, void* target) {
  return make<all_to_all>(team, signature, done, source, bytes, target);
}

}  // namespace atl::engine
