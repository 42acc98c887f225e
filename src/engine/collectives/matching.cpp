// Do all members of a team start the same collectives in the same order? What a rank called travels with its
// steps and publications, which finds most mistakes at once. What is left are ranks that wait for something
// that nobody sends: each rank notes in its region what it started last, and who has waited long looks there.

#include <string>

#include "base/error.hpp"
#include "engine/collectives/collective.hpp"
#include "engine/host/call_sites.hpp"
#include "engine/progress/guard.hpp"
#include "engine/world.hpp"

namespace atl::engine {

namespace {

struct started {
  std::uint64_t team;
  noted_call call;
};

/// The words are stored one by one, while others may read: only together with this do they mean anything.
std::uint64_t check_of(started const& s) {
  std::uint64_t const order = std::uint64_t{s.call.history} << 32U | s.call.number;
  return ((s.team * 0x9e3779b97f4a7c15U ^ s.call.signature) * 0xc2b2ae3d27d4eb4fU ^ order) + 1;
}

/// False if the words do not belong together, or there are none.
bool read(started_collective const& from, started& s) {
  s.team = from.team.load(std::memory_order_relaxed);
  s.call.signature = from.signature.load(std::memory_order_relaxed);
  s.call.number = from.number.load(std::memory_order_relaxed);
  s.call.history = from.history.load(std::memory_order_relaxed);
  return from.check.load(std::memory_order_relaxed) == check_of(s);
}

std::uint32_t started_ever = 0;  ///< collectives of this process, on any team; under the guard

/// A peer's call with the number of one of ours that does not match, the first that both remember.
struct difference {
  bool found = false;
  std::uint64_t team = 0;
  noted_call mine;
  collective_signature theirs = 0;
};

difference find_difference(rank_page const& own, rank_page const& peer) {
  difference first;
  for (auto const& m : own.started) {
    started mine{};
    if (!read(m, mine) || (first.found && first.mine.number < mine.call.number)) continue;
    for (auto const& t : peer.started) {
      started theirs{};
      if (read(t, theirs) && theirs.team == mine.team && theirs.call.number == mine.call.number &&
          (theirs.call.history != mine.call.history ||
           !matches(theirs.call.signature, mine.call.signature))) {
        first = {true, mine.team, mine.call, theirs.call.signature};
      }
    }
  }
  return first;
}

}  // namespace

noted_call note_collective(team_data& team, collective_signature signature) noexcept {
  // The operation is left out: one of the program's own may stand for a predefined one.
  team.history = (team.history ^ without_operation(signature)) * 0x9e3779b97f4a7c15U + 1;
  team.history ^= team.history >> 29U;  // products carry differences upwards only
  noted_call const call{signature, team.next_number++, static_cast<std::uint32_t>(team.history >> 32U)};
  team.called[call.number & (team_data::history_size - 1)] = signature;
  started_collective& note = world->host->own_page().started[started_ever++ & (remembered_collectives - 1)];
  note.team.store(team.id, std::memory_order_relaxed);
  note.number.store(call.number, std::memory_order_relaxed);
  note.history.store(call.history, std::memory_order_relaxed);
  note.signature.store(signature, std::memory_order_relaxed);
  note.check.store(check_of({team.id, call}), std::memory_order_relaxed);
  return call;
}

void mismatch(team_data const& team, noted_call const& mine, std::int32_t other,
              collective_signature theirs) {
  noted_call call = mine;
  std::string site;
  host_domain const& host = *world->host;
  if (host.has(other)) {
    // What was found may be a consequence: look for the first difference.
    difference const d = find_difference(host.own_page(), host.page(host.local_rank(other)));
    if (d.found && d.team == team.id && d.mine.number <= mine.number) {
      call = d.mine;
      theirs = d.theirs;
    }
    site = ask_call_site(host, host.local_rank(other));
    if (!site.empty()) site = format("rank %d is here:\n", other) + site;
  }
  std::string const what =
      matches(call.signature, theirs)
          ? format(
                "the ranks called different things before collective no. %u on %s (%s), or not equally "
                "often; "
                "the other is rank %d.",
                call.number + 1, describe_team(team.id).c_str(), describe(call.signature).c_str(), other)
          : format("collective no. %u on %s is %s here (rank %d) but %s on rank %d.", call.number + 1,
                   describe_team(team.id).c_str(), describe(call.signature).c_str(), job.rank_me,
                   describe(theirs).c_str(), other);
  atl::stop(
      format("collectives: ranks do not match: %s All members must start a team's collectives in the same "
             "order, with the same root, count, type and operation.\n%srank %d is here:",
             what.c_str(), site.c_str(), job.rank_me));
}

void look_for_mismatch() noexcept {
  // Others may start collectives meanwhile; who is busy with that will look itself when it waits.
  try_guard const held;
  if (!held) return;
  host_domain const& host = *world->host;
  for (std::uint32_t r = 0; r < host.count(); ++r) {
    if (r == host.me()) continue;
    difference const d = find_difference(host.own_page(), host.page(r));
    auto const* const team = d.found ? static_cast<team_data const*>(find_team(d.team)) : nullptr;
    if (team != nullptr) mismatch(*team, d.mine, host.world_rank(r), d.theirs);
  }
}

void show_last_collective() noexcept {
  try_guard const held;
  if (!held) return;
  started mine{};
  std::uint32_t const last = (started_ever - 1) & (remembered_collectives - 1);
  if (!read(world->host->own_page().started[last], mine)) return;
  diagnostics->collective_number.store(mine.call.number, std::memory_order_relaxed);
  diagnostics->collective_signature.store(mine.call.signature, std::memory_order_relaxed);
  diagnostics->collective_team.store(mine.team, std::memory_order_relaxed);
}

}  // namespace atl::engine
