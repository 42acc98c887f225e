// Device objects and their segments: what is collective about them, and allocation.
//
// A segment is made in four steps, while calls of others are served: make it here; agree with all ranks
// whether everybody could; hand descriptors to the ranks of the host; meet, so that nobody uses a pointer at
// a rank that has not heard of its segment.

#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/engine/collectives.hpp>
#include <atoll/engine/job.hpp>
#include <upcxx/detail/device_runtime.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/detail/runtime.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/team.hpp>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "engine/collectives/named.hpp"
#include "engine/collectives/run_to_end.hpp"
#include "engine/copies/copies.hpp"
#include "engine/copies/descriptor_exchange.hpp"
#include "engine/copies/segments.hpp"
#include "engine/progress/guard.hpp"
#include "engine/world.hpp"
#include "memory/kind.hpp"
#include "memory/segment_allocator.hpp"
#include "upcxx/runtime_state.hpp"

namespace atl::rt {

using memory::kind_id;

/// Written under the list's lock from when the device is in it: other threads look for the device of a pointer there.
struct device_state {
  kind_id kind;
  int device;
  std::uint32_t holders = 0;
  bool active = true;
  std::uint16_t segment = 0;  ///< 0: none
  bool programs = false;      ///< the segment's memory is the program's, which knows what of it is in use
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
  std::optional<memory::segment_allocator> allocator;
};

namespace {

struct device_list {
  std::mutex lock;
  std::vector<device_state*> devices;
};

/// Never destroyed: device objects may outlive it.
device_list& known_devices() {
  static auto* const all = new device_list;
  return *all;
}

void forget_segment(device_state& d) noexcept {
  std::lock_guard const held(known_devices().lock);
  d.segment = 0;
  d.allocator.reset();
}

void deactivate(device_state& d) noexcept {
  std::lock_guard const held(known_devices().lock);
  d.active = false;
}

char const* name_of(unsigned kind) noexcept { return memory::to_string(static_cast<kind_id>(kind)); }

/// `progress`: null for internal level.
void end_segment(device_state& d, bool (*progress)()) {
  if (d.segment == 0) return;
  engine::device_copies& copies = engine::device_copies::here();
  if (progress == nullptr) progress = &wait_internally;
  {
    engine::guard const held;
    // What a host does for streams takes user level, and their ends are waited for.
    if (copies.streams_used()) progress = &progress_user;
  }
  copies.destroy({engine::job.rank_me, d.segment}, progress);
  forget_segment(d);
}

void enter(bool (*progress)()) {
  if (progress != nullptr) engine::wait_barrier(engine::world_team(), progress);
}

/// Waits, with user-level progress, for a collective that `start` begins.
template <class Start>
void run_collective(Start start) {
  engine::waiting_note const note(activity::wait);
  engine::run_to_end(&progress_user, start);
  // Who comes last waits for nobody; what the others sent before is served all the same.
  progress_user();
}

/// What all ranks must know of all ranks' attempts.
struct verdict {
  std::int32_t failed = 0;  ///< 1 + largest rank that could not make its segment
  std::int32_t active = 0;  ///< ranks that have one
};

verdict agree(verdict mine) {
  run_collective([&](engine::on_done done) {
    engine::start_reduce(engine::world_team(), sign(collective_kind::device_allocator),
                         {&mine, &mine, 1, sizeof mine,
                          [](void* a, void const* b, std::size_t, void const*) {
                            auto* const into = static_cast<verdict*>(a);
                            auto const* const other = static_cast<verdict const*>(b);
                            if (other->failed > into->failed) into->failed = other->failed;
                            into->active += other->active;
                          },
                          nullptr, -1},
                         done);
  });
  return mine;
}

void share_with_host(engine::descriptor_exchange& exchange, engine::segment_notice const& mine,
                     os::unique_fd descriptor) {
  using offer = engine::descriptor_exchange::offer;
  offer const own = exchange.make_offer(mine, std::move(descriptor));
  std::vector<offer> all(static_cast<std::size_t>(engine::job.local_n));
  run_collective([&](engine::on_done done) {
    engine::start_gather_all(engine::local_team(), sign(collective_kind::device_allocator), &own, sizeof own,
                             all.data(), done);
  });
  exchange.begin(std::move(all));
  engine::waiting_note const note(activity::wait);
  // In a callback too, where progress is internal. Nobody rings for a letter, or for room for one.
  engine::wait_while([&] { return !exchange.advance(); }, &progress_user, engine::idling::spin);
}

device_state const& checked(device_state const* d, std::uint16_t segment, char const* call) {
  if (!segment_active(d, segment)) {
    check_failed(
        "device_allocator::%s: the allocator is inactive: default-constructed, moved from, "
        "made on an inactive device, or destroyed (also by destroying its device)",
        call);
  }
  return *d;
}

/// The allocator's functions lock; the objects that hold them are constant to their users.
memory::segment_allocator& allocator_of(device_state const& d) {
  return *const_cast<device_state&>(d).allocator;
}

/// The open device whose segment has this number, or null.
device_handle find_own(std::uint64_t owner) {
  auto const number = static_cast<std::uint16_t>(owner >> 32);
  if (static_cast<std::int32_t>(owner) != engine::job.rank_me || number == 0) return nullptr;
  device_list& all = known_devices();
  std::lock_guard const held(all.lock);
  for (device_state* const d : all.devices) {
    if (!d->active || d->segment != number) continue;
    ++d->holders;
    return device_handle::adopt(d);
  }
  return nullptr;
}

}  // namespace

namespace {

/// Null: no device here. What a kind tells of its devices stays as it is.
memory::kind* find_kind(kind_id id) {
  engine::guard const held;  // whoever asks first opens drivers
  return engine::segment_table::here().find_kind(id);
}

/// What `question` answers of a kind, which is null if it has no device here. Before init and after finalize
/// drivers are opened for the question alone.
template <class Question>
auto ask_kind(unsigned kind, Question question) {
  auto const id = static_cast<kind_id>(kind);
  // The settings of devices are read here first, by calls that throw nothing.
  try {
    if (engine::segment_table::exists()) return question(find_kind(id));
    for (auto const& each : memory::make_kinds()) {
      if (each->id() == id) return question(each.get());
    }
  } catch (startup_error const& problem) {
    check_failed("device: %s", problem.what());
  }
  return question(static_cast<memory::kind*>(nullptr));
}

}  // namespace

int device_count(unsigned kind) {
  return ask_kind(kind, [](memory::kind const* k) { return k == nullptr ? 0 : k->device_n(); });
}

std::string device_report(unsigned kind) {
  return ask_kind(kind, [kind](memory::kind const* k) {
    if (k != nullptr) return k->info();
    std::string const why = memory::why_absent(static_cast<kind_id>(kind));
    return format("%s: no device in this process%s%s\n", name_of(kind), why.empty() ? "" : ": ", why.c_str());
  });
}

std::string device_uuid(unsigned kind, int device) {
  int const count = device_count(kind);
  if (device < 0 || device >= count) {
    check_failed("device: uuid: there is no %s device %d; this process has %d", name_of(kind), device, count);
  }
  return ask_kind(kind,
                  [device](memory::kind const* k) { return k == nullptr ? std::string() : k->uuid(device); });
}

device_handle open_device(unsigned kind, int device) {
  check_collective("device");
  if (device == invalid_device) return nullptr;
  int const count = device_count(kind);
  if (device == auto_device) {
    if (count == 0) return nullptr;
    static int calls = 0;
    device = memory::usual_device(engine::job.local_rank, calls++, count);
  }
  if (device < 0 || device >= count) {
    check_failed(
        "device: cannot open %s device %d: this process has %d (numbers start at 0); see `atoll info`",
        name_of(kind), device, count);
  }
  auto made = std::make_unique<device_state>();
  made->kind = static_cast<kind_id>(kind);
  made->device = device;
  device_list& all = known_devices();
  std::lock_guard const held(all.lock);
  all.devices.push_back(made.get());
  made->holders = 1;
  return device_handle::adopt(made.release());
}

void hold_device(device_state* device) noexcept {
  if (device == nullptr) return;
  std::lock_guard const held(known_devices().lock);
  ++device->holders;
}

void drop_device(device_state* device) noexcept {
  device_list& all = known_devices();
  std::unique_lock held(all.lock);
  if (--device->holders != 0) return;
  std::erase(all.devices, device);
  held.unlock();
  delete device;
}

int device_number(device_state const* device) noexcept {
  return device != nullptr && device->active ? device->device : invalid_device;
}

void close_device(device_handle const& device, bool (*progress)(), char const* caller) {
  if (past_the_end(caller)) return;
  check_collective(caller);
  enter(progress);
  if (!device || !device->active) return;
  end_segment(*device, progress);
  deactivate(*device);
}

void check_forgotten(device_state const* device, char const* what) noexcept {
  if (device == nullptr || !device->active || !initialized() || std::uncaught_exceptions() != 0) return;
  check_failed(
      "%s: %s device %d is still open when its object goes: call destroy(), on all ranks, "
      "before (or finalize())",
      what, name_of(static_cast<unsigned>(device->kind)), device->device);
}

std::uint16_t open_segment(device_handle const& device, std::size_t bytes, void* memory) {
  check_collective("device_allocator");
  engine::segment_notice mine;
  os::unique_fd descriptor;
  std::optional<engine::descriptor_exchange> exchange;
  std::string problem;
  verdict all;
  try {
    exchange.emplace();
    if (device && device->active) {
      if (device->segment != 0) check_failed("device_allocator: the device has an allocator already");
      if (bytes == 0) throw memory::segment_error("a segment of 0 bytes");
      mine = engine::segment_table::here().create(*find_kind(device->kind), device->device, bytes, memory,
                                                  descriptor);
      std::lock_guard const held(known_devices().lock);
      device->allocator.emplace(mine.base, mine.bytes);
      device->programs = memory != nullptr;
      device->base = mine.base;
      device->bytes = mine.bytes;
      device->segment = mine.name.number;
      all.active = 1;
    }
  } catch (std::exception const& error) {
    problem = error.what();
    all.failed = engine::job.rank_me + 1;
  }
  all = agree(all);
  if (all.failed != 0) {
    if (mine.name.number != 0) engine::device_copies::here().destroy(mine.name, &progress_user);
    if (device) forget_segment(*device);
    if (problem.empty()) problem = format("rank %d could not make its segment", all.failed - 1);
    throw bad_segment_alloc(
        format("rank %d: device segment not made: %s", engine::job.rank_me, problem.c_str()).c_str());
  }
  if (all.active == 0) return 0;
  if (engine::job.local_n > 1) {
    try {
      share_with_host(*exchange, mine, std::move(descriptor));
    } catch (std::exception const& error) {
      fatal("device_allocator", "cannot share the device's memory with the ranks of this host: %s",
            error.what());
    }
  }
  engine::wait_barrier(engine::world_team(), &progress_user);
  return mine.name.number;
}

void close_segment(device_handle const& device, std::uint16_t segment, bool with_device, bool (*progress)()) {
  if (past_the_end("device_allocator::destroy")) return;
  check_collective("device_allocator::destroy");
  enter(progress);
  if (!segment_active(device.get(), segment)) return;
  end_segment(*device, progress);
  if (with_device) deactivate(*device);
}

bool segment_active(device_state const* device, std::uint16_t segment) noexcept {
  return device != nullptr && segment != 0 && device->active && device->segment == segment;
}

std::uint64_t segment_allocate(device_state const* device, std::uint16_t segment, std::size_t bytes,
                               std::size_t alignment) {
  device_state const& d = checked(device, segment, "allocate");
  std::uint64_t const found = allocator_of(d).allocate(bytes, alignment);
  return found == memory::segment_allocator::npos ? 0 : found;
}

void segment_deallocate(device_state const* device, std::uint16_t segment, std::uint64_t owner,
                        std::uint64_t address) {
  device_state const& d = checked(device, segment, "deallocate");
  auto const number = static_cast<std::uint16_t>(owner >> 32);
  if (static_cast<std::int32_t>(owner) != engine::job.rank_me || number != segment) {
    check_failed(
        "device_allocator::deallocate: the memory is of segment %u of rank %d, but this allocator manages "
        "segment %u of rank %d",
        unsigned{number}, static_cast<std::int32_t>(owner), unsigned{segment}, engine::job.rank_me);
  }
  if (allocator_of(d).deallocate(address)) return;
  check_failed(
      "device_allocator::deallocate: no allocation starts at 0x%llx: freed already, "
      "or not what allocate returned",
      static_cast<unsigned long long>(address));
}

std::uint64_t segment_place(device_state const* device, std::uint16_t segment, void const* address) {
  device_state const& d = checked(device, segment, "to_global_ptr");
  auto const value = reinterpret_cast<std::uintptr_t>(address);
  if (value - d.base >= d.bytes) {
    check_failed("device_allocator::to_global_ptr: %p is not in the segment of this allocator", address);
  }
  return value;
}

std::size_t segment_size(device_state const* device, std::uint16_t segment) noexcept {
  return segment_active(device, segment) ? device->bytes : 0;
}
std::size_t segment_used(device_state const* device, std::uint16_t segment) noexcept {
  return segment_active(device, segment) ? device->allocator->bytes_used() : 0;
}

int device_of_pointer(std::uint64_t owner, std::uint64_t address) {
  if (auto const d = find_own(owner)) return d->device;
  check_failed(
      "device_allocator::device_id: 0x%llx of rank %d is in no open device segment of this process (rank %d)",
      static_cast<unsigned long long>(address), static_cast<std::int32_t>(owner), engine::job.rank_me);
}

bool is_live_device_range(std::uint64_t owner, std::uint64_t address, std::size_t bytes) noexcept {
  if (static_cast<std::int32_t>(owner) != engine::job.rank_me) return true;  // its owner knows
  auto const d = find_own(owner);
  if (!d) return false;
  // No elements may begin where an allocation ends.
  if (bytes == 0 || d->programs) {
    std::uint64_t const place = address - d->base;
    return place <= d->bytes && bytes <= d->bytes - place;
  }
  return allocator_of(*d).covers(address, bytes);
}

void reset_devices() noexcept {
  device_list& all = known_devices();
  std::lock_guard const held(all.lock);
  for (device_state* const d : all.devices) {
    d->active = false;
    d->segment = 0;
    d->allocator.reset();
  }
}

}  // namespace atl::rt
