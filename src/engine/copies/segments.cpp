// Segments are found by owner and number, as global pointers name them. A peer's is imported at the first
// copy that needs it. Numbers are not used again before 65535 others were, so the news that a segment is
// gone, which travels as a message, is never about its successor.

#include "engine/copies/segments.hpp"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstring>
#include <span>

#include <atoll/base/check.hpp>
#include <atoll/engine/am.hpp>
#include <atoll/engine/host_map.hpp>
#include <atoll/engine/job.hpp>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "engine/progress/guard.hpp"
#include "engine/progress/waiting.hpp"
#include "memory/host/host_heap.hpp"
#include "memory/program_streams.hpp"

namespace atl::engine {

using memory::kind_id;

namespace {

constexpr std::uint64_t key_of(segment_name name) noexcept {
  return static_cast<std::uint32_t>(name.rank) | std::uint64_t{name.number} << 32;
}
constexpr segment_name name_of(std::uint64_t owner) noexcept {
  return {rank_of(owner), static_cast<std::uint16_t>(owner >> 32)};
}

/// Is all of that in the segment, which is of the kind that the pointer says?
bool holds(segment_notice const& s, memory_place place, std::size_t bytes) noexcept {
  std::uint64_t const offset = place.address - s.base;
  return s.kind == kind_of(place.owner) && offset <= s.bytes && bytes <= s.bytes - offset;
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
         "cannot reach the memory of rank %d's %s device %d, so that rank will copy for this one, "
         "which is slower: %s",
         s.known.name.rank, to_string(s.known.kind), s.known.device, problem.what());
  }
}

void segment_gone(message* m) {
  std::uint64_t key = 0;
  std::memcpy(&key, m->payload(), sizeof key);
  release(m);
  segment_table::here().forget(key);
}

/// Whether the heap of a local rank has memory all over. Pinning it would take what is missing, for the account
/// of whoever pins, so the own heap is completed first.
bool heap_is_complete(std::uint32_t local) {
  // Acquire pairs with the release below: the memory is there.
  auto& complete = progress_engine::here().host.page(local).heap_complete;
  if (complete.load(std::memory_order_acquire) != 0) return true;
  if (local != progress_engine::here().host.me() || !memory::host_heap().ready()) return false;
  if (std::string const problem = memory::host_heap().reserve_all(); !problem.empty()) {
    warn("device",
         "the shared heap of rank %d is not pinned for its devices, so copies between them are slower: %s Or "
         "lower UPCXX_SHARED_HEAP_SIZE.",
         job.rank_me, problem.c_str());
    return false;
  }
  complete.store(1, std::memory_order_release);
  return true;
}

}  // namespace

std::int32_t copy_place::owner() const noexcept {
  return name.owner == 0 ? job.rank_me : rank_of(name.owner);
}

segment* segment_table::look_up(std::uint64_t key) {
  auto& slot = recent_[(key ^ key >> 32) % recent_.size()];
  if (slot.first == key && slot.second != nullptr) [[likely]]
    return slot.second;
  auto const found = segments_.find(key);
  if (found == segments_.end()) return nullptr;
  slot = {key, &found->second};
  return slot.second;
}

void segment_table::erase(std::uint64_t key) {
  recent_ = {};
  segments_.erase(key);
  count_sharers_anew();
}

segment& segment_table::add(segment&& fresh) {
  count_sharers_anew();
  return segments_[key_of(fresh.known.name)] = std::move(fresh);
}

void segment_table::count_sharers_anew() noexcept {
  for (auto& [key, each] : segments_) each.sharers = 0;
}

void segment_table::forget(std::uint64_t key) {
  segment* const found = look_up(key);
  if (found == nullptr) return;
  // Its owner may know of the last copies' arrival before this rank, which started them, has looked.
  if (must_stay(*found)) {
    outlived_.push_back(key);
  } else {
    erase(key);
  }
}

