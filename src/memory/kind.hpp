#pragma once

/// Kinds of device memory behind one table of operations. A kind knows how to make memory on its devices, how
/// processes of one host share it, and how to copy it; where allocations lie in it is the affair of
/// segment_allocator, and who owns what is the engine's.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/unique_fd.hpp"

namespace atl::memory {

/// The values are those of upcxx::memory_kind and part of the layout of global pointers.
enum class kind_id : std::uint8_t { host = 1, cuda = 2, hip = 3, ze = 4 };

/// "cuda", for people.
char const* to_string(kind_id id) noexcept;

/// A segment could not be made; the text says why and what to try.
class segment_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Memory of a device that this process may copy to and from: its own, or a peer's that it imported. Ends
/// when it is destroyed; no copy may be under way then.
class device_segment {
 public:
  virtual ~device_segment() = default;
  device_segment(device_segment const&) = delete;
  device_segment& operator=(device_segment const&) = delete;

  /// First address, as the owner's programs see it. Never 0.
  [[nodiscard]] std::uint64_t base() const noexcept { return base_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// Whether its end waits for nothing; else it may wait for all that devices do for this process.
  [[nodiscard]] virtual bool ends_at_once() const noexcept { return true; }

 protected:
  device_segment(std::uint64_t base, std::uint64_t bytes) noexcept : base_(base), bytes_(bytes) {}

 private:
  std::uint64_t base_;
  std::uint64_t bytes_;
};

/// Names a piece of hardware.
using device_uuid = std::array<unsigned char, 16>;

/// How processes of this host reach a segment. Travels as bytes.
struct export_record {
  enum class way : std::uint8_t {
    none,        ///< not at all: its owner does their copies for them
    descriptor,  ///< by a file descriptor, which travels separately
    handle,      ///< by `handle`
  };
  way reach = way::none;
  std::array<char, 64> handle{};
  std::uint64_t offset = 0;  ///< of the segment in the memory that descriptor or handle stand for
  std::uint64_t whole = 0;   ///< bytes of that memory
  device_uuid device{};      ///< where it is
};

/// One end of a copy.
struct copy_end {
  device_segment const* segment = nullptr;  ///< null: host memory of this process
  std::uint64_t address = 0;  ///< within the segment in the owner's terms, else where it is here
};

/// Runs of bytes at the places of a box.
struct box_shape {
  struct dimension {
    std::int64_t to;  ///< bytes from one run to the next
    std::int64_t from;
    std::size_t extent;
  };
  std::size_t run;
  std::array<dimension, 4> dimensions;  ///< those that are not needed have extent 1
};

/// Host memory of this process.
struct memory_range {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
};
inline bool overlap(memory_range a, memory_range b) noexcept {
  return a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

/// A copy under way, kept by whoever started it until `landed` is called: once, from poll(), when all bytes
/// are in place. `landed` may start other copies.
struct copy_record {
  void (*landed)(copy_record*) noexcept;
  copy_record* next = nullptr;  ///< the kind's, while the copy is under way
  bool gathered = false;        ///< the kind may keep it until submit() or poll(), to start several at once
};

/// A word that will be at least `value` once a copy's data is in place, without help of this process but for
/// submit() or poll() where many are under way: one of those that use_announcements() gave.
struct announcement {
  std::atomic<std::uint64_t>* word = nullptr;  ///< null: nothing announces this copy
  std::uint64_t value = 0;
};

/// Words for announcements, a line each.
struct alignas(64) announcement_line {
  std::atomic<std::uint64_t> word;
};

class program_streams;

/// How kernels of the program reach one end of a copy.
struct kernel_view {
  std::uint64_t address = 0;  ///< as kernels see it; 0: they do not reach it
  bool atomic = false;        ///< their atomic operations there are atomic for everybody else's as well
};

/// One kind of device memory in this process. Not thread-safe: the engine calls it under its lock.
class kind {
 public:
  virtual ~kind() = default;
  kind(kind const&) = delete;
  kind& operator=(kind const&) = delete;

  [[nodiscard]] virtual kind_id id() const noexcept = 0;
  [[nodiscard]] virtual int device_n() const noexcept = 0;
  /// What there is, for people; several lines.
  [[nodiscard]] virtual std::string info() const = 0;
  /// Of a device in [0, device_n()); the same in all processes, and no other device's.
  [[nodiscard]] virtual std::string uuid(int device) const = 0;

  /// New memory of `bytes` on a device; or, if `memory` is not null, `bytes` there that the caller owns and
  /// keeps until the segment ends. Throws segment_error.
  virtual std::unique_ptr<device_segment> create(int device, std::uint64_t bytes, void* memory) = 0;
  /// How processes of this host import a segment that create() made; `descriptor` is set if that is the way.
  virtual export_record export_segment(device_segment const& own, os::unique_fd& descriptor) = 0;
  /// The peer's segment behind a record. Throws segment_error, also if no device here can reach it.
  virtual std::unique_ptr<device_segment> import_segment(export_record const& record,
                                                         os::unique_fd descriptor, std::uint64_t base,
                                                         std::uint64_t bytes) = 0;

  /// Tells of host memory that copies will concern, so that devices may reach it directly.
  virtual void know_host_memory(void* /*begin*/, std::size_t /*bytes*/) {}
  /// What begins there, if that was told of, will be other memory from now on.
  virtual void forget_host_memory(void* /*begin*/) {}
  /// Whether that does something: the memory must be there then, since it is pinned.
  [[nodiscard]] virtual bool pins_host_memory() const { return false; }
  /// Lets devices reach private memory of the program directly, until unpin(): `wanted` and, since drivers pin nothing less, all `pages` that
  /// it lies in, none of which is pinned already. Empty, or why that is not possible, for people.
  virtual std::string pin(memory_range pages, memory_range wanted) = 0;
  /// Ends that, unless copies under way concern the pages: false, to be asked again after poll().
  virtual bool unpin(memory_range pages) = 0;
  /// Whether devices reach all of it directly, private or not.
  [[nodiscard]] virtual bool is_pinned(memory_range range) = 0;
  /// Words of known host memory through which the kind may announce copies; zero now, and the kind's alone.
  virtual void use_announcements(std::span<announcement_line> lines) = 0;

  /// Does the device see what a network's adapter writes into a segment of this process only after flush()?
  [[nodiscard]] virtual bool must_flush(device_segment const& /*own*/) const { return false; }
  /// What adapters have written there is visible to kernels and copies that start from now on.
  virtual void flush(device_segment const& /*own*/) {}

  /// Starts a copy between two ends, each in a segment of this kind or in host memory. Both stay as they are
  /// until `record` has landed. Copies are not ordered among each other. `peer`: the other rank concerned;
  /// copies for different ones should not wait for each other. If `wanted` is not null, the kind may say
  /// there how the copy announces itself.
  virtual void copy(copy_end to, copy_end from, std::size_t bytes, std::uint32_t peer, copy_record* record,
                    announcement* wanted) = 0;
  /// Starts the gathered copies that were kept, and has all that are under way announce themselves.
  virtual void submit() {}
  /// Calls `landed` of copies that are complete, those of streams() among them; true if there were any.
  virtual bool poll() = 0;

  /// Begins to wait for all that its devices do for this process now, kernels and streams of the program among it: segments must outlive
  /// that. Gives a number to ask with.
  virtual std::uint64_t begin_waiting() { return 0; }
  /// Whether it has come to its end; may not be asked again then.
  virtual bool has_ended(std::uint64_t /*number*/) { return true; }

  /// Where kernels on a device find an end, for as long as that stays.
  virtual kernel_view view_for_kernels(int /*device*/, copy_end /*end*/) { return {}; }
  /// Whether the host plays kernels: its threads read and write at those addresses.
  [[nodiscard]] virtual bool host_plays_kernels() const noexcept { return false; }

  /// Makes a device that is in use current in this thread, unless it is: true, and leave() makes current again what was.
  virtual bool enter(int /*device*/) { return false; }
  virtual void leave() noexcept {}

  /// Streams of the program; null: the kind knows nothing of them.
  virtual program_streams* streams() noexcept { return nullptr; }

 protected:
  kind() = default;
};

/// The kinds that have devices here, as settings and drivers say. `seed` tells simulated devices of different
/// processes apart. Throws startup_error when a setting makes no sense.
std::vector<std::unique_ptr<kind>> make_kinds(std::uint64_t seed = 0);
/// Why there are no devices of a kind, for people; empty if there are.
std::string why_absent(kind_id id);

/// Before a driver starts: this process, one of so many of the machine, gets as many queues of a device's as there are, unless the
/// environment says how many. For processes that copy for other ranks, whatever the streams of the program wait for.
void ask_for_queues(int processes);

/// Which of `count` devices a process gets that names none: those of a host start at different ones, and each goes on to the next with
/// every device that it opens so.
constexpr int usual_device(int local_rank, int opened_before, int count) noexcept {
  return (local_rank + opened_before) % count;
}

}  // namespace atl::memory
