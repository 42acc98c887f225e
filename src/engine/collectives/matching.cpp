#include "engine/collectives/matching.hpp"

#include <string>

#include <atoll/engine/job.hpp>

#include "base/error.hpp"
#include "engine/collectives/given_lists.hpp"
#include "engine/collectives/rings.hpp"
#include "engine/host/call_sites.hpp"
#include "engine/progress/guard.hpp"

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

constexpr std::uint32_t slot_of(std::uint32_t started) { return started & (remembered_collectives - 1); }

}  // namespace

difference find_difference(rank_page const& own, rank_page const& peer) {
  difference first;
  for (auto const& m : own.started) {
    started mine{};
    if (!read(m, mine) || (first.found && first.mine.number < mine.call.number)) continue;
    for (auto const& t : peer.started) {
      started theirs{};
      if (read(t, theirs) && theirs.team == mine.team && theirs.call.number == mine.call.number &&
          (theirs.call.history != mine.call.history ||
           !matches(without_list(theirs.call.signature), without_list(mine.call.signature)))) {
        first = {true, mine.team, mine.call, theirs.call.signature};
      }
    }
  }
  return first;
}

void note_started(rank_page& own, std::uint32_t started, std::uint64_t team,
                  noted_call const& call) noexcept {
  started_collective& note = own.started[slot_of(started)];
  note.team.store(team, std::memory_order_relaxed);
  note.number.store(call.number, std::memory_order_relaxed);
  note.history.store(call.history, std::memory_order_relaxed);
  note.signature.store(call.signature, std::memory_order_relaxed);
  note.check.store(check_of({team, call}), std::memory_order_relaxed);
}

void note_collective(team_data& team, noted_call const& call) noexcept {
  team.called[call.number & (team_data::history_size - 1)] = call.signature;
  call_log::here().note(team.id, call);
}

namespace {

/// "rank 0 gives {0, 1}".
std::string describe_list(team_data const& team, std::uint32_t number, std::int32_t rank) {
  std::string const list = list_of(team.host, rank, team.id, number);
  return format("rank %d gave %s", rank, list.empty() ? "another one" : list.c_str());
}

std::string describe_mismatch(team_data const& team, noted_call const& call, std::int32_t other,
                              collective_signature theirs) {
  std::uint32_t const number = call.number + 1;
  std::string const on = describe_team(team.id);
  std::string const here = describe(call.signature);
  if (matches(call.signature, theirs)) {
    return format(
        "the ranks called different things before collective no. %u on %s (%s), or not equally often; the other "
        "is rank %d.",
        number, on.c_str(), here.c_str(), other);
  }
  if (matches(without_list(call.signature), without_list(theirs))) {
    return format(
        "collective no. %u on %s is %s on rank %d and rank %d, but %s and %s. The members of a new team must all "
        "give the same ranks in the same order.",
        number, on.c_str(), here.c_str(), job.rank_me, other,
        describe_list(team, call.number, job.rank_me).c_str(),
        describe_list(team, call.number, other).c_str());
  }
  return format("collective no. %u on %s is %s here (rank %d) but %s on rank %d.", number, on.c_str(),
                here.c_str(), job.rank_me, describe(theirs).c_str(), other);
}

}  // namespace

void mismatch(team_data const& team, noted_call const& mine, std::int32_t other,
              collective_signature theirs) {
  noted_call call = mine;
  std::string site;
  host_domain const& host = team.host;
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
  std::string const what = describe_mismatch(team, call, other, theirs);
  atl::stop(
      format("collectives: ranks do not match: %s All members must start a team's collectives "
             "in the same order, with the same root, count, type and operation.\n%srank %d is here:",
             what.c_str(), site.c_str(), job.rank_me));
}

namespace {

/// Others may start collectives meanwhile; who is busy with that will look itself when it waits. Members on other
/// hosts are left out, since nobody can look into their pages: what they called comes with their steps, and who
/// waits for one that sends none stays in the launcher's report.
void look_for_mismatch(host_domain const& host) {
  for (std::uint32_t r = 0; r < host.count(); ++r) {
    if (r == host.me()) continue;
    difference const d = find_difference(host.own_page(), host.page(r));
    team_data const* const team = d.found ? team_registry::here().find(d.team) : nullptr;
    if (team != nullptr) mismatch(*team, d.mine, host.world_rank(r), d.theirs);
  }
}

void look_around(std::uint64_t waited_ns) noexcept {
  constexpr std::uint64_t suspicious_ns = 500'000'000;
  try_guard const held;
  if (!held) return;
  call_log::here().show_last();
  if (waited_ns <= suspicious_ns) return;
  look_for_mismatch(progress_engine::here().host);
  rings::here().look(waited_ns);
}

}  // namespace

call_log::call_log(progress_engine& engine) : single(this), engine_(engine) {
  engine.long_wait = &look_around;
}

call_log::~call_log() { engine_.long_wait = nullptr; }

void call_log::note(std::uint64_t team, noted_call const& call) noexcept {
  note_started(engine_.host.own_page(), started_++, team, call);
}

void call_log::show_last() const noexcept {
  started mine{};
  if (!read(engine_.host.own_page().started[slot_of(started_ - 1)], mine)) return;
  diagnostics->collective_number.store(mine.call.number, std::memory_order_relaxed);
  diagnostics->collective_signature.store(mine.call.signature, std::memory_order_relaxed);
  diagnostics->collective_team.store(mine.team, std::memory_order_relaxed);
}

}  // namespace atl::engine
