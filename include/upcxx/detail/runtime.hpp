#pragma once

/// Entry points of the runtime that templates of several headers need.

#include <cstddef>
#include <cstdint>

#include <upcxx/detail/config.hpp>

namespace atl::rt {

/// Makes user-level progress, waiting adaptively in between, until `done(what)` is true.
/// In the restricted context only internal progress can be made; checked builds stop there.
ATOLL_EXPORT void wait_until(bool (*done)(void const*), void const* what);

/// True while the calling thread runs a callback inside user-level progress.
ATOLL_EXPORT bool in_restricted_context() noexcept;

}  // namespace atl::rt
