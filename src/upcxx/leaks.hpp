#pragma once

/// What programs forget to free: a summary at finalize, and on request where it was allocated.

#include <cstdint>

namespace atl::rt {

/// Whether allocations are written down with the place in the program that made them. Read at init.
extern bool leak_sites_wanted;
void read_leak_setting();

/// A new allocation in the own shared heap; one that is freed. Only while leak_sites_wanted.
void note_allocation(std::uint64_t offset) noexcept;
void forget_allocation(std::uint64_t offset) noexcept;

/// The heap ends: what was allocated in it, and by which function, is of no interest any more.
void forget_allocations() noexcept;
void forget_forms() noexcept;

/// Collective: rank 0 says how much of all shared heaps was not freed, and how many calls wait for objects
/// that were never constructed, if anything; with sites, each rank says where memory was allocated.
void report_leaks_of_all();

}  // namespace atl::rt
