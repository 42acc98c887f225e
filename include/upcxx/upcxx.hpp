#pragma once

/// UPC++ v1.0: everything. Each chapter of the specification has a header of its own beside this one.
///
/// Programs written for the established implementation name things of these standard headers without including
/// them, since its header did. Define UPCXX_LEAN_INCLUDES to a non-zero value before inclusion to do without: a
/// file then compiles a third of a second faster (GCC 12, -O0).

#if !defined(UPCXX_LEAN_INCLUDES) || !UPCXX_LEAN_INCLUDES
#include <algorithm>
#include <forward_list>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <sstream>
#endif

#include <upcxx/allocate.hpp>
#include <upcxx/assert.hpp>
#include <upcxx/atomic.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/copy.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/op_names.hpp>
#include <upcxx/device.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/dist_object.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/experimental/collectives.hpp>
#include <upcxx/experimental/heap.hpp>
#include <upcxx/experimental/os_env.hpp>
#include <upcxx/experimental/relocation.hpp>
#include <upcxx/experimental/say.hpp>
#include <upcxx/future.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/global_ptr_of.hpp>
#include <upcxx/init.hpp>
#include <upcxx/memberof.hpp>
#include <upcxx/persona.hpp>
#include <upcxx/progress.hpp>
#include <upcxx/rma.hpp>
#include <upcxx/rpc.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/team.hpp>
#include <upcxx/view.hpp>
#include <upcxx/vis.hpp>

// Last: it records what has been chosen above.
#include <upcxx/detail/identity.hpp>
