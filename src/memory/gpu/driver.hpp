#pragma once

/// What the kinds of GPU memory need of their vendors' drivers. One implementation a vendor (cuda, hip, ze);
/// everything that does not depend on the vendor is in gpu_kind.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "base/os/unique_fd.hpp"
#include "memory/kind.hpp"
#include "memory/program_streams.hpp"

namespace atl::memory::gpu {

/// An address as a device of this process sees it; unified with those of the host.
using address = std::uint64_t;
/// A mark in a stream; of the driver's types.
using event = void*;

/// A queue of copies that a device executes in order.
struct stream {
  void* handle = nullptr;  ///< of the driver's types
  bool programs = false;   ///< not made here: it may be captured into a graph

  stream(void* driver_handle = nullptr, bool of_program = false) noexcept
      : handle(driver_handle), programs(of_program) {}
  template <class Handle>
  requires std::is_pointer_v<Handle>
  explicit operator Handle() const noexcept { return static_cast<Handle>(handle); }
};

struct copy_range {
  address to;
  address from;
  std::size_t bytes;
};

struct device_facts {
  std::string name;
  std::uint64_t bytes = 0;
  device_uuid uuid{};
};

/// Memory of a device that this process can address.
struct block {
  enum class origin : std::uint8_t {
    none,
    created,   ///< ours, shareable by descriptor
    plain,     ///< ours, shareable by handle at most
    users,     ///< belongs to the program
    imported,  ///< a peer's
    opened,    ///< a peer's, by handle
  };
  address base = 0;
  std::uint64_t bytes = 0;   ///< usable from `base`
  address mapped = 0;        ///< start of the whole mapping, for those that have one
  std::uint64_t whole = 0;   ///< bytes of it
  std::uint64_t handle = 0;  ///< the driver's
  int device = 0;            ///< where it lies, or through which device it was imported
  origin from = origin::none;

  /// Memory of this process that is one range.
  static block own_range(address at, std::uint64_t bytes, int device, origin from) noexcept {
    block b;
    b.base = at;
    b.bytes = bytes;
    b.device = device;
    b.from = from;
    return b;
  }
  /// A peer's segment, where all that the record stands for is mapped at `mapped`.
  static block of_peer(address mapped, export_record const& record, int device, origin from) noexcept {
    block b = own_range(mapped + record.offset, record.whole - record.offset, device, from);
    b.mapped = mapped;
    b.whole = record.whole;
    return b;
  }
};

/// How devices reach host memory.
enum class host_access : std::uint8_t {
  staged,  ///< the driver copies through memory of its own
  ours,    ///< directly, as we have registered it
  others,  ///< directly, as somebody else in the process has, who may end that
};

class driver {
 public:
  virtual ~driver() = default;
  driver(driver const&) = delete;
  driver& operator=(driver const&) = delete;

  [[nodiscard]] virtual kind_id id() const noexcept = 0;
  /// "CUDA driver 13.0".
  [[nodiscard]] virtual std::string version() const = 0;
  [[nodiscard]] virtual int device_n() const noexcept = 0;
  [[nodiscard]] virtual device_facts facts(int device) const = 0;
  /// Whether one device reaches the other's memory without the host in between.
  [[nodiscard]] virtual bool reaches(int device, int other) const noexcept = 0;

  // Making and sharing throws segment_error, with the driver's words; copies that fail end the job. What the
  // caller's thread has set (current device, context) is afterwards as it was.

  virtual block create(int device, std::uint64_t bytes) = 0;
  /// Memory of the program.
  virtual block adopt(int device, void* memory, std::uint64_t bytes) = 0;
  /// How peers import the block; `reach` none if the driver refuses, and why.
  virtual export_record share(block const& own, os::unique_fd& descriptor, std::string& why_not) = 0;
  /// For copies by `device`.
  virtual block import(export_record const& record, int descriptor, int device) = 0;
  /// Lets another device copy to and from a block; false if it cannot.
  virtual bool grant(block& memory, int device) noexcept = 0;
  virtual void drop(block& memory) noexcept = 0;

  /// See kind.
  virtual std::uint64_t begin_waiting() { return 0; }
  virtual bool has_ended(std::uint64_t /*number*/) { return true; }

  /// Does a device need flush() to see what other hardware, such as a network's adapter, has written into its memory?
  [[nodiscard]] virtual bool must_flush(int /*device*/) const noexcept { return false; }
  virtual void flush(int /*device*/) {}

  /// Lets devices reach host memory directly, unless the driver refuses; `why_not` has its words then, if it has any. To be unregistered if it
  /// is ours then.
  virtual host_access register_host(void* memory, std::size_t bytes, std::string& why_not) noexcept = 0;
  virtual void unregister_host(void* memory) noexcept = 0;
  /// Of a word in registered memory.
  virtual address device_address(void* registered) = 0;

  virtual stream make_stream(int device) = 0;
  virtual void drop_stream(int device, stream s) noexcept = 0;
  virtual event make_event(int device) = 0;
  virtual void drop_event(int device, event e) noexcept = 0;

