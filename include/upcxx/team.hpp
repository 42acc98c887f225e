#pragma once

/// Teams: ordered sets of ranks. Specification chapter "Teams".

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include <atoll/engine/team.hpp>
#include <atoll/engine/world.hpp>
#include <upcxx/detail/check.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/future.hpp>
#include <upcxx/fwd.hpp>

namespace atl::rt {
/// What a team object holds; the library owns those of world() and local_team().
struct team_state {
  engine::team_view* view = nullptr;
};
ATOLL_EXPORT team_state& world_team_state();
ATOLL_EXPORT team_state& local_team_state();
/// The team object of this id in this process, or null.
ATOLL_EXPORT team_state* find_team_state(std::uint64_t id);
}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE {

/// What a collective that synchronises on entry does meanwhile.
enum class entry_barrier { none, internal, user };

/// Name of a team, the same on all members.
class team_id {
 public:
  team_id() = default;

  /// The team in this process; it must exist here.
  team& here() const;
  /// Ready once the team exists here. Needs the master persona.
  future<team&> when_here() const;

  friend bool operator==(team_id const&, team_id const&) = default;
  friend auto operator<=>(team_id const&, team_id const&) = default;

 private:
  friend class team;
  friend struct std::hash<team_id>;
  std::uint64_t value_ = 0;
};

/// An ordered set of ranks.
class team final : private atl::rt::team_state {
 public:
  /// Given to `split` by ranks that will be in no new team.
  static constexpr intrank_t color_none = -0x7fffffff;

  /// An inactive team. May be constructed while the library is not initialised.
  team() = default;
  team(team&& other) noexcept : team_state{std::exchange(other.view, nullptr)} {}
  team& operator=(team&& other) noexcept {
    if (this != &other) view = std::exchange(other.view, nullptr);
    return *this;
  }
  ~team() = default;

  bool is_active() const { return view != nullptr; }
  intrank_t rank_n() const { return checked().rank_n; }
  intrank_t rank_me() const { return checked().rank_me; }

  /// World rank of a member.
  intrank_t operator[](intrank_t peer_index) const {
    ATOLL_CHECK(peer_index >= 0 && peer_index < rank_n(), "team: rank outside the team");
    return checked().consecutive ? view->first + peer_index : atl::engine::team_to_world(*view, peer_index);
  }
  /// Team rank of a world rank, which must be a member.
  intrank_t from_world(intrank_t world_index) const {
    intrank_t const rank = from_world(world_index, -1);
    ATOLL_CHECK(rank >= 0,
                "team::from_world: the rank is not a member; give a second argument for that case");
    return rank;
  }
  /// Team rank of a world rank, or `otherwise`.
  intrank_t from_world(intrank_t world_index, intrank_t otherwise) const {
    return atl::engine::team_from_world(checked(), world_index, otherwise);
  }

  team_id id() const {
    team_id result;
    result.value_ = checked().id;
    return result;
  }

 private:
  friend struct detail_team_access;
  atl::engine::team_view& checked() const {
    ATOLL_CHECK(view != nullptr, "the team is inactive: default-constructed, moved from, or destroyed");
    return *view;
  }
};

struct detail_team_access {
  static team& from(atl::rt::team_state& state) { return static_cast<team&>(state); }
  static atl::engine::team_view& view(team const& t) { return t.checked(); }
};
static_assert(sizeof(team) == sizeof(atl::rt::team_state));

/// The team of all ranks.
inline team& world() { return detail_team_access::from(atl::rt::world_team_state()); }
/// The ranks whose host memory this process can load and store.
inline team& local_team() { return detail_team_access::from(atl::rt::local_team_state()); }

/// Number of ranks in the job.
inline intrank_t rank_n() { return atl::engine::job.rank_n; }
/// This process's rank in the job.
inline intrank_t rank_me() { return atl::engine::job.rank_me; }
/// True iff `world_index` is a member of `local_team()`.
inline bool local_team_contains(intrank_t world_index) {
  return world_index >= atl::engine::job.local_first &&
         world_index - atl::engine::job.local_first < atl::engine::job.local_n;
}
/// Index of this process's local team, and how many local teams there are.
inline std::pair<intrank_t, intrank_t> local_team_position() {
  return {atl::engine::job.host, atl::engine::job.host_n};
}

inline team& team_id::here() const {
  atl::rt::team_state* const state = atl::rt::find_team_state(value_);
  ATOLL_CHECK(state != nullptr, "team_id::here: no such team in this process");
  return detail_team_access::from(*state);
}
inline future<team&> team_id::when_here() const {
  // A team exists on all members when its construction returns anywhere.
  return make_future<team&>(here());
}

}  // namespace upcxx::inline UPCXX_MODE

template <>
struct std::hash<upcxx::team_id> {
  std::size_t operator()(upcxx::team_id const& id) const noexcept {
    return static_cast<std::size_t>(id.value_ * 0x9e3779b97f4a7c15U);
  }
};
