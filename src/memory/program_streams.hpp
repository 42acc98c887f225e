#pragma once

/// Streams of the program: what is started there happens in their order, without the host in between.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "memory/array_reduction.hpp"
#include "memory/kind.hpp"
#include "memory/rank_exchange.hpp"

namespace atl::memory {

/// The driver's name of a stream: a CUstream or a hipStream_t.
using stream_handle = void*;
/// An executable graph: a CUgraphExec.
using graph_handle = void*;

/// Handles up to here name streams that are always there: 0 and 1 the default one of the device that is current, 2 that of the thread that
/// calls, a different one in each. Others are addresses of the driver's.
inline constexpr std::uintptr_t last_common_stream = 2;
inline bool is_common(stream_handle s) noexcept {
  return reinterpret_cast<std::uintptr_t>(s) <= last_common_stream;
}
inline bool differs_by_thread(stream_handle s) noexcept {
  return reinterpret_cast<std::uintptr_t>(s) == last_common_stream;
}

/// Where an exchange of ranks has its places, which its addresses are of.
struct exchange_ends {
  copy_end to[rank_exchange::most_ranks];
  copy_end words[rank_exchange::most_ranks];
  copy_end landing[rank_exchange::most_ranks];  ///< if they have some
  copy_end from;
};

/// When a word lets a stream go on that waits for it.
enum class comparison : std::uint8_t { at_least, equal };

/// Streams of one kind's devices in this process. What the driver refuses ends the job, with its words, the stream and its device. Not
/// thread-safe, as kind.
class program_streams {
 public:
  virtual ~program_streams() = default;
  program_streams(program_streams const&) = delete;
  program_streams& operator=(program_streams const&) = delete;

  /// For programs that have none of their own. Those that are left end with the kind.
  virtual stream_handle make(int device) = 0;
  /// Nothing if it was not made here.
  virtual void drop(stream_handle s) = 0;
  virtual int device_of(stream_handle s) = 0;
  /// A number that no other stream of the process has had, as far as the driver tells; not 0. Handles may be used again, also while what
  /// was left in a stream that the program has ended goes on. Not while it is captured, which a driver may end then.
  virtual std::uint64_t number_of(stream_handle s) { return reinterpret_cast<std::uintptr_t>(s); }
  /// Whether calls go into a graph, which will be executed later, perhaps several times.
  virtual bool is_captured(stream_handle s) = 0;

  /// While it is: a number of the graph that no other has; else 0.
  virtual std::uint64_t capture_of(stream_handle /*s*/) { return 0; }
  /// While it is: `held` is let go of when that graph and all that were made of it are gone and have been executed, some time later and in any
  /// thread. False, and it is let go of now, where the driver cannot.
  virtual bool keep_for_graph(stream_handle /*s*/, std::shared_ptr<void> /*held*/) { return false; }

  /// What is started in the stream from here on goes into a graph, until end_capture(). False where streams are not captured.
  virtual bool begin_capture(stream_handle /*s*/) { return false; }
  virtual graph_handle end_capture(stream_handle /*s*/) { return nullptr; }
  /// The same without a graph, also where what was captured makes none.
  virtual void abandon_capture(stream_handle /*s*/) {}
  /// Executes it once, in a stream of the device of which it was captured, behind what is there.
  virtual void launch(graph_handle /*g*/, stream_handle /*s*/) {}
  /// What has been launched goes on. Nothing if it was not made here.
  virtual void drop_graph(graph_handle /*g*/) {}
  /// Where the host plays kernels: calls `turn` from poll() when the stream gets there, again and again until it returns true.
  virtual void play(stream_handle /*s*/, std::function<bool()> /*turn*/) {}

  /// Whether devices reach host memory directly; `shared`: it is in the region of a rank, of which the kind has been told. If not, a driver
  /// may wait in copy() until the stream comes there.
  virtual bool is_pinned(void const* memory, std::size_t bytes, bool shared) = 0;

