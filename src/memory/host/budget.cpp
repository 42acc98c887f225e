#include "memory/host/budget.hpp"

#include "base/error.hpp"
#include "base/settings.hpp"

namespace atl::memory {
namespace {

using settings::format_bytes;

constexpr std::uint64_t private_bytes_per_rank = 8u << 20;  // what a rank needs beside its region, about

/// Where /proc cannot be read, only a control group bounds.
std::uint64_t available(os::memory_limits const& limits) noexcept {
  if (limits.host_total == 0 && !limits.group_limit) return ~std::uint64_t{0};
  if (limits.host_total == 0) {
    os::memory_limits group_only = limits;
    group_only.host_available = ~std::uint64_t{0};
    return group_only.available();
  }
  return limits.available();
}

}  // namespace

std::string describe(os::memory_limits const& limits) {
  std::uint64_t const bytes = available(limits);
  if (limits.group_limit && (limits.host_total == 0 || bytes < limits.host_available)) {
    return format_bytes(bytes) + " are free in the control group (limit " +
           format_bytes(*limits.group_limit) + ")";
  }
  if (limits.host_total == 0) return "free memory is unknown";
  return format_bytes(bytes) + " are free on the host (of " + format_bytes(limits.host_total) + ")";
}

std::string explain_shortage(os::memory_limits const& limits, std::uint64_t bytes_per_rank,
                             std::uint32_t ranks) {
  std::uint64_t const room = available(limits);
  std::uint64_t const overhead = ranks * private_bytes_per_rank;
  std::uint64_t needed = 0;
  bool const overflow = __builtin_mul_overflow(bytes_per_rank, std::uint64_t{ranks}, &needed) ||
                        __builtin_add_overflow(needed, overhead, &needed);
  if (!overflow && needed <= room) return {};
  std::uint64_t each = 0;
  if (__builtin_add_overflow(bytes_per_rank, private_bytes_per_rank, &each)) each = ~std::uint64_t{0};
  return format(
      "cannot reserve %s of shared memory for each of the %u ranks on this host: %s, and each rank needs "
      "some %s of private memory besides. Start fewer ranks on this host (%llu would fit), or lower "
      "ATOLL_TRANSIT_MEMORY.",
      format_bytes(bytes_per_rank).c_str(), ranks, describe(limits).c_str(),
      format_bytes(private_bytes_per_rank).c_str(), static_cast<unsigned long long>(room / each));
}

std::string explain_refusal(os::memory_limits const& limits, std::uint64_t bytes, std::uint32_t ranks,
                            std::uint64_t promised) {
  std::uint64_t const room = available(limits);
  // What the ranks take beside their heaps must not meet the limit either: that would be a kill.
  std::uint64_t const kept = ranks * (private_bytes_per_rank + promised);
  if (kept <= room && bytes <= room - kept) return {};
  if (kept > room) {
    return format(
        "%s, but %u rank%s on this host need%s %s for messages and private memory alone. Start fewer ranks.",
        describe(limits).c_str(), ranks, ranks == 1 ? "" : "s", ranks == 1 ? "s" : "",
        format_bytes(kept).c_str());
  }
  return format(
      "%s, %s of which are kept for messages and private memory of %u rank%s. Allocate less or start fewer ranks.",
      describe(limits).c_str(), format_bytes(kept).c_str(), ranks, ranks == 1 ? "" : "s");
}

}  // namespace atl::memory
