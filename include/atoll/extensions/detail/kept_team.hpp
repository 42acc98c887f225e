#pragma once

/// The team that an object keeps from its construction to its end.

#include <atoll/engine/team.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// Teams are objects of the program, which may move them meanwhile.
class kept_team {
 public:
  explicit kept_team(upcxx::team const& of) : view_(&upcxx::detail_team_access::view(of)) {}

  upcxx::team const& operator*() const { return upcxx::detail_team_access::object(*view_); }
  upcxx::team const* operator->() const { return &**this; }

 private:
  engine::team_view* view_;
};

}  // namespace atl::inline UPCXX_MODE::detail
