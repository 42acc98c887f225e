#pragma once

/// Kernels of the program that communicate: what they reach, and the host that does the rest for them.

#include <cstddef>
#include <cstdint>

#include <atoll/base/config.hpp>
#include <atoll/engine/kernel_mailbox.hpp>
#include <atoll/engine/memory_copy.hpp>

namespace atl::engine {

/// A range of memory that kernels of one device can read and write: a device segment, or the shared heap of a
/// rank.
struct kernel_range {
  std::uint64_t owner = 0;  ///< first word of global pointers into it
  std::uint64_t begin = 0;  ///< first address in the owner's terms
  std::uint64_t bytes = 0;
  std::uint64_t here = 0;  ///< where kernels find `begin`; 0: they do not reach it
  bool atomic = false;     ///< their atomic operations there are atomic for everybody
};

/// What kernels of a device of this process see of the segment or heap that global pointers with this first
/// word point into; imported, pinned and kept until forget_range(). Ends the job if there is no such segment
/// on this host.
ATOLL_EXPORT kernel_range range_for_kernels(unsigned kind, int device, std::uint64_t owner);
ATOLL_EXPORT void forget_range(std::uint64_t owner);
/// Ranks of this host that have a segment open on the device of this one, which global pointers with this first word point into: kernels
/// of all of them may be there, whatever teams they are in.
ATOLL_EXPORT int ranks_on_device(std::uint64_t owner);
/// Whether the devices of a kind are simulated, so that threads of the host play their kernels.
ATOLL_EXPORT bool host_plays_kernels(unsigned kind);

/// Where kernels on a device find this rank's word that is 0 until nobody comes any more for what they wait for: a kernel that has waited too
/// long sets it for all of the rank's, and so does a host of the job that ends in an error. 0: the device does not reach it.
ATOLL_EXPORT std::uint64_t end_word_for_kernels(unsigned kind, int device);

/// Makes a device that has a segment the current one of this thread for the driver and the run time, unless it is: true, and
/// leave_device() makes that current again which was, of whomever. Opens no device, unlike the run time's own call, and takes nothing from the
/// program's contexts.
ATOLL_EXPORT bool enter_device(unsigned kind, int device);
ATOLL_EXPORT void leave_device(unsigned kind) noexcept;

/// Starts what copy_batch keeps, of any thread: a kernel is about to follow it in a stream.
ATOLL_EXPORT void submit_gathered();

/// Hears of what kernels want to tell this rank.
struct notice_listener {
  /// Called under the engine's lock from progress of any level; may not run user's code.
  void (*told)(notice_listener*, std::int32_t from, std::uint32_t number, std::uint64_t argument) noexcept;
  /// finalize has found its mailbox open; kernels have ended, and nothing calls it any more.
  void (*left_open)(notice_listener*) noexcept;
};

/// A number that no other team has, if one rank asks for all.
ATOLL_EXPORT std::uint64_t new_kernel_team() noexcept;
/// Looks after a mailbox in this rank's shared heap, at any progress. `team`: the same number on all ranks
/// whose mailboxes belong together, and no other ones'. What goes wrong in a kernel ends the job.
ATOLL_EXPORT void serve_kernels(kernel_mailbox* box, std::uint64_t team, notice_listener* listener);
/// No kernel uses it any more; all that was asked is done.
ATOLL_EXPORT void end_service(kernel_mailbox* box);
/// Whether it belongs to an open mailbox: false after end_service() and finalize, when it need not exist.
ATOLL_EXPORT bool is_listening(notice_listener const* listener);
/// Whether something is left to be done for its kernels.
ATOLL_EXPORT bool owes_kernels(kernel_mailbox* box);

}  // namespace atl::engine
