#pragma once

/// Copies that have device memory at one end at least. They complete later, during progress. Who hears of them
/// hears of transfers of remote host memory as well (rma.hpp).

#include <cstddef>
#include <cstdint>

#include <atoll/base/config.hpp>
#include <atoll/engine/strided.hpp>

namespace atl::engine {

/// A place in any memory of the job.
struct memory_place {
  std::uint64_t owner;    ///< first word of a global pointer; 0: host memory of this process
  std::uint64_t address;  ///< second word of it; else the address

  [[nodiscard]] memory_place moved_by(std::ptrdiff_t bytes) const noexcept {
    return {owner, address + static_cast<std::uint64_t>(bytes)};
  }
};

/// How the data of a copy announces itself to the target:
/// a word of the initiator's region will be at least `value`.
struct announced_trailer {
  std::uint64_t offset;  ///< of the word
  std::uint64_t value;
};

/// Who hears of a copy's progress. All are called under the engine's lock and may not run user's code.
struct copy_completion {
  /// Called during progress of any level when the data is in place. False if it could not hand the news on
  /// for want of memory: then it is called again later.
  bool (*arrived)(copy_completion*) noexcept;
  /// Called by start_copy if the data will announce itself: calls for the target may leave now, as messages
  /// of kind `announced` with the trailer at their end. Null: nobody wants to know.
  void (*announced)(copy_completion*, announced_trailer const&) noexcept = nullptr;
  /// Called before `arrived`, once, if the memory that is read may be written again earlier than that. Null:
  /// nobody wants to know.
  void (*source)(copy_completion*) noexcept = nullptr;
  /// The engine's, from the start until `arrived` has returned true.
  void* under_way[6] = {};
};

/// Starts a copy of `bytes` between two places, whoever owns them. `completion` stays until it has arrived.
/// Ends the job if a place is in no segment that is open.
ATOLL_EXPORT void start_copy(memory_place to, memory_place from, std::size_t bytes,
                             copy_completion* completion);

/// The same for the runs of a box, whose ends, at index 0, are those given here, between devices: by one thing that a device of this rank does,
/// the source's or else the destination's. False, and nothing was done, if none can: copy the runs then.
ATOLL_EXPORT bool start_box_copy(memory_place to, memory_place from, prepared_box const& box,
                                 copy_completion* completion);

/// Between the two, calls of start_copy on this thread may keep what they start, until the end or until the
/// next progress, so that devices get several copies at once. Pairs may be nested.
ATOLL_EXPORT void begin_gathering() noexcept;
ATOLL_EXPORT void end_gathering();

}  // namespace atl::engine
