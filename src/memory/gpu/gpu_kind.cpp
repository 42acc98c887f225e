#include "memory/gpu/gpu_kind.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "memory/gpu/gpu_segment.hpp"
#include "memory/gpu/no_room.hpp"

namespace atl::memory::gpu {
namespace {

/// Peers beyond that share streams.
constexpr std::uint32_t lanes_per_direction = 16;
constexpr std::uint32_t directions = 3;
/// Streams of a peer and direction that take turns with copies which are announced one by one.
constexpr std::uint32_t turns = 2;
/// Events on a stream that have not been seen: more would only cost queries.
constexpr std::size_t open_marks = 4;
/// Gathered copies beyond that are not kept waiting for more: the device could be at work.
constexpr std::size_t most_kept = 128;
/// Where more announced copies of a stream, and no others, have not landed as far as is known, a write tells of up to `most_together` of
/// them: to write after each costs a device as much as a small copy. The last ones' is due when somebody looks, at the latest.
constexpr std::uint64_t flood = 8;
constexpr std::uint64_t most_together = 4;
/// Longer copies neither share a write nor keep one waiting.
constexpr std::size_t longest_together = std::size_t{2} << 20U;
/// Of a word that a device has not written, between questions whether the device has failed.
constexpr std::uint32_t looks_per_check = 4096;

/// The device that moves the data: the source's owner pushes, else the destination's owner pulls, else one
/// through which a peer's memory was imported.
int device_for(copy_end to, copy_end from) noexcept {
  gpu_segment const* const target = segment_of(to);
  gpu_segment const* const source = segment_of(from);
  if (source != nullptr && (source->own() || target == nullptr)) return source->device();
  return target->device();
}

std::string text_of(device_uuid const& id) {
  std::string text;
  for (std::size_t i = 0; i < id.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += format("%02x", static_cast<unsigned>(id[i]));
  }
  return text;
}

}  // namespace

gpu_kind::gpu_kind(std::unique_ptr<driver> opened) : driver_(std::move(opened)) {
  auto const count = static_cast<std::size_t>(driver_->device_n());
  for (int device = 0; device < driver_->device_n(); ++device) facts_.push_back(driver_->facts(device));
  opened_.resize(count);
  lanes_.resize(count);
}

gpu_kind::~gpu_kind() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    int const device = static_cast<int>(i);
    for (auto const& each : lanes_[i]) {
      if (each == nullptr) continue;
      for (mark const& m : each->marks) {
        if (m.happened != nullptr) driver_->drop_event(device, m.happened);
      }
      driver_->drop_stream(device, each->queue);
    }
  }
  for (host_range const& range : host_) {
    if (range.access == host_access::ours) driver_->unregister_host(range.begin);
  }
  pinned_.for_each([this](std::uint64_t begin, pinned_ranges::range const& each) {
    if (each.ours) driver_->unregister_host(reinterpret_cast<void*>(begin));
  });
}

std::string gpu_kind::info() const {
  std::string text = driver_->version() + '\n';
  for (int device = 0; device < device_n(); ++device) {
    device_facts const& f = facts_[static_cast<std::size_t>(device)];
    text += format("%s device %d: %s, %s, uuid %s", to_string(id()), device, f.name.c_str(),
                   settings::format_bytes(f.bytes).c_str(), text_of(f.uuid).c_str());
    std::string reached;
    std::string staged;
    for (int other = 0; other < device_n(); ++other) {
      if (other != device) (driver_->reaches(device, other) ? reached : staged) += format(" %d", other);
    }
    if (!reached.empty()) text += format("; copies directly to and from device%s", reached.c_str());
    if (!staged.empty()) text += format("; through host memory to and from device%s", staged.c_str());
    text += '\n';
  }
  return text;
}

std::string gpu_kind::uuid(int device) const {
  return text_of(facts_[static_cast<std::size_t>(device)].uuid);
}

std::unique_ptr<device_segment> gpu_kind::create(int device, std::uint64_t bytes, void* memory) {
  auto made = std::make_unique<gpu_segment>(
      *driver_, memory == nullptr ? driver_->create(device, bytes) : driver_->adopt(device, memory, bytes));
  opened_[static_cast<std::size_t>(device)] = true;
  if (driver_->is_slow_from_private()) staging_.prepare();
  driver_->prepare(device);
  return made;
}

