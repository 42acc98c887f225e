#pragma once

// What several tests of futures share.

#include <utility>

namespace future_test {

/// Counts how many of its copies are alive, and how often it was copied.
struct counted {
  static inline int alive = 0;
  static inline int copies = 0;

  explicit counted(int v = 0) : value(v) { ++alive; }
  counted(counted const& other) : value(other.value) {
    ++alive;
    ++copies;
  }
  counted(counted&& other) noexcept : value(std::exchange(other.value, -1)) { ++alive; }
  counted& operator=(counted const&) = default;
  ~counted() { --alive; }

  int value;
};

/// Can be moved only.
struct move_only {
  explicit move_only(int v) : value(v) {}
  move_only(move_only&& other) noexcept : value(std::exchange(other.value, -1)) {}
  move_only& operator=(move_only&&) = delete;

  int value;
};

/// Can neither be copied nor moved.
struct pinned {
  pinned(int a, int b) : sum(a + b) {}
  explicit pinned(int a) : sum(a) {}
  pinned(pinned const&) = delete;
  pinned& operator=(pinned const&) = delete;

  int sum;
};

/// Notes its own end.
class end_mark {
 public:
  explicit end_mark(bool& ended) : ended_(&ended) {}
  end_mark(end_mark&& other) noexcept : ended_(std::exchange(other.ended_, nullptr)) {}
  end_mark& operator=(end_mark&&) = delete;
  ~end_mark() {
    if (ended_ != nullptr) {
      *ended_ = true;
    }
  }

 private:
  bool* ended_;
};

}  // namespace future_test
