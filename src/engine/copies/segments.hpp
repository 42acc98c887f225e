#pragma once

/// Device memory in this process: the kinds there are, and the segments that can be named.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <atoll/engine/memory_copy.hpp>

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
  memory::export_record sharing;
};

/// Makes a segment of this process. Throws memory::segment_error. `descriptor` is for peers, if that is how
/// they import it.
segment_notice create_segment(memory::kind& kind, int device, std::uint64_t bytes, void* memory,
                              os::unique_fd& descriptor);
/// Learns of a peer's segment, which will be imported when it is first used.
void adopt_segment(segment_notice const& notice, os::unique_fd descriptor);
/// Ends a segment of this process, once the copies that this rank started with it are over: one that is
/// announced at its target alone may have arrived there before its initiator has looked. Peers forget the
/// segment when they hear of it.
void destroy_segment(segment_name own);
/// Device of a segment of this process, -1 if there is none.
int device_of(segment_name own);
/// Closes everything (stop).
void drop_devices() noexcept;

// For copies; under the engine's lock.

struct segment {
  segment_notice known;
  memory::kind* kind = nullptr;
  std::unique_ptr<memory::device_segment> memory;  ///< a peer's: null until it is imported
  os::unique_fd descriptor;                        ///< a peer's, until it is imported
  bool out_of_reach = false;                       ///< a peer's, and only its owner can copy
  std::size_t copies = 0;                          ///< started here, not complete
};

/// The segment that holds the place; a peer's has been imported unless it is out of reach. Ends the job if no
/// open segment holds `bytes` bytes there.
segment& find_segment(memory_place place, std::size_t bytes);
/// Lets the kind's devices reach the host memory of a local rank.
void prepare_host(memory::kind& kind, std::int32_t rank);
/// All that have devices here and have been used.
bool poll_kinds();
/// Starts the gathered copies of all kinds.
void submit_kinds();

constexpr memory::kind_id kind_of(std::uint64_t owner) noexcept {
  return static_cast<memory::kind_id>(owner >> 48);
}
constexpr std::int32_t rank_of(std::uint64_t owner) noexcept { return static_cast<std::int32_t>(owner); }
constexpr bool on_host(memory_place place) noexcept {
  return place.owner == 0 || kind_of(place.owner) == memory::kind_id::host;
}

}  // namespace atl::engine
