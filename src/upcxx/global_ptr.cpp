#include "upcxx/global_ptr.hpp"

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <unordered_map>
#include <utility>

#include <atoll/engine/am.hpp>
#include <atoll/engine/job.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/global_ptr_of.hpp>

#include "engine/host/page.hpp"
#include "engine/period.hpp"
#include "engine/progress/guard.hpp"
#include "engine/progress/waiting.hpp"

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

namespace {

/// Where a rank of another host keeps its region: asked for once, and remembered for the period.
struct address_answer {
  std::atomic<std::uint64_t> address{0};
};
struct address_told {
  std::uint64_t asker;  ///< address of its address_answer
  std::uint64_t address;
};

void take_address(engine::message* m) {
  address_told told;
  std::memcpy(&told, m->payload(), sizeof told);
  engine::release(m);
  // Release pairs with the acquire in ask_address().
  reinterpret_cast<address_answer*>(static_cast<std::uintptr_t>(told.asker))
      ->address.store(told.address, std::memory_order_release);
}

void tell_address(engine::message* m) {
  address_told told;
  std::memcpy(&told, m->payload(), sizeof told);
  std::int32_t const asker = m->source;
  engine::release(m);
  told.address = engine::progress_engine::here().host.own_page().own_address;
  engine::am_short(asker, engine::token_cache<&take_address>::get(), &told, sizeof told,
                   engine::pressure::always);
}

std::uint64_t ask_address(std::uint32_t rank) {
  static std::unordered_map<std::uint32_t, std::uint64_t> known;
  static std::uint64_t period = 0;
  {
    engine::guard const held;
    if (std::exchange(period, engine::periods_ended()) != engine::periods_ended()) known.clear();
    auto const found = known.find(rank);
    if (found != known.end()) return found->second;
  }
  address_answer answer;
  address_told const question{reinterpret_cast<std::uintptr_t>(&answer), 0};
  engine::am_short(static_cast<std::int32_t>(rank), engine::token_cache<&tell_address>::get(), &question,
                   sizeof question, engine::pressure::always);
  engine::wait_while([&] { return answer.address.load(std::memory_order_acquire) == 0; });
  engine::guard const held;
  return known[rank] = answer.address.load(std::memory_order_relaxed);
}

}  // namespace

std::uint64_t owners_address(std::uint32_t rank, char const* call) {
  engine::host_map const& hosts = engine::hosts;
  if (hosts.is_local(rank)) {
    return reinterpret_cast<engine::rank_page const*>(hosts.to_address(rank, 0))->own_address;
  }
  if (!initialized() || rank >= static_cast<std::uint32_t>(engine::job.rank_n)) {
    check_failed(
        "%s: rank %u is not of this job, or upcxx is not initialised; where it keeps its memory is not known "
        "here. Have the owner make the pointer (to_global_ptr) and send that",
        call, rank);
  }
  check_injection(call);  // in all code modes, as this is seldom called
  return ask_address(rank);
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