export_record gpu_kind::export_segment(device_segment const& own, os::unique_fd& descriptor) {
  auto const& segment = static_cast<gpu_segment const&>(own);
  std::string why_not;
  export_record record;
  record.device = facts_[static_cast<std::size_t>(segment.device())].uuid;
  if (settings::gpu_sharing()) record = driver_->share(segment.memory(), descriptor, why_not);
  if (record.reach == export_record::way::none && settings::gpu_sharing()) {
    warn("device",
         "peers cannot import %s of %s device %d: %s. This rank will copy for them, which is slower; let the "
         "library allocate the memory, or allocate it with cudaMalloc or its like",
         settings::format_bytes(own.bytes()).c_str(), to_string(id()), segment.device(), why_not.c_str());
  }
  return record;
}

std::unique_ptr<device_segment> gpu_kind::import_segment(export_record const& record,
                                                         os::unique_fd descriptor, std::uint64_t base,
                                                         std::uint64_t bytes) {
  // Devices that this process uses anyway come first, then the one that the memory is on, then any.
  std::vector<int> candidates;
  auto const add = [&](auto wanted) {
    for (int device = 0; device < device_n(); ++device) {
      if (wanted(device) && std::find(candidates.begin(), candidates.end(), device) == candidates.end()) {
        candidates.push_back(device);
      }
    }
  };
  add([&](int device) { return bool{opened_[static_cast<std::size_t>(device)]}; });
  add([&](int device) { return facts_[static_cast<std::size_t>(device)].uuid == record.device; });
  if (std::find(opened_.begin(), opened_.end(), true) == opened_.end()) add([](int) { return true; });
  std::string problem = "no device";
  for (int const device : candidates) {
    try {
      block const memory = driver_->import(record, descriptor.get(), device);
      if (settings::verbosity() >= 2) {
        warn("device", "memory of %s device %s: reached directly by device %d, by %s", to_string(id()),
             text_of(record.device).c_str(), device,
             record.reach == export_record::way::descriptor ? "descriptor" : "handle");
      }
      auto const home = std::find_if(facts_.begin(), facts_.end(),
                                     [&](device_facts const& f) { return f.uuid == record.device; });
      return std::make_unique<gpu_segment>(
          *driver_, memory, base, bytes, home == facts_.end() ? -1 : static_cast<int>(home - facts_.begin()));
    } catch (segment_error const& error) {
      problem = error.what();
    }
  }
  throw segment_error(problem);
}

void gpu_kind::know_host_memory(void* begin, std::size_t bytes) {
  std::string why_not;
  host_access const access = driver_->register_host(begin, bytes, why_not);
  host_.push_back({static_cast<std::byte*>(begin), bytes, access});
  if (access != host_access::staged || why_not.empty()) return;
  warn("device", "the %s does not pin %s of shared host memory, so copies to and from there are slower: %s",
       driver_->version().c_str(), settings::format_bytes(bytes).c_str(), why_not.c_str());
}

void gpu_kind::forget_host_memory(void* begin) {
  std::erase_if(host_, [&](host_range const& range) {
    if (range.begin != begin) return false;
    if (range.access == host_access::ours) driver_->unregister_host(range.begin);
    return true;
  });
}

std::string gpu_kind::pin(memory_range pages, memory_range wanted) {
  std::string why_not;
  memory_range taken = pages;
  host_access access = driver_->register_host(taken.begin, taken.bytes, why_not);
  if (access == host_access::staged && wanted.bytes != pages.bytes) {
    // Somebody else may have registered it, or what lies beside it in its pages, by the byte.
    taken = wanted;
    access = driver_->register_host(taken.begin, taken.bytes, why_not);
  }
  if (access == host_access::staged) return why_not.empty() ? "the driver has no function for that" : why_not;
  pinned_.add(reinterpret_cast<std::uintptr_t>(taken.begin), taken.bytes, access == host_access::ours);
  return {};
}

bool gpu_kind::unpin(memory_range pages) {
  return pinned_.remove(reinterpret_cast<std::uintptr_t>(pages.begin), pages.bytes,
                        [this](std::uint64_t begin, pinned_ranges::range const& gone) {
                          if (gone.ours) driver_->unregister_host(reinterpret_cast<void*>(begin));
                        });
}

bool gpu_kind::is_pinned(memory_range range) {
  auto const begin = reinterpret_cast<std::uintptr_t>(range.begin);
  if (pinned_.covers(begin, range.bytes)) return true;
  return access_to(begin) != host_access::staged && access_to(begin + range.bytes - 1) != host_access::staged;
}

