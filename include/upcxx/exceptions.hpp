#pragma once

/// Exceptions that the specification names.

#include <cstddef>
#include <new>

#include <upcxx/detail/config.hpp>

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

}  // namespace atl

namespace upcxx::inline UPCXX_MODE {
using atl::bad_shared_alloc;
}
