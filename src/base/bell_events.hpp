#pragma once

/// Event descriptors by which bells are rung whose owners sleep on descriptors (doorbell.hpp). All processes that may
/// ring a bell have its descriptor open, under the same number here.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/os/unique_fd.hpp"

namespace atl {

/// Adds some; returns the number of the first. Not while others may ring.
std::uint32_t add_bell_events(std::vector<os::unique_fd> events);
/// Closes all.
void clear_bell_events() noexcept;
/// The descriptor, or -1: there is none of that number.
int bell_event(std::uint32_t number) noexcept;

}  // namespace atl
