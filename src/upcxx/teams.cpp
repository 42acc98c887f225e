// Team objects: which object is a team's in this process.

#include <exception>

#include <atoll/base/check.hpp>
#include <atoll/engine/team_creation.hpp>
#include <upcxx/detail/instances.hpp>
#include <upcxx/team.hpp>

#include "engine/collectives/teams.hpp"
#include "upcxx/runtime_state.hpp"

namespace atl::rt {
namespace {
constinit team_state world_state;
constinit team_state local_state;

team_state* object_of(engine::team_view* view) {
  return view == nullptr ? nullptr : static_cast<team_state*>(view->handle);
}

bool predefined(team_state const& object) { return &object == &world_state || &object == &local_state; }

}  // namespace

team_state& world_team_state() { return world_state; }
team_state& local_team_state() { return local_state; }

void bind_teams() noexcept {
  world_state.view = &engine::world_team();
  world_state.view->handle = &world_state;
  local_state.view = &engine::local_team();
  local_state.view->handle = &local_state;
}

void reset_teams() noexcept {
  engine::team_registry::here().for_each([](engine::team_data& team) {
    if (team_state* const object = object_of(&team)) object->view = nullptr;
  });
}

team_state* find_team_state(std::uint64_t id) {
  return engine::team_registry::exists() ? object_of(engine::find_team(id)) : nullptr;
}

void adopt_team(team_state& object, engine::team_view* view) {
  object.view = view;
  view->handle = &object;
  object_id const id{view->id, 0};
  register_object(id, &object);  // queues who waits for it
  unregister_object(id, &object);
}

void relocate_team(team_state& from, team_state& to) noexcept {
  if (predefined(from)) check_failed("team: world() and local_team() cannot be moved");
  to.view = from.view;
  from.view = nullptr;
  to.view->handle = &to;
}

void destroy_team(team_state& object, bool (*progress)()) {
  if (predefined(object)) check_failed("team::destroy: world() and local_team() cannot be destroyed");
  // While we wait for the others, calls that name the team still find it.
  if (progress == nullptr) object.view->handle = nullptr;
  engine::destroy_team(*object.view, progress);
  object.view = nullptr;
}

void end_of_nothing(char const* what) noexcept { static_cast<void>(past_the_end(what)); }

void abandon_team(team_state& object) noexcept {
  if (std::uncaught_exceptions() == 0) {
    check_failed(
        "team: a team of %d ranks reached its destructor without team::destroy(). Call destroy() "
        "on all members before, or let the object live until upcxx::finalize()",
        object.view->rank_n);
  }
  // Somebody will hear of the exception; the team itself lives on until the library ends.
  object.view->handle = nullptr;
}

}  // namespace atl::rt
