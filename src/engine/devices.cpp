// Segments are found by owner and number, as global pointers name them. A peer's is imported at the first
// copy that needs it. Numbers are not used again before 65535 others were, so the news that a segment is
// gone, which travels as a message, is never about its successor.

#include "engine/devices.hpp"

#include <cinttypes>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include <atoll/engine/am.hpp>
#include <atoll/engine/host_map.hpp>
#include <atoll/engine/memory_copy.hpp>

#include "base/error.hpp"
#include "engine/guard.hpp"
#include "engine/world.hpp"

namespace atl::engine {

using memory::kind_id;

std::atomic<std::size_t> copies_under_way{0};

namespace {

struct segment {
  segment_notice known;
  memory::kind* kind = nullptr;
  std::unique_ptr<memory::device_segment> memory;  ///< a peer's: null until it is imported
  os::unique_fd descriptor;                        ///< a peer's, until it is imported
  std::size_t copies = 0;                          ///< started here, not complete
};

struct transfer final : memory::copy_record {
  memory_place to{};
  memory_place from{};
  std::size_t bytes = 0;
  copy_completion* completion = nullptr;
  std::unique_ptr<std::byte[]> bounce;  ///< between devices of different kinds
  transfer() : memory::copy_record{nullptr} {}
};

struct device_table {
  std::vector<std::unique_ptr<memory::kind>> kinds;
  bool kinds_known = false;
  std::unordered_map<std::uint64_t, segment> segments;
  std::uint16_t last_number = 0;
  std::vector<transfer*> undelivered;  ///< in place, but the news found no memory
};

/// Under the engine's lock; never destroyed, since drivers must not be called from static destructors.
device_table& table() {
  static auto* const all = new device_table;
  return *all;
}

constexpr std::uint64_t key_of(segment_name name) noexcept {
  return static_cast<std::uint32_t>(name.rank) | std::uint64_t{name.number} << 32;
}
constexpr segment_name name_of(std::uint64_t owner) noexcept {
  return {static_cast<std::int32_t>(owner), static_cast<std::uint16_t>(owner >> 32)};
}
constexpr kind_id kind_of(std::uint64_t owner) noexcept { return static_cast<kind_id>(owner >> 48); }
constexpr bool on_host(memory_place place) noexcept {
  return place.owner == 0 || kind_of(place.owner) == kind_id::host;
}

segment& find_segment(memory_place place, std::size_t bytes) {
  auto const name = name_of(place.owner);
  auto const found = table().segments.find(key_of(name));
  if (found == table().segments.end() || found->second.known.kind != kind_of(place.owner)) {
    fatal("copy",
          "a pointer refers to address 0x%" PRIx64
          " of segment %u on a %s device of rank %d, but no such "
          "segment is open: its device or allocator was destroyed, or the pointer is damaged",
          place.address, unsigned{name.number}, to_string(kind_of(place.owner)), name.rank);
  }
  segment& s = found->second;
  std::uint64_t const offset = place.address - s.known.base;
  if (offset > s.known.bytes || bytes > s.known.bytes - offset) {
    fatal("copy",
          "%zu bytes at address 0x%" PRIx64
          " of rank %d's %s device %d reach outside the segment, which is "
          "0x%" PRIx64 " to 0x%" PRIx64,
          bytes, place.address, name.rank, to_string(s.known.kind), s.known.device, s.known.base,
          s.known.base + s.known.bytes);
  }
  if (s.memory == nullptr) {
    try {
      s.memory = s.kind->import_segment(std::move(s.descriptor), s.known.base, s.known.bytes);
    } catch (memory::segment_error const& problem) {
      fatal("copy", "cannot reach the memory of rank %d's %s device %d: %s", name.rank,
            to_string(s.known.kind), s.known.device, problem.what());
    }
  }
  return s;
}

memory::copy_end host_end(memory_place place) noexcept {
  if (place.owner == 0) return {nullptr, place.address};
  auto const rank = static_cast<std::uint32_t>(place.owner);
  return {nullptr, reinterpret_cast<std::uintptr_t>(hosts.to_address(rank, place.address))};
}

memory::copy_end host_end(void const* address) noexcept {
  return {nullptr, reinterpret_cast<std::uintptr_t>(address)};
}

void release_segment(memory_place place) noexcept {
  if (on_host(place)) return;
  auto const found = table().segments.find(key_of(name_of(place.owner)));
  if (found != table().segments.end()) --found->second.copies;
}

/// Hands the news on; false if that must be tried again.
bool deliver(transfer* t) noexcept {
  if (!t->completion->arrived(t->completion)) return false;
  delete t;
  copies_under_way.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void complete(memory::copy_record* record) noexcept {
  auto* const t = static_cast<transfer*>(record);
  release_segment(t->to);
  if (t->from.owner != t->to.owner) release_segment(t->from);
  if (!deliver(t)) table().undelivered.push_back(t);
}

/// The first half of a copy between kinds is in the bounce buffer.
void complete_first_half(memory::copy_record* record) noexcept {
  auto* const t = static_cast<transfer*>(record);
  segment& to = find_segment(t->to, t->bytes);
  t->landed = &complete;
  to.kind->copy({to.memory.get(), t->to.address}, host_end(t->bounce.get()), t->bytes, t);
}

void forget_segment(message* m) {
  std::uint64_t key = 0;
  std::memcpy(&key, m->payload(), sizeof key);
  release(m);
  auto const found = table().segments.find(key);
  if (found == table().segments.end()) return;
  if (found->second.copies != 0) {
    fatal("device",
          "rank %d destroyed a device while %zu copies that this rank started still need its memory",
          found->second.known.name.rank, found->second.copies);
  }
  table().segments.erase(found);
}

}  // namespace

memory::kind* find_kind(kind_id id) {
  device_table& all = table();
  if (!all.kinds_known) {
    all.kinds = memory::make_kinds(static_cast<std::uint64_t>(job.rank_me));
    all.kinds_known = true;
  }
  for (auto const& kind : all.kinds) {
    if (kind->id() == id) return kind.get();
  }
  return nullptr;
}

segment_notice create_segment(memory::kind& kind, int device, std::uint64_t bytes, void* memory) {
  guard const held;
  device_table& all = table();
  segment made;
  made.kind = &kind;
  made.memory = kind.create(device, bytes, memory);
  do {
    ++all.last_number;
  } while (all.last_number == 0 || all.segments.count(key_of({job.rank_me, all.last_number})) != 0);
  made.known = {{job.rank_me, all.last_number}, kind.id(), device, made.memory->base(), made.memory->bytes()};
  segment_notice const notice = made.known;
  all.segments[key_of(notice.name)] = std::move(made);
  return notice;
}

os::unique_fd export_segment(segment_name own) {
  guard const held;
  segment const& s = table().segments.at(key_of(own));
  return s.kind->export_segment(*s.memory);
}

void adopt_segment(segment_notice const& notice, os::unique_fd descriptor) {
  guard const held;
  segment peers;
  peers.known = notice;
  peers.kind = find_kind(notice.kind);
  peers.descriptor = std::move(descriptor);
  if (peers.kind == nullptr) return;  // a copy to or from there ends the job; nobody may ever want one
  table().segments[key_of(notice.name)] = std::move(peers);
}

void destroy_segment(segment_name own, char const* caller) {
  guard const held;
  auto const found = table().segments.find(key_of(own));
  if (found == table().segments.end()) return;
  if (found->second.copies != 0) {
    fatal(caller, "%zu copies to or from the device's memory are not complete; wait for them first",
          found->second.copies);
  }
  table().segments.erase(found);
  std::uint64_t const key = key_of(own);
  for (std::int32_t peer = job.local_first; peer < job.local_first + job.local_n; ++peer) {
    if (peer != job.rank_me) {
      am_short(peer, token_cache<&forget_segment>::get(), &key, sizeof key, pressure::park);
    }
  }
}

int device_of(segment_name own) {
  guard const held;
  auto const found = table().segments.find(key_of(own));
  return found == table().segments.end() ? -1 : found->second.known.device;
}

void start_copy(memory_place to, memory_place from, std::size_t bytes, copy_completion* completion) {
  note_call(activity::copy, static_cast<std::int32_t>(on_host(to) ? from.owner : to.owner));
  auto t = std::make_unique<transfer>();
  t->to = to;
  t->from = from;
  t->bytes = bytes;
  t->completion = completion;
  t->landed = &complete;
  guard const held;
  segment* const target = on_host(to) ? nullptr : &find_segment(to, bytes);
  segment* const source = on_host(from) ? nullptr : &find_segment(from, bytes);
  memory::copy_end const to_end =
      target == nullptr ? host_end(to) : memory::copy_end{target->memory.get(), to.address};
  memory::copy_end const from_end =
      source == nullptr ? host_end(from) : memory::copy_end{source->memory.get(), from.address};
  bool const by_halves = target != nullptr && source != nullptr && target->kind != source->kind;
  if (by_halves) {
    t->bounce = std::make_unique_for_overwrite<std::byte[]>(bytes);
    t->landed = &complete_first_half;
  }
  memory::kind& kind = source != nullptr ? *source->kind : *target->kind;
  if (target != nullptr) ++target->copies;
  if (source != nullptr && source != target) ++source->copies;
  copies_under_way.fetch_add(1, std::memory_order_relaxed);
  kind.copy(by_halves ? host_end(t->bounce.get()) : to_end, from_end, bytes, t.get());
  t.release();
}

bool advance_copies() {
  device_table& all = table();
  bool moved = false;
  std::vector<transfer*> const again = std::exchange(all.undelivered, {});
  for (transfer* t : again) {
    if (deliver(t)) {
      moved = true;
    } else {
      all.undelivered.push_back(t);
    }
  }
  for (auto const& kind : all.kinds) moved |= kind->poll();
  return moved;
}

void drop_devices() noexcept {
  device_table& all = table();
  all.segments.clear();
  all.kinds.clear();
  all.kinds_known = false;
  all.last_number = 0;
}

}  // namespace atl::engine
