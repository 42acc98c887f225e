// The birth and the end of teams.
//
// A new team's members agree on three things in one reduction, which travels under the parent's id and
// number: the team's id; the flat channels that are free on all of them; and a step that no free channel has
// reached, so that stale lines are never mistaken for new ones.
//
// The id is the world rank of the team's rank 0 and the count of teams that this process has led. No two
// teams of a job's life are equal in both.
//
// A channel must not be used again while anybody may still read the lines of its old team. Destruction
// therefore always includes a barrier by messages, in the background if the program does not want to wait:
// who has passed it knows that everybody has left the team's last flat collective.

#include <atoll/engine/team_creation.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/engine/job.hpp>

#include "base/error.hpp"
#include "engine/collectives/by_messages.hpp"
#include "engine/collectives/flat.hpp"
#include "engine/collectives/given_lists.hpp"
#include "engine/collectives/matching.hpp"
#include "engine/collectives/rings.hpp"
#include "engine/collectives/run_to_end.hpp"
#include "engine/collectives/steps.hpp"
#include "engine/collectives/under_way.hpp"
#include "engine/progress/guard.hpp"

namespace atl::engine {

namespace {

/// `start` begins a collective of all ranks of `team` with the next number of `route`.
template <class Start>
void wait_for_team(team_data const& team, team_data const& route, collective_signature signature,
                   bool (*progress)(), Start start) {
  waiting_note const note(activity::team);
  blocking_call const waits(team, route, {signature, route.next_number, 0});
  run_to_end(progress, start);
}

struct agreement {
  std::uint64_t id = 0;  ///< from the leader
  std::uint64_t flat_step = 0;
  std::uint64_t members = 0;  ///< hash of the list; all must have the same
  std::uint32_t channels = 0;
  std::uint32_t differ = 0;

