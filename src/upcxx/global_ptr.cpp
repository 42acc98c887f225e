#include "upcxx/global_ptr.hpp"

#include <cinttypes>
#include <cstdio>

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

}  // namespace atl::rt
