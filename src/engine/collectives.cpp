// Collectives under way: the registry that progresses them, and the matching of step messages.

#include "engine/collective.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include <atoll/engine/am.hpp>

#include "engine/guard.hpp"
#include "engine/world.hpp"

namespace atl::engine {

using transport::message;

namespace {

/// Front of a step message's payload.
struct step_header {
  std::uint64_t team;
  std::uint32_t number;
  std::uint32_t tag;
  std::byte padding[32];  ///< the data behind is aligned like the message: reductions use it where it is
};
static_assert((header_bytes + sizeof(step_header)) % transport::buffer_alignment == 0);

// Collectives are started by the holder of the master persona and progressed by whichever thread polls: under
// the lock.
std::vector<collective*> open_list;
std::size_t open_flat = 0;
/// Their number, for looks without the lock.
std::atomic<std::size_t> open_count{0};

void count_open() {
  open_count.store(open_list.size() + open_flat, std::memory_order_relaxed);
  diagnostics->collectives_open.store(open_list.size() + open_flat, std::memory_order_relaxed);
}

void finish(collective* c) {
  on_done const done = c->done;
  delete c;
  done.call(done.context);
}

void step_arrived(message* m) {
  step_header h;
  std::memcpy(&h, m->payload(), sizeof h);
  team_data* const team = world->teams.find(h.team);
  if (team == nullptr) {
    world->teams.orphans.push_back(m);
    return;
  }
  for (collective* c : team->open) {
    if (c->number == h.number) {
      c->arrived.push_back(m);
      return;
    }
  }
  team->early.push_back(m);
}

}  // namespace

void send_step(collective const& c, std::int32_t team_rank, std::uint32_t tag, void const* data,
               std::size_t bytes) {
  outgoing out;
  std::size_t const total = header_bytes + sizeof(step_header) + bytes;
  am_begin(out, c.team->to_world(team_rank), total, pressure::park);
  step_header const h{c.team->id, c.number, tag, {}};
  std::memcpy(out.begin + header_bytes, &h, sizeof h);
  if (bytes != 0) std::memcpy(out.begin + header_bytes + sizeof h, data, bytes);
  am_commit(out, message_kind::active, token_cache<&step_arrived>::get(), total);
}

message* take_step(collective& c, std::uint32_t tag) {
  for (auto it = c.arrived.begin(); it != c.arrived.end(); ++it) {
    step_header h;
    std::memcpy(&h, (*it)->payload(), sizeof h);
    if (h.tag == tag) {
      message* const m = *it;
      c.arrived.erase(it);
      return m;
    }
  }
  return nullptr;
}

step_data data_of(message const& m) {
  return {m.payload() + sizeof(step_header), m.bytes - header_bytes - sizeof(step_header)};
}

void launch(collective* c) {
  guard const held;
  team_data& team = *c->team;
  c->number = team.next_number++;
  team.open.push_back(c);
  open_list.push_back(c);
  auto const mine = std::stable_partition(team.early.begin(), team.early.end(), [&](message const* m) {
    step_header h;
    std::memcpy(&h, m->payload(), sizeof h);
    return h.number != c->number;
  });
  c->arrived.assign(mine, team.early.end());
  team.early.erase(mine, team.early.end());
  count_open();
  c->begin();
}

void launch_flat(collective* c) {
  guard const held;
  ++open_flat;
  count_open();
  c->team->flat_queue.push_back(c);
  if (c->team->flat_queue.size() == 1) c->begin();
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

}  // namespace

bool advance_collectives() {
  bool any = false;
  if (open_flat != 0) {
    any |= advance_flat(*world->world_team);
    any |= advance_flat(*world->local_team);
  }
  for (std::size_t i = 0; i < open_list.size();) {
    collective* const c = open_list[i];
    if (!c->advance()) {
      ++i;
      continue;
    }
    open_list.erase(open_list.begin() + static_cast<std::ptrdiff_t>(i));
    std::erase(c->team->open, c);
    any = true;
    finish(c);
  }
  if (any) count_open();
  return any;
}

bool collectives_open() { return open_count.load(std::memory_order_relaxed) != 0; }

void drop_collectives() {
  for (collective* c : open_list) {
    for (message* m : c->arrived) release(m);
    delete c;
  }
  open_list.clear();
  for (team_data* team : {world->world_team, world->local_team}) {
    for (collective* c : team->flat_queue) delete c;
    team->flat_queue.clear();
  }
  open_flat = 0;
  count_open();
}

}  // namespace atl::engine
