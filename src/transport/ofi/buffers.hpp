#pragma once

/// Blocks of memory that libfabric may read and write: taken from the system in lots, registered where that is needed, and
/// given back at the end.

#include <cstddef>
#include <vector>

#include "transport/ofi/context.hpp"
#include "transport/ofi/peer.hpp"
#include "transport/ofi/windows.hpp"

namespace atl::transport::ofi {

class block_pool {
 public:
  /// Of all blocks: the wire's header and the longest one of a message.
  static constexpr std::size_t headers = sizeof(wire) + 240;

  /// Blocks with room for `payload` bytes behind the headers.
  block_pool(context& of, std::size_t payload)
      : of_(of), room_(headers + payload), blocks_in_lot_(payload > large_payload ? 4 : 16) {}
  ~block_pool();
  block_pool(block_pool const&) = delete;
  block_pool& operator=(block_pool const&) = delete;

  /// Null: there is no memory.
  block* take() {
    if (free_ == nullptr) [[unlikely]]
      grow();
    block* const taken = free_;
    if (taken != nullptr) free_ = taken->next;
    return taken;
  }
  /// False: there is no memory for the next one.
  bool has_one() {
    if (free_ == nullptr) grow();
    return free_ != nullptr;
  }
  void give(block* b) noexcept {
    b->next = free_;
    free_ = b;
  }
  [[nodiscard]] std::size_t room() const noexcept { return room_; }
  /// Before endpoints go that memory may belong to; nothing is sent or received afterwards.
  void close_memory() noexcept {
    for (lot& each : lots_) close_object(each.entered);
  }

 private:
  struct lot {
    std::byte* memory;
    fid_mr* entered;
  };
  void grow();

  context& of_;
  std::size_t room_;
  std::size_t blocks_in_lot_;
  block* free_ = nullptr;
  std::vector<lot> lots_;
};

}  // namespace atl::transport::ofi
