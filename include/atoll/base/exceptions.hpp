#pragma once

/// Exceptions that leave the library. The specification names them; programs know them as upcxx::...

#include <cstddef>
#include <new>
#include <stdexcept>

#include <atoll/base/config.hpp>

namespace atl {

/// The shared heap (or the private memory that holds outgoing messages) is exhausted.
/// `what()` carries the requested size and the state of the heap.
class ATOLL_EXPORT bad_shared_alloc : public std::bad_alloc {
 public:
  bad_shared_alloc() noexcept;
  explicit bad_shared_alloc(char const* text) noexcept;  ///< copies at most 255 characters
  bad_shared_alloc(bad_shared_alloc const&) noexcept;
  bad_shared_alloc& operator=(bad_shared_alloc const&) noexcept;
  ~bad_shared_alloc() override;
  char const* what() const noexcept override;

 private:
  char text_[256];
};

/// A function's code lies in a module that is not known to be the same on all ranks. Thrown by
/// experimental::relocation::verify_segment; calls do not need verification and never throw it.
class ATOLL_EXPORT segment_verification_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  segment_verification_error(segment_verification_error const&) noexcept;
  segment_verification_error& operator=(segment_verification_error const&) noexcept;
  ~segment_verification_error() override;
};

/// A device segment could not be made, on this rank or another one. `what()` says why.
class ATOLL_EXPORT bad_segment_alloc : public std::bad_alloc {
 public:
  bad_segment_alloc() noexcept;
  explicit bad_segment_alloc(char const* text) noexcept;  ///< copies at most 255 characters
  bad_segment_alloc(bad_segment_alloc const&) noexcept;
  bad_segment_alloc& operator=(bad_segment_alloc const&) noexcept;
  ~bad_segment_alloc() override;
  char const* what() const noexcept override;

 private:
  char text_[256];
};

}  // namespace atl
