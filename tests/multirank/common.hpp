#pragma once

/// What every multirank test uses: a fixture that keeps the ranks in step, and buffers of patterns between guard bytes.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include <upcxx/upcxx.hpp>

#include "support/pattern.hpp"
#include "support/shared_memory.hpp"

namespace multirank {

using upcxx::intrank_t;

/// Barriers around each test; the closing one also serves RPCs of ranks that are still busy.
class fixture : public testing::Test {
 protected:
  void SetUp() override {
    me = upcxx::rank_me();
    n = upcxx::rank_n();
    right = (me + 1) % n;
    left = (me + n - 1) % n;
    // Not barrier(), which runs calls: a rank that is ahead may have sent some for what this test is about to reset.
    upcxx::barrier_async().wait();
  }
  void TearDown() override { upcxx::barrier(); }

  int me = -1;
  int n = 0;
  int right = -1;
  int left = -1;
};

/// Makes user-level progress until `done()` holds. The test's own timeout bounds it.
template <class Predicate>
void spin_until(Predicate&& done) {
  while (!done()) {
    upcxx::progress();
  }
}

/// Polls a little: long enough for a wrong implementation to run what must not run yet.
inline void poll(int times = 50) {
  for (int i = 0; i < times; ++i) {
    upcxx::progress();
  }
}

/// Checks a buffer of `total` bytes that was all guard bytes before `count` patterned bytes
/// arrived at `offset`.
inline testing::AssertionResult holds_only(std::uint8_t const* buffer, std::size_t total, std::size_t offset,
                                           std::size_t count, int rank, int salt = 0) {
  std::size_t const bad = first_mismatch(buffer + offset, count, rank, salt);
  if (bad != count) {
    return testing::AssertionFailure()
           << "byte " << bad << " of " << count << " at offset " << offset << " is "
           << int{buffer[offset + bad]} << ", not " << int{pattern(rank, bad, salt)};
  }
  if (!all_guard(buffer, buffer + offset)) {
    return testing::AssertionFailure()
           << "bytes before offset " << offset << " changed (count " << count << ")";
  }
  if (!all_guard(buffer + offset + count, buffer + total)) {
    return testing::AssertionFailure() << "bytes after " << offset << "+" << count << " changed";
  }
  return testing::AssertionSuccess();
}

/// Sizes around every threshold that an implementation may have, up to `limit`.
inline std::vector<std::size_t> interesting_sizes(std::size_t limit) {
  std::vector<std::size_t> sizes{0, 1, 2, 3, 5, 7};
  for (std::size_t power = 8; power <= limit; power *= 2) {
    sizes.push_back(power - 1);
    sizes.push_back(power);
    if (power + 1 <= limit) {
      sizes.push_back(power + 1);
    }
  }
  return sizes;
}

/// An array in this rank's shared heap whose pointer every rank knows.
template <class T>
class shared_array {
 public:
  explicit shared_array(std::size_t count, std::size_t alignment = alignof(T))
      : memory_(count * sizeof(T), alignment) {}

  upcxx::global_ptr<T> at(int rank) const { return upcxx::reinterpret_pointer_cast<T>(memory_.at(rank)); }
  T* local() const { return at(upcxx::rank_me()).local(); }

 private:
  shared_memory memory_;
};

}  // namespace multirank
