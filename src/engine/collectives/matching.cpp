#include "engine/collectives/matching.hpp"

#include <string>

#include <atoll/engine/job.hpp>

#include "base/error.hpp"
#include "engine/collectives/given_lists.hpp"
#include "engine/collectives/inquiries.hpp"
#include "engine/collectives/rings.hpp"
#include "engine/host/call_sites.hpp"
#include "engine/progress/guard.hpp"

namespace atl::engine {

namespace {

/// The words are stored one by one, while others may read: only together with this do they mean anything.
std::uint64_t check_of(started_call const& s) {
  std::uint64_t const order = std::uint64_t{s.call.history} << 32U | s.call.number;
  return ((s.team * 0x9e3779b97f4a7c15U ^ s.call.signature) * 0xc2b2ae3d27d4eb4fU ^ order) + 1;
}

/// False if the words do not belong together, or there are none.
bool read(started_collective const& from, started_call& s) {
  s.team = from.team.load(std::memory_order_relaxed);
  s.call.signature = from.signature.load(std::memory_order_relaxed);
  s.call.number = from.number.load(std::memory_order_relaxed);
  s.call.history = from.history.load(std::memory_order_relaxed);
  return from.check.load(std::memory_order_relaxed) == check_of(s);
}

constexpr std::uint32_t slot_of(std::uint32_t started) { return started & (remembered_collectives - 1); }

}  // namespace

std::vector<started_call> started_calls(rank_page const& of) {
  std::vector<started_call> calls;
  for (auto const& note : of.started) {
    started_call s{};
    if (read(note, s)) calls.push_back(s);
  }
  return calls;
}

difference find_difference(std::span<started_call const> own, std::span<started_call const> peer) {
  difference first;
  for (started_call const& mine : own) {
    if (first.found && first.mine.number < mine.call.number) continue;
    for (started_call const& theirs : peer) {
      if (theirs.team == mine.team && theirs.call.number == mine.call.number &&
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

namespace {

activity activity_of(collective_signature what) {
  switch (atl::kind_of(what)) {
    case collective_kind::barrier:
    case collective_kind::finalize:
      return activity::barrier;
    case collective_kind::split:
    case collective_kind::create:
    case collective_kind::destroy:
      return activity::team;
    default:
      return activity::collective;
  }
}

}  // namespace

void note_collective(team_data& team, noted_call const& call) noexcept {
  note_call(activity_of(call.signature), -1);
  team.called[call.number & (team_data::history_size - 1)] = call.signature;
  call_log::here().note(team.id, call);
}

namespace {

/// "rank 0 gave {0, 1}".
std::string describe_list(std::int32_t rank, std::string const& list) {
  return format("rank %d gave %s", rank, list.empty() ? "another one" : list.c_str());
}

std::string describe_mismatch(team_data const& team, noted_call const& call, std::int32_t other,
                              collective_signature theirs, std::string const& their_list) {
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
        describe_list(job.rank_me, list_of(team.host, job.rank_me, whole_team(team.id), call.number)).c_str(),
        describe_list(other, their_list).c_str());
  }
  return format("collective no. %u on %s is %s here (rank %d) but %s on rank %d.", number, on.c_str(),
                here.c_str(), job.rank_me, describe(theirs).c_str(), other);
}

}  // namespace

void mismatch(team_data const& team, noted_call const& mine, std::int32_t other,
              collective_signature theirs) {
  host_domain const& host = team.host;
  difference const seen{true, whole_team(team.id), mine, theirs};
  // What was found may be a consequence: look for the first difference.
  auto const first_of = [=](difference const& d) {
    return d.found && d.team == seen.team && d.mine.number <= seen.mine.number ? d : seen;
  };
  if (!host.has(other)) {
    inquiries::here().ask(other, seen.team, mine.number, [=, &team](told what) {
      what.first = first_of(what.first);
      stop_over(team, other, what);
    });
    return;
  }
  told what;
  what.first = first_of(find_difference(host.own_page(), host.page(host.local_rank(other))));
  what.list = list_of(host, other, seen.team, what.first.mine.number);
  what.place = ask_call_site(host, host.local_rank(other));
  stop_over(team, other, what);
}

void stop_over(team_data const& team, std::int32_t other, told const& what) {
  std::string const text = describe_mismatch(team, what.first.mine, other, what.first.theirs, what.list);
  std::string const place = what.place.empty() ? "" : format("rank %d is here:\n", other) + what.place;
  atl::stop(
      format("collectives: ranks do not match: %s All members must start a team's collectives "
             "in the same order, with the same root, count, type and operation.\n%srank %d is here:",
             text.c_str(), place.c_str(), job.rank_me));
}

namespace {

/// Others may start collectives meanwhile; who is busy with that will look itself when it waits.
void look_for_mismatch(host_domain const& host) {
  for (std::uint32_t r = 0; r < host.count(); ++r) {
    if (r == host.me()) continue;
    difference const d = find_difference(host.own_page(), host.page(r));
    team_data const* const team = d.found ? team_registry::here().find(d.team) : nullptr;
    if (team != nullptr) mismatch(*team, d.mine, host.world_rank(r), d.theirs);
  }
}

void look_around(std::uint64_t waited_ns) noexcept {
  try_guard const held;
  if (!held) return;
  call_log::here().show_last();
  progress_engine const& engine = progress_engine::here();
  if (waited_ns <= engine.suspicious_ns) return;
  look_for_mismatch(engine.host);
  inquiries::here().look();
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
  started_call mine{};
  if (!read(engine_.host.own_page().started[slot_of(started_ - 1)], mine)) return;
  diagnostics->collective_number.store(mine.call.number, std::memory_order_relaxed);
  diagnostics->collective_signature.store(mine.call.signature, std::memory_order_relaxed);
  diagnostics->collective_team.store(mine.team, std::memory_order_relaxed);
}

}  // namespace atl::engine
