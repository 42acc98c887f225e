#pragma once

/// Teams: ordered sets of ranks. Specification chapter "Teams".

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/engine/host_map.hpp>
#include <atoll/engine/job.hpp>
#include <atoll/engine/team.hpp>
#include <atoll/engine/team_creation.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/instances.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/detail/std_parts.hpp>
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

/// The object that a team created here lives in from now on; calls that wait for the team run soon.
ATOLL_EXPORT void adopt_team(team_state& object, engine::team_view* view);
/// The object moved. Its new place must be inactive.
ATOLL_EXPORT void relocate_team(team_state& from, team_state& to) noexcept;
/// Ends the team; `progress` as in engine::destroy_team.
ATOLL_EXPORT void destroy_team(team_state& object, bool (*progress)());
/// Something that is inactive is destroyed; after finalize opt programs are told of it once.
ATOLL_EXPORT ATOLL_COLD void end_of_nothing(char const* what) noexcept;
/// An active team's object reached its destructor.
ATOLL_EXPORT ATOLL_COLD void abandon_team(team_state& object) noexcept;
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
  ATOLL_NODISCARD_FUTURE future<team&> when_here() const;

  friend bool operator==(team_id const&, team_id const&) = default;
  friend auto operator<=>(team_id const&, team_id const&) = default;
  /// The same text for the same team, on all ranks.
  template <typename Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, team_id id) {
    return out << "team_id(" << id.value_ << ')';
  }

 private:
  friend class team;
  friend struct std::hash<team_id>;
  std::uint64_t value_ = 0;
};

namespace detail {
/// A collective may be started now: checked builds stop otherwise, naming it; others warn of callbacks.
inline void check_collective(char const* what) {
#if ATOLL_CHECKED
  atl::rt::check_collective(what);
#else
  if (atl::rt::this_thread().in_user_progress) [[unlikely]]
    atl::rt::collective_in_callback(what);
#endif
}

/// What a collective that waits calls meanwhile; null: it does not wait.
inline bool (*progress_of(entry_barrier level))() {
  switch (level) {
    case entry_barrier::none:
      return nullptr;
    case entry_barrier::internal:
      return &atl::rt::wait_internally;
    case entry_barrier::user:
      break;
  }
  return &atl::rt::progress_user;
}
}  // namespace detail

/// An ordered set of ranks.
///
/// Ranks in calls that take a team are ranks in that team. A team that was created must be destroyed, by
/// `destroy`, before its object is; at the end of the library those that are left become inactive.
class team final : private atl::rt::team_state {
 public:
  /// Given to `split` by ranks that will be in no new team.
  static constexpr intrank_t color_none = -0x7fffffff;

  /// An inactive team. May be constructed while the library is not initialised.
  team() = default;
  /// The team is the same: its id leads to the new object from now on. `other` becomes inactive.
  team(team&& other) noexcept : team_state{} { relocate(other); }
  /// The target must be inactive.
  team& operator=(team&& other) noexcept {
    if (this == &other) return *this;
    ATOLL_CHECK(view == nullptr, "team: assignment to a team that is active; destroy it first");
    relocate(other);
    return *this;
  }
  /// Ends the job if the team is active and the library still initialised.
  ~team() {
    if (view != nullptr) [[unlikely]]
      atl::rt::abandon_team(*this);
  }

  bool is_active() const { return view != nullptr; }
  /// 0 for an inactive team, which has no members.
  intrank_t rank_n() const { return view == nullptr ? 0 : view->rank_n; }
  /// -1 for an inactive team.
  intrank_t rank_me() const { return view == nullptr ? -1 : view->rank_me; }

  /// World rank of a member.
  intrank_t operator[](intrank_t peer_index) const {
    ATOLL_CHECK(peer_index >= 0 && peer_index < rank_n(), "team: rank %d is outside the team of %d ranks",
                static_cast<int>(peer_index), static_cast<int>(rank_n()));
    return checked().stride != 0 ? view->first + peer_index * view->stride
                                 : atl::engine::team_to_world(*view, peer_index);
  }
  /// Team rank of a world rank, which must be a member.
  intrank_t from_world(intrank_t world_index) const {
    intrank_t const rank = from_world(world_index, -1);
    ATOLL_CHECK(rank >= 0,
                "team::from_world: world rank %d is not a member; give a second argument for that case",
                static_cast<int>(world_index));
    return rank;
  }
  /// Team rank of a world rank, or `otherwise`.
  intrank_t from_world(intrank_t world_index, intrank_t otherwise) const {
    ATOLL_CHECK(world_index >= 0 && world_index < atl::engine::job.rank_n,
                "team::from_world: rank %d is outside the job of %d ranks", static_cast<int>(world_index),
                static_cast<int>(atl::engine::job.rank_n));
    return view == nullptr ? otherwise : atl::engine::team_from_world(*view, world_index, otherwise);
  }

  /// The same on all members, and never that of another team of the job. An inactive team has a default id.
  team_id id() const {
    team_id result;
    if (view != nullptr) result.value_ = view->id;
    return result;
  }

