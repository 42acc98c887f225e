#pragma once

/// The way into the inbox of a rank whose memory this process does not address. Data travel packed, and raise a flag there when
/// they have arrived: in one message that they are packed into, or in a few of memory that is kept here, or, if they are many, by a put
/// of such.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
  /// `bytes` at `place`, which is multiples of `bytes` ahead where a transfer says so. Boxes are prepared as if they were
  /// packed at base(), which is `planned` if no memory is kept here.
  remote_inbox(atl::engine::host_address place, std::size_t bytes, std::byte* planned)
      : transfer_(bytes > message::longest ? new transfer(bytes) : nullptr),
        cut_(transfer_ == nullptr && message::best_cut(place.rank, bytes) ? new std::byte[bytes]() : nullptr),
        base_(transfer_ != nullptr ? transfer_->data.get()
              : cut_ != nullptr    ? cut_.get()
                                   : planned),
        place_(place),
        bytes_(bytes) {}
  remote_inbox(remote_inbox&& other) noexcept
      : transfer_(std::exchange(other.transfer_, nullptr)),
        cut_(std::move(other.cut_)),
        base_(other.base_),
        place_(other.place_),
        bytes_(other.bytes_) {}
  remote_inbox& operator=(remote_inbox&& other) noexcept {
    std::swap(transfer_, other.transfer_);
    std::swap(cut_, other.cut_);
    std::swap(base_, other.base_);
    std::swap(place_, other.place_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~remote_inbox() {
    if (transfer_ != nullptr) transfer_->abandon();
  }

  /// By how much the owner's flag rises when so many bytes have come, however they have.
  static std::uint64_t raises(std::size_t bytes) {
    return bytes > message::longest ? 1 : message::units(bytes);
  }

  explicit operator bool() const { return bytes_ != 0; }
  std::byte* base() const { return base_; }
  /// Where data of a transfer that says so much go.
  atl::engine::host_address place(std::ptrdiff_t ahead) const {
    return {place_.rank, place_.offset + static_cast<std::uint64_t>(ahead)};
  }
  /// Must send() wait, since what was packed before is still on its way from memory here?
  bool under_way() const {
    return transfer_ != nullptr && transfer_->now.load(std::memory_order_acquire) != state::idle;
  }
  /// Sends what `pack(moved)` packs, so many bytes behind base().
  template <class Pack>
  void send(std::ptrdiff_t ahead, atl::engine::host_address const& flag, Pack const& pack) const {
    std::uint64_t const offset = place(ahead).offset;
    if (cut_ != nullptr) {
      pack(0);
      for (std::size_t at = 0; at < bytes_; at += message::unit) {
        std::size_t const some = std::min(message::unit, bytes_ - at);
        message part({place_.rank, offset + at}, some, flag);
        std::memcpy(part.data(), base_ + at, some);
        part.send();
      }
      return;
    }
    if (transfer_ == nullptr) {
      message put({place_.rank, offset}, bytes_, flag);
      pack(put.data() - base_);
      put.send();
      return;
    }
    pack(0);
    atl::engine::arrival_notice notice;
    notice.what = atl::engine::arrival_notice::sort::flag;
    notice.flag = flag.offset;
    atl::engine::remote_start start("atl::transfer");
    start.contiguous({static_cast<std::int32_t>(place_.rank), offset},
                     atl::engine::transfer_end::in_memory(base_), bytes_, notice);
    transfer_->now.store(state::busy, std::memory_order_relaxed);
    start.start(transfer_);
  }

 private:
  using message = atl::engine::flagged_put;
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

  transfer* transfer_ = nullptr;      ///< null: they go in messages
  std::unique_ptr<std::byte[]> cut_;  ///< null: or in one, which they are packed into
  std::byte* base_ = nullptr;
  atl::engine::host_address place_{};
  std::size_t bytes_ = 0;
};

}  // namespace atl::inline UPCXX_MODE::detail
