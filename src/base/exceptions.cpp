#include <atoll/base/exceptions.hpp>

#include <cstring>

namespace atl {

// The text lies in the object: what reports exhaustion must not need memory.

namespace {

void keep(char (&into)[256], char const* text) noexcept {
  std::size_t const length = strnlen(text, sizeof into - 1);
  std::memcpy(into, text, length);
  into[length] = '\0';
}

}  // namespace

bad_shared_alloc::bad_shared_alloc() noexcept : bad_shared_alloc("shared heap exhausted") {}

bad_shared_alloc::bad_shared_alloc(char const* text) noexcept { keep(text_, text); }

bad_shared_alloc::bad_shared_alloc(bad_shared_alloc const&) noexcept = default;
bad_shared_alloc& bad_shared_alloc::operator=(bad_shared_alloc const&) noexcept = default;
bad_shared_alloc::~bad_shared_alloc() = default;

segment_verification_error::segment_verification_error(segment_verification_error const&) noexcept = default;
segment_verification_error& segment_verification_error::operator=(
    segment_verification_error const&) noexcept = default;
segment_verification_error::~segment_verification_error() = default;

char const* bad_shared_alloc::what() const noexcept { return text_; }

bad_segment_alloc::bad_segment_alloc() noexcept : bad_segment_alloc("device segment not made") {}
bad_segment_alloc::bad_segment_alloc(char const* text) noexcept { keep(text_, text); }
bad_segment_alloc::bad_segment_alloc(bad_segment_alloc const&) noexcept = default;
bad_segment_alloc& bad_segment_alloc::operator=(bad_segment_alloc const&) noexcept = default;
bad_segment_alloc::~bad_segment_alloc() = default;

char const* bad_segment_alloc::what() const noexcept { return text_; }

}  // namespace atl