  /// Creates teams: members that give the same color form one, ordered by key (ties: by rank in this team).
  ///
  /// Collective over this team, blocking. Everything before the call on any member happens before everything
  /// after it on every member.
  ///
  /// @param color  not negative, or color_none: the result is then inactive.
  /// @progress     user.
  [[nodiscard]] team split(intrank_t color, intrank_t key) const {
    detail::check_collective("team::split");
    ATOLL_CHECK(color >= 0 || color == color_none,
                "team::split: a color is not negative, or team::color_none");
    return team(atl::engine::split_team(checked(), color, key, &atl::rt::progress_user));
  }

  /// Creates a team from the list of its members: ranks of this team, in the order of their new ranks. All
  /// members of a new team give the same list; who is in no new team gives an empty one, or any that it is
  /// not in itself, and gets an inactive team.
  ///
  /// Collective over this team, blocking, but synchronises only the members of the new one. Needs no
  /// exchange over this team, so it is cheaper than `split`.
  ///
  /// @progress  user.
  template <std::input_iterator Iter>
  [[nodiscard]] team create(Iter begin, Iter end) const {
    detail::check_collective("team::create");
    std::vector<std::int32_t> ranks;
    for (; begin != end; ++begin) ranks.push_back(static_cast<std::int32_t>(*begin));
    return team(atl::engine::create_team(checked(), ranks.data(), ranks.size(), &atl::rt::progress_user));
  }
  template <typename Container>
  [[nodiscard]] team create(Container const& ranks) const {
    return create(std::begin(ranks), std::end(ranks));
  }

  /// Ends the team. Collective over it; after the entry barrier (on entry, if there is none) nothing may be
  /// under way on it. The object becomes inactive. On an inactive team (split with color_none) nothing happens.
  ///
  /// @param level  the same on all members. `none` does not wait for the others.
  /// @progress     user with entry_barrier::user, else internal.
  void destroy(entry_barrier level = entry_barrier::user) {
    detail::check_collective("team::destroy");
    if (view == nullptr) {
      atl::rt::end_of_nothing("team::destroy");
      return;
    }
    atl::rt::destroy_team(*this, detail::progress_of(level));
  }

 private:
  explicit team(atl::engine::team_view* created) {
    if (created != nullptr) atl::rt::adopt_team(*this, created);
  }
  void relocate(team& other) noexcept {
    if (other.view == nullptr) return;
#if ATOLL_CHECKED
    atl::rt::check_master("team: its move");
#endif
    atl::rt::relocate_team(other, *this);
  }
  friend struct detail_team_access;
  atl::engine::team_view& checked() const {
    if (view == nullptr) [[unlikely]] {
      atl::check_failed(
          "team: the team is inactive: default-constructed, moved from, destroyed, or used before upcxx::init or "
          "after upcxx::finalize");
    }
    return *view;
  }
};

struct detail_team_access {
  static team& from(atl::rt::team_state& state) { return static_cast<team&>(state); }
  static atl::engine::team_view& view(team const& t) { return t.checked(); }
  static team& object(atl::engine::team_view& view) {
    return from(*static_cast<atl::rt::team_state*>(view.handle));
  }
};
static_assert(sizeof(team) == sizeof(atl::rt::team_state));

namespace detail {
inline void check_initialized([[maybe_unused]] char const* what) {
  ATOLL_CHECK(atl::engine::hosts.count != 0, "%s: called before upcxx::init or after upcxx::finalize", what);
}
}  // namespace detail

/// The team of all ranks.
inline team& world() {
  detail::check_initialized("world");
  return detail_team_access::from(atl::rt::world_team_state());
}
/// The ranks whose host memory this process can load and store.
inline team& local_team() {
  detail::check_initialized("local_team");
  return detail_team_access::from(atl::rt::local_team_state());
}

/// Number of ranks in the job.
inline intrank_t rank_n() {
  detail::check_initialized("rank_n");
  return atl::engine::job.rank_n;
}
/// This process's rank in the job.
inline intrank_t rank_me() {
  detail::check_initialized("rank_me");
  return atl::engine::job.rank_me;
}
/// True iff `world_index` is a member of `local_team()`.
inline bool local_team_contains(intrank_t world_index) {
  detail::check_initialized("local_team_contains");
  return atl::engine::hosts.is_local(static_cast<std::uint32_t>(world_index));
}
/// Index of this process's local team, and how many local teams there are.
inline std::pair<intrank_t, intrank_t> local_team_position() {
  detail::check_initialized("local_team_position");
  return {atl::engine::job.host, atl::engine::job.host_n};
}

inline team& team_id::here() const {
  atl::rt::team_state* const state = atl::rt::find_team_state(value_);
  ATOLL_CHECK(
      state != nullptr,
      "team_id::here: no such team in this process: not constructed yet (use when_here), destroyed already, "
      "or the id was default-constructed");
  return detail_team_access::from(*state);
}
inline future<team&> team_id::when_here() const {
#if ATOLL_CHECKED
  atl::rt::check_master("team_id::when_here");
#endif
  atl::rt::team_state* const state = atl::rt::find_team_state(value_);
  if (state != nullptr) return make_future<team&>(detail_team_access::from(*state));
  ATOLL_CHECK(value_ != 0, "team_id::when_here: an id that was default-constructed names no team");
  return detail::await_instance<team>({value_, 0}, *this);
}

}  // namespace upcxx::inline UPCXX_MODE

template <>
struct std::hash<upcxx::team_id> {
  std::size_t operator()(upcxx::team_id const& id) const noexcept {
    return static_cast<std::size_t>(id.value_ * 0x9e3779b97f4a7c15U);
  }
};
