// Blocks of all members from one, or to one. A row of blocks goes up or down a binomial tree of hosts, among the root
// and the lowest member of each other host (of a team on one host: of all members). These take the blocks of their
// host from its members, or give them out. The hosts below one are those behind it, so that what passes between two
// members is a row of blocks. Members in between keep the row of those below them, and pass blocks on as soon as all
// before them are there.

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/collectives/blocks.hpp"
#include "engine/collectives/hierarchy.hpp"
#include "engine/collectives/streams.hpp"

namespace atl::engine {

namespace {

/// A member's place in the tree. Its row begins with its own block; those of its children follow, in their order.
struct row_place {
  struct neighbour {
    std::int32_t rank;    ///< in the team
    std::int32_t blocks;  ///< its own, and those of all below it
  };
  std::int32_t parent = -1;
  std::int32_t blocks = 1;
  std::vector<neighbour> children;

  void add(std::int32_t rank, std::int32_t blocks_there) {
    children.push_back({rank, blocks_there});
    blocks += blocks_there;
  }
};

row_place find_place(team_data const& team, team_parts const& parts, std::int32_t root) {
  std::int32_t const n = parts.count();
  std::int32_t const top = parts.part_of(root);
  auto const part_at = [&](std::int32_t relative) { return (top + relative) % n; };
  auto const head_at = [&](std::int32_t relative) {
    return relative == 0 ? root : parts.leader_of(part_at(relative));
  };
  row_place place;
  std::int32_t const v = (parts.mine() - top + n) % n;
  if (head_at(v) != team.rank_me) {
    place.parent = head_at(v);
    return place;
  }
  if (v != 0) place.parent = head_at(v & (v - 1));
  if (team.hosts != nullptr) {
    for (std::int32_t const member : team.hosts->here) {
      if (member != team.rank_me) place.add(member, 1);
    }
  }
  for (std::int32_t step = 1; (v & step) == 0 && step < n - v; step *= 2) {
    std::int32_t blocks = 0;
    for (std::int32_t w = v + step; w < std::min(v + 2 * step, n); ++w) blocks += parts.size_of(part_at(w));
    place.add(head_at(v + step), blocks);
  }
  return place;
}

class rooted_blocks : public collective {
 protected:
  rooted_blocks(std::size_t bytes, std::int32_t root, void const* all, void const* mine)
      : bytes_(bytes), mine_(writable(mine)), root_(root), all_(writable(all)) {}

  /// Part of this member's row, on its way.
  template <class Stream>
  struct part {
    std::size_t begin;
    std::size_t bytes;
    Stream stream;
  };

  template <class Above, class Below>
  void plan(std::vector<part<Above>>& above, std::vector<part<Below>>& below) {
    team_parts const parts(*team);
    row_place const place = find_place(*team, parts, root_);
    row_bytes_ = bytes_of(place.blocks);
    if (place.parent >= 0) above.push_back(make_part<Above>(place.parent, 0, row_bytes_));
    std::size_t begin = bytes_;
    below.reserve(place.children.size());
    for (auto const& child : place.children) {
      below.push_back(make_part<Below>(child.rank, begin, bytes_of(child.blocks)));
      begin += below.back().bytes;
    }
    if (is_root()) {
      order_ = parts.order_from(parts.part_of(root_), root_);
    } else if (place.blocks > 1) {
      row_ = scratch_.get(static_cast<std::size_t>(place.blocks), std::max(bytes_, std::size_t{1}));
    }
  }
  [[nodiscard]] bool is_root() const noexcept { return team->rank_me == root_; }

  /// This member's row, from there on. Without children, it is the block of the user.
  [[nodiscard]] row_view row_from(std::size_t begin) const {
    if (is_root()) return {all_, bytes_, order_, begin};
    return row_ == nullptr ? mine_ : row_ + begin;
  }
  /// The own block's place, or null if that is the user's.
  [[nodiscard]] std::byte* own() const {
    auto* const place = const_cast<std::byte*>(row_from(0).in_one_piece(0, bytes_));
    return bytes_ == 0 || place == mine_ ? nullptr : place;
  }

  /// Bytes at the front of the row that are there; all that comes is.
  struct progress {
    std::size_t there;
    bool complete;
  };
  progress take(std::vector<part<receiving>>& parts, std::size_t there) {
    bool complete = true;
    for (auto& p : parts) {
      bool const all = p.stream.go_on(*this, row_from(p.begin));
      if (complete) there = p.begin + p.stream.there();
      complete &= all;
    }
    return {there, complete};
  }
  bool give(std::vector<part<sending>>& parts, std::size_t there) {
    bool complete = true;
    for (auto& p : parts) {
      std::size_t const of_part = std::min(there - std::min(there, p.begin), p.bytes);
      complete &= p.stream.go_on(*this, row_from(p.begin), of_part);
    }
    return complete;
  }

  std::size_t bytes_;
  std::size_t row_bytes_ = 0;
  std::byte* mine_;

 private:
  /// Both directions are one; a scatter writes to no source.
  static std::byte* writable(void const* p) { return static_cast<std::byte*>(const_cast<void*>(p)); }
  [[nodiscard]] std::size_t bytes_of(std::int32_t blocks) const noexcept {
    return static_cast<std::size_t>(blocks) * bytes_;
  }
  template <class Stream>
  part<Stream> make_part(std::int32_t peer, std::size_t begin, std::size_t bytes) const {
    return {begin, bytes, Stream(shape_of_array(*this, gather_tag, peer, bytes, !waits_for_receiver(*this)))};
  }

  std::int32_t root_;
  std::byte* all_;
  block_order order_;  ///< of the root's row
  std::byte* row_ = nullptr;
  scratch scratch_;
};

class scatter final : public rooted_blocks {
 public:
  scatter(void const* all, std::size_t bytes, void* mine, std::int32_t root)
      : rooted_blocks(bytes, root, all, mine) {}

  void begin() override {
    plan(from_parent_, to_children_);
    (void)go_on();
  }
  bool advance() override {
    if (!go_on()) return false;
    if (std::byte const* const block = own()) std::memcpy(mine_, block, bytes_);
    return true;
  }

 private:
  bool go_on() {
    progress const come = take(from_parent_, is_root() ? row_bytes_ : 0);
    return give(to_children_, come.there) && come.complete;
  }

  std::vector<part<receiving>> from_parent_;
  std::vector<part<sending>> to_children_;
};

class gather_to_one final : public rooted_blocks {
 public:
  gather_to_one(void const* mine, std::size_t bytes, void* all, std::int32_t root)
      : rooted_blocks(bytes, root, all, mine) {}

  void begin() override {
    plan(to_parent_, from_children_);
    if (std::byte* const block = own()) std::memcpy(block, mine_, bytes_);
    (void)advance();
  }
  bool advance() override {
    progress const come = take(from_children_, bytes_);
    return give(to_parent_, come.there) && come.complete;
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
