#pragma once

/// Copies into memory that a rank on another core reads next.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/clock.hpp"
#include "base/streaming_copy.hpp"

namespace atl::shm {

/// Through the caches, or past them to memory. Between cores that share a cache the first is faster. Between others
/// each line that the reader still has must first be taken back from there, which makes the copy up to ten times as
/// slow as one past the caches. No table says how two ranks' cores are joined (they may even move), but the writer's
/// own time tells: so now and then copies are timed, and some go the other way to be compared.
///
/// Any thread. The figures are hints, so threads may lose each other's.
class copy_to_reader {
 public:
  void operator()(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    std::uint32_t const turn = turns_.load(std::memory_order_relaxed);
    turns_.store(turn + 1, std::memory_order_relaxed);
    bool const compared = turn % compare_every == 1;
    // The first ones go both ways in turn: each may have met new pages, or lost its core.
    bool const past = turn < in_turn_first ? turn % 2 == 1 : past_caches() != compared;
    if (!compared && turn % time_every != 0 && turn >= time_first) [[likely]]
      return copy(past, to, from, bytes);
    std::uint64_t const begin = now_ns();
    copy(past, to, from, bytes);
    note(past, (now_ns() - begin) * 65536 / bytes);
  }

  /// Which way copies take now.
  [[nodiscard]] bool past_caches() const noexcept {
    std::uint64_t const past = past_.load(std::memory_order_relaxed);
    // The reader, too, is slower where the data come from memory.
    return past != unknown && through_.load(std::memory_order_relaxed) > 2 * past;
  }

  /// A copy of one of the ways took so many nanoseconds per 64 KiB. A faster one than usual is believed at once; one in
  /// which the core was lost counts as twice what is usual.
  void note(bool past, std::uint64_t ns) noexcept {
    std::atomic<std::uint64_t>& cost = past ? past_ : through_;
    std::uint64_t const usual = cost.load(std::memory_order_relaxed);
    if (usual != unknown && ns > usual) ns = (usual + std::min(ns, 2 * usual)) / 2;
    cost.store(std::max<std::uint64_t>(ns, 1), std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t in_turn_first = 8;
  static constexpr std::uint32_t time_first = 32;
  static constexpr std::uint32_t time_every = 8;
  static constexpr std::uint32_t compare_every = 256;

  static void copy(bool past, std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    if (past) {
      streaming_copy(to, from, bytes);
    } else {
      std::memcpy(to, from, bytes);
    }
  }

  static constexpr std::uint64_t unknown = 0;
  std::atomic<std::uint64_t> through_{unknown};
  std::atomic<std::uint64_t> past_{unknown};
  std::atomic<std::uint32_t> turns_{0};
};

}  // namespace atl::shm
