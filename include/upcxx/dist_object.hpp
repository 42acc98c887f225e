#pragma once

/// Distributed objects: one instance on every member of a team, found by a common id.
/// Specification chapter "Distributed objects".

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <atoll/engine/period.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/instances.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/future.hpp>
#include <upcxx/rpc.hpp>
#include <upcxx/team.hpp>

namespace upcxx::inline UPCXX_MODE {

/// Name of a distributed object, the same on all members of its team.
template <typename T>
struct dist_id {
 public:
  dist_id() = default;

  /// The instance of this process, which must exist. Needs the master persona.
  dist_object<T>& here() const {
#if ATOLL_CHECKED
    atl::rt::check_master("dist_id::here");
#endif
    void* const instance = atl::rt::find_object(id_);
    ATOLL_CHECK(instance != nullptr,
                "dist_id::here: no such object on this rank: not constructed yet (use when_here), destroyed "
                "already, or the id was default-constructed");
    return *static_cast<dist_object<T>*>(instance);
  }
  /// Ready once the instance exists here. Needs the master persona.
  ATOLL_NODISCARD_FUTURE future<dist_object<T>&> when_here() const {
#if ATOLL_CHECKED
    atl::rt::check_master("dist_id::when_here");
#endif
    ATOLL_CHECK(*this != dist_id(), "dist_id::when_here: the id was default-constructed and names no object");
    if (void* const instance = atl::rt::find_object(id_)) {
      return upcxx::make_future<dist_object<T>&>(*static_cast<dist_object<T>*>(instance));
    }
    return detail::await_instance<dist_object<T>>(id_, *this);
  }

  friend bool operator==(dist_id const&, dist_id const&) = default;
  friend auto operator<=>(dist_id const&, dist_id const&) = default;
  /// The same text for the same object, on all ranks.
  template <typename Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, dist_id id) {
    return out << "dist_id(" << id.id_.team << '.' << id.id_.number << ')';
  }

 private:
  friend class dist_object<T>;
  friend struct std::hash<dist_id<T>>;
  atl::rt::object_id id_;
};

namespace detail {
/// Only `{}` converts to it: an initializer list of these is `{}`, or `{{}}`.
struct no_element {
  no_element() {}
};

/// What fetch() gives: what an rpc does that returns a reference to the value, without the const of a T that has it.
/// Anything for a type that cannot be sent, so that fetch() can say so itself.
template <class T, bool = is_serializable<T>::value>
struct fetched {
  using type = deserialized_type_t<T const&>;
};
template <class T>
struct fetched<T, false> {
  using type = void*;
};

/// The value that a distributed object is constructed from.
template <class T>
decltype(auto) into_object(T& value) {
  static_assert(
      std::is_move_constructible_v<T>,
      "dist_object: a value of a type that cannot be moved cannot be passed; have it constructed in place, "
      "by dist_object<T>(team, arguments of its constructor...)");
  if constexpr (std::is_move_constructible_v<T>) {
    return std::move(value);
  } else {
    return std::nullopt;
  }
}
}  // namespace detail

/// Tag for a distributed object that holds a value but has no identity yet.
struct inactive_t {
  explicit inactive_t() = default;
};
inline constexpr inactive_t inactive{};

/// An object of which every member of a team holds an instance.
///
/// Construction is collective over the team but does not synchronise: others may not have reached it when it
/// returns. Calls that name the object wait at a rank until it is constructed there.
template <typename T>
class dist_object {
  static_assert(!std::is_reference_v<T>,
                "dist_object: T must not be a reference: hold a pointer, or a std::reference_wrapper");

 public:
  using value_type = T;

  /// No identity and no value. May be constructed while the library is not initialised.
  dist_object() noexcept {}
  /// A value without an identity; see `activate`. A template, so that `{}` does not mean the tag.
  template <std::same_as<inactive_t> Tag, typename... Arg>
  explicit dist_object(Tag, Arg&&... arg) : value_(std::in_place, std::forward<Arg>(arg)...) {}

  dist_object(T value, upcxx::team const& team) : value_(detail::into_object(value)) { identify(team); }
  dist_object(T value) : value_(detail::into_object(value)) { identify(world()); }
  // `dist_object<T> d({})` and `d{{}}` mean an empty value; without these two, `{}` could also be an inactive
  // object to move from.
  dist_object(std::initializer_list<detail::no_element>) : dist_object(T{}, world()) {}
  dist_object(std::initializer_list<detail::no_element>, upcxx::team const& team) : dist_object(T{}, team) {}
  /// Constructs the value in place, from the remaining arguments.
  template <std::same_as<upcxx::team> Team, typename... Arg>
  explicit dist_object(Team const& team, Arg&&... arg) : value_(std::in_place, std::forward<Arg>(arg)...) {
    identify(team);
  }

