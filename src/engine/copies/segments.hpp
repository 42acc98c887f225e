#pragma once

/// Device memory in this process: the kinds there are, and the segments that can be named.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <atoll/engine/am.hpp>
#include <atoll/engine/kernels.hpp>
#include <atoll/engine/memory_copy.hpp>

#include "base/os/unique_fd.hpp"
#include "base/single.hpp"
#include "engine/copies/graph_uses.hpp"
#include "engine/copies/pins.hpp"
#include "engine/copies/stream_passes.hpp"
#include "memory/kind.hpp"

namespace atl::engine {

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
  std::array<char, 40> uuid{};  ///< of the device, whatever number it has where
};

struct segment {
  segment_notice known;
  memory::kind* kind = nullptr;
  std::unique_ptr<memory::device_segment> memory;  ///< a peer's: null until it is imported
  os::unique_fd descriptor;                        ///< a peer's, until it is imported
  bool out_of_reach = false;                       ///< a peer's, and only its owner can copy
  std::size_t copies = 0;                          ///< started here, not complete
  std::size_t kernels = 0;                         ///< a peer's: users of what range_for_kernels() gave
  std::vector<stream_use> uses;                    ///< a peer's, the last of each stream of the program
  graph_uses graphs;                               ///< of the program
  bool programs = false;                           ///< the program has given the memory, and takes it back
  int sharers = 0;  ///< ranks with a segment on its device; 0: not counted since segments came or went
};

/// One end of a copy, found and checked.
struct copy_place {
  memory_place name;
  segment* device = nullptr;  ///< null: host memory
  std::uint64_t address = 0;  ///< in the owner's terms, or of host memory in this process
  bool elsewhere = false;     ///< host memory that this process does not address

  [[nodiscard]] std::int32_t owner() const noexcept;  ///< world rank
  [[nodiscard]] memory::copy_end end() const noexcept {
    return {device == nullptr ? nullptr : device->memory.get(), address};
  }
  [[nodiscard]] bool out_of_reach() const noexcept {
    return elsewhere || (device != nullptr && device->out_of_reach);
  }
  [[nodiscard]] bool is_on_host_here() const noexcept { return device == nullptr && !elsewhere; }
  [[nodiscard]] std::byte* on_host() const noexcept {
    return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
  }
  [[nodiscard]] copy_place moved_by(std::size_t offset) const noexcept {
    return {{name.owner, name.address + offset}, device, address + offset, elsewhere};
  }
};

/// A copy that is done in pieces.
struct copy_in_pieces {
  copy_place to;
  copy_place from;
  std::size_t bytes;
  memory::copy_record* done;
  std::size_t next = 0;  ///< offset of the first piece that was not begun
  unsigned open = 0;     ///< pieces, begun and not complete
};

/// All kinds and segments. Members without another word are for copies, under the engine's lock.
class segment_table final : public single<segment_table> {
 public:
  segment_table() : single(this) {}

  /// The kind if it has devices here, else null. Opens drivers at first use.
  memory::kind* find_kind(memory::kind_id id);

  /// Makes a segment of this process. Throws memory::segment_error. `descriptor` is for peers, if that is how
  /// they import it. Takes the lock.
  segment_notice create(memory::kind& kind, int device, std::uint64_t bytes, void* memory,
                        os::unique_fd& descriptor);
  /// Learns of a peer's segment, which will be imported when it is first used. Takes the lock.
  void adopt(segment_notice const& notice, os::unique_fd descriptor);
  /// Ends a segment of this process, once the copies that this rank started with it are over: one that is
  /// announced at its target alone may have arrived there before its initiator has looked. Peers forget the
  /// segment when they hear of it.
  /// `until`: what wait_for_uses() gave. `progress`: of the level that the caller may make, while graphs of the program come to their ends.
  void destroy(segment_name own, std::uint64_t until, bool (*progress)());
  /// Comes before: waits for this rank's copies with the segment, and while kernels and streams of the program on devices of its kind come
  /// to their ends. Gives the number of the last use that these have passed.
  std::uint64_t wait_for_uses(segment_name own, bool (*progress)());

