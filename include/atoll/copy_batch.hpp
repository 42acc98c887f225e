#pragma once

/// Many copies in one submission to a device.

#include <atoll/engine/memory_copy.hpp>

namespace atl {

/// While an object of this class lives, copies of device memory that its thread starts may be kept, so that
/// each device gets those for one neighbour in one call of its driver, which takes a fraction of the time:
///
///     {
///       atl::copy_batch together;
///       for (auto const& b : blocks) upcxx::copy(b.mine, b.theirs, b.count,
///       upcxx::operation_cx::as_promise(all));
///     }
///
/// What is kept starts when the outermost such object ends, when many have come together, or when any thread
/// of the process makes progress; waiting for one of the copies in between is therefore safe. Remote
/// completions of copies to one neighbour are announced together, when all of them are in place. Other
/// operations, and copies that cannot be gathered (from and to private memory; of memory that only its owner
/// reaches), are not affected.
///
/// Copies in the order of a stream (atoll/stream.hpp) are gathered, too, where both ends are on devices and
/// they have at most 4 KiB: one kernel of the library does them, in any order among themselves, before
/// whatever the library is told to do next in the stream (`atl::device::launch` included). What the program
/// itself starts there, by the driver or the run time, comes before them unless the object has ended. The
/// kernel needs a place on the device: not beside one that fills it and waits for them. The default stream of
/// a thread (cudaStreamPerThread) is left out.
///
/// Not for copies after which the thread computes before the object ends: they would not be under way.
class copy_batch {
 public:
  copy_batch() noexcept { engine::begin_gathering(); }
  ~copy_batch() { engine::end_gathering(); }
  copy_batch(copy_batch const&) = delete;
  copy_batch& operator=(copy_batch const&) = delete;
};

}  // namespace atl
