#include "upcxx/leaks.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <atoll/engine/collectives.hpp>
#include <atoll/engine/job.hpp>

#include "base/call_site.hpp"
#include "base/error.hpp"
#include "base/settings.hpp"
#include "engine/collectives/run_to_end.hpp"
#include "engine/copies/copies.hpp"
#include "engine/progress/guard.hpp"
#include "engine/progress/messages.hpp"
#include "engine/world.hpp"
#include "memory/host/host_heap.hpp"
#include "upcxx/runtime_state.hpp"

namespace atl::rt {

bool leak_sites_wanted = false;

namespace {

constexpr std::size_t most_sites = 10;  // beyond that nobody reads it
constexpr std::size_t most_lines = 4;   // of a place

struct sites {
  std::mutex lock;
  std::map<std::uint64_t, std::vector<void*>> by_offset;  ///< return addresses of the call
};

/// Never destroyed: destructors of statics may still free memory.
sites& known_sites() {
  static auto* const all = new sites;
  return *all;
}

/// Combined over all ranks.
struct leak_totals {
  std::uint64_t bytes;
  std::uint64_t allocations;
  std::uint64_t ranks;  ///< that have any
  std::uint64_t most_bytes;
  std::int64_t most_rank;
  std::uint64_t teams;           ///< of devices that were not destroyed
  std::uint64_t ranks_of_teams;  ///< that have such
  std::uint64_t awaited;         ///< calls and futures that wait for objects that do not exist
  std::int64_t one_that_waits;   ///< a rank that has such
};

void add_totals(void* a, void const* b, std::size_t count, void const*) {
  for (std::size_t i = 0; i < count; ++i) {
    leak_totals x;
    leak_totals y;
    std::memcpy(&x, static_cast<leak_totals*>(a) + i, sizeof x);
    std::memcpy(&y, static_cast<leak_totals const*>(b) + i, sizeof y);
    if (y.most_bytes > x.most_bytes || (y.most_bytes == x.most_bytes && y.most_rank < x.most_rank)) {
      x.most_bytes = y.most_bytes;
      x.most_rank = y.most_rank;
    }
    if (x.awaited == 0 || (y.awaited != 0 && y.one_that_waits < x.one_that_waits)) {
      x.one_that_waits = y.one_that_waits;
    }
    x.awaited += y.awaited;
    x.teams += y.teams;
    x.ranks_of_teams += y.ranks_of_teams;
    x.bytes += y.bytes;
    x.allocations += y.allocations;
    x.ranks += y.ranks;
    std::memcpy(static_cast<leak_totals*>(a) + i, &x, sizeof x);
  }
}

/// Memory of this rank that was not freed, but for what the library itself keeps.
struct own_leaks {
  std::uint64_t bytes = memory::host_heap().used();
  std::uint64_t allocations = memory::host_heap().allocations();
  std::uint64_t teams = 0;  ///< of devices that are open

