#include "upcxx/exceptions.hpp"

#include <cstring>

namespace atl {

// The text lies in the object: what reports exhaustion must not need memory.

bad_shared_alloc::bad_shared_alloc() noexcept : bad_shared_alloc("shared heap exhausted") {}

bad_shared_alloc::bad_shared_alloc(char const* text) noexcept {
  std::size_t const length = strnlen(text, sizeof text_ - 1);
  std::memcpy(text_, text, length);
  text_[length] = '\0';
}

bad_shared_alloc::bad_shared_alloc(bad_shared_alloc const&) noexcept = default;
bad_shared_alloc& bad_shared_alloc::operator=(bad_shared_alloc const&) noexcept = default;
bad_shared_alloc::~bad_shared_alloc() = default;

segment_verification_error::segment_verification_error(segment_verification_error const&) noexcept = default;
segment_verification_error& segment_verification_error::operator=(
    segment_verification_error const&) noexcept = default;
segment_verification_error::~segment_verification_error() = default;

char const* bad_shared_alloc::what() const noexcept { return text_; }

}  // namespace atl
