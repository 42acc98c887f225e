#include "upcxx/allocate.hpp"

#include <atomic>
#include <cstddef>
#include <string>

#include <atoll/base/check.hpp>
#include <atoll/engine/host_map.hpp>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "engine/world.hpp"
#include "memory/host/host_heap.hpp"
#include "upcxx/leaks.hpp"

namespace atl::rt {
namespace {

using memory::host_heap;

std::byte* own_region() noexcept { return engine::hosts.to_address(engine::hosts.own_rank(), 0); }

/// Ends the job over memory that cannot be freed here, saying what it is.
[[noreturn]] ATOLL_COLD void refuse(std::uint32_t rank, std::uint64_t offset, char const* caller) {
  if (std::uint32_t const me = engine::hosts.own_rank(); rank != me) {
    check_failed(
        "%s: the memory at offset 0x%llx belongs to rank %u; only the rank that allocated it may free it",
        caller, static_cast<unsigned long long>(offset), rank);
  }
  check_failed(
      "%s: no allocation starts at offset 0x%llx of this rank's shared heap: freed already, not what the "
      "allocation returned, or allocated by another function than the counterpart of %s",
      caller, static_cast<unsigned long long>(offset), caller);
}

}  // namespace

heap_place heap_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  std::uint64_t const offset = host_heap().allocate(bytes, alignment);
  if (offset == 0) return {};
  if (leak_sites_wanted) [[unlikely]]
    note_allocation(offset);
  return {own_region() + offset, offset};
}

void heap_deallocate(void* address, char const* caller) noexcept {
  if (!host_heap().ready()) return;  // the heap went with finalize
  auto const offset = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address) -
                                                 reinterpret_cast<std::uintptr_t>(own_region()));
  if (leak_sites_wanted) [[unlikely]]
    forget_allocation(offset);
  if (host_heap().deallocate(offset)) return;
  auto const place = engine::hosts.from_address(address);
  if (place.has_value()) refuse(place->rank, place->offset, caller);
  check_failed("%s: %p is in no shared heap; memory from new or malloc goes back by delete or free", caller,
               address);
}

void heap_deallocate(std::uint32_t rank, std::uint64_t offset, char const* caller) noexcept {
  if (!host_heap().ready()) return;
  if (leak_sites_wanted) [[unlikely]]
    forget_allocation(offset);
  if (rank != engine::hosts.own_rank() || !host_heap().deallocate(offset)) refuse(rank, offset, caller);
}

void heap_check(std::uint32_t rank, std::uint64_t offset, std::size_t bytes, char const* caller) noexcept {
  if (!host_heap().ready()) check_failed("%s: called before upcxx::init or after upcxx::finalize", caller);
  if (rank != engine::hosts.own_rank()) refuse(rank, offset, caller);
  std::size_t const size = host_heap().size_of(offset);
  if (size == 0) refuse(rank, offset, caller);
  if (size < bytes) {
    check_failed(
        "%s: the allocation at offset 0x%llx has %zu bytes, but the type needs %zu: "
        "allocated as another type",
        caller, static_cast<unsigned long long>(offset), size, bytes);
  }
}

void heap_absent(char const* caller, bool checked) noexcept {
  if (host_heap().ready() || engine::world != nullptr) return;
  if (checked) check_failed("%s: called before upcxx::init or after upcxx::finalize", caller);
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  warn(caller,
       "called before upcxx::init or after upcxx::finalize, when there is no shared heap: gives null");
}

void throw_bad_shared_alloc(std::size_t bytes, std::size_t alignment) {
  using settings::format_bytes;
  if (!host_heap().ready()) {
    throw bad_shared_alloc(engine::world == nullptr
                               ? "no shared heap: the library is not initialised (upcxx::init)"
                               : "no shared heap: experimental::destroy_heap was called");
  }
  std::string const size = bytes == SIZE_MAX ? "more than the address space" : format("%zu bytes", bytes);
  unsigned const me = engine::hosts.own_rank();
  std::string const refusal = host_heap().refusal();
  if (!refusal.empty() && host_heap().largest_free() >= bytes) {
    throw bad_shared_alloc(format("rank %u: no memory for %s of the shared heap (%s of %s reserved): %s", me,
                                  size.c_str(), format_bytes(host_heap().reserved()).c_str(),
                                  format_bytes(host_heap().size()).c_str(), refusal.c_str())
                               .c_str());
  }
  throw bad_shared_alloc(format("rank %u: shared heap exhausted: %s requested (alignment %zu); "
                                "%s of %s used, largest free block %s. "
                                "Raise UPCXX_SHARED_HEAP_SIZE or --shared-heap.",
                                me, size.c_str(), alignment, format_bytes(host_heap().used()).c_str(),
                                format_bytes(host_heap().size()).c_str(),
                                format_bytes(host_heap().largest_free()).c_str())
                             .c_str());
}

std::int64_t heap_size() noexcept { return static_cast<std::int64_t>(host_heap().size()); }
std::int64_t heap_used() noexcept { return static_cast<std::int64_t>(host_heap().used()); }

}  // namespace atl::rt