memory::kind* segment_table::find_kind(kind_id id) {
  if (!kinds_known_) {
    auto made = memory::make_kinds(static_cast<std::uint64_t>(job.rank_me));
    std::span const lines(progress_engine::here().host.own_page().announcements);
    std::size_t const each = lines.size() / std::max<std::size_t>(made.size(), 1);
    for (auto& kind : made) {
      kind->use_announcements(lines.subspan(kinds_.size() * each, each));
      std::vector<bool> const none(static_cast<std::size_t>(job.local_n));
      kinds_.push_back({std::move(kind), none, none, {}});
    }
    kinds_known_ = true;
  }
  for (auto const& known : kinds_) {
    if (known.kind->id() == id) return known.kind.get();
  }
  return nullptr;
}

segment_table::known_kind& segment_table::entry_of(memory::kind const& kind) {
  return *std::find_if(kinds_.begin(), kinds_.end(),
                       [&kind](known_kind const& each) { return each.kind.get() == &kind; });
}

segment_notice segment_table::create(memory::kind& kind, int device, std::uint64_t bytes, void* memory,
                                     os::unique_fd& descriptor) {
  guard const held;
  erase_outlived();
  segment made;
  made.kind = &kind;
  made.programs = memory != nullptr;
  try {
    made.memory = kind.create(device, bytes, memory);
  } catch (memory::segment_error const& problem) {
    if (kept_.empty()) throw;
    throw memory::segment_error(
        format("%s; graphs keep %zu segments that have ended", problem.what(), kept_.size()));
  }
  do {
    ++last_number_;
  } while (last_number_ == 0 || segments_.count(key_of({job.rank_me, last_number_})) != 0);
  made.known = {{job.rank_me, last_number_}, kind.id(), device, made.memory->base(),
                made.memory->bytes(),        {},        {}};
  std::string const uuid = kind.uuid(device);
  uuid.copy(made.known.uuid.data(), made.known.uuid.size());
  if (job.local_n > 1) made.known.sharing = kind.export_segment(*made.memory, descriptor);
  segment_notice const notice = made.known;
  add(std::move(made));
  begin_use(kind);
  return notice;
}

void segment_table::begin_use(memory::kind& kind) {
  prepare_host(kind, job.rank_me);
  pins_.use(kind);
}

void segment_table::adopt(segment_notice const& notice, os::unique_fd descriptor) {
  guard const held;
  segment peers;
  peers.known = notice;
  peers.kind = find_kind(notice.kind);
  peers.descriptor = std::move(descriptor);
  peers.out_of_reach = peers.kind == nullptr;
  // Its owner may copy from and to this rank's heap. This rank may never use a device, and opens none for that.
  if (peers.kind != nullptr && peers.kind->pins_host_memory())
    static_cast<void>(heap_is_complete(progress_engine::here().host.me()));
  add(std::move(peers));
}

bool segment_table::in_use(std::uint64_t key) {
  guard const held;
  submit();
  segment const* const found = look_up(key);
  return found != nullptr && found->copies != 0;
}

std::uint64_t segment_table::wait_for_uses(segment_name own, bool (*progress)()) {
  std::uint64_t const key = key_of(own);
  wait_while([&] { return in_use(key); });
  memory::kind* kind = nullptr;
  int device = -1;
  std::uint64_t number = 0;
  std::uint64_t until = 0;
  {
    guard const held;
    segment const* const found = look_up(key);
    if (found == nullptr) return 0;
    kind = found->kind;
    device = found->known.device;
    number = kind->begin_waiting();
    until = uses_;
  }
  std::chrono::seconds const patience(settings::stream_patience());
  auto const begin = std::chrono::steady_clock::now();
  wait_while(
      [&] {
        guard const held;
        if (kind->has_ended(number)) return false;
        if (patience.count() != 0 && std::chrono::steady_clock::now() - begin >= patience) {
          check_failed(
              "device: the end of a segment on %s device %d has waited %lld s (ATOLL_STREAM_PATIENCE) for the kernels and "
              "streams of this process that may use it: does one wait for a signal that nobody gives any more?",
              to_string(kind->id()), device, static_cast<long long>(patience.count()));
        }
        return true;
      },
      progress, idling::spin);  // devices ring nobody
  return until;
}