  /// Their kernels may use their mailboxes still, and the program knows of none.
  own_leaks() {
    if (!engine::device_copies::exists()) return;
    engine::guard const held;
    for (engine::kernel_mailbox const* const box : engine::device_copies::here().kernels().open_mailboxes()) {
      auto const place = engine::hosts.from_address(box);
      if (!place.has_value()) continue;
      ++teams;
      --allocations;
      bytes -= memory::host_heap().size_of(place->offset);
      forget_allocation(place->offset);
    }
  }
};

leak_totals totals_of_all(own_leaks const& own) {
  std::int32_t const me = engine::job.rank_me;
  leak_totals totals{own.bytes, own.allocations,          own.bytes != 0 ? 1U : 0U, own.bytes, me,
                     own.teams, own.teams != 0 ? 1U : 0U, objects_awaited(),        me};
  engine::run_to_end(&engine::poll_in_wait, [&](engine::on_done done) {
    engine::start_reduce(engine::world_team(), &totals, &totals, 1, sizeof totals, &add_totals, nullptr, 0,
                         done);
  });
  return totals;
}

std::string amount(std::uint64_t bytes, std::uint64_t allocations) {
  return format("%s in %llu allocation%s", settings::format_bytes(bytes).c_str(),
                static_cast<unsigned long long>(allocations), allocations == 1 ? "" : "s");
}

/// Where the memory of this rank that was not freed was allocated, most first.
std::string places() {
  struct place {
    std::uint64_t bytes = 0;
    std::uint64_t allocations = 0;
  };
  sites& all = known_sites();
  std::lock_guard const held(all.lock);
  code_names names;
  std::map<std::vector<void*>, place> by_stack;
  for (auto const& [offset, stack] : all.by_offset) {
    place& p = by_stack[stack];
    p.bytes += memory::host_heap().size_of(offset);
    ++p.allocations;
  }
  std::vector<std::pair<std::vector<void*>, place>> sorted(by_stack.begin(), by_stack.end());
  std::sort(sorted.begin(), sorted.end(),
            [](auto const& a, auto const& b) { return a.second.bytes > b.second.bytes; });
  std::string text;
  for (std::size_t i = 0; i < sorted.size() && i < most_sites; ++i) {
    text += "\n  " + amount(sorted[i].second.bytes, sorted[i].second.allocations);
    char const* word = "allocated in";
    for (code_line const& line : program_lines(sorted[i].first, most_lines, names)) {
      text += format("\n    %s %s", word, to_string(line).c_str());
      word = "called from ";
    }
  }
  if (sorted.size() > most_sites) text += format("\n  and %zu more places", sorted.size() - most_sites);
  return text;
}

}  // namespace

void read_leak_setting() { leak_sites_wanted = settings::leaks() == "sites"; }

void note_allocation(std::uint64_t offset) noexcept {
  std::vector<void*> stack = return_addresses();
  sites& all = known_sites();
  std::lock_guard const held(all.lock);
  all.by_offset[offset] = std::move(stack);
}

void forget_allocation(std::uint64_t offset) noexcept {
  sites& all = known_sites();
  std::lock_guard const held(all.lock);
  all.by_offset.erase(offset);
}

void forget_allocations() noexcept {
  sites& all = known_sites();
  std::lock_guard const held(all.lock);
  all.by_offset.clear();
}

void report_leaks_of_all() {
  // Collective, so whatever this rank's setting is.
  own_leaks const own;
  leak_totals const totals = totals_of_all(own);
  if (engine::job.rank_me == 0 && totals.bytes != 0 && settings::leaks() != "no") {
    std::string const most = totals.ranks == 1
                                 ? format("on rank %lld", static_cast<long long>(totals.most_rank))
                                 : format("on %llu of %d ranks (most on rank %lld: %s)",
                                          static_cast<unsigned long long>(totals.ranks), engine::job.rank_n,
                                          static_cast<long long>(totals.most_rank),
                                          settings::format_bytes(totals.most_bytes).c_str());
    warn(
        "finalize", "shared memory was not freed: %s %s.%s", amount(totals.bytes, totals.allocations).c_str(),
        most.c_str(),
        leak_sites_wanted ? "" : " ATOLL_LEAKS=sites shows where it was allocated, ATOLL_LEAKS=no is silent");
  }
  if (engine::job.rank_me == 0 && totals.teams != 0 && settings::leaks() != "no") {
    warn(
        "finalize",
        "device teams were not destroyed: %llu on %llu of %d ranks (stream_reduction has one, too). Call destroy() on "
        "all members when their kernels have ended, before that of the allocator",
        static_cast<unsigned long long>(totals.teams), static_cast<unsigned long long>(totals.ranks_of_teams),
        engine::job.rank_n);
  }
  if (engine::job.rank_me == 0 && totals.awaited != 0 && settings::leaks() != "no") {
    warn("finalize",
         "%llu calls or futures still wait for a distributed object or team that was never constructed "
         "where it is awaited (first on rank %lld); they end without having run",
         static_cast<unsigned long long>(totals.awaited), static_cast<long long>(totals.one_that_waits));
  }
  if (leak_sites_wanted && own.bytes != 0) {
    warn("finalize", "shared memory was not freed:%s", places().c_str());
  }
  forget_allocations();
}

}  // namespace atl::rt
