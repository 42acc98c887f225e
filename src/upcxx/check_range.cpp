#include "upcxx/detail/check_range.hpp"

#include <algorithm>
#include <string>

#include <atoll/base/check.hpp>
#include <atoll/engine/host_map.hpp>
#include <atoll/engine/job.hpp>
#include <upcxx/detail/device_runtime.hpp>
#include <upcxx/detail/persona_state.hpp>

#include "base/error.hpp"
#include "engine/world.hpp"
#include "memory/host/host_heap.hpp"

namespace atl::rt {
namespace {

/// "8 elements of 4 bytes at global_ptr(rank 1, host+0x4000)"
std::string describe(remote_range const& range) {
  return format("%zu element%s of %zu byte%s at %s", range.count, range.count == 1 ? "" : "s",
                range.element_bytes, range.element_bytes == 1 ? "" : "s",
                describe_global_ptr(range.owner, range.address).characters);
}

/// More than any memory has if that does not fit.
std::uint64_t bytes_of(remote_range const& range) {
  std::uint64_t bytes = 0;
  return __builtin_mul_overflow(range.count, range.element_bytes, &bytes) ? UINT64_MAX : bytes;
}

void check_in_heap(remote_range const& range, std::uint32_t rank, char const* call, char const* role) {
  engine::host_map const& hosts = engine::hosts;
  std::uint64_t const bytes = bytes_of(range);
  // No elements may begin where the heap ends.
  if (range.address < hosts.heap_begin || range.address > hosts.heap_end ||
      (range.address == hosts.heap_end && bytes != 0)) {
    check_failed(
        "%s: the %s, %s, does not lie in the shared heap of rank %u, which has offsets 0x%llx to 0x%llx: the "
        "pointer was moved too far, or never came from new_, new_array or allocate",
        call, role, describe(range).c_str(), rank, static_cast<unsigned long long>(hosts.heap_begin),
        static_cast<unsigned long long>(hosts.heap_end));
  }
  if (bytes > hosts.heap_end - range.address) {
    check_failed(
        "%s: the %s, %s, ends beyond the shared heap of rank %u, of which only %llu bytes follow: compare "
        "the count (elements, not bytes) with what was allocated",
        call, role, describe(range).c_str(), rank,
        static_cast<unsigned long long>(hosts.heap_end - range.address));
  }
  // What other ranks have allocated is known to them only.
  memory::shared_heap const& heap = memory::host_heap();
  if (rank == hosts.own_rank() && bytes != 0 && range.in_one_allocation && heap.ready() &&
      !heap.covers(range.address, bytes)) {
    check_failed(
        "%s: the %s, %s, is not within one live allocation of this rank's shared heap: it was freed, or the "
        "count (elements, not bytes) is larger than what was allocated",
        call, role, describe(range).c_str());
  }
}

void check_in_device(remote_range const& range, char const* call, char const* role) {
  if (!range.in_one_allocation) return;  // its ends are looked at by themselves
  if (is_live_device_range(range.owner, range.address, bytes_of(range))) return;
  check_failed(
      "%s: the %s, %s, is not within one live allocation of this rank's device memory: it was freed, its "
      "device or allocator was destroyed, or the count is too large",
      call, role, describe(range).c_str());
}

}  // namespace

void check_range(remote_range const& range, char const* call, char const* role) noexcept {
  if (range.address == 0) {
    check_failed(
        "%s: the %s is a null global pointer: allocate it with new_, new_array or allocate, and send the "
        "pointer to the ranks that use it (dist_object, broadcast)",
        call, role);
  }
  auto const rank = static_cast<std::uint32_t>(range.owner);
  if (engine::world == nullptr) {
    check_failed("%s: called before upcxx::init or after upcxx::finalize", call);
  }
  if (rank >= static_cast<std::uint32_t>(engine::job.rank_n)) {
    check_failed(
        "%s: the %s, %s, names a rank that the job of %d ranks does not have: the pointer "
        "is not initialised, was overwritten, or is of another job",
        call, role, describe(range).c_str(), engine::job.rank_n);
  }
  bool const on_host = static_cast<upcxx::memory_kind>(range.owner >> 48) == upcxx::memory_kind::host;
  if (on_host && engine::hosts.is_local(rank)) check_in_heap(range, rank, call, role);
  if (!on_host) check_in_device(range, call, role);
  // Regions begin at pages, so nothing is known of larger alignments.
  if (range.address % std::min<std::size_t>(range.alignment, 4096) != 0) {
    check_failed(
        "%s: the %s, %s, is not aligned to %zu bytes as its type needs: was it cast from another type?", call,
        role, describe(range).c_str(), range.alignment);
  }
}

void refuse_run(std::uint64_t owner, std::uint64_t address, char const* call, char const* role) noexcept {
  if (address == 0) {
    check_failed("%s: rank %d has given a null global pointer among the %s runs", call, engine::job.rank_me,
                 role);
  }
  check_failed(
      "%s: the %s runs begin in memory that rank %d addresses, but one is at %s: start one transfer for each rank",
      call, role, engine::job.rank_me, describe_global_ptr(owner, address).characters);
}

void check_injection(char const* call) noexcept {
  if (engine::world == nullptr) {
    check_failed("%s: called before upcxx::init or after upcxx::finalize", call);
  }
  if (!engine::world->several_threads && this_thread().current != &master_persona()) {
    check_failed(
        "%s: in the seq thread mode only the thread with the master persona as its current one may "
        "communicate. Compile with UPCXX_THREADMODE=par, or hand the call over: "
        "master_persona().lpc_ff(...)",
        call);
  }
}

void check_heap_use(char const* call) noexcept {
  if (engine::world == nullptr || engine::world->several_threads || this_thread().holds_master) return;
  check_failed(
      "%s: in the seq thread mode only the thread that holds the master persona may allocate and free in "
      "the shared heap. Compile with UPCXX_THREADMODE=par, or hand the call over: "
      "master_persona().lpc(...)",
      call);
}

void check_disjoint(void const* dest, void const* source, std::size_t bytes, char const* call) noexcept {
  auto const to = reinterpret_cast<std::uintptr_t>(dest);
  auto const from = reinterpret_cast<std::uintptr_t>(source);
  // An array onto itself changes nothing: so end rings of one rank.
  std::size_t const distance = to > from ? to - from : from - to;
  if (bytes == 0 || to == from || distance >= bytes) return;
  check_failed(
      "%s: source and destination, %zu bytes each, overlap: the destination begins %zu bytes %s "
      "the source. Copy in two steps, or by std::memmove where both are local",
      call, bytes, distance, to > from ? "behind" : "before");
}

}  // namespace atl::rt
