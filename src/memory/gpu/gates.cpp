#include "memory/gpu/gates.hpp"

#include <algorithm>
#include <atomic>

#include "base/error.hpp"
#include "memory/gpu/gpu_segment.hpp"
#include "memory/gpu/no_room.hpp"

namespace atl::memory::gpu {
namespace {

bool has_value(std::uint64_t now, std::uint64_t value, comparison how) noexcept {
  return how == comparison::equal ? now == value : static_cast<std::int64_t>(now - value) >= 0;
}

}  // namespace

gates::~gates() {
  for (line const& each : lines_) {
    for (awaited const& a : each.waits) driver_.drop_event(each.device, a.come);
  }
  for (std::size_t i = 0; i < watches_.size(); ++i) {
    watch* const each = watches_[i].get();
    if (each == nullptr) continue;
    int const device = static_cast<int>(i);
    // A driver may forget what is left in a stream that ends.
    driver_.record(device, each->seen, each->queue);
    while (!driver_.happened(each->seen, device, each->queue)) {
    }
    driver_.drop_event(device, each->seen);
    driver_.drop_stream(device, each->queue);
    if (each->registered) driver_.unregister_host(each->found.get());
  }
  // The end of a gate may wait for the device. Gates of streams that still stand there stay.
  if (any()) return;
  for (std::size_t i = 0; i < spare_.size(); ++i) {
    for (gate const& each : spare_[i]) driver_.drop_gate(static_cast<int>(i), each.word);
  }
}

gates::line& gates::line_of(int device, stream_handle s) {
  // Common streams differ by thread; several lines of one stream do no harm.
  if (!is_common(s)) {
    auto const known = std::find_if(lines_.begin(), lines_.end(),
                                    [&](line const& each) { return each.on == s && each.device == device; });
    if (known != lines_.end()) return *known;
  }
  spare_.resize(static_cast<std::size_t>(driver_.device_n()));
  auto& spare = spare_[static_cast<std::size_t>(device)];
  if (spare.empty()) {
    spare.push_back({driver_.make_gate(device), 0});
    // Of its first value nothing is known.
    driver_.write(device, {s, true}, spare.back().word, 0);
  }
  lines_.push_back({device, s, spare.back(), {}});
  spare.pop_back();
  return lines_.back();
}

gates::watch& gates::watch_on(int device) {
  watches_.resize(static_cast<std::size_t>(driver_.device_n()));
  auto& found = watches_[static_cast<std::size_t>(device)];
  if (found == nullptr) {
    found = std::make_unique<watch>();
    found->device = device;
    found->queue = make_stream(driver_, device);
    found->seen = make_event(driver_, device);
    std::string why_not;
    found->registered =
        driver_.register_host(found->found.get(), sizeof(watch::page), why_not) == host_access::ours;
  }
  return *found;
}

void gates::wait(int device, stream_handle s, copy_end word, std::uint64_t value, comparison c) {
  try {
    event const come = events_.take(device);
    watch_on(device);
    if (word.segment != nullptr) watch_on(segment_of(word)->device());
    line& in = line_of(device, s);
    awaited const one{come, word, value, c, ++in.before.last};
    driver_.record(device, one.come, {s, true});
    driver_.wait(device, {s, true}, in.before.word, one.opens, comparison::at_least);
    in.waits.push_back(one);
  } catch (segment_error const& error) {
    fatal("stream", "device %d: %s", device, error.what());
  }
}

/// False if the word, of the first wait of a line, has another value now.
bool gates::open_if(line& first, std::uint64_t now) {
  awaited const& a = first.waits.front();
  if (!has_value(now, a.value, a.how)) return false;
  // By the device, since of processors that write such words nothing is said.
  driver_.write(first.device, watch_on(first.device).queue, first.before.word, a.opens);
  events_.give_back(first.device, a.come);
  first.waits.pop_front();
  first.has_come = false;
  return true;
}

bool gates::look(watch& with) {
  if (!with.looked_for.empty()) {
    if (!driver_.happened(with.seen, with.device, with.queue)) return false;
    bool const full = with.looked_for.size() == watch::most;
    bool moved = false;
    for (std::size_t i = 0; i < with.looked_for.size(); ++i) {
      line_name const each = with.looked_for[i];
      moved |= open_if(*each, with.found->words[i]);
      if (full) lines_.splice(lines_.end(), lines_, each);  // others have their turn
    }
    with.looked_for.clear();
    return moved;
  }
  if (with.wanted.empty()) return false;
  int const device = segment_of(with.wanted.front()->waits.front().word)->device();
  for (line_name const each : with.wanted) {
    driver_.copy(device, with.queue,
                 reinterpret_cast<std::uintptr_t>(&with.found->words[with.looked_for.size()]),
                 place_of(each->waits.front().word), sizeof(std::uint64_t));
    with.looked_for.push_back(each);
  }
  driver_.record(device, with.seen, with.queue);
  return false;
}

bool gates::poll() {
  bool moved = false;
  for (auto const& each : watches_) {
    if (each != nullptr) each->wanted.clear();
  }
  for (line_name each = lines_.begin(); each != lines_.end(); ++each) {
    awaited const& first = each->waits.front();
    if (!each->has_come) each->has_come = driver_.happened(first.come, each->device, {each->on, true});
    if (!each->has_come) continue;
    if (first.word.segment != nullptr) {
      watch& by = watch_on(segment_of(first.word)->device());
      if (by.wanted.size() < watch::most) by.wanted.push_back(each);
    } else {
      // Whoever acquires the value sees what was written before, and what the stream does next comes after.
      auto& word = *reinterpret_cast<std::uint64_t*>(first.word.address);
      moved |= open_if(*each, std::atomic_ref<std::uint64_t>(word).load(std::memory_order_acquire));
    }
  }
  for (auto const& each : watches_) {
    if (each != nullptr) moved |= look(*each);
  }
  lines_.remove_if([this](line const& each) {
    if (!each.waits.empty()) return false;
    spare_[static_cast<std::size_t>(each.device)].push_back(each.before);
    return true;
  });
  return moved;
}

}  // namespace atl::memory::gpu
