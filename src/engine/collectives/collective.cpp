#include "engine/collectives/collective.hpp"

#include <algorithm>
#include <new>

namespace atl::engine {

scratch::~scratch() { ::operator delete(memory_, std::align_val_t(alignment_)); }

std::byte* scratch::get(std::size_t count, std::size_t element_bytes) {
  if (memory_ == nullptr) {
    // The largest power of two that divides the size is a multiple of any alignment.
    alignment_ = std::max(element_bytes & (~element_bytes + 1), std::size_t{64});
    memory_ = ::operator new(count* element_bytes, std::align_val_t(alignment_));
  }
  return static_cast<std::byte*>(memory_);
}

}  // namespace atl::engine