  /// Takes value and identity along; `other` has neither afterwards.
  dist_object(dist_object&& other) noexcept(
      std::is_nothrow_move_constructible_v<T>) requires std::is_move_constructible_v<T>
      : value_(std::move(other.value_)), id_(other.id_), team_(other.team_), period_(other.period_) {
    other.value_.reset();
    take_identity(other);
  }
  dist_object& operator=(dist_object&& other) requires std::is_move_constructible_v<T> {
    if (this == &other) return *this;
    drop_identity();
    value_.reset();
    if (other.value_) value_.emplace(std::move(*other.value_));
    other.value_.reset();
    id_ = other.id_;
    team_ = other.team_;
    period_ = other.period_;
    take_identity(other);
    return *this;
  }
  dist_object(dist_object const&) = delete;
  dist_object& operator=(dist_object const&) = delete;

  ~dist_object() { drop_identity(); }

  /// True if the object has an identity: was constructed or activated over a team, and not moved from. The identity ends
  /// with the library; the value stays.
  bool is_active() const { return team_ != nullptr && period_ == atl::engine::periods_ended(); }
  bool has_value() const { return value_.has_value(); }

  /// Replaces this instance's value.
  template <typename... Arg>
  T& emplace(Arg&&... arg) {
    return value_.emplace(std::forward<Arg>(arg)...);
  }
  /// Gives an inactive object an identity. Collective over `team`; does not synchronise.
  void activate(upcxx::team const& team = world()) {
    ATOLL_CHECK(!is_active(), "dist_object::activate: the object is active already");
    ATOLL_CHECK(has_value(), "dist_object::activate: the object has no value");
    identify(team);
  }

  dist_id<T> id() const {
    ATOLL_CHECK(
        is_active(),
        "dist_object: an inactive object (moved from, never activated, or kept over finalize) cannot be sent and has no "
        "id");
    dist_id<T> result;
    result.id_ = id_;
    return result;
  }
  /// The team over which the object was constructed, also after its team object was moved. It must not have been destroyed.
  upcxx::team& team() { return checked_team(); }
  upcxx::team const& team() const { return checked_team(); }

  T* operator->() const { return std::addressof(checked_value()); }
  T& operator*() const { return checked_value(); }

  /// A copy of the value of the instance on `rank` of the object's team.
  ///
  /// @return    future of the deserialised value; waits until that instance is constructed.
  /// @progress  internal.
  template <typename U = T>  // a template, so that values that cannot be sent may be held all the same
  ATOLL_NODISCARD_FUTURE future<typename detail::fetched<U>::type> fetch(intrank_t rank) const {
    static_assert(is_serializable<U>::value, "dist_object::fetch: T must be Serializable");
    static_assert(
        !detail::carries_view<U>(),
        "dist_object::fetch: T is or contains a view, which would look into a message that nobody keeps");
    return upcxx::rpc(
        team(), rank, [](dist_object<T>& object) -> T const& { return *object; }, *this);
  }

 private:
  T& checked_value() const {
    ATOLL_CHECK(value_.has_value(), "dist_object: it has no value (emplace gives it one)");
    return *const_cast<dist_object*>(this)->value_;
  }
  void identify(upcxx::team const& over) {
    detail::check_collective("dist_object");
    team_ = &detail_team_access::view(over);
    period_ = atl::engine::periods_ended();
    id_ = atl::rt::new_object_id(*team_);
    atl::rt::register_object(id_, this);
  }
  void take_identity(dist_object& other) noexcept {
    other.team_ = nullptr;
    if (!is_active()) return;
#if ATOLL_CHECKED
    atl::rt::check_master("dist_object: its move");
#endif
    atl::rt::move_object(id_, &other, this);
  }
  void drop_identity() noexcept {
    if (is_active()) {
#if ATOLL_CHECKED
      atl::rt::check_master("dist_object: its end");
#endif
      atl::rt::unregister_object(id_, this);
    }
    team_ = nullptr;
  }
  upcxx::team& checked_team() const {
    ATOLL_CHECK(
        is_active(),
        "dist_object: an inactive object (moved from, never activated, or kept over finalize) has no team, and "
        "nobody can fetch it");
    ATOLL_CHECK(
        atl::rt::find_team_state(id_.team) != nullptr,
        "dist_object: its team was destroyed, and nobody can fetch it any more; let the team outlive it");
    return detail_team_access::object(*team_);
  }

  std::optional<T> value_;
  atl::rt::object_id id_;
  atl::engine::team_view* team_ = nullptr;  ///< null: inactive
  std::uint64_t period_ = 0;                ///< of the library, in which it got its identity
};

}  // namespace upcxx::inline UPCXX_MODE

template <typename T>
struct std::hash<upcxx::dist_id<T>> {
  std::size_t operator()(upcxx::dist_id<T> const& id) const noexcept {
    return static_cast<std::size_t>((id.id_.team * 0x9e3779b97f4a7c15U) ^
                                    (id.id_.number * 0xc2b2ae3d27d4eb4fU));
  }
};
