// The team objects that the library owns, and failures of transfers.

#include <upcxx/detail/transfer.hpp>
#include <upcxx/team.hpp>

#include "base/error.hpp"
#include "engine/world.hpp"

namespace atl::rt {
namespace {
constinit team_state world_state;
constinit team_state local_state;
}  // namespace

team_state& world_team_state() {
  if (world_state.view == nullptr && engine::world != nullptr) world_state.view = &engine::world_team();
  return world_state;
}

team_state& local_team_state() {
  if (local_state.view == nullptr && engine::world != nullptr) local_state.view = &engine::local_team();
  return local_state;
}

void reset_teams() noexcept {
  world_state.view = nullptr;
  local_state.view = nullptr;
}

team_state* find_team_state(std::uint64_t id) {
  if (engine::world == nullptr) return nullptr;
  if (id == engine::world_team().id) return &world_team_state();
  if (id == engine::local_team().id) return &local_team_state();
  return nullptr;
}

void unreachable_memory(char const* operation, std::int32_t rank) {
  fatal(operation, "the memory of rank %d is not reachable from here: no transport between hosts is loaded",
        rank);
}

void unknown_device(char const* operation, int kind) {
  fatal(operation,
        "a pointer refers to device memory (kind %d), but no device of that kind is open in this job", kind);
}

}  // namespace atl::rt