bool gpu_kind::must_flush(device_segment const& own) const {
  return driver_->must_flush(static_cast<gpu_segment const&>(own).device());
}

void gpu_kind::flush(device_segment const& own) {
  driver_->flush(static_cast<gpu_segment const&>(own).device());
}

host_access gpu_kind::access_to(std::uint64_t place) const noexcept {
  auto const found = std::find_if(host_.begin(), host_.end(), [&](host_range const& range) {
    return place - reinterpret_cast<std::uintptr_t>(range.begin) < range.bytes;
  });
  return found == host_.end() ? host_access::staged : found->access;
}

bool gpu_kind::is_direct(copy_end end, std::size_t bytes) noexcept {
  if (end.segment != nullptr || access_to(end.address) != host_access::staged) return true;
  pinned_ranges::part const first = pinned_.first_part(end.address, bytes);
  return first.in != nullptr && first.bytes == bytes;
}

/// Host memory that is not the job's, in copies for which buffers of ours pay.
bool gpu_kind::is_staged(copy_end from, std::size_t bytes) const noexcept {
  return from.segment == nullptr && staging_.pays(bytes) && access_to(from.address) == host_access::staged;
}

/// `alone`: a copy that is announced by itself. In one stream each of those waits until the word of the one before is written, so
/// they take turns with a second one while the first is busy with their like alone. Other copies stay in the first, and so does what
/// is announced while they are under way, which tells of them, too.
gpu_kind::lane& gpu_kind::lane_of(int device, std::uint32_t peer, copy_end to, bool alone) {
  gpu_segment const* const target = segment_of(to);
  std::uint32_t const direction = target == nullptr ? 0 : target->own() ? 1 : 2;
  std::size_t const place = (peer % lanes_per_direction) * directions + direction;
  lane& first = lane_at(device, place);
  if (!alone || first.quiet > first.landed || !first.kept.empty()) return first;
  auto const busy = [](lane const& on) { return on.started - on.landed; };
  lane* least = &first;
  for (std::size_t turn = 1; turn < turns && busy(*least) > 0; ++turn) {
    lane& other = lane_at(device, place + turn * lanes_per_direction * directions);
    if ((other.line != nullptr || !free_lines_.empty()) && busy(other) < busy(*least)) least = &other;
  }
  return *least;
}

gpu_kind::lane& gpu_kind::lane_at(int device, std::size_t index) {
  auto& all = lanes_[static_cast<std::size_t>(device)];
  if (all.empty()) all.resize(std::size_t{turns} * lanes_per_direction * directions);
  auto& found = all[index];
  if (found == nullptr) [[unlikely]] {
    found = std::make_unique<lane>();
    found->device = device;
    found->queue = make_stream(*driver_, device);
  }
  return *found;
}

void gpu_kind::copy(copy_end to, copy_end from, std::size_t bytes, std::uint32_t peer, copy_record* record,
                    announcement* wanted) {
  int const device = device_for(to, from);
  lane& on = lane_of(device, peer, to, wanted != nullptr && !record->gathered);
  gpu_segment const* const target = segment_of(to);
  gpu_segment const* const source = segment_of(from);
  bool const direct = (target == nullptr || target->reachable_from(device)) &&
                      (source == nullptr || source->reachable_from(device));
  bool const keep = record->gathered && direct && is_direct(to, bytes) && is_direct(from, bytes);
  if (!keep && !on.kept.empty()) submit(on);
  bool const joins = wanted != nullptr && bytes <= longest_together;
  if (on.announcing && on.kept.empty() && !joins) write_value(on);
  if (bytes != 0) {
    if (keep) {
      on.kept.push_back({place_of(to), place_of(from), bytes});
    } else if (is_staged(from, bytes)) {
      staging_.copy(device, on.queue, place_of(to), from.address, bytes, pinned_);
    } else if (direct) [[likely]] {
      copy_directly(*driver_, pinned_, device, on.queue, to, from, bytes);
    } else {
      // Both ends are segments, since a lone one is reachable from its own device.
      driver_->copy_across(device, on.queue, place_of(to), target->device(), place_of(from), source->device(),
                           bytes);
    }
  }
  record->next = nullptr;
  (on.oldest == nullptr ? on.oldest : on.newest->next) = record;
  on.newest = record;
  ++on.started;
  if (wanted == nullptr) on.quiet = on.started;
  for (copy_end const end : {to, from}) {
    if (end.segment == nullptr) pinned_.note(end.address, bytes, {&on.landed, on.started});
  }
  if (!on.listed) {
    on.listed = true;
    busy_.push_back(&on);
  }
  if (wanted != nullptr) announce(on, wanted, joins);
  if (on.kept.size() == most_kept) submit(on);
}

