#pragma once

/// atl::global_ptr_of and atl::owner_address. <upcxx/upcxx.hpp> brings them, too.

#include <upcxx/global_ptr_of.hpp>
