#include "engine/collectives/collective.hpp"

#include <algorithm>
#include <new>

#include "base/error.hpp"

namespace atl::engine {

std::byte* scratch::get(std::size_t count, std::size_t element_bytes) {
  std::size_t const bytes = count * element_bytes;
  if (memory_ == nullptr) {
    // The largest power of two that divides the size is a multiple of any alignment.
    alignment_ = std::max(element_bytes & (~element_bytes + 1), std::size_t{64});
    memory_ = ::operator new(bytes, std::align_val_t(alignment_), std::nothrow);
    bytes_ = bytes;
    if (memory_ == nullptr) {
      fatal("collectives",
            "no memory for %zu bytes of what other ranks sent. Use smaller values, or fewer ranks a host.",
            bytes);
    }
  }
  if (bytes > bytes_)
    fatal("collectives", "internal error: %zu bytes of scratch where %zu are", bytes, bytes_);
  return static_cast<std::byte*>(memory_);
}

void scratch::drop() noexcept {
  if (memory_ != nullptr) ::operator delete(memory_, std::align_val_t(alignment_));
  memory_ = nullptr;
}

}  // namespace atl::engine
