#pragma once

/// Names from before revision 2021.3, for programs that were written then. Include it after <upcxx/upcxx.hpp>, or
/// instead of it; nothing else includes it. All of these have other names now, beside each.

#include <upcxx/upcxx.hpp>

namespace upcxx::inline UPCXX_MODE {

using experimental::os_env;  // upcxx::experimental::os_env
using experimental::say;     // upcxx::experimental::say

// upcxx::experimental::*_nontrivial
using experimental::broadcast_nontrivial;
using experimental::reduce_all_nontrivial;
using experimental::reduce_one_nontrivial;

// upcxx::op_fast_* for arithmetic types, else upcxx::experimental::op_*
using experimental::op_add;
using experimental::op_bit_and;
using experimental::op_bit_or;
using experimental::op_bit_xor;
using experimental::op_max;
using experimental::op_min;
using experimental::op_mul;

}  // namespace upcxx::inline UPCXX_MODE

/// upcxx_experimental_memberof_unsafe
#define upcxx_memberof_unsafe(pointer, ...) upcxx_experimental_memberof_unsafe(pointer, __VA_ARGS__)

// UPCXX_THREADMODE and UPCXX_NETWORK_* say what a program may want to know of this.
#define UPCXX_BACKEND 1
#ifdef UPCXX_THREADMODE
#define UPCXX_BACKEND_GASNET_PAR 1
#else
#define UPCXX_BACKEND_GASNET_SEQ 1
#endif