  static void combine(void* a, void const* b, std::size_t, void const*) {
    auto& x = *static_cast<agreement*>(a);
    auto const& y = *static_cast<agreement const*>(b);
    x.id |= y.id;
    x.flat_step = std::max(x.flat_step, y.flat_step);
    x.differ |= y.differ | static_cast<std::uint32_t>(x.members != y.members);
    x.channels &= y.channels;
  }
};

std::uint64_t hash(std::vector<std::int32_t> const& members) {
  std::uint64_t h = members.size();
  for (std::int32_t const m : members) h = (h ^ static_cast<std::uint32_t>(m)) * 0x9e3779b97f4a7c15U;
  return h;
}

/// Those that this rank could use for a team.
std::uint32_t usable_channels(team_data const& team) {
  if (team.rank_n == 1) return 0;
  // Who is alone on its host needs none, and leaves the choice to the others.
  bool const alone = team.hosts != nullptr && team.hosts->here.size() == 1;
  return alone ? ~std::uint32_t{0} : team_registry::here().free_channels;
}

/// What the members of new teams compare, and what is shown to people if they differ: ranks of the parent.
collective_signature sign_list(team_data const& parent, std::vector<std::int32_t> const& given) {
  std::uint64_t const h = hash(given);
  collective_signature const signature =
      sign(collective_kind::create, -1, static_cast<std::uint32_t>(h >> 32U ^ h));
  guard const held;
  rings::here().remember(parent.id, {signature, parent.next_number, 0});
  show_list(parent.host, parent.id, parent.next_number, given);
  return signature;
}

/// The calling rank takes no part in what the others do under this number.
void stand_aside(team_data& parent, collective_signature signature) {
  guard const held;
  noted_call const call = note_collective(parent, signature);
  // Who has sent a step of it already thinks otherwise.
  auto const early = parent.early.find(call.number);
  if (early == parent.early.end()) return;
  transport::message const& first = *early->second.front();
  mismatch(parent, call, first.source, header_of(first).signature);
}

/// `members` in world ranks.
team_view* form(team_data& parent, std::vector<std::int32_t> members, collective_signature signature,
                bool (*progress)()) {
  auto fresh = std::make_unique<team_data>(parent.host);
  team_registry& teams = team_registry::here();
  agreement ours;
  ours.members = hash(members);
  auto const me = std::find(members.begin(), members.end(), job.rank_me) - members.begin();
  {
    guard const held;
    if (me == 0) ours.id = (static_cast<std::uint64_t>(job.rank_me) + 1) << 32U | ++teams.led;
    ours.flat_step = teams.highest_flat;
    fresh->set_members(std::move(members), static_cast<std::int32_t>(me));
    ours.channels = usable_channels(*fresh);
  }
  wait_for_team(*fresh, parent, signature, progress, [&](on_done done) {
    collective* const c = make_reduce(*fresh, signature, done,
                                      {&ours, &ours, 1, sizeof ours, &agreement::combine, nullptr, -1});
    c->route = &parent;
    launch(c);
  });
  if (ours.differ != 0) {
    check_failed(
        "team::create: the members of a new team gave different lists of ranks "
        "(this one has %d ranks, the first is %d); all must list the same ranks in the same order",
        fresh->rank_n, fresh->first);
  }

  guard const held;
  fresh->id = ours.id;
  team_data& team = *fresh;
  teams.add(std::move(fresh));
  // A team destroyed meanwhile may have published more, but not on a channel that was free before.
  teams.give_channels(team, ours.channels, ours.flat_step);
  for (team_data* const t : {&team, team.inside.up, team.inside.down}) {
    if (t != nullptr) collectives_under_way::here().adopt_orphans(*t);
  }
  return &team;
}

void remove(team_data& team) {
  guard const held;
  if (std::size_t const open = team.open.size() + team.flat_queue.size() + team.early.size(); open != 0) {
    check_failed(
        "team::destroy: %zu collectives over %s are still under way on this rank; wait for them first", open,
        describe_team(team.id).c_str());
  }
  team_registry::here().remove(team);
}

struct membership {
  std::int32_t color;
  std::int32_t key;
};

}  // namespace

team_view* split_team(team_view& view, std::int32_t color, std::int32_t key, bool (*progress)()) {
  auto& parent = static_cast<team_data&>(view);
  constexpr collective_signature signature = sign(collective_kind::split);
  std::vector<membership> all(static_cast<std::size_t>(parent.rank_n));
  membership const mine{color, key};
  wait_for_team(parent, parent, signature, progress, [&](on_done done) {
    launch(make_gather(parent, signature, done, &mine, sizeof mine, all.data()));
  });
  if (color < 0) {
    stand_aside(parent, signature);
    return nullptr;
  }
  std::vector<std::int32_t> members;
  for (std::int32_t r = 0; r < parent.rank_n; ++r) {
    if (all[static_cast<std::size_t>(r)].color == color) members.push_back(r);
  }
  std::stable_sort(members.begin(), members.end(), [&](std::int32_t a, std::int32_t b) {
    return all[static_cast<std::size_t>(a)].key < all[static_cast<std::size_t>(b)].key;
  });
  for (std::int32_t& m : members) m = parent.to_world(m);
  return form(parent, std::move(members), signature, progress);
}

team_view* create_team(team_view& view, std::int32_t const* ranks, std::size_t count, bool (*progress)()) {
  auto& parent = static_cast<team_data&>(view);
  std::vector<std::int32_t> members(ranks, ranks + count);
  collective_signature const signature = sign_list(parent, members);
  if (std::find(members.begin(), members.end(), parent.rank_me) == members.end()) {
    stand_aside(parent, signature);
    return nullptr;
  }
  for (std::int32_t const r : members) {
    if (r < 0 || r >= parent.rank_n) {
      check_failed("team::create: the list has %d, but the ranks of the parent are 0 to %d", r,
                   parent.rank_n - 1);
    }
  }
  std::vector<std::int32_t> sorted = members;
  std::sort(sorted.begin(), sorted.end());
  auto const twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) check_failed("team::create: the list has rank %d more than once", *twice);
  for (std::int32_t& m : members) m = parent.to_world(m);
  return form(parent, std::move(members), signature, progress);
}

void destroy_team(team_view& view, bool (*progress)()) {
  auto& team = static_cast<team_data&>(view);
  constexpr collective_signature signature = sign(collective_kind::destroy);
  if (progress != nullptr) {
    wait_for_team(team, team, signature, progress,
                  [&](on_done done) { launch(make_dissemination(team, signature, done)); });
    remove(team);
  } else {
    on_done const done{[](void* ended) { remove(*static_cast<team_data*>(ended)); }, &team};
    launch(make_dissemination(team, signature, done));
  }
}

}  // namespace atl::engine
