#pragma once

/// Exceptions that the specification names. What they mean is documented where they are defined.

#include <atoll/base/exceptions.hpp>
#include <upcxx/detail/config.hpp>

namespace upcxx::inline UPCXX_MODE {
using atl::bad_segment_alloc;
using atl::bad_shared_alloc;
using atl::segment_verification_error;
}  // namespace upcxx::inline UPCXX_MODE
