#include "upcxx/serialization.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <atoll/base/check.hpp>
#include <atoll/base/round_up.hpp>

#include "upcxx/view.hpp"

namespace atl::serialization {

heap_buffer::~heap_buffer() { std::free(data_); }

std::byte* heap_buffer::release() noexcept {
  capacity_ = 0;
  return std::exchange(data_, nullptr);
}

std::byte* heap_buffer::grow(void* self, std::byte* old, std::size_t used, std::size_t needed,
                             std::size_t alignment, std::size_t* capacity) {
  auto& buffer = *static_cast<heap_buffer*>(self);
  // The first time the caller may know the exact size; growing again means that it did not.
  std::size_t const wanted =
      buffer.data_ == nullptr ? std::max<std::size_t>(needed, 1024) : std::max(needed, 2 * used);
  std::size_t const room = align_up(wanted, alignment);
  auto* const data = static_cast<std::byte*>(std::aligned_alloc(alignment, room));
  if (data == nullptr) throw std::bad_alloc();
  if (used != 0) std::memcpy(data, old, used);
  std::free(std::exchange(buffer.data_, data));
  buffer.capacity_ = room;
  *capacity = room;
  return data;
}

void message_too_short(std::size_t position, std::size_t count, std::size_t item_bytes,
                       std::size_t end) noexcept {
  check_failed(
      "serialization: a message of %zu bytes cannot hold %zu more item(s) of %zu bytes from byte %zu. "
      "What is read must be what was written, in the same order: check that serialize() and deserialize() "
      "of each class agree, and that all ranks run the same program.",
      end, count, item_bytes, position);
}

void buffer_too_small(std::size_t needed, std::size_t capacity) noexcept {
  check_failed("serialization: %zu bytes are needed in a buffer of %zu that cannot grow", needed, capacity);
}

void throw_view_range(std::size_t index, std::size_t size) {
  throw std::out_of_range("upcxx::view::at: index " + std::to_string(index) + " in a view of " +
                          std::to_string(size) + " elements");
}

}  // namespace atl::serialization
