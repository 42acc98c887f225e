#include "upcxx/global_ptr.hpp"

#include <cinttypes>
#include <cstdio>

#include <upcxx/global_ptr_of.hpp>

#include "engine/host/page.hpp"

namespace atl::rt {
namespace {

char const* kind_name(unsigned kind) noexcept {
  switch (static_cast<upcxx::memory_kind>(kind)) {
    case upcxx::memory_kind::any:
      break;
    case upcxx::memory_kind::host:
      return "host";
    case upcxx::memory_kind::cuda_device:
      return "cuda";
    case upcxx::memory_kind::hip_device:
      return "hip";
    case upcxx::memory_kind::ze_device:
      return "ze";
  }
  return "kind?";
}

}  // namespace

global_ptr_text describe_global_ptr(std::uint64_t owner, std::uint64_t address) noexcept {
  global_ptr_text text{};
  if (address == 0) {
    std::snprintf(text.characters, sizeof text.characters, "global_ptr(null)");
    return text;
  }
  auto const rank = static_cast<std::uint32_t>(owner);
  auto const segment = static_cast<unsigned>(owner >> 32 & 0xffff);
  auto const kind = static_cast<unsigned>(owner >> 48);
  if (kind == static_cast<unsigned>(upcxx::memory_kind::host)) {
    std::snprintf(text.characters, sizeof text.characters, "global_ptr(rank %" PRIu32 ", host+0x%" PRIx64 ")",
                  rank, address);
  } else {
    std::snprintf(text.characters, sizeof text.characters, "global_ptr(rank %" PRIu32 ", %s%u:0x%" PRIx64 ")",
                  rank, kind_name(kind), segment, address);
  }
  return text;
}

std::uint64_t owners_address(std::uint32_t rank, char const* call) {
  engine::host_map const& hosts = engine::hosts;
  if (!hosts.is_local(rank)) {
    check_failed(
        "%s: rank %u is not of this host, or upcxx is not initialised; where it keeps its memory is not known "
        "here. Have the owner make the pointer (to_global_ptr) and send that",
        call, rank);
  }
  return reinterpret_cast<engine::rank_page const*>(hosts.to_address(rank, 0))->own_address;
}

std::uint64_t offset_in_heap(std::uint32_t rank, std::uint64_t address) {
  engine::host_map const& hosts = engine::hosts;
  std::uint64_t const offset = address - owners_address(rank, "atl::global_ptr_of");
  if (offset < hosts.heap_begin || offset > hosts.heap_end) {
    check_failed("atl::global_ptr_of: 0x%" PRIx64
                 " is not in the shared heap of rank %u as that rank sees it (0x%" PRIx64 " to 0x%" PRIx64
                 "). Give the address that local() has on the owner, of memory from new_, "
                 "new_array or allocate",
                 address, rank, address - offset + hosts.heap_begin, address - offset + hosts.heap_end);
  }
  return offset;
}

}  // namespace atl::rt
