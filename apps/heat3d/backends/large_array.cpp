#include "backends/large_array.hpp"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace heat3d {

large_array::large_array(std::int64_t size) : size_(size) {
  constexpr std::size_t huge = std::size_t{1} << 21;
  auto const bytes = static_cast<std::size_t>(size) * sizeof(double);
  // Whole huge pages, so that the last part of the field is in one too; small fields stay small.
  mapped_bytes_ = bytes >= huge ? (bytes + huge - 1) / huge * huge : bytes + 1;
  void* const memory =
      mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (bytes >= huge) madvise(memory, mapped_bytes_, MADV_HUGEPAGE);  // advice only: failing costs speed
  data_ = static_cast<double*>(memory);
}

large_array::~large_array() { munmap(data_, mapped_bytes_); }

void swap(large_array& a, large_array& b) noexcept {
  std::swap(a.data_, b.data_);
  std::swap(a.size_, b.size_);
  std::swap(a.mapped_bytes_, b.mapped_bytes_);
}

}  // namespace heat3d