void segment_table::destroy(segment_name own, std::uint64_t until, bool (*progress)()) {
  std::uint64_t const key = key_of(own);
  wait_while([&] {
    return in_use(key);
  });  // those of other hosts that this rank does for them may have come meanwhile
  wait_for_graphs(key, progress);
  guard const held;
  segment* const gone = look_up(key);
  if (gone == nullptr) return;
  memory::kind const& kind = *gone->kind;
  entry_of(kind).passes.note_all_passed(until);
  erase_outlived(&kind);
  if (gone->graphs.any() && !gone->programs) kept_.push_back(std::move(*gone));
  erase(key);
  host_domain const& host = progress_engine::here().host;
  for (std::uint32_t peer = 0; peer < host.count(); ++peer) {
    if (peer != host.me()) {
      am_short(host.world_rank(peer), token_cache<&segment_gone>::get(), &key, sizeof key, pressure::always);
    }
  }
}

copy_place segment_table::resolve(memory_place place, std::size_t bytes, char const* call) {
  if (place.owner == 0) return {place, nullptr, place.address, false};
  if (kind_of(place.owner) != kind_id::host) return {place, &find(place, bytes, call), place.address, false};
  auto const rank = static_cast<std::uint32_t>(rank_of(place.owner));
  if (!hosts.is_local(rank)) return {place, nullptr, place.address, true};
  return {place, nullptr, reinterpret_cast<std::uintptr_t>(hosts.to_address(rank, place.address)), false};
}

segment const* segment_table::own(std::uint16_t number) { return look_up(key_of({job.rank_me, number})); }

kernel_range segment_table::range_for_kernels(memory::kind& kind, int device, std::uint64_t owner) {
  kernel_range range{owner};
  memory::kernel_view seen;
  if (kind_of(owner) == kind_id::host) {
    range.begin = hosts.heap_begin;
    range.bytes = hosts.heap_end - hosts.heap_begin;
    std::byte* const heap = hosts.find_address(static_cast<std::uint32_t>(rank_of(owner)), hosts.heap_begin);
    if (heap == nullptr) return range;
    prepare_host(kind, rank_of(owner));
    seen = kind.view_for_kernels(device, {nullptr, reinterpret_cast<std::uintptr_t>(heap)});
  } else {
    segment* known = look_up(key_of(name_of(owner)));
    if (known == nullptr) {
      check_failed("device_team: segment %u of rank %d is not open: its device or allocator was destroyed",
                   unsigned{name_of(owner).number}, rank_of(owner));
    }
    range.begin = known->known.base;
    range.bytes = known->known.bytes;
    segment& found = find({owner, range.begin}, range.bytes, "device_team");
    if (found.out_of_reach || found.kind != &kind) return range;
    ++found.kernels;
    seen = kind.view_for_kernels(device, {found.memory.get(), range.begin});
  }
  range.here = seen.address;
  range.atomic = seen.atomic;
  return range;
}

void segment_table::forget_range(std::uint64_t owner) {
  if (kind_of(owner) == kind_id::host) return;
  segment* const known = look_up(key_of(name_of(owner)));
  if (known != nullptr && known->kernels != 0) --known->kernels;
}

int segment_table::ranks_on_device(std::uint64_t owner) {
  segment* const home = look_up(key_of(name_of(owner)));
  if (home == nullptr) return 1;
  if (home->sharers != 0) return home->sharers;
  std::vector<std::int32_t> ranks;
  for (auto const& [key, each] : segments_) {
    if (each.known.kind == home->known.kind && each.known.uuid == home->known.uuid)
      ranks.push_back(each.known.name.rank);
  }
  // A rank may have opened the device several times.
  std::sort(ranks.begin(), ranks.end());
  home->sharers = static_cast<int>(std::unique(ranks.begin(), ranks.end()) - ranks.begin());
  return home->sharers;
}

