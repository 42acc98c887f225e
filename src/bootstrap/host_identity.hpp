#pragma once

/// Which ranks share a host, where a launcher starts them on several. Counted by ourselves: what launchers say of nodes is
/// not always so (PMIX_NUM_NODES), and one node of theirs may be several of ours.

#include <cstdint>
#include <span>
#include <string_view>

#include "bootstrap/placement.hpp"

namespace atl::bootstrap {

/// Eight bytes. But for the last two they are equal on ranks of one host only: the same node of the launcher, and the same running
/// system. ATOLL_HOST, a name, says otherwise. That memory can be shared is proven later, by passing a descriptor. The last two tell network
/// namespaces of a host apart; 0: not known.
using host_identity = std::uint64_t;

/// This process'. `node` names the launcher's node of it among the job's, as the first rank there; negative where the launcher does not
/// say: then the system's name counts.
host_identity own_host_identity(std::int64_t node);

/// Equal for processes of one running system and one network namespace, whatever hosts they say they are on: the loop-back device joins them. Of
/// others it is equal by chance only.
std::uint64_t own_network_stack();

/// Whether two ranks of a host are known to be in one network namespace.
bool share_network(host_identity one, host_identity other) noexcept;

/// The placement of rank `rank` of a job whose ranks say these; hosts are numbered in the order of their first ranks.
placement place_by_identity(std::int32_t rank, std::span<host_identity const> of_ranks);

/// FNV-1a: equal for equal texts everywhere.
std::uint64_t hash_of(std::string_view text, std::uint64_t start = 0xcbf29ce484222325) noexcept;

}  // namespace atl::bootstrap