  /// In order with everything else on the stream, which is of `device`; that can reach both ends.
  virtual void copy(int device, stream s, address to, address from, std::size_t bytes) = 0;
  /// Whether copies from private memory that devices do not reach are slower than a core's own (private_staging.hpp).
  [[nodiscard]] virtual bool is_slow_from_private() const noexcept { return false; }
  /// The same for several copies, in any order among themselves; of memory that devices reach
  /// without help of the host.
  virtual void copy_all(int device, stream s, std::span<copy_range const> ranges) {
    for (copy_range const& r : ranges) copy(device, s, r.to, r.from, r.bytes);
  }
  /// The same between memories of two devices that need not reach each other.
  virtual void copy_across(int device, stream s, address to, int to_device, address from, int from_device,
                           std::size_t bytes) = 0;
  /// Whether atomic operations of a device's kernels on memory of another, or on host memory, are atomic for all.
  [[nodiscard]] virtual bool is_atomic_on(int /*device*/, int /*other*/) const noexcept { return false; }
  [[nodiscard]] virtual bool is_atomic_on_host(int /*device*/) const noexcept { return false; }
  /// Whether write() works on streams of the device.
  [[nodiscard]] virtual bool can_write(int device) const noexcept = 0;
  /// Writes a word that the device reaches after all copies before it on the stream are visible.
  virtual void write(int device, stream s, address word, std::uint64_t value) = 0;
  /// See kind.
  virtual bool enter(int /*device*/) { return false; }
  virtual void leave() noexcept {}
  // What streams of the program need.

  [[nodiscard]] virtual bool knows_streams_of_programs() const noexcept { return false; }
  /// Ends the job if it is none of a device of this process.
  virtual int device_of(stream /*s*/) { return 0; }
  /// See program_streams.
  virtual std::uint64_t number_of(stream s) { return reinterpret_cast<std::uintptr_t>(s.handle); }
  virtual bool is_captured(stream /*s*/) { return false; }
  /// See program_streams; end_capture() to drop_graph() are called only where this has returned true.
  virtual bool begin_capture(int /*device*/, stream /*s*/) { return false; }
  virtual void* end_capture(int /*device*/, stream /*s*/) { return nullptr; }
  virtual void abandon_capture(stream /*s*/) noexcept {}
  virtual void launch(int /*device*/, void* /*graph*/, stream /*s*/) {}
  virtual void drop_graph(int /*device*/, void* /*graph*/) noexcept {}
  virtual std::uint64_t capture_of(stream /*s*/) { return 0; }
  virtual bool keep_for_graph(stream /*s*/, std::shared_ptr<void> /*held*/) { return false; }
  /// Starts several small copies between memories of devices at once, in any order among themselves; false, and nothing was done, if the driver
  /// has no way to do that which is faster than one by one.
  virtual bool copy_small(int /*device*/, stream /*s*/, std::span<copy_range const> /*ranges*/) {
    return false;
  }
  /// Of one of those.
  [[nodiscard]] virtual std::size_t most_bytes_of_small() const noexcept { return 0; }
  /// A box between memories that the device reaches; false, and nothing was done, if the driver has no way to do that.
  virtual bool copy_box(int /*device*/, stream /*s*/, address /*to*/, address /*from*/,
                        box_shape const& /*box*/) {
    return false;
  }
  /// Whether the driver takes the kernel of exchanges, and one rank's part in one, of memory that the device reaches.
  virtual bool can_exchange(int /*device*/) { return false; }
  virtual void exchange(int /*device*/, stream /*s*/, rank_exchange const& /*what*/) {}
  /// The same of reductions.
  virtual bool can_reduce(int /*device*/) { return false; }
  virtual void reduce(int /*device*/, stream /*s*/, array_reduction const& /*what*/) {}
  virtual bool is_pinned(void const* /*memory*/) { return true; }
  /// Whether streams wait for any word; else for gates alone, until they are at least a value (gates.hpp).
  [[nodiscard]] virtual bool waits_for_any_word() const noexcept { return true; }
  /// A word of 8 bytes for which streams of the device can wait, and which they can write. Ends the job if the device has none.
  virtual address make_gate(int /*device*/) { return 0; }
  virtual void drop_gate(int /*device*/, address /*gate*/) noexcept {}
  /// Has what the library may start on the device be there from now on: to load it later would wait for streams that wait, and for kernels, which may wait for just that. If a driver does not take it, that is said when it is wanted.
  virtual void prepare(int /*device*/) {}
  /// Lets the stream wait for a word that this process owns, or of registered host memory.
  virtual void wait(int /*device*/, stream /*s*/, address /*word*/, std::uint64_t /*value*/,
                    comparison /*c*/) {}

  /// The same, and then a write() of another value.
  virtual void wait_and_write(int /*device*/, stream /*s*/, address /*word*/, std::uint64_t /*value*/,
                              comparison /*c*/, std::uint64_t /*then*/) {}
  /// Whether there is a device with add(). If not, nobody but its owner adds to a word.
  [[nodiscard]] virtual bool has_additions() const noexcept { return false; }
  /// Whether add() would not be false.
  virtual bool can_add(int /*device*/) { return false; }
  /// Adds to a word that the device reaches with atomics, ordered as write(); false, and nothing was done, if the driver has no way to do that.
  virtual bool add(int /*device*/, stream /*s*/, address /*word*/, std::uint64_t /*value*/) { return false; }

  /// Ends the job with the driver's words, the stream and its device if something on the stream has failed.
  virtual void check_stream(stream s, int device) = 0;
  virtual void record(int device, event e, stream s) = 0;
  /// Whether everything before the event's last record, which was in that stream, has happened. Errors as above.
  virtual bool happened(event e, int device, stream s) = 0;

 protected:
  driver() = default;
};

}  // namespace atl::memory::gpu