/// A segment of another host: its owner, who copies, knows whether it is open, and where it ends.
segment& segment_table::suppose(memory_place place) {
  segment theirs;
  theirs.known = {name_of(place.owner), kind_of(place.owner), -1, 0, ~std::uint64_t{0}, {}};
  theirs.kind = find_kind(theirs.known.kind);
  theirs.out_of_reach = true;
  return add(std::move(theirs));
}

std::string segment_table::problem_with(memory_place place, std::size_t bytes) {
  auto const name = name_of(place.owner);
  segment const* const found = look_up(key_of(name));
  if (found == nullptr || found->known.kind != kind_of(place.owner)) {
    return format(
        "a pointer refers to address 0x%" PRIx64
        " of segment %u on a %s device of rank %d, "
        "but no such segment is open: its device or allocator was destroyed, or the pointer is damaged",
        place.address, unsigned{name.number}, to_string(kind_of(place.owner)), name.rank);
  }
  segment_notice const& s = found->known;
  if (holds(s, place, bytes)) return {};
  return format("%zu bytes at address 0x%" PRIx64
                " of rank %d's %s device %d reach outside the segment, "
                "which is 0x%" PRIx64 " to 0x%" PRIx64,
                bytes, place.address, name.rank, to_string(s.kind), s.device, s.base, s.base + s.bytes);
}

segment& segment_table::find(memory_place place, std::size_t bytes, char const* call) {
  auto const name = name_of(place.owner);
  segment* found = look_up(key_of(name));
  if (found == nullptr && !hosts.is_local(static_cast<std::uint32_t>(name.rank))) found = &suppose(place);
  if (found == nullptr || !holds(found->known, place, bytes))
    check_failed("%s: %s", call, problem_with(place, bytes).c_str());
  if (found->memory == nullptr && !found->out_of_reach) {
    import(*found);
    if (found->memory != nullptr) begin_use(*found->kind);
  }
  return *found;
}

void segment_table::prepare_host(memory::kind& kind, std::int32_t rank) {
  host_domain const& host = progress_engine::here().host;
  std::uint32_t const local = host.local_rank(rank);
  for (known_kind& known : kinds_) {
    if (known.kind.get() != &kind || known.heaps[local] || !kind.pins_host_memory()) continue;
    bool const complete = heap_is_complete(local);
    // A peer whose heap has no memory yet may get it later, and a heap that was destroyed may be restored: looked at again by the next
    // copy.
    if (!complete && local != host.me()) continue;
    std::byte* const region = host.at(local, 0);
    if (!known.pages[local]) kind.know_host_memory(region, hosts.heap_begin);
    if (complete) kind.know_host_memory(region + hosts.heap_begin, hosts.heap_end - hosts.heap_begin);
    known.pages[local] = true;
    known.heaps[local] = complete || memory::host_heap().ready();
  }
}

void segment_table::forget_heaps() {
  guard const held;
  for (known_kind& known : kinds_) {
    for (std::size_t local = 0; local < known.heaps.size(); ++local) {
      if (!known.heaps[local]) continue;
      known.kind->forget_host_memory(
          progress_engine::here().host.at(static_cast<std::uint32_t>(local), hosts.heap_begin));
      known.heaps[local] = false;
    }
  }
}

void segment_table::know_heap() {
  guard const held;
  std::uint32_t const me = progress_engine::here().host.me();
  for (known_kind& known : kinds_) {
    if (known.pages[me]) prepare_host(*known.kind, job.rank_me);
  }
}

void segment_table::submit() {
  for (known_kind const& known : kinds_) known.kind->submit();
}

bool segment_table::streams_need_polls() {
  return std::any_of(kinds_.begin(), kinds_.end(), [](known_kind const& known) {
    memory::program_streams const* const streams = known.kind->streams();
    return streams != nullptr && streams->need_polls();
  });
}

bool segment_table::poll() {
  bool moved = false;
  for (known_kind const& known : kinds_) moved |= known.kind->poll();
  if (!outlived_.empty() || !kept_.empty()) [[unlikely]]
    erase_outlived();
  return moved;
}

}  // namespace atl::engine
