#include "engine/collectives/flat_broadcast.hpp"

#include <algorithm>
#include <cstring>

#include "engine/collectives/by_messages.hpp"
#include "engine/collectives/flat.hpp"
#include "engine/collectives/steps.hpp"
#include "engine/collectives/under_way.hpp"
#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

namespace {

class line_broadcast final : public flat_collective {
 public:
  line_broadcast(void* buffer, std::size_t bytes, std::int32_t root, std::size_t const* there)
      : buffer_(buffer), bytes_(bytes), root_(root), there_(there) {}

  void begin() override {
    if (team->rank_me != root_) skip();
  }
  bool advance() override {
    if (team->rank_me == root_) {
      if (there_ != nullptr && *there_ < std::max(bytes_, std::size_t{1})) return false;
      if (!publish(buffer_, bytes_)) return false;
    } else {
      if (!is_there(root_)) return false;
      if (bytes_ != 0) std::memcpy(buffer_, payload_of(root_), bytes_);
    }
    leave();
    return true;
  }

 private:
  void* buffer_;
  std::size_t bytes_;
  std::int32_t root_;
  std::size_t const* there_;
};

/// Small pieces let the copies overlap soon; every piece costs a line that moves, and with more ranks than
/// cores a turn of all ranks. Equal on all members.
std::size_t piece_of(std::size_t bytes) {
  constexpr std::size_t most = std::size_t{128} << 10;  // stays in the second-level cache
  constexpr std::size_t least = std::size_t{16} << 10;
  if (!progress_engine::here().waiting.spare_cores) return most;
  return std::clamp(bytes / 8 / 64 * 64, least, most);
}

class staged_broadcast final : public flat_collective {
 public:
  staged_broadcast(void* buffer, std::size_t bytes, std::int32_t root, std::size_t const* there)
      : buffer_(static_cast<std::byte*>(buffer)),
        bytes_(bytes),
        piece_(piece_of(bytes)),
        root_(root),
        there_(there) {}

  void begin() override {
    if (team->rank_me != root_) skip();
  }
  bool advance() override { return team->rank_me == root_ ? give() : take(); }

 private:
  std::size_t next_piece() const { return std::min(piece_, bytes_ - done_); }

  bool give() {
    while (done_ < bytes_) {
      std::size_t const bytes = next_piece();
      if (there_ != nullptr && *there_ < done_ + bytes) return false;
      if (!flat_room(*team)) return false;
      // What goes on by messages needs all of it.
      std::uint64_t const block = flat_block(*team, bytes);
      if (block == staging_blocks::later) return false;
      if (block == staging_blocks::none && there_ != nullptr && *there_ < bytes_) return false;
      if (block != staging_blocks::none) flat_copy(*team, own_block_at(block), buffer_ + done_, bytes);
      flat_publish(*team, call, &block, sizeof block);
      leave();
      if (block == staging_blocks::none) return go_on_by_messages();
      team->staging.used_in(team->flat_step);
      done_ += bytes;
    }
    return true;
  }

  bool take() {
    while (is_there(root_)) {
      std::uint64_t block = 0;
      std::memcpy(&block, payload_of(root_), sizeof block);
      bool const staged = block != staging_blocks::none;
      std::size_t const bytes = next_piece();
      if (staged) std::memcpy(buffer_ + done_, block_at(root_, block), bytes);
      leave();
      if (!staged) return go_on_by_messages();
      done_ += bytes;
      if (done_ == bytes_) return true;
      skip();
    }
    return false;
  }

  bool go_on_by_messages() {
    collectives_under_way::here().launch_rest(
        *this, make_tree_broadcast(*team, call.signature, done, buffer_ + done_, bytes_ - done_, root_));
    return true;
  }

  std::byte* buffer_;
  std::size_t bytes_;
  std::size_t piece_;
  std::size_t done_ = 0;  ///< bytes given or taken
  std::int32_t root_;
  std::size_t const* there_;
};

}  // namespace

collective* make_flat_broadcast(team_view& team, collective_signature signature, on_done done, void* buffer,
                                std::size_t bytes, std::int32_t root, std::size_t const* there) {
  if (bytes <= flat_payload) return make<line_broadcast>(team, signature, done, buffer, bytes, root, there);
  return make<staged_broadcast>(team, signature, done, buffer, bytes, root, there);
}

}  // namespace atl::engine
