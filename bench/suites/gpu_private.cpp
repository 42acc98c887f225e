// Private memory to and from the own GPU: pinned, beside the driver's own copies of it; and cold memory that is not pinned, beside what
// one core's memcpy of such memory takes, which whoever copies it has to do.

#include <algorithm>
#include <atoll/pin.hpp>
#include <cstring>
#include <string>
#include <upcxx/upcxx.hpp>
#include <utility>
#include <vector>

#include "suites/gpu.hpp"

namespace atl::bench {
namespace {

using pointer = raw_copies::pointer;

constexpr std::size_t smallest = std::size_t{64} << 10;
/// More than caches hold, so that nothing of it is there when its turn comes again.
constexpr std::size_t cold_bytes = std::size_t{1} << 30;
/// What memcpy has at its other end: a buffer that stays in the core's cache, as one for staging would.
constexpr std::size_t warm_bytes = std::size_t{256} << 10;

/// Private memory that is used in turn.
class cold_memory {
 public:
  explicit cold_memory(std::size_t bytes) : memory_(bytes, 'x') {}
  char* next(std::size_t bytes) {
    if (at_ + bytes > memory_.size()) at_ = 0;
    return memory_.data() + std::exchange(at_, at_ + bytes);
  }

 private:
  std::vector<char> memory_;
  std::size_t at_ = 0;
};

/// `start(i)` begins a copy, which `all` hears of.
template <class Start>
void many(std::uint64_t n, Start&& start) {
  upcxx::promise<> all;
  for (std::uint64_t i = 0; i < n; ++i) start(all);
  all.finalize().wait();
}

void run_pinned(setting const& s, memories& m, raw_memories const& raw_at) {
  raw_copies* const raw = s.raw;
  char* const memory = m.own_private.data();
  auto const gpu = upcxx::static_kind_cast<upcxx::gpu_default_device::kind>(m.own_gpu);
  auto const pinned = atl::pin(memory, m.own_private.size());
  if (s.g.first() && !pinned.is_pinned()) s.g.print_fact("pinned", "refused by the driver: see the warning");
  for (std::size_t const bytes : s.options.device_sizes) {
    if (bytes < smallest) continue;
    for (bool const out : {true, false}) {
      row r = out ? s.make_row("pinned_to_gpu.flood", "pinned memory to own GPU, many in flight", bytes)
                  : s.make_row("gpu_to_pinned.flood", "own GPU to pinned memory, many in flight", bytes);
      r.show = "bandwidth";
      r.least = 16;
      s.g.served(
          r,
          [&](std::uint64_t n) {
            many(n, [&](upcxx::promise<>& all) {
              auto const told = upcxx::operation_cx::as_promise(all);
              if (out) {
                upcxx::copy(static_cast<char const*>(memory), gpu, bytes, told);
              } else {
                upcxx::copy(gpu, memory, bytes, told);
              }
            });
          },
          s.limit([&](std::uint64_t n) {
            for (std::uint64_t i = 0; i < n; ++i) {
              raw->copy(out ? raw_at.own_gpu : raw_at.own_private, out ? raw_at.own_private : raw_at.own_gpu,
                        bytes);
            }
            raw->wait();
          }));
    }
  }
}

void run_cold(setting const& s, memories const& m) {
  auto const gpu = upcxx::static_kind_cast<upcxx::gpu_default_device::kind>(m.own_gpu);
  std::size_t const largest = *std::max_element(s.options.device_sizes.begin(), s.options.device_sizes.end());
  cold_memory cold(s.g.first() ? std::max(s.raw != nullptr ? cold_bytes : 0, 2 * largest) : 0);
  std::vector<char> warm(warm_bytes, 'y');
  for (std::size_t const bytes : s.options.device_sizes) {
    if (bytes < smallest) continue;
    for (bool const out : {true, false}) {
      row r =
          out ? s.make_row("private_to_gpu.flood", "cold private memory to own GPU, many in flight", bytes)
              : s.make_row("gpu_to_private.flood", "own GPU to cold private memory, many in flight", bytes);
      r.show = "bandwidth";
      r.least = 4;
      if (s.raw != nullptr) r.limit = "memcpy";
      s.g.served(
          r,
          [&](std::uint64_t n) {
            many(n, [&](upcxx::promise<>& all) {
              auto const told = upcxx::operation_cx::as_promise(all);
              char* const place = cold.next(bytes);
              if (out) {
                upcxx::copy(static_cast<char const*>(place), gpu, bytes, told);
              } else {
                upcxx::copy(gpu, place, bytes, told);
              }
            });
          },
          s.limit([&](std::uint64_t n) {
            for (std::uint64_t i = 0; i < n; ++i) {
              char* const place = cold.next(bytes);
              for (std::size_t at = 0; at < bytes; at += warm_bytes) {
                std::size_t const piece = std::min(warm_bytes, bytes - at);
                std::memcpy(out ? warm.data() : place + at, out ? place + at : warm.data(), piece);
                keep(warm.data());
              }
            }
          }));
    }
  }
}

/// What it costs to pin.
void run_pinning(setting const& s, memories& m) {
  for (std::size_t const bytes : s.options.device_sizes) {
    if (bytes < smallest) continue;
    row r = s.make_row("pin.time", "pin private memory, and unpin it", bytes);
    r.limit = "none";
    s.g.served(r, [&](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) atl::pin(m.own_private.data(), bytes).unpin();
    });
  }
}

}  // namespace

void run_private(setting const& s, memories& m, raw_memories const& raw_at) {
  run_pinned(s, m, raw_at);
  run_cold(s, m);
  run_pinning(s, m);
}

}  // namespace atl::bench
