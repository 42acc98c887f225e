#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <upcxx/upcxx.hpp>

/// While it lives the shared heap has room for so many words more.
class nearly_full_heap {
 public:
  explicit nearly_full_heap(int room = 1) {
    for (std::size_t size = std::size_t{1} << 20; size >= sizeof(std::uint64_t); size /= 2) fill(size);
    for (int i = 0; i < room; ++i) free_one();
    fill(sizeof(std::uint64_t));
    for (int i = 0; i < room; ++i) free_one();
  }
  ~nearly_full_heap() {
    for (auto const each : taken_) upcxx::deallocate(each);
  }
  nearly_full_heap(nearly_full_heap const&) = delete;
  nearly_full_heap& operator=(nearly_full_heap const&) = delete;

 private:
  void fill(std::size_t size) {
    for (;;) {
      auto const more = upcxx::allocate<char>(size, alignof(std::uint64_t));
      if (more.is_null()) return;
      taken_.push_back(more);
    }
  }
  void free_one() {
    upcxx::deallocate(taken_.back());
    taken_.pop_back();
  }

  std::vector<upcxx::global_ptr<char>> taken_;
};
