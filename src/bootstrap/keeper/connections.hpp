#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_set>

namespace atl::keeping {

/// TCP connections of this host that stand or are being made and have their end on an interface, as numbers of sockets.
std::unordered_set<std::uint64_t> connections_over(std::uint32_t interface);

/// Has that process one of these? False where the system does not tell.
bool has_one_of(::pid_t process, std::unordered_set<std::uint64_t> const& sockets);

}  // namespace atl::keeping
