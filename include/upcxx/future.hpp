#pragma once

/// Futures and promises: `future`, `make_future`, `to_future`, `promise`, `when_all`.
///
/// Specification chapter "Futures and promises". None of it is thread-safe, and nothing is signalled between
/// threads or processes: whoever touches a state owns everything that is connected with it.

#include <upcxx/detail/future/future.hpp>
#include <upcxx/promise.hpp>
#include <upcxx/when_all.hpp>
