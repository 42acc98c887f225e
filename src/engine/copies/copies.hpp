#pragma once

/// Copies of device memory under way, and calls that wait for data of copies that peers started.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <atoll/engine/am.hpp>
#include <atoll/engine/memory_copy.hpp>

#include "memory/kind.hpp"

namespace atl::engine {

/// Copies that this rank started and that are not complete.
extern std::atomic<std::size_t> copies_under_way;
inline std::size_t copies_open() noexcept { return copies_under_way.load(std::memory_order_relaxed); }

/// That, and work for peers: announced calls whose data has not arrived, copies that this rank does for
/// others. While there is any, progress looks for it and nobody sleeps, since no message tells of it.
extern std::atomic<std::size_t> device_work;
inline bool device_work_open() noexcept { return device_work.load(std::memory_order_relaxed) != 0; }

/// Changes one of the counts; under the engine's lock, so that no other thread changes it meanwhile.
inline void count(std::atomic<std::size_t>& items, std::ptrdiff_t more) noexcept {
  items.store(items.load(std::memory_order_relaxed) + static_cast<std::size_t>(more),
              std::memory_order_relaxed);
}

/// Completes copies and lets calls go whose data is there; true if any. Under the engine's lock.
bool advance_copies();

/// A call arrived ahead of its data: keeps it until its word says that the data is there.
void hold_announced(message* m);
/// Lets those go whose data is there; true if any.
bool release_announced();
void drop_announced() noexcept;

/// A copy in pieces through host memory: between devices of different kinds, or where one end is out of this
/// process' reach, so that its owner must do that half. `done` is called as a copy's record is. Both places
/// have been checked.
void start_staged(memory_place to, memory_place from, std::size_t bytes, memory::copy_record* done);
/// Tries again what found no memory for messages; true if anything moved.
bool retry_staged();

/// Words of this rank's region through which its copies announce themselves.
std::span<memory::announcement_line> own_announcements() noexcept;

}  // namespace atl::engine
