#include "memory/sim/sim_kind.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "base/copy_watched.hpp"
#include "base/error.hpp"
#include "base/settings.hpp"
#include "memory/sim/random.hpp"
#include "memory/sim/sim_segment.hpp"

namespace atl::memory::sim {
sim_kind::sim_kind(shape const& wanted)
    : shape_(wanted), state_(wanted.seed), streams_(wanted.shown_as, ~wanted.seed, pinned_) {}

std::string sim_kind::info() const {
  std::string text;
  for (int device = 0; device < shape_.devices; ++device) {
    text += format("%s device %d: simulated in host memory, %s for each process, uuid %s\n",
                   to_string(shape_.shown_as), device,
                   settings::format_bytes(shape_.bytes_per_device).c_str(), uuid(device).c_str());
  }
  return text;
}

std::string sim_kind::uuid(int device) const {
  // Unique among hosts by the host's boot, and the same for all processes there.
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  if (text.size() != 36) text = "00000000-0000-4000-8000-000000000000";
  return text.replace(
      32, 4,
      format("%x%03x", static_cast<unsigned>(shape_.shown_as), static_cast<unsigned>(device) & 0xfffU));
}

std::unique_ptr<device_segment> sim_kind::create(int device, std::uint64_t bytes, void* memory) {
  if (memory != nullptr) return std::make_unique<sim_segment>(memory, bytes);
  if (bytes > shape_.bytes_per_device) {
    throw segment_error(format("simulated %s device %d has %s, but %s are asked for; see ATOLL_SIM_MEMORY",
                               to_string(shape_.shown_as), device,
                               settings::format_bytes(shape_.bytes_per_device).c_str(),
                               settings::format_bytes(bytes).c_str()));
  }
  return std::make_unique<sim_segment>(bytes);
}

export_record sim_kind::export_segment(device_segment const& own, os::unique_fd& descriptor) {
  export_record record;
  if (!settings::gpu_sharing()) return record;
  descriptor.reset(fcntl(static_cast<sim_segment const&>(own).descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!descriptor) {
    throw segment_error(format("simulated device: no descriptor left: %s", std::strerror(errno)));
  }
  record.reach = export_record::way::descriptor;
  record.whole = own.bytes();
  return record;
}

std::unique_ptr<device_segment> sim_kind::import_segment(export_record const& /*record*/,
                                                         os::unique_fd descriptor, std::uint64_t base,
                                                         std::uint64_t bytes) {
  return std::make_unique<sim_segment>(std::move(descriptor), base, bytes);
}

kernel_view sim_kind::view_for_kernels(int /*device*/, copy_end end) {
  bool const own = end.segment != nullptr && static_cast<sim_segment const*>(end.segment)->own();
  return {reinterpret_cast<std::uintptr_t>(place_of(end)), own || shape_.atomics};
}

void sim_kind::flush(device_segment const& own) { static_cast<sim_segment const&>(own).flush(); }

std::string sim_kind::pin(memory_range pages, memory_range /*wanted*/) {
  pinned_.add(reinterpret_cast<std::uintptr_t>(pages.begin), pages.bytes, true);
  return {};
}

bool sim_kind::unpin(memory_range pages) {
  if (std::any_of(under_way_.begin(), under_way_.end(),
                  [pages](pending const& each) { return each.concerns(pages); }))
    return false;
  return pinned_.remove(reinterpret_cast<std::uintptr_t>(pages.begin), pages.bytes,
                        [&](std::uint64_t, pinned_ranges::range const&) { streams_.refuse_unpin(pages); });
}

bool sim_kind::is_pinned(memory_range range) {
  return pinned_.covers(reinterpret_cast<std::uintptr_t>(range.begin), range.bytes);
}

void sim_kind::use_announcements(std::span<announcement_line> lines) {
  for (announcement_line& line : lines) free_lines_.push_back(&line);
}

void sim_kind::copy(copy_end to, copy_end from, std::size_t bytes, std::uint32_t /*peer*/,
                    copy_record* record, announcement* wanted) {
  announcement_line* line = nullptr;
  if (wanted != nullptr && !free_lines_.empty()) {
    line = free_lines_.back();
    free_lines_.pop_back();
    *wanted = {&line->word, line->word.load(std::memory_order_relaxed) + 1};
  }
  under_way_.push_back({place_of(to), place_of(from), bytes, record, line});
}

bool sim_kind::poll() {
  // Every second look finds nothing; the others complete at most a quarter of what is there.
  bool const moved = streams_.poll();
  if (under_way_.empty() || random(state_) % 2 == 0) return moved;
  for (std::size_t left = 1 + random(state_) % (1 + under_way_.size() / 4); left > 0; --left) {
    std::size_t const chosen = random(state_) % under_way_.size();
    pending const one = under_way_[chosen];
    under_way_[chosen] = under_way_.back();
    under_way_.pop_back();
    copy_watched(one.to, one.from, one.bytes);
    if (one.line != nullptr) {
      one.line->word.fetch_add(1, std::memory_order_release);
      free_lines_.push_back(one.line);
    }
    one.record->landed(one.record);
  }
  return true;
}

}  // namespace atl::memory::sim
