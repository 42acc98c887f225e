#pragma once

/// What streams and kernels do to signals.

#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE {

/// A signal gets a value, or that is added to it, in one step for all who add.
enum class signal_op { set, add };

}  // namespace atl::inline UPCXX_MODE
