#pragma once

/// The way into the inbox of a rank whose memory this process does not address: data are packed here, put there in
/// one transfer, and announced by a flag that its arrival raises.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <atoll/engine/host_map.hpp>
#include <atoll/engine/rma.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// Moves. May end while a transfer is under way.
class remote_inbox {
 public:
  remote_inbox() = default;
  /// `bytes` at `place`, which is multiples of `bytes` ahead where a transfer says so.
  remote_inbox(atl::engine::host_address place, std::size_t bytes)
      : transfer_(new transfer(bytes)), place_(place), bytes_(bytes) {}
  remote_inbox(remote_inbox&& other) noexcept
      : transfer_(std::exchange(other.transfer_, nullptr)), place_(other.place_), bytes_(other.bytes_) {}
  remote_inbox& operator=(remote_inbox&& other) noexcept {
    std::swap(transfer_, other.transfer_);
    std::swap(place_, other.place_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~remote_inbox() {
    if (transfer_ != nullptr) transfer_->abandon();
  }

  explicit operator bool() const { return transfer_ != nullptr; }
  /// Where data are packed, while nothing is under way.
  std::byte* staging() const { return transfer_->data.get(); }
  bool under_way() const { return transfer_->now.load(std::memory_order_acquire) != state::idle; }
  /// Sends what has been packed.
  void send(std::ptrdiff_t ahead, atl::engine::host_address const& flag, std::uint64_t value) const {
    atl::engine::arrival_notice notice;
    notice.what = atl::engine::arrival_notice::sort::flag;
    notice.flag = flag.offset;
    notice.value = value;
    atl::engine::remote_start start("atl::transfer");
    start.contiguous(
        {static_cast<std::int32_t>(place_.rank), place_.offset + static_cast<std::uint64_t>(ahead)},
        atl::engine::transfer_end::in_memory(staging()), bytes_, notice);
    transfer_->now.store(state::busy, std::memory_order_relaxed);
    start.start(transfer_);
  }

 private:
  enum class state : int { idle, busy, abandoned };

  struct transfer : atl::engine::copy_completion {
    std::unique_ptr<std::byte[]> data;
    std::atomic<state> now{state::idle};

    explicit transfer(std::size_t bytes)
        : atl::engine::copy_completion{&arrived}, data(new std::byte[bytes]()) {}
    // Whoever comes second ends the object. Release pairs with the other's acquire.
    static bool arrived(atl::engine::copy_completion* completion) noexcept {
      auto* const self = static_cast<transfer*>(completion);
      if (self->now.exchange(state::idle, std::memory_order_acq_rel) == state::abandoned) delete self;
      return true;
    }
    void abandon() noexcept {
      if (now.exchange(state::abandoned, std::memory_order_acq_rel) == state::idle) delete this;
    }
  };

  transfer* transfer_ = nullptr;
  atl::engine::host_address place_{};
  std::size_t bytes_ = 0;
};

}  // namespace atl::inline UPCXX_MODE::detail
