// Blocks are taken a few at a time: what is missing and, once the heap has grown, an eighth of it ahead, so that
// a program that allocates its heap in small pieces asks the system seldom. What is ahead is given up first when
// memory is short.

#include "memory/host/reservation.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace atl::memory {
namespace {

constexpr std::uint64_t most_ahead = std::uint64_t{64} << 20;

}  // namespace

reservation::reservation(std::uint64_t begin, std::uint64_t bytes, taker take)
    : begin_(begin),
      end_(begin + bytes),
      first_block_(begin >> block_log),
      take_(std::move(take)),
      bits_(bytes == 0 ? 1 : (((end_ - 1) >> block_log) - first_block_) / 64 + 1) {}

std::string reservation::refusal() const {
  std::lock_guard const held(refusal_lock_);
  return refusal_;
}

bool reservation::has_all(std::uint64_t first, std::uint64_t last) const noexcept {
  for (std::uint64_t block = first; block <= last; ++block) {
    if (!has(block)) return false;
  }
  return true;
}

/// Takes all blocks of [first, last], of which there is none.
std::string reservation::take(std::uint64_t first, std::uint64_t last) {
  std::uint64_t const from = std::max(first << block_log, begin_);
  std::uint64_t const to = std::min((last + 1) << block_log, end_);
  std::string why = take_(from, to - from);
  if (!why.empty()) return why;
  for (std::uint64_t block = first; block <= last; ++block) {
    std::uint64_t const bit = block - first_block_;
    std::atomic<std::uint64_t>& word = bits_[bit / 64];
    // Release: who sees the bit sees the memory, too.
    word.store(word.load(std::memory_order_relaxed) | std::uint64_t{1} << bit % 64,
               std::memory_order_release);
  }
  taken_.fetch_add(to - from, std::memory_order_relaxed);
  return why;
}

bool reservation::grow(std::uint64_t first, std::uint64_t last) noexcept {
  try {
    std::uint64_t const last_of_all = (end_ - 1) >> block_log;
    for (std::uint64_t at = first; at <= last;) {
      if (has(at)) {
        ++at;
        continue;
      }
      std::uint64_t end_of_gap = at;
      while (end_of_gap < last && !has(end_of_gap + 1)) ++end_of_gap;
      std::uint64_t ahead = end_of_gap;
      std::uint64_t left = std::min(bytes() / 8, most_ahead) >> block_log;
      for (; end_of_gap == last && left > 0 && ahead < last_of_all && !has(ahead + 1); --left) ++ahead;
      std::string why = take(at, ahead);
      if (!why.empty() && ahead != end_of_gap) why = take(at, end_of_gap);
      if (!why.empty()) {
        refuse(std::move(why));
        return false;
      }
      at = end_of_gap + 1;
    }
    refuse({});
    return true;
  } catch (std::exception const& problem) {
    refuse(problem.what());
    return false;
  }
}

void reservation::refuse(std::string why) noexcept {
  std::lock_guard const held(refusal_lock_);
  refusal_.swap(why);
}

}  // namespace atl::memory
