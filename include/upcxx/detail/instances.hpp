#pragma once

/// The registry of what has an id that is equal on several ranks: distributed objects, and teams. Who names
/// one that is not constructed here yet waits for it.

#include <compare>
#include <cstdint>
#include <utility>

#include <atoll/engine/team.hpp>
#include <atoll/transport/message.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/future.hpp>
#include <upcxx/promise.hpp>

namespace atl::rt {

/// Identity of a distributed object: the team's id and the object's number among those of the team, from 1.
/// Number 0 is the team itself.
struct object_id {
  std::uint64_t team = 0;
  std::uint64_t number = 0;
  friend bool operator==(object_id const&, object_id const&) = default;
  friend auto operator<=>(object_id const&, object_id const&) = default;
};

/// Waits for an object to be constructed here; queued for the master persona when it is.
struct object_waiter : transport::task {
  object_waiter* following = nullptr;
  void (*drop)(object_waiter*) = nullptr;  ///< instead of `run`: the object will never be constructed
};

/// Instances are the addresses of dist_object<T>s. Needs the master persona.
ATOLL_EXPORT object_id new_object_id(engine::team_view& team);
ATOLL_EXPORT void register_object(object_id const& id, void* instance);
// These do nothing where the registry no longer has the instance: it is emptied at the end of the library.
ATOLL_EXPORT void move_object(object_id const& id, void* from, void* to) noexcept;
ATOLL_EXPORT void unregister_object(object_id const& id, void* instance) noexcept;
/// The instance, or null if it is not constructed here (yet).
ATOLL_EXPORT void* find_object(object_id const& id) noexcept;
ATOLL_EXPORT void await_object(object_id const& id, object_waiter* waiter);

}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE::detail {

/// A future of `id.here()` for an object that is not constructed here yet.
template <class Object, class Id>
future<Object&> await_instance(atl::rt::object_id const& what, Id const& id) {
  struct waiter final : atl::rt::object_waiter {
    Id id;
    promise<Object&> arrived;
    explicit waiter(Id const& which) : id(which) {
      run = [](atl::transport::task* t) {
        auto* const self = static_cast<waiter*>(static_cast<atl::rt::object_waiter*>(t));
        promise<Object&> const p = std::move(self->arrived);
        Id const what_arrived = self->id;
        delete self;
        p.fulfill_result(what_arrived.here());
      };
      drop = [](atl::rt::object_waiter* w) { delete static_cast<waiter*>(w); };
    }
  };
  auto* const w = new waiter(id);
  future<Object&> result = w->arrived.get_future();
  atl::rt::await_object(what, w);
  return result;
}

}  // namespace upcxx::inline UPCXX_MODE::detail
