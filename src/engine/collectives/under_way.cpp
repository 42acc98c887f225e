// Collectives under way: the registry that progresses them, and the matching of step messages.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include <atoll/engine/am.hpp>

#include "engine/collectives/collective.hpp"
#include "engine/progress/guard.hpp"
#include "engine/world.hpp"

namespace atl::engine {

using transport::message;

std::atomic<std::size_t> open_collectives{0};

namespace {

/// Front of a step message's payload.
struct step_header {
  std::uint64_t team;
  collective_signature signature;
  std::uint32_t number;
  std::uint32_t history;
  std::uint32_t tag;
  std::uint32_t data;     ///< where the data begin, from the start of the message
  std::byte padding[16];  ///< the data behind are aligned like the message: they are used where they are
};
static_assert((header_bytes + sizeof(step_header)) % transport::buffer_alignment == 0);

step_header header_of(message const& m) {
  step_header h;
  std::memcpy(&h, m.payload(), sizeof h);
  return h;
}

/// Bytes from the start of a step message to its data.
std::size_t data_offset(std::size_t alignment) {
  return std::max(alignment, header_bytes + sizeof(step_header));
}

// Collectives are started by the holder of the master persona and progressed by whichever thread polls: under
// the lock.
std::vector<collective*> open_list;
std::size_t open_flat = 0;
std::size_t open_watches = 0;

void count_open() {
  open_collectives.store(open_list.size() + open_flat + open_watches, std::memory_order_relaxed);
  diagnostics->collectives_open.store(open_list.size() + open_flat, std::memory_order_relaxed);
}

void finish(collective* c) {
  on_done const done = c->done;
  delete c;
  if (done.call != nullptr) done.call(done.context);
}

void accept(collective& c, message* m) {
  step_header const h = header_of(*m);
  compare(*c.route, c.call, m->source, h.signature, h.history);
  c.arrived.push_back(m);
}

void take_in(team_data& team, message* m) {
  step_header const h = header_of(*m);
  for (collective* c : team.open) {
    if (c->call.number == h.number) {
      accept(*c, m);
      return;
    }
  }
  for (collective* c : team.flat_queue) {
    // It goes on by messages if there is no room for its data; a peer knows that already.
    if (c->call.number == h.number) {
      accept(*c, m);
      return;
    }
  }
  auto const ahead = static_cast<std::int32_t>(h.number - team.next_number);
  // A collective consumes all that is sent to it before it is complete here. So this rank called something
  // else.
  if (ahead < 0) {
    noted_call const mine{team.called[h.number & (team_data::history_size - 1)], h.number, 0};
    mismatch(team, mine, m->source, h.signature);
  }
  team.early.push_back(m);
}

/// What came for it before it started.
void take_early(collective& c) {
  auto& early = c.route->early;
  if (early.empty()) return;
  auto const mine = std::stable_partition(
      early.begin(), early.end(), [&](message const* m) { return header_of(*m).number != c.call.number; });
  std::vector<message*> const arrived(mine, early.end());
  early.erase(mine, early.end());
  for (message* m : arrived) accept(c, m);
}

void step_arrived(message* m) {
  team_data* const team = world->teams.find(header_of(*m).team);
  if (team == nullptr) {
    world->teams.orphans.push_back(m);
  } else {
    take_in(*team, m);
  }
}

}  // namespace

void adopt_orphans(team_data& team) {
  auto& orphans = world->teams.orphans;
  auto const mine = std::stable_partition(orphans.begin(), orphans.end(),
                                          [&](message const* m) { return header_of(*m).team != team.id; });
  std::vector<message*> const adopted(mine, orphans.end());
  orphans.erase(mine, orphans.end());
  for (message* m : adopted) take_in(team, m);
}

void send_step(collective const& c, std::int32_t team_rank, std::uint32_t tag, void const* data,
               std::size_t bytes, std::size_t alignment) {
  outgoing out;
  std::size_t const offset = data_offset(alignment);
  std::size_t const total = offset + bytes;
  am_begin(out, c.team->to_world(team_rank), total, pressure::park, alignment);
  step_header const h{
      c.route->id, c.call.signature, c.call.number, c.call.history, tag, static_cast<std::uint32_t>(offset),
      {}};
  std::memcpy(out.begin + header_bytes, &h, sizeof h);
  if (bytes != 0) std::memcpy(out.begin + offset, data, bytes);
  am_commit(out, message_kind::active, token_cache<&step_arrived>::get(), total);
}

message* take_step(collective& c, std::uint32_t tag) {
  for (auto it = c.arrived.begin(); it != c.arrived.end(); ++it) {
    if (header_of(**it).tag != tag) continue;
    message* const m = *it;
    c.arrived.erase(it);
    return m;
  }
  return nullptr;
}

step_data data_of(message const& m) {
  // send_step() put the data at a multiple of their alignment, as near as the header allows.
  std::size_t const offset = header_of(m).data;
  return {m.base + offset, m.bytes - offset, offset};
}

namespace {

void open(collective* c) {
  c->route->open.push_back(c);
  open_list.push_back(c);
  take_early(*c);
  count_open();
  c->begin();
}

}  // namespace

void launch(collective* c) {
  guard const held;
  c->call = note_collective(*c->route, c->call.signature);
  open(c);
}

void launch_rest(collective& flat, collective* rest) {
  rest->call = flat.call;
  rest->arrived = std::move(flat.arrived);
  flat.done = {};
  open(rest);
}

void launch_flat(collective* c) {
  guard const held;
  team_data& team = *c->team;
  c->call = note_collective(team, c->call.signature);
  take_early(*c);
  bool const alone = team.flat_queue.empty();
  if (alone) {
    c->begin();
    // Often there is nothing to wait for: a root's broadcast, or what came before.
    if (c->advance()) {
      finish(c);
      return;
    }
    world->teams.flat_busy.push_back(&team);
  }
  team.flat_queue.push_back(c);
  ++open_flat;
  count_open();
}

namespace {

bool advance_flat(team_data& team) {
  bool any = false;
  while (!team.flat_queue.empty() && team.flat_queue.front()->advance()) {
    collective* const c = team.flat_queue.front();
    team.flat_queue.pop_front();
    --open_flat;
    any = true;
    if (!team.flat_queue.empty()) team.flat_queue.front()->begin();
    finish(c);
  }
  return any;
}

bool advance_all_flat() {
  auto& busy = world->teams.flat_busy;
  bool any = false;
  for (std::size_t i = 0; i < busy.size();) {
    any |= advance_flat(*busy[i]);
    if (busy[i]->flat_queue.empty()) {
      busy[i] = busy.back();
      busy.pop_back();
    } else {
      ++i;
    }
  }
  return any;
}

}  // namespace

bool advance_collectives() {
  bool any = open_flat != 0 && advance_all_flat();
  for (std::size_t i = 0; i < open_list.size();) {
    collective* const c = open_list[i];
    if (!c->advance()) {
      ++i;
      continue;
    }
    open_list.erase(open_list.begin() + static_cast<std::ptrdiff_t>(i));
    std::erase(c->route->open, c);
    any = true;
    finish(c);
  }
  if (any) count_open();
  if (open_watches != 0) any |= advance_watches();
  return any;
}

void count_watches(std::size_t watched) {
  open_watches = watched;
  count_open();
}

void drop_collectives() {
  for (collective* c : open_list) {
    for (message* m : c->arrived) release(m);
    delete c;
  }
  open_list.clear();
  world->teams.for_each([](team_data& team) {
    for (collective* c : team.flat_queue) {
      for (message* m : c->arrived) release(m);
      delete c;
    }
    team.flat_queue.clear();
    for (message* m : team.early) release(m);
    team.early.clear();
  });
  world->teams.flat_busy.clear();
  for (message* m : world->teams.orphans) release(m);
  world->teams.orphans.clear();
  open_flat = 0;
  count_open();
}

}  // namespace atl::engine