  /// Each at the stream's end, between what devices of the kind reach. Segments stay until the stream has come by. False, and nothing was
  /// done, if the stream's device cannot.
  /// `gathered`: may be kept until something else is started in any stream, or until submit() or poll(), and done together with others
  /// that are, in any order among themselves.
  virtual bool copy(stream_handle s, copy_end to, copy_end from, std::size_t bytes, bool gathered) = 0;
  /// Whether that would not be false.
  virtual bool can_copy(stream_handle /*s*/, copy_end /*to*/, copy_end /*from*/) { return true; }
  /// The same for runs between memories of devices, at whose index 0 the ends are, all of them by one thing that the device does. False, and
  /// nothing was done, where it has none that is faster than one by one.
  virtual bool copy_box(stream_handle /*s*/, copy_end /*to*/, copy_end /*from*/, box_shape const& /*box*/) {
    return false;
  }
  /// Whether kernels of the library on a device, or what plays them, can do exchanges of ranks with memory there.
  virtual bool can_exchange(int /*device*/, copy_end /*end*/) { return false; }
  /// What a rank does in one, whose places it can. `how`: without addresses, which this sets.
  virtual void exchange(stream_handle /*s*/, rank_exchange /*how*/, exchange_ends const& /*ends*/) {}
  /// Whether a kernel of the library on a device can do reductions.
  virtual bool can_reduce(int /*device*/) { return false; }
  /// One of arrays in own segments on the stream's device, which can. `how`: without addresses, which this sets.
  virtual void reduce(stream_handle /*s*/, array_reduction /*how*/, copy_end /*to*/, copy_end /*from*/) {}
  /// A word of 8 bytes that is a multiple of 8; all that the stream has written before is visible to who sees the value.
  /// False, and nothing was done, where the stream's device cannot.
  virtual bool write(stream_handle s, copy_end word, std::uint64_t value) = 0;
  /// What follows sees what was written before the word had such a value. The word is in a segment of this process, or host memory.
  /// False as above.
  virtual bool wait(stream_handle s, copy_end word, std::uint64_t value, comparison c) = 0;
  /// The same, and then the word gets another value. False as above.
  virtual bool wait_and_write(stream_handle s, copy_end word, std::uint64_t value, comparison c,
                              std::uint64_t then) = 0;
  /// Adds to a word, in one step for all who do so; ordered as write(). False, and nothing was done, where that is not so for the stream's
  /// device: its atomic operations do not reach the word, or it has no way to do one in a stream.
  virtual bool add(stream_handle s, copy_end word, std::uint64_t value) = 0;
  /// Whether write(), or add(), would not be false.
  virtual bool can_write(stream_handle /*s*/, copy_end /*word*/) { return true; }
  virtual bool can_add(stream_handle /*s*/, copy_end /*word*/) { return true; }
  /// Adds to a word in an own segment, in a stream of the library's own in which nothing else is done: may wait for the device, and is
  /// one step for others who do it so.
  virtual bool add_at_home(stream_handle s, copy_end word, std::uint64_t value) {
    return add(s, word, value);
  }
  /// `landed` of the record is called from poll() when the stream has come there. Not while it is captured.
  virtual void report(stream_handle s, copy_record* record) = 0;

  /// What it has come to and waits for, in words; empty if that is not known.
  virtual std::string where(stream_handle /*s*/) { return {}; }

  /// Starts the gathered copies that were kept.
  virtual void submit() {}
  /// Calls `landed` of the records whose streams have come there; true if there were any.
  virtual bool poll() = 0;
  /// Whether who puts something into a full stream waits until it has come to what is there.
  [[nodiscard]] virtual bool can_be_full() const noexcept { return true; }
  /// Whether streams stand still unless poll() is called.
  [[nodiscard]] virtual bool need_polls() const noexcept { return false; }

 protected:
  program_streams() = default;
};

}  // namespace atl::memory