  /// Finds a place, with `bytes` bytes there; a peer's segment has been imported unless it is out of reach.
  /// Ends the job if the place is in no segment that is open; of segments of other hosts their owners know that.
  /// `call`: what the program has called, for its words.
  copy_place resolve(memory_place place, std::size_t bytes, char const* call = "copy");
  /// Why a peer may not have `bytes` bytes at a place in a segment of this rank; nothing if it may.
  std::string problem_with(memory_place place, std::size_t bytes);
  /// A segment of this process, or null.
  segment const* own(std::uint16_t number);
  // See kernels.hpp.
  kernel_range range_for_kernels(memory::kind& kind, int device, std::uint64_t owner);
  void forget_range(std::uint64_t owner);
  int ranks_on_device(std::uint64_t owner);
  /// Lets the kind's devices reach the host memory of a local rank.
  void prepare_host(memory::kind& kind, std::int32_t rank);
  /// This rank uses devices of the kind from now on.
  void begin_use(memory::kind& kind);
  host_pins& pins() noexcept { return pins_; }
  /// Calls what has landed on devices of all kinds that have been used; true if there was anything.
  bool poll();
  /// A stream of the program is about to use the segment: a peer's stays until the stream is known to have come by, or all have.
  void note_use(segment& used, std::uint64_t stream);
  /// A graph that is captured uses the segment, or host memory (null): both stay until it is gone. False if nobody would know of that.
  bool note_graph(segment* used, memory::program_streams& streams, void* stream, std::uint64_t capture);
  [[nodiscard]] std::uint64_t uses() const noexcept { return uses_; }
  /// The stream has come to where it was at the end of so many uses.
  void note_passed(std::uint64_t stream, std::uint64_t when);
  /// Whether streams of the program stand still unless poll() is called.
  [[nodiscard]] bool streams_need_polls();
  /// Starts the gathered copies of all kinds.
  void submit();
  /// Once all ranks have called finalize: ends the job, in words, if streams of the program do not come to their ends in that time.
  void end_streams(std::chrono::milliseconds within);
  /// At the end of the library: waits for what the program has left on its devices, whose segments will go.
  void finish();
  /// The heaps of this host are about to lose their memory; no copies concern them. Takes the lock.
  void forget_heaps();
  /// This rank's heap has memory again, which devices in use pin, so that those of peers may reach it too. Takes the lock.
  void know_heap();
  /// A peer's segment is gone.
  void forget(std::uint64_t key);

 private:
  /// A kind and whose host memory its devices have been told of.
  struct known_kind {
    std::unique_ptr<memory::kind> kind;
    std::vector<bool> pages;  ///< what lies before the heap, by local rank
    std::vector<bool> heaps;
    stream_passes passes;  ///< its streams alone use its segments
  };

  known_kind& entry_of(memory::kind const& kind);
  segment* look_up(std::uint64_t key);
  segment& find(memory_place place, std::size_t bytes, char const* call);
  segment& suppose(memory_place place);
  bool in_use(std::uint64_t key);
  segment& add(segment&& fresh);
  void erase(std::uint64_t key);
  void count_sharers_anew() noexcept;
  /// `idle`: a kind whose devices have done what they had to do.
  void erase_outlived(memory::kind const* idle = nullptr);
  void wait_for_graphs(std::uint64_t key, bool (*progress)());
  void finish_graphs();
  [[nodiscard]] bool must_stay(segment& peers);

  std::vector<known_kind> kinds_;
  host_pins pins_;
  bool kinds_known_ = false;
  std::unordered_map<std::uint64_t, segment> segments_;
  /// Segments found last, by key: copies mostly concern a few.
  std::array<std::pair<std::uint64_t, segment*>, 8> recent_{};
  /// Keys of peers' segments that are gone while copies of this rank are under way.
  std::vector<std::uint64_t> outlived_;
  /// Segments of this process that have ended, but for graphs that use them.
  std::vector<segment> kept_;
  live_captures captures_;
  graph_uses of_host_;      ///< graphs that use host memory
  std::uint64_t uses_ = 0;  ///< by streams of the program
  std::uint16_t last_number_ = 0;
};

constexpr memory::kind_id kind_of(std::uint64_t owner) noexcept {
  return static_cast<memory::kind_id>(owner >> 48);
}
constexpr std::int32_t rank_of(std::uint64_t owner) noexcept { return static_cast<std::int32_t>(owner); }

}  // namespace atl::engine
