// Registry of distributed objects: instances by id, and who waits for those that are not constructed yet.
//
// Only the holder of the master persona touches it, so it needs no lock. A waiter is queued for the master
// persona when its object appears, and therefore runs in the next user-level progress, not inside the
// constructor. One whose object never appears is dropped at the end of the library.

#include <unordered_map>

#include <atoll/base/check.hpp>
#include <atoll/engine/team.hpp>
#include <upcxx/detail/instances.hpp>
#include <upcxx/detail/persona_state.hpp>

#include "base/error.hpp"
#include "upcxx/runtime_state.hpp"

namespace atl::rt {
namespace {

struct entry {
  void* instance = nullptr;
  object_waiter* waiting = nullptr;
};

struct id_hash {
  std::size_t operator()(object_id const& id) const noexcept {
    return static_cast<std::size_t>(id.team * 0x9e3779b97f4a7c15U ^ id.number);
  }
};

using table = std::unordered_map<object_id, entry, id_hash>;

/// Never destroyed: destructors of static distributed objects may run after everything else.
table& objects() {
  static auto* const all = new table;
  return *all;
}

}  // namespace

object_id new_object_id(engine::team_view& team) { return {team.id, ++team.objects}; }

void register_object(object_id const& id, void* instance) {
  entry& e = objects()[id];
  e.instance = instance;
  object_waiter* w = e.waiting;
  e.waiting = nullptr;
  while (w != nullptr) {
    object_waiter* const next = w->following;
    enqueue(master_persona(), w);
    w = next;
  }
}

void move_object(object_id const& id, void* from, void* to) noexcept {
  auto const found = objects().find(id);
  if (found != objects().end() && found->second.instance == from) found->second.instance = to;
}

void unregister_object(object_id const& id, void* instance) noexcept {
  auto const found = objects().find(id);
  if (found != objects().end() && found->second.instance == instance) objects().erase(found);
}

void* find_object(object_id const& id) noexcept {
  auto const found = objects().find(id);
  return found == objects().end() ? nullptr : found->second.instance;
}

void await_object(object_id const& id, object_waiter* waiter) {
  // Members number their objects in the same order: a smaller number than the newest one's was here. Number 0
  // is the team itself.
  engine::team_view const* const team = engine::find_team(id.team);
  if (team != nullptr && id.number != 0 && id.number <= team->objects) {
    check_failed(
        "dist_object: a call or when_here names an object that this rank has destroyed: keep it until all "
        "ranks have used it (a barrier before its end)");
  }
  entry& e = objects()[id];
  waiter->following = e.waiting;
  e.waiting = waiter;
}

std::size_t objects_awaited() noexcept {
  std::size_t count = 0;
  for (auto const& [id, e] : objects()) {
    for (object_waiter const* w = e.waiting; w != nullptr; w = w->following) ++count;
  }
  return count;
}

void reset_objects() noexcept {
  // Dropping a waiter ends arguments of calls, whose destructors may come here again.
  table ended;
  ended.swap(objects());
  for (auto const& [id, e] : ended) {
    for (object_waiter* w = e.waiting; w != nullptr;) {
      object_waiter* const next = w->following;
      w->drop(w);
      w = next;
    }
  }
}

}  // namespace atl::rt