void gpu_kind::announce(lane& on, announcement* wanted, bool joins) {
  if (on.line == nullptr && !prepare_line(on)) return;
  if (!on.announcing) ++on.value;
  wanted->word = &on.line->word;
  wanted->value = on.value;
  bool const in_flood = on.quiet <= on.landed && on.started - on.landed > flood;
  bool const waits = joins && in_flood && on.started - on.marked < most_together;
  if (on.kept.empty() && !waits) {
    write_value(on);
  } else {
    on.announcing = true;
  }
}

void gpu_kind::write_value(lane& on) {
  on.announcing = false;
  driver_->write(on.device, on.queue, on.line_address, on.value);
  on.marks.push_back({on.started, nullptr, on.value, 0});
  on.marked = on.started;
}

void gpu_kind::submit(lane& on) {
  if (!on.kept.empty()) {
    driver_->copy_all(on.device, on.queue, on.kept);
    on.kept.clear();
  }
  if (on.announcing) write_value(on);
}

void gpu_kind::submit() {
  programs_.submit();
  for (lane* const on : busy_) submit(*on);
}

/// False where the kind cannot announce copies of the lane.
bool gpu_kind::prepare_line(lane& on) {
  // A write to memory whose registration somebody else has ended would end the job.
  if (free_lines_.empty() || !driver_->can_write(on.device) ||
      access_to(reinterpret_cast<std::uintptr_t>(free_lines_.data())) != host_access::ours)
    return false;
  on.line = &free_lines_.front();
  free_lines_ = free_lines_.subspan(1);
  on.line_address = driver_->device_address(&on.line->word);
  return true;
}

bool gpu_kind::complete(lane& on, mark& m) {
  if (m.happened == nullptr) {
    if (on.line->word.load(std::memory_order_acquire) >= m.value) return true;
    // A device that has failed writes no word.
    if (++m.looks % looks_per_check == 0) driver_->check_stream(on.queue, on.device);
    return false;
  }
  if (!driver_->happened(m.happened, on.device, on.queue)) return false;
  events_.give_back(on.device, m.happened);
  return true;
}

bool gpu_kind::advance(lane& on) {
  submit(on);
  if (on.marked != on.started && on.marks.size() < open_marks) {
    event const e = events_.take(on.device);
    driver_->record(on.device, e, on.queue);
    on.marks.push_back({on.started, e, 0, 0});
    on.marked = on.started;
  }
  bool moved = false;
  while (!on.marks.empty() && complete(on, on.marks.front())) {
    std::uint64_t const last = on.marks.front().last;
    on.marks.pop_front();
    moved = true;
    while (on.landed != last) {
      copy_record* const record = on.oldest;
      on.oldest = record->next;
      ++on.landed;
      record->landed(record);  // may start copies, here too
    }
  }
  return moved;
}

kernel_view gpu_kind::view_for_kernels(int device, copy_end end) {
  driver_->prepare(device);
  gpu_segment const* const segment = segment_of(end);
  if (segment == nullptr) {
    if (access_to(end.address) == host_access::staged) return {};
    return {driver_->device_address(reinterpret_cast<void*>(end.address)),
            driver_->is_atomic_on_host(device)};
  }
  if (!segment->reachable_from(device)) return {};
  return {
      segment->here(end.address),
      segment->home() == device || (segment->home() >= 0 && driver_->is_atomic_on(device, segment->home()))};
}

std::uint64_t gpu_kind::begin_waiting() {
  submit();
  return driver_->begin_waiting();
}

bool gpu_kind::poll() {
  bool moved = programs_.poll();
  for (std::size_t i = 0; i < busy_.size();) {
    lane& on = *busy_[i];
    moved |= advance(on);
    if (on.landed == on.started) {
      on.listed = false;
      busy_[i] = busy_.back();
      busy_.pop_back();
    } else {
      ++i;
    }
  }
  return moved;
}

}  // namespace atl::memory::gpu
