#pragma once

/// Credit: the private memory that messages of one rank may take, and who may take how much of it.
///
/// Two accounts share one limit. What has *arrived* and waits for the program's progress may fill seven eighths
/// of it, so that a rank whose memory is full of arrivals can still keep calls of its own that find no room
/// elsewhere. What is *outgoing* (kept until there is room, or until its target has read it) may fill all of it.
/// Answers and messages of the engine are not refused: their number is bounded by what was admitted before.

#include <algorithm>
#include <atomic>
#include <cstddef>

#include <atoll/transport/message.hpp>

#include "transport/buffer_cache.hpp"

namespace atl::transport {

enum class admission : bool {
  if_there_is_credit,
  always,  ///< only the machine's memory is the limit
};

/// What somebody takes who takes an arrived message, and what becomes of it. Bits of one byte, since compilers put bytes of their own together by way of memory, with
/// a load that waits for a narrower store: 4 of 105 ns of a call to oneself.
struct taking {
  /// Look for requests, too.
  bool requests : 1 = true;
  /// They will be used soon: they stay where they are and are not counted.
  bool requests_in_place : 1 = false;
  /// The same of answers; else those that find no memory are left for later.
  bool control_in_place : 1 = false;
  /// Memory is taken for them in any case.
  bool whatever_the_limit : 1 = false;

  [[nodiscard]] bool in_place(lane way) const {
    return way == lane::control ? control_in_place : requests_in_place;
  }
  /// What the program uses soon is not refused: it may be what the program waits for.
  [[nodiscard]] transport::admission admission(lane way) const {
    return whatever_the_limit || in_place(way) ? transport::admission::always
                                               : transport::admission::if_there_is_credit;
  }
};

class message_memory {
 public:
  explicit message_memory(std::size_t limit) : limit_(limit) {}

  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::size_t arrived() const noexcept { return arrived_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t outgoing() const noexcept { return outgoing_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t used() const noexcept { return arrived() + outgoing(); }

  // What arrives.

  /// May `bytes` more be kept? In any case when nothing else that arrived is there: so none is too large, and
  /// two ranks that exchange the most that either may send both receive.
  [[nodiscard]] bool admits_arrival(std::size_t bytes) const noexcept {
    std::size_t const there = arrived();
    return there == 0 || (there + bytes <= limit_ - limit_ / 8 && there + outgoing() + bytes <= limit_);
  }
  /// Counts, or no longer counts, what lies in memory of others.
  void charge_arrival(std::size_t bytes) noexcept { arrived_.fetch_add(bytes, std::memory_order_relaxed); }
  void discharge_arrival(std::size_t bytes) noexcept { arrived_.fetch_sub(bytes, std::memory_order_relaxed); }
  /// Null: not admitted, or there is none.
  [[nodiscard]] std::byte* take_for_arrival(std::size_t bytes, std::size_t alignment,
                                            admission how) noexcept {
    if (how == admission::if_there_is_credit && !admits_arrival(bytes)) return nullptr;
    std::byte* const buffer = buffers_.take(bytes, alignment);
    if (buffer != nullptr) charge_arrival(bytes);
    return buffer;
  }
  void give_arrival(std::byte* buffer, std::size_t bytes) noexcept {
    buffers_.give(buffer, bytes);
    discharge_arrival(bytes);
  }

  // What leaves.

  /// May `bytes` more be kept? An eighth is free for this whatever has arrived: a program that keeps its arguments
  /// may do so beyond the limit, and must be able to say that it is done.
  [[nodiscard]] bool admits_sending(std::size_t bytes) const noexcept {
    return used() + bytes <= limit_ || outgoing() + bytes <= limit_ / 8;
  }
  /// May `bytes` more be kept for a target that takes `for_target` already, where the caller could also wait? Little
  /// is kept then, and little of that for one target: one that takes nothing leaves room for what goes to others (as
  /// transit memory does, see arena).
  [[nodiscard]] bool admits_spill(std::size_t bytes, std::size_t for_target) const noexcept {
    std::size_t const all = outgoing();
    std::size_t const most = std::min(most_spilled, limit_ / 4);
    return all == 0 || (all < most && for_target + bytes <= most - all);
  }
  [[nodiscard]] std::byte* take_for_sending(std::size_t bytes, std::size_t alignment,
                                            admission how) noexcept {
    if (how == admission::if_there_is_credit && !admits_sending(bytes)) return nullptr;
    std::byte* const buffer = buffers_.take(bytes, alignment);
    if (buffer != nullptr) outgoing_.fetch_add(bytes, std::memory_order_relaxed);
    return buffer;
  }
  /// Counts what lies in a pooled block.
  void charge_sending(std::size_t bytes) noexcept { outgoing_.fetch_add(bytes, std::memory_order_relaxed); }
  void give_sent(std::byte* buffer, std::size_t bytes) noexcept {
    buffers_.give(buffer, bytes);
    shorten(bytes);
  }
  /// So many bytes of a buffer will not be used; it is given back as one of the others.
  void shorten(std::size_t bytes) noexcept { outgoing_.fetch_sub(bytes, std::memory_order_relaxed); }
  /// A buffer that was sent to this rank itself has arrived.
  void hand_over(std::size_t bytes) noexcept {
    shorten(bytes);
    charge_arrival(bytes);
  }

 private:
  static constexpr std::size_t most_spilled = std::size_t{256} << 20;

  std::size_t limit_;
  std::atomic<std::size_t> arrived_{0};
  std::atomic<std::size_t> outgoing_{0};
  buffer_cache buffers_;
};

}  // namespace atl::transport
