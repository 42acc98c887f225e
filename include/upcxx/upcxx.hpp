#pragma once

/// UPC++ v1.0: everything. Each chapter of the specification has a header of its own beside this one.

#include <upcxx/allocate.hpp>
#include <upcxx/assert.hpp>
#include <upcxx/atomic.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/copy.hpp>
#include <upcxx/detail/config.hpp>
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
