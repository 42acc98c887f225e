#include "engine/collectives/under_way.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <atoll/engine/am.hpp>

#include "engine/collectives/flat.hpp"
#include "engine/collectives/matching.hpp"
#include "engine/collectives/steps.hpp"
#include "engine/progress/guard.hpp"

namespace atl::engine {
namespace {

void finish(collective* c) {
  on_done const done = c->done;
  delete c;
  if (done.call != nullptr) done.call(done.context);
}

/// Deletes what will never be complete.
void drop(collective* c) {
  for (message* m : c->arrived) release(m);
  delete c;
}

/// Takes out of `from` the messages that `belongs` is true for, in order.
template <class Belongs>
std::vector<message*> take_out(std::vector<message*>& from, Belongs belongs) {
  auto const others_end =
      std::stable_partition(from.begin(), from.end(), [&](message const* m) { return !belongs(*m); });
  std::vector<message*> taken(others_end, from.end());
  from.erase(others_end, from.end());
  return taken;
}

/// Does one number come before another? They go around.
bool precedes(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }

/// The first of the team's collectives by messages that has this number, or where it would be.
auto find_open(team_data& team, std::uint32_t number) {
  return std::lower_bound(
      team.open.begin(), team.open.end(), number,
      [](collective const* c, std::uint32_t wanted) { return precedes(c->call.number, wanted); });
}

void add_open(collective* c) {
  auto& open = c->route->open;
  auto at = find_open(*c->route, c->call.number + 1);
  open.insert(at, c);
}

void remove_open(collective* c) {
  auto& open = c->route->open;
  open.erase(std::find(find_open(*c->route, c->call.number), open.end(), c));
}

/// Its receiver has come to an array that went ahead, in a collective that has ended here.
bool heard_late(team_data& team, message* m) {
  step_header const h = header_of(*m);
  if ((h.tag & grant_tag) == 0 || h.more == 0) return false;
  bool const remembered = team.next_number - h.number <= team_data::history_size;
  if (remembered && !matches(team.called[h.number & (team_data::history_size - 1)], h.signature))
    return false;
  team.unheard -= h.more;
  collectives_under_way::here().heard_of(h.more);
  release(m);
  return true;
}

}  // namespace

void launch(collective* c) {
  guard const held;
  collectives_under_way::here().launch(c);
}

void launch_flat(collective* c) {
  guard const held;
  collectives_under_way::here().launch_flat(c);
}

void collectives_under_way::launch(collective* c) {
  c->call = note_collective(*c->route, c->call.signature);
  enter(c);
}

void collectives_under_way::launch_rest(collective& flat, collective* rest) {
  rest->call = flat.call;
  rest->arrived = std::move(flat.arrived);
  flat.done = {};
  enter(rest);
}

void collectives_under_way::enter(collective* c) {
  add_open(c);
  by_messages_.push_back(c);
  c->polled = true;
  take_early(*c);
  count(1);
  show_open();
  c->begin();
}

void collectives_under_way::launch_flat(collective* c) {
  c->call = note_collective(*c->team, c->call.signature);
  queue(c);
}

void collectives_under_way::launch_inside(collective const& whole, collective* part) {
  team_data& team = *part->team;
  part->call = whole.call;
  team.next_number = whole.call.number + 1;
  team.called[whole.call.number & (team_data::history_size - 1)] = whole.call.signature;
  queue(part);
}

void collectives_under_way::go_on_inside(team_data& inside) {
  advance_flat(inside);
  if (inside.flat_queue.empty()) std::erase(flat_, &inside);
}

void collectives_under_way::queue(collective* c) {
  team_data& team = *c->team;
  take_early(*c);
  bool const alone = team.flat_queue.empty();
  if (team.meeting != nullptr) {
    team.meeting->followed = true;
    if (alone) flat_.push_back(&team);
  } else if (alone) {
    c->begin();
    // Often there is nothing to wait for: a root's broadcast, or what came before.
    if (c->advance()) {
      finish(c);
      return;
    }
    flat_.push_back(&team);
  }
  team.flat_queue.push_back(c);
  count(1);
  show_open();
}

void collectives_under_way::accept(collective& c, message* m) {
  step_header const h = header_of(*m);
  if (!compare(*c.route, c.call, m->source, h.signature, h.history)) return release(m);
  c.arrived.push_back(m);
  wake(c);
}

void collectives_under_way::wake(collective& c) {
  if (!c.asleep) return;
  c.asleep = false;
  if (c.polled) return;
  c.polled = true;
  by_messages_.push_back(&c);
}

void collectives_under_way::take_in_for(team_data& team, message* m) {
  step_header const h = header_of(*m);
  if (auto const open = find_open(team, h.number);
      open != team.open.end() && (*open)->call.number == h.number) {
    return accept(**open, m);
  }
  for (collective* c : team.flat_queue) {
    // It goes on by messages if there is no room for its data; a peer knows that already.
    if (c->call.number == h.number) return accept(*c, m);
  }
  auto const ahead = static_cast<std::int32_t>(h.number - team.next_number);
  if (ahead < 0 && heard_late(team, m)) return;
  // A collective consumes all that is sent to it before it is complete here.
  // So this rank called something else.
  if (ahead < 0) {
    noted_call const mine{team.called[h.number & (team_data::history_size - 1)], h.number, 0};
    mismatch(team, mine, m->source, h.signature);
    return release(m);
  }
  team.early[h.number].push_back(m);
}

/// What came for it before it started.
void collectives_under_way::take_early(collective& c) {
  auto& early = c.route->early;
  if (early.empty()) return;
  auto const found = early.find(c.call.number);
  if (found == early.end()) return;
  std::vector<message*> const messages = std::move(found->second);
  early.erase(found);
  for (message* m : messages) accept(c, m);
}

void collectives_under_way::take_in(message* m) {
  team_data* const team = team_registry::here().find(header_of(*m).team);
  if (team == nullptr) {
    orphans_.push_back(m);
  } else {
    take_in_for(*team, m);
  }
}

void collectives_under_way::adopt_orphans(team_data& team) {
  for (message* m : take_out(orphans_, [&](message const& m) { return header_of(m).team == team.id; })) {
    take_in_for(team, m);
  }
}

bool collectives_under_way::advance() {
  bool any = advance_all_flat();
  any |= advance_by_messages();
  if (any) show_open();
  return any;
}

bool collectives_under_way::advance_by_messages() {
  bool any = false;
  std::size_t kept = 0;
  // Others may begin or wake meanwhile: they come behind.
  for (std::size_t i = 0; i < by_messages_.size(); ++i) {
    collective* const c = by_messages_[i];
    if (!c->asleep && c->advance()) {
      remove_open(c);
      count(-1);
      any = true;
      finish(c);
    } else if (c->asleep) {
      c->polled = false;
    } else {
      by_messages_[kept++] = c;
    }
  }
  by_messages_.resize(kept);
  return any;
}

bool collectives_under_way::advance_all_flat() {
  bool any = false;
  for (std::size_t i = 0; i < flat_.size();) {
    any |= advance_flat(*flat_[i]);
    if (flat_[i]->flat_queue.empty()) {
      flat_[i] = flat_.back();
      flat_.pop_back();
    } else {
      ++i;
    }
  }
  return any;
}

bool collectives_under_way::advance_flat(team_data& team) {
  bool any = false;
  if (team.meeting != nullptr) {
    if (!flat_met(team)) return false;
    team.flat_queue.front()->begin();
  }
  while (!team.flat_queue.empty() && team.flat_queue.front()->advance()) {
    collective* const c = team.flat_queue.front();
    team.flat_queue.pop_front();
    count(-1);
    any = true;
    if (!team.flat_queue.empty()) team.flat_queue.front()->begin();
    finish(c);
  }
  return any;
}

bool collectives_under_way::keep(std::size_t bytes) noexcept {
  // Most of what messages may take is for those of the program.
  std::size_t const most = std::min(progress_engine::here().shm.memory().limit() / 8, std::size_t{16} << 20);
  if (kept_ + bytes > most) return false;
  kept_ += bytes;
  return true;
}

bool collectives_under_way::may_run_ahead(std::size_t bytes) const noexcept {
  std::size_t const most = std::min(progress_engine::here().shm.memory().limit() / 32, std::size_t{1} << 20);
  return ahead_ + bytes <= most;
}

void collectives_under_way::show_open() const noexcept {
  diagnostics->collectives_open.store(open(), std::memory_order_relaxed);
}

collectives_under_way::~collectives_under_way() {
  team_registry::here().for_each([](team_data& team) {
    for (collective* c : team.open) drop(c);
    team.open.clear();
  });
  team_registry::here().for_each([](team_data& team) {
    for (collective* c : team.flat_queue) drop(c);
    team.flat_queue.clear();
    for (auto const& [number, messages] : team.early) {
      for (message* m : messages) release(m);
    }
    team.early.clear();
  });
  for (message* m : orphans_) release(m);
}

}  // namespace atl::engine
