#pragma once

/// Several hosts on one machine, for tests of what runs between hosts (ATOLL_SIM_HOSTS).

#include <memory>
#include <string_view>

#include "bootstrap/bootstrap.hpp"

namespace atl::bootstrap {

/// The same job on simulated hosts: `where()` and `exchange()` are of the simulated host, `machine()` and
/// `exchange_machine()` of the real one, which must outlive this. `layout` as host_layout.hpp reads it. Throws
/// startup_error if it does not fit the job; where the launcher can tell who was first, the other ranks wait for the end.
std::unique_ptr<channel> simulate_hosts(channel& real, std::string_view layout);

}  // namespace atl::bootstrap
