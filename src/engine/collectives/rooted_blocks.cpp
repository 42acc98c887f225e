// Blocks of all members from one, or to one. In the binomial tree relative to the root, the members below one are a
// row of ranks behind it (which goes on at rank 0), so what passes between two members is a row of blocks. Members in
// between keep the row of those below them, and pass blocks on as soon as all before them are there.

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/collectives/blocks.hpp"
#include "engine/collectives/streams.hpp"

namespace atl::engine {

namespace {

class rooted_blocks : public collective {
 protected:
  rooted_blocks(std::size_t bytes, std::int32_t root, void const* all, void const* mine)
      : bytes_(bytes),
        root_(root),
        all_(static_cast<std::byte*>(const_cast<void*>(all))),
        mine_(static_cast<std::byte*>(const_cast<void*>(mine))) {}

  /// Neighbouring blocks between two members.
  template <class Stream>
  struct part {
    std::size_t begin;  ///< in this member's row
    std::byte* data;
    std::size_t bytes;
    Stream stream;
  };

  void find_place() {
    n_ = team->rank_n;
    me_ = (team->rank_me - root_ + n_) % n_;
    below_ = me_ == 0 ? n_ : std::min(me_ & -me_, n_ - me_);
    if (!is_root() && below_ > 1)
      row_ = scratch_.get(static_cast<std::size_t>(below_) * std::max(bytes_, std::size_t{1}), 1);
  }
  [[nodiscard]] bool is_root() const noexcept { return me_ == 0; }
  [[nodiscard]] std::size_t bytes_of(std::int32_t blocks) const noexcept {
    return static_cast<std::size_t>(blocks) * bytes_;
  }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return bytes_of(below_); }
  /// The block of a member below this one. Without others below, it is that of the user.
  [[nodiscard]] std::byte* block(std::int32_t relative) const noexcept {
    if (is_root()) return all_ + bytes_of(rank_of(relative));
    return row_ == nullptr ? mine_ : row_ + bytes_of(relative - me_);
  }

  template <class Stream>
  void plan_parent(std::vector<part<Stream>>& parts) {
    if (!is_root()) plan(parts, me_, below_, me_ & (me_ - 1));
  }
  /// In the order of the row.
  template <class Stream>
  void plan_children(std::vector<part<Stream>>& parts) {
    for (std::int32_t step = 1; step < below_; step *= 2)
      plan(parts, me_ + step, std::min(step, below_ - step), me_ + step);
  }

  /// Bytes at the front of the row that are there; all that comes is.
  struct progress {
    std::size_t there;
    bool complete;
  };
  progress take(std::vector<part<receiving>>& parts, std::size_t there) {
    bool complete = true;
    for (auto& p : parts) {
      bool const all = p.stream.go_on(*this, p.data);
      if (complete) there = p.begin + p.stream.there();
      complete &= all;
    }
    return {there, complete};
  }
  bool give(std::vector<part<sending>>& parts, std::size_t there) {
    bool complete = true;
    for (auto& p : parts)
      complete &= p.stream.go_on(*this, p.data, std::min(there - std::min(there, p.begin), p.bytes));
    return complete;
  }

  std::size_t bytes_;
  std::int32_t root_;
  std::byte* all_;
  std::byte* mine_;

 private:
  [[nodiscard]] std::int32_t rank_of(std::int32_t relative) const noexcept { return (relative + root_) % n_; }

  template <class Stream>
  void plan(std::vector<part<Stream>>& parts, std::int32_t first, std::int32_t count, std::int32_t peer) {
    std::int32_t const until_end = std::min(count, n_ - rank_of(first));
    add(parts, first, until_end, peer, 0);
    if (until_end < count) add(parts, first + until_end, count - until_end, peer, 1);
  }
  template <class Stream>
  void add(std::vector<part<Stream>>& parts, std::int32_t first, std::int32_t count, std::int32_t peer,
           std::uint32_t number) {
    stream_shape shape{gather_tag + number, team->to_world(rank_of(peer)), bytes_of(count)};
    shape.granted = shape.bytes <= eager_bytes && !waits_for_receiver(*this) ? 1 : 0;
    parts.push_back({bytes_of(first - me_), block(first), shape.bytes, Stream(shape)});
  }

  std::int32_t n_ = 1;
  std::int32_t me_ = 0;     ///< relative to the root
  std::int32_t below_ = 1;  ///< members in this one's part of the tree, itself included
  std::byte* row_ = nullptr;
  scratch scratch_;
};

class scatter final : public rooted_blocks {
 public:
  scatter(void const* all, std::size_t bytes, void* mine, std::int32_t root)
      : rooted_blocks(bytes, root, all, mine) {}

  void begin() override {
    find_place();
    plan_parent(from_parent_);
    plan_children(to_children_);
    own_ = block((team->rank_me - root_ + team->rank_n) % team->rank_n);
    (void)advance();
  }
  bool advance() override {
    progress const come = take(from_parent_, is_root() ? row_bytes() : 0);
    bool const sent = give(to_children_, come.there);
    if (!come.complete || !sent) return false;
    if (bytes_ != 0 && own_ != mine_) std::memcpy(mine_, own_, bytes_);
    return true;
  }

 private:
  std::byte const* own_ = nullptr;
  std::vector<part<receiving>> from_parent_;
  std::vector<part<sending>> to_children_;
};

class gather_to_one final : public rooted_blocks {
 public:
  gather_to_one(void const* mine, std::size_t bytes, void* all, std::int32_t root)
      : rooted_blocks(bytes, root, all, mine) {}

  void begin() override {
    find_place();
    plan_children(from_children_);
    plan_parent(to_parent_);
    std::byte* const own = block((team->rank_me - root_ + team->rank_n) % team->rank_n);
    if (bytes_ != 0 && own != mine_) std::memcpy(own, mine_, bytes_);
    (void)advance();
  }
  bool advance() override {
    progress const come = take(from_children_, bytes_);
    bool const sent = give(to_parent_, come.there);
    return come.complete && sent;
  }

 private:
  std::vector<part<receiving>> from_children_;
  std::vector<part<sending>> to_parent_;
};

}  // namespace

collective* make_scatter(team_view& team, collective_signature signature, on_done done, void const* all,
                         std::size_t bytes, void* mine, std::int32_t root) {
  return make<scatter>(team, signature, done, all, bytes, mine, root);
}

collective* make_gather_to_one(team_view& team, collective_signature signature, on_done done,
                               void const* mine, std::size_t bytes, void* all, std::int32_t root) {
  return make<gather_to_one>(team, signature, done, mine, bytes, all, root);
}

}  // namespace atl::engine
