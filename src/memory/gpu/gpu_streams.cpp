#include "memory/gpu/gpu_streams.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <atoll/base/check.hpp>

#include "memory/gpu/gpu_segment.hpp"
#include "memory/gpu/no_room.hpp"

namespace atl::memory::gpu {
namespace {

bool reaches(int device, copy_end end) noexcept {
  return end.segment == nullptr || segment_of(end)->reachable_from(device);
}

/// Drivers copy between memories of devices that do not reach each other, by the contexts of both; host memory has none.
bool has_host_end(copy_end to, copy_end from) noexcept {
  return (to.segment == nullptr) != (from.segment == nullptr);
}

}  // namespace

gpu_streams::~gpu_streams() {
  for (report_line const& line : waited_for_) {
    for (reported const& each : line.left) driver_.drop_event(line.device, each.happened);
  }
  for (made_graph const& each : graphs_) driver_.drop_graph(each.device, each.handle);
  for (made_stream const& each : made_) driver_.drop_stream(each.device, each.handle);
}

stream_handle gpu_streams::make(int device) {
  made_.push_back({make_stream(driver_, device).handle, device});
  return made_.back().handle;
}

void gpu_streams::drop(stream_handle s) {
  auto const found =
      std::find_if(made_.begin(), made_.end(), [s](made_stream const& each) { return each.handle == s; });
  if (found == made_.end()) return;
  if (kept_for_ == s) submit();
  driver_.drop_stream(found->device, s);
  made_.erase(found);
}

bool gpu_streams::begin_capture(stream_handle s) {
  submit();
  return driver_.begin_capture(device_of(s), {s, true});
}

graph_handle gpu_streams::end_capture(stream_handle s) {
  submit();
  int const device = device_of(s);
  graphs_.push_back({driver_.end_capture(device, {s, true}), device});
  return graphs_.back().handle;
}

void gpu_streams::abandon_capture(stream_handle s) {
  submit();
  driver_.abandon_capture({s, true});
}

void gpu_streams::launch(graph_handle g, stream_handle s) {
  submit();
  driver_.launch(device_of(s), g, {s, true});
}

void gpu_streams::drop_graph(graph_handle g) {
  auto const found =
      std::find_if(graphs_.begin(), graphs_.end(), [g](made_graph const& each) { return each.handle == g; });
  if (found == graphs_.end()) return;
  driver_.drop_graph(found->device, g);
  graphs_.erase(found);
}

bool gpu_streams::can_copy(stream_handle s, copy_end to, copy_end from) {
  if (!has_host_end(to, from)) return true;
  int const device = device_of(s);
  return reaches(device, to) && reaches(device, from);
}

bool gpu_streams::copy(stream_handle s, copy_end to, copy_end from, std::size_t bytes, bool gathered) {
  if (bytes == 0) return true;
  int const device = device_of(s);
  bool const direct = reaches(device, to) && reaches(device, from);
  if (!direct && has_host_end(to, from)) return false;
  address const target = place_of(to);
  address const source = place_of(from);
  // What is kept may be started by another thread.
  bool const keep = gathered && direct && to.segment != nullptr && from.segment != nullptr &&
                    bytes <= driver_.most_bytes_of_small() && !differs_by_thread(s);
  if (!keep || kept_for_ != s || kept_on_ != device) submit();
  if (keep) {
    std::uint64_t const capture = driver_.capture_of({s, true});
    if (kept_.empty()) {
      kept_for_ = s;
      kept_on_ = device;
      kept_number_ = number_to_keep(s, capture);
      kept_capture_ = capture;
    }
    if (capture != kept_capture_) refuse_kept();
    kept_.push_back({target, source, bytes});
  } else if (direct) [[likely]] {
    copy_directly(driver_, pinned_, device, {s, true}, to, from, bytes);
  } else {
    driver_.copy_across(device, {s, true}, target, segment_of(to)->device(), source,
                        segment_of(from)->device(), bytes);
  }
  return true;
}

bool gpu_streams::copy_box(stream_handle s, copy_end to, copy_end from, box_shape const& box) {
  int const device = device_of(s);
  if (to.segment == nullptr || from.segment == nullptr || !reaches(device, to) || !reaches(device, from))
    return false;
  submit();
  return driver_.copy_box(device, {s, true}, place_of(to), place_of(from), box);
}

bool gpu_streams::can_exchange(int device, copy_end end) {
  return end.segment != nullptr && reaches(device, end) && driver_.can_exchange(device);
}

void gpu_streams::exchange(stream_handle s, rank_exchange how, exchange_ends const& ends) {
  how.from = place_of(ends.from);
  for (std::int32_t r = 0; r < how.ranks; ++r) {
    how.to[r] = place_of(ends.to[r]);
    how.words[r] = place_of(ends.words[r]);
    if (how.few) how.landing[r] = place_of(ends.landing[r]);
  }
  submit();
  driver_.exchange(device_of(s), {s, true}, how);
}

/// Common streams do not end, and another device may be current when they are asked about.
std::uint64_t gpu_streams::number_to_keep(stream_handle s, std::uint64_t capture) {
  return is_common(s) || capture != 0 ? 0 : driver_.number_of({s, true});
}

void gpu_streams::reduce(stream_handle s, array_reduction how, copy_end to, copy_end from) {
  submit();
  how.to = place_of(to);
  how.from = place_of(from);
  driver_.reduce(device_of(s), {s, true}, how);
}

/// What was started there would be done at another time than the program has meant, or never.
void gpu_streams::refuse_kept() const {
  check_failed(
      "stream: copies in a stream (%zu) were kept for an atl::copy_batch, and meanwhile a capture of the stream into a graph has begun or ended, or "
      "the stream has: end the batch before that",
      kept_.size());
}

void gpu_streams::submit() {
  if (kept_.empty()) return;
  std::uint64_t const capture = driver_.capture_of({kept_for_, true});
  // For a graph that the driver has given up: they go nowhere, as what has been started there before.
  if (kept_capture_ != 0 && capture == 0 && driver_.is_captured({kept_for_, true})) return kept_.clear();
  if (capture != kept_capture_ || number_to_keep(kept_for_, capture) != kept_number_) refuse_kept();
  std::vector<copy_range> const all = std::exchange(kept_, {});
  stream const s(kept_for_, true);
  if (all.size() > 1 && driver_.copy_small(kept_on_, s, all)) return;
  for (copy_range const& each : all) driver_.copy(kept_on_, s, each.to, each.from, each.bytes);
}

bool gpu_streams::is_pinned(void const* memory, std::size_t bytes, bool /*shared*/) {
  bool all = true;
  auto const* const begin = static_cast<std::byte const*>(memory);
  pinned_.for_each_part(
      reinterpret_cast<std::uintptr_t>(memory), bytes, [&](pinned_ranges::part p, std::size_t offset) {
        all = all && (p.in != nullptr ||
                      (driver_.is_pinned(begin + offset) && driver_.is_pinned(begin + offset + p.bytes - 1)));
      });
  return all;
}

/// Where the device finds a word, if it reaches it.
std::optional<address> gpu_streams::reached(int device, copy_end word) {
  if (word.segment != nullptr) return reaches(device, word) ? std::optional(place_of(word)) : std::nullopt;
  auto* const memory = reinterpret_cast<void*>(word.address);
  return driver_.is_pinned(memory) ? std::optional(driver_.device_address(memory)) : std::nullopt;
}

/// One that it can write and wait for.
std::optional<address> gpu_streams::word_of(int device, copy_end word) {
  return driver_.can_write(device) ? reached(device, word) : std::nullopt;
}

bool gpu_streams::write(stream_handle s, copy_end word, std::uint64_t value) {
  int const device = device_of(s);
  std::optional<address> const at = word_of(device, word);
  if (!at) return false;
  submit();
  driver_.write(device, {s, true}, *at, value);
  return true;
}

bool gpu_streams::wait(stream_handle s, copy_end word, std::uint64_t value, comparison c) {
  int const device = device_of(s);
  if (!driver_.waits_for_any_word()) {
    submit();
    gates_.wait(device, s, word, value, c);
    return true;
  }
  std::optional<address> const at = word_of(device, word);
  if (!at) return false;
  submit();
  driver_.wait(device, {s, true}, *at, value, c);
  return true;
}

bool gpu_streams::wait_and_write(stream_handle s, copy_end word, std::uint64_t value, comparison c,
                                 std::uint64_t then) {
  int const device = device_of(s);
  std::optional<address> const at = word_of(device, word);
  if (!at) return false;
  if (!driver_.waits_for_any_word()) return wait(s, word, value, c) && write(s, word, then);
  submit();
  driver_.wait_and_write(device, {s, true}, *at, value, c, then);
  return true;
}

/// One that it can add to.
std::optional<address> gpu_streams::atomic_word_of(int device, copy_end word) {
  gpu_segment const* const segment = segment_of(word);
  // Of a device that nobody here sees nothing is known.
  int const home = segment != nullptr ? segment->home() : -1;
  bool const atomic = segment == nullptr
                          ? driver_.is_atomic_on_host(device)
                          : home == device || (home >= 0 && driver_.is_atomic_on(device, home));
  return atomic ? reached(device, word) : std::nullopt;
}

bool gpu_streams::add(stream_handle s, copy_end word, std::uint64_t value) {
  int const device = device_of(s);
  std::optional<address> const at = atomic_word_of(device, word);
  if (!at) return false;
  submit();
  return driver_.add(device, {s, true}, *at, value);
}

bool gpu_streams::add_at_home(stream_handle s, copy_end word, std::uint64_t value) {
  int const device = device_of(s);
  if (driver_.has_additions()) return add(s, word, value);
  if (!driver_.can_write(device)) return false;
  // All additions to the word are made here, one after the other.
  std::uint64_t sum = 0;
  event const read = events_.take(device);
  driver_.copy(device, {s, true}, reinterpret_cast<std::uintptr_t>(&sum), place_of(word), sizeof sum);
  driver_.record(device, read, {s, true});
  while (!driver_.happened(read, device, {s, true})) {
  }
  events_.give_back(device, read);
  sum += value;
  driver_.write(device, {s, true}, place_of(word), sum);
  return true;
}

std::uint64_t gpu_streams::line_name(stream_handle s) {
  auto const handle = reinterpret_cast<std::uintptr_t>(s);
  // Numbers begin above 0, and a common stream's handle is one of a device.
  if (is_common(s)) return differs_by_thread(s) ? 0 : ~std::uint64_t{handle};
  std::uint64_t const number = driver_.number_of({s, true});
  return number == handle ? 0 : number;
}

void gpu_streams::report(stream_handle s, copy_record* record) {
  submit();
  int const device = device_of(s);
  event const mark = events_.take(device);
  driver_.record(device, mark, {s, true});
  std::uint64_t const name = line_name(s);
  auto line = name == 0 ? waited_for_.end()
                        : std::find_if(waited_for_.begin(), waited_for_.end(), [&](report_line const& each) {
                            return each.name == name && each.device == device;
                          });
  if (line == waited_for_.end()) line = waited_for_.insert(line, {name, s, device, {}});
  line->left.push_back({record, mark});
}

bool gpu_streams::poll() {
  submit();
  bool moved = gates_.poll();
  for (auto line = waited_for_.begin(); line != waited_for_.end();) {
    while (!line->left.empty() &&
           driver_.happened(line->left.front().happened, line->device, {line->stream, true})) {
      reported const first = line->left.front();
      line->left.pop_front();
      events_.give_back(line->device, first.happened);
      moved = true;
      first.record->landed(first.record);  // may start something, here too
    }
    line = line->left.empty() ? waited_for_.erase(line) : std::next(line);
  }
  return moved;
}

}  // namespace atl::memory::gpu
