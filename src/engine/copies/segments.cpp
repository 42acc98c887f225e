// Segments are found by owner and number, as global pointers name them. A peer's is imported at the first
// copy that needs it. Numbers are not used again before 65535 others were, so the news that a segment is
// gone, which travels as a message, is never about its successor.

#include "engine/copies/segments.hpp"

#include <array>
#include <cinttypes>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include <atoll/engine/am.hpp>
#include <atoll/engine/host_map.hpp>

#include "base/error.hpp"
#include "engine/copies/copies.hpp"
#include "engine/progress/guard.hpp"
#include "engine/world.hpp"

namespace atl::engine {

using memory::kind_id;

namespace {

/// A kind and whose host memory its devices have been told of.
struct known_kind {
  std::unique_ptr<memory::kind> kind;
  std::vector<bool> hosts;  ///< by local rank
};

struct device_table {
  std::vector<known_kind> kinds;
  bool kinds_known = false;
  std::unordered_map<std::uint64_t, segment> segments;
  /// Segments found last, by key: copies mostly concern a few.
  std::array<std::pair<std::uint64_t, segment*>, 8> recent{};
  /// Keys of peers' segments that are gone while copies of this rank are under way.
  std::vector<std::uint64_t> outlived;
  std::uint16_t last_number = 0;
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
  return {rank_of(owner), static_cast<std::uint16_t>(owner >> 32)};
}

segment* look_up(std::uint64_t key) {
  auto& slot = table().recent[(key ^ key >> 32) % table().recent.size()];
  if (slot.first == key && slot.second != nullptr) [[likely]]
    return slot.second;
  auto const found = table().segments.find(key);
  if (found == table().segments.end()) return nullptr;
  slot = {key, &found->second};
  return slot.second;
}

void erase(std::uint64_t key) {
  table().recent = {};
  table().segments.erase(key);
}

void import(segment& s) {
  if (s.known.sharing.reach == memory::export_record::way::none) {
    s.out_of_reach = true;
    return;
  }
  try {
    s.memory = s.kind->import_segment(s.known.sharing, std::move(s.descriptor), s.known.base, s.known.bytes);
  } catch (memory::segment_error const& problem) {
    s.out_of_reach = true;
    warn("device",
         "cannot reach the memory of rank %d's %s device %d, so that rank will copy for this one, which is "
         "slower: %s",
         s.known.name.rank, to_string(s.known.kind), s.known.device, problem.what());
  }
}

void forget_segment(message* m) {
  std::uint64_t key = 0;
  std::memcpy(&key, m->payload(), sizeof key);
  release(m);
  segment const* const found = look_up(key);
  if (found == nullptr) return;
  // Its owner may know of the last copies' arrival before this rank, which started them, has looked.
  if (found->copies != 0) {
    table().outlived.push_back(key);
  } else {
    erase(key);
  }
}

/// Peers' segments that only waited for copies to end.
void erase_outlived() {
  auto& keys = table().outlived;
  for (std::size_t i = 0; i < keys.size();) {
    segment const* const found = look_up(keys[i]);
    if (found != nullptr && found->copies != 0) {
      ++i;
      continue;
    }
    erase(keys[i]);
    keys[i] = keys.back();
    keys.pop_back();
  }
}

bool in_use(std::uint64_t key) {
  guard const held;
  submit_kinds();
  segment const* const found = look_up(key);
  return found != nullptr && found->copies != 0;
}

}  // namespace

memory::kind* find_kind(kind_id id) {
  device_table& all = table();
  if (!all.kinds_known) {
    for (auto& kind : memory::make_kinds(static_cast<std::uint64_t>(job.rank_me))) {
      kind->use_announcements(own_announcements());
      all.kinds.push_back({std::move(kind), std::vector<bool>(static_cast<std::size_t>(job.local_n))});
    }
    all.kinds_known = true;
  }
  for (auto const& known : all.kinds) {
    if (known.kind->id() == id) return known.kind.get();
  }
  return nullptr;
}

segment_notice create_segment(memory::kind& kind, int device, std::uint64_t bytes, void* memory,
                              os::unique_fd& descriptor) {
  guard const held;
  device_table& all = table();
  segment made;
  made.kind = &kind;
  made.memory = kind.create(device, bytes, memory);
  do {
    ++all.last_number;
  } while (all.last_number == 0 || all.segments.count(key_of({job.rank_me, all.last_number})) != 0);
  made.known = {{job.rank_me, all.last_number}, kind.id(), device, made.memory->base(),
                made.memory->bytes(),           {}};
  if (job.local_n > 1) made.known.sharing = kind.export_segment(*made.memory, descriptor);
  segment_notice const notice = made.known;
  all.segments[key_of(notice.name)] = std::move(made);
  prepare_host(kind, job.rank_me);
  return notice;
}

void adopt_segment(segment_notice const& notice, os::unique_fd descriptor) {
  guard const held;
  segment peers;
  peers.known = notice;
  peers.kind = find_kind(notice.kind);
  peers.descriptor = std::move(descriptor);
  peers.out_of_reach = peers.kind == nullptr;
  table().segments[key_of(notice.name)] = std::move(peers);
}

void destroy_segment(segment_name own) {
  std::uint64_t const key = key_of(own);
  wait_while([&] { return in_use(key); });
  guard const held;
  if (look_up(key) == nullptr) return;
  erase(key);
  for (std::int32_t peer = job.local_first; peer < job.local_first + job.local_n; ++peer) {
    if (peer != job.rank_me) {
      am_short(peer, token_cache<&forget_segment>::get(), &key, sizeof key, pressure::park);
    }
  }
}

int device_of(segment_name own) {
  guard const held;
  segment const* const found = look_up(key_of(own));
  return found == nullptr ? -1 : found->known.device;
}

segment& find_segment(memory_place place, std::size_t bytes) {
  auto const name = name_of(place.owner);
  segment* const found = look_up(key_of(name));
  if (found == nullptr || found->known.kind != kind_of(place.owner)) {
    fatal("copy",
          "a pointer refers to address 0x%" PRIx64
          " of segment %u on a %s device of rank %d, but no such "
          "segment is open: its device or allocator was destroyed, or the pointer is damaged",
          place.address, unsigned{name.number}, to_string(kind_of(place.owner)), name.rank);
  }
  segment& s = *found;
  std::uint64_t const offset = place.address - s.known.base;
  if (offset > s.known.bytes || bytes > s.known.bytes - offset) {
    fatal("copy",
          "%zu bytes at address 0x%" PRIx64
          " of rank %d's %s device %d reach outside the segment, which is "
          "0x%" PRIx64 " to 0x%" PRIx64,
          bytes, place.address, name.rank, to_string(s.known.kind), s.known.device, s.known.base,
          s.known.base + s.known.bytes);
  }
  if (s.memory == nullptr && !s.out_of_reach) import(s);
  return s;
}

void prepare_host(memory::kind& kind, std::int32_t rank) {
  auto const local = static_cast<std::uint32_t>(rank - job.local_first);
  for (known_kind& known : table().kinds) {
    if (known.kind.get() != &kind || known.hosts[local]) continue;
    known.hosts[local] = true;
    kind.know_host_memory(hosts.base + local * hosts.stride, hosts.region_bytes);
  }
}

void submit_kinds() {
  for (known_kind const& known : table().kinds) known.kind->submit();
}

bool poll_kinds() {
  bool moved = false;
  for (known_kind const& known : table().kinds) moved |= known.kind->poll();
  if (!table().outlived.empty()) [[unlikely]]
    erase_outlived();
  return moved;
}

void drop_devices() noexcept {
  device_table& all = table();
  all.recent = {};
  all.segments.clear();
  all.outlived.clear();
  all.kinds.clear();
  all.kinds_known = false;
  all.last_number = 0;
}

}  // namespace atl::engine
