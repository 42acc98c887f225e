// Pins may overlap, or share pages, while drivers register pages once: kinds get ranges without a common page. The end of a pin ends
// every range that is not wholly wanted by others, since its memory may be freed then, and something else come to lie there;
// what others want of these ranges is pinned anew.

#include "engine/copies/pins.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include <atoll/base/round_up.hpp>
#include <atoll/engine/host_map.hpp>
#include <atoll/engine/pins.hpp>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "engine/copies/copies.hpp"
#include "engine/progress/guard.hpp"
#include "engine/progress/waiting.hpp"

namespace atl::engine {

using memory::memory_range;

namespace {

std::byte* end_of(memory_range range) noexcept { return range.begin + range.bytes; }

memory_range common(memory_range a, memory_range b) noexcept {
  std::byte* const begin = std::max(a.begin, b.begin);
  return {begin, static_cast<std::size_t>(std::min(end_of(a), end_of(b)) - begin)};
}

memory_range pages_of(memory_range range) noexcept {
  static auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t const before = reinterpret_cast<std::uintptr_t>(range.begin) % page;
  return {range.begin - before, round_up(range.bytes + before, page)};
}

/// Calls `f` for each part of a range that none of others has. `pages(i)`: the i-th of `count` others.
template <class Pages, class F>
void for_each_gap(memory_range whole, std::size_t count, Pages pages, F f) {
  std::byte* at = whole.begin;
  while (at < end_of(whole)) {
    std::byte* free_until = end_of(whole);
    std::byte* taken_until = at;
    for (std::size_t i = 0; i < count; ++i) {
      memory_range const other = pages(i);
      if (other.begin <= at) {
        taken_until = std::max(taken_until, end_of(other));
      } else {
        free_until = std::min(free_until, other.begin);
      }
    }
    if (taken_until > at) {
      at = taken_until;
      continue;
    }
    f(memory_range{at, static_cast<std::size_t>(free_until - at)});
    at = free_until;
  }
}

bool is_in_shared_heap(memory_range range) noexcept { return hosts.from_address(range.begin).has_value(); }

}  // namespace

host_pins::number host_pins::add(memory_range wanted) {
  pins_[++last_] = wanted;
  pin_rest(wanted);
  return last_;
}

/// Pins what is not.
void host_pins::pin_rest(memory_range wanted) {
  if (is_in_shared_heap(wanted)) return;  // pinned with it
  memory_range const whole = pages_of(wanted);
  std::size_t const known = ranges_.size();
  for (range& each : ranges_) {
    // Its end is not carried through, and may not be any more.
    if (!each.let_go || !overlap(each.pages, whole)) continue;
    each.let_go = false;
    for (memory::kind* const kind : kinds_) {
      if (!kind->is_pinned(each.wanted)) tell(*kind, each);
    }
  }
  for_each_gap(
      whole, known, [&](std::size_t i) { return ranges_[i].pages; },
      [&](memory_range pages) {
        ranges_.push_back({pages, common(pages, wanted), false});
      });
  for (std::size_t i = known; i < ranges_.size(); ++i) {
    for (memory::kind* const kind : kinds_) tell(*kind, ranges_[i]);
  }
}

void host_pins::use(memory::kind& kind) {
  if (std::find(kinds_.begin(), kinds_.end(), &kind) != kinds_.end()) return;
  kinds_.push_back(&kind);
  for (range const& each : ranges_) tell(kind, each);
}

void host_pins::tell(memory::kind& kind, range const& pinned) {
  std::string const why = kind.pin(pinned.pages, pinned.wanted);
  if (!why.empty() && !warned_) warn_of_refusal(kind, pinned, why.c_str());
}

void host_pins::warn_of_refusal(memory::kind const& kind, range const& refused, char const* why) {
  warned_ = true;
  std::size_t all = 0;
  for (range const& each : ranges_) all += each.pages.bytes;
  rlimit locked{};
  std::string limit;
  if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY && locked.rlim_cur < all) {
    limit = format(" This process may lock %s, of %s that are to be pinned: raise `ulimit -l`.",
                   settings::format_bytes(locked.rlim_cur).c_str(), settings::format_bytes(all).c_str());
  }
  warn(
      "pin",
      "%s of private memory at %p are not pinned for %s devices, so copies to and from there are slower: %s.%s "
      "Said once; is_pinned() tells of others",
      settings::format_bytes(refused.wanted.bytes).c_str(), static_cast<void*>(refused.wanted.begin),
      to_string(kind.id()), why, limit.c_str());
}

/// Whether pins beside one want all of the pages.
bool host_pins::is_wanted(memory_range pages, number but) const {
  std::vector<memory_range> others;
  for (auto const& [name, each] : pins_) {
    if (name != but && overlap(pages_of(each), pages)) others.push_back(pages_of(each));
  }
  bool all = true;
  for_each_gap(
      pages, others.size(), [&](std::size_t i) { return others[i]; }, [&](memory_range) { all = false; });
  return all;
}

bool host_pins::remove(number pin) {
  memory_range const wanted = pins_.at(pin);
  auto const ends = [&](range const& each) {
    return overlap(each.pages, pages_of(wanted)) && !is_wanted(each.pages, pin);
  };
  // Kinds that have let go are asked again if another one has not yet.
  bool idle = true;
  for (range& each : ranges_) {
    if (!ends(each)) continue;
    for (memory::kind* const kind : kinds_) {
      bool const let_go = kind->unpin(each.pages);
      each.let_go = each.let_go || let_go;
      idle = idle && let_go;
    }
  }
  if (!idle) return false;
  std::erase_if(ranges_, ends);
  pins_.erase(pin);
  for (auto const& [name, each] : pins_) {
    if (overlap(pages_of(each), pages_of(wanted))) pin_rest(each);
  }
  return true;
}

bool host_pins::is_pinned(number pin) const {
  memory_range const wanted = pins_.at(pin);
  return !kinds_.empty() && std::all_of(kinds_.begin(), kinds_.end(), [&](memory::kind* kind) {
    return is_in_shared_heap(wanted) && !kind->pins_host_memory() ? true : kind->is_pinned(wanted);
  });
}

pin_name pin_memory(void* begin, std::size_t bytes) {
  device_copies& all = device_copies::for_call("atl::pin");
  if (bytes == 0) return {};
  guard const held;
  return {all.segments().pins().add({static_cast<std::byte*>(begin), bytes}), all.life()};
}

namespace {

bool exists(pin_name pin) {
  return pin.number != 0 && device_copies::exists() && pin.life == device_copies::here().life();
}

}  // namespace

void unpin_memory(pin_name pin) {
  if (!exists(pin)) return;
  wait_while([pin] {
    guard const held;
    return !device_copies::here().segments().pins().remove(pin.number);
  });
}

bool is_pinned(pin_name pin) {
  if (!exists(pin)) return false;
  guard const held;
  return device_copies::here().segments().pins().is_pinned(pin.number);
}

}  // namespace atl::engine
