#pragma once

/// Device memory in this process: the kinds there are, the segments that can be reached, copies under way.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/os/unique_fd.hpp"
#include "memory/kind.hpp"

namespace atl::engine {

/// The kind if it has devices here, else null. Opens drivers at first use.
memory::kind* find_kind(memory::kind_id id);

/// A segment as it is named in global pointers: by owner and number. Number 0 is the owner's host memory.
struct segment_name {
  std::int32_t rank = 0;
  std::uint16_t number = 0;
};

/// What peers must know of a segment. Travels as bytes.
struct segment_notice {
  segment_name name;
  memory::kind_id kind{};
  std::int32_t device = -1;
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
};

/// Makes a segment of this process. Throws memory::segment_error.
segment_notice create_segment(memory::kind& kind, int device, std::uint64_t bytes, void* memory);
/// A descriptor of it for peers. Throws memory::segment_error.
os::unique_fd export_segment(segment_name own);
/// Learns of a peer's segment, which will be imported when it is first used.
void adopt_segment(segment_notice const& notice, os::unique_fd descriptor);
/// Ends a segment of this process; peers forget it when they hear of it. No copy may need it any more: those
/// that this rank started are counted, and end the job with a message from `caller`.
void destroy_segment(segment_name own, char const* caller);
/// Device of a segment of this process, -1 if there is none.
int device_of(segment_name own);

/// Copies that this rank started and that are not complete.
extern std::atomic<std::size_t> copies_under_way;
inline std::size_t copies_open() noexcept { return copies_under_way.load(std::memory_order_relaxed); }
/// Completes copies; true if any. Under the engine's lock.
bool advance_copies();

/// Closes everything (stop).
void drop_devices() noexcept;

}  // namespace atl::engine
