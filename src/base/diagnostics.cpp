#include "base/diagnostics.hpp"

namespace atl {

char const* to_string(activity what) noexcept {
  switch (what) {
    case activity::none:
      return "nothing yet";
    case activity::init:
      return "init";
    case activity::finalize:
      return "finalize";
    case activity::barrier:
      return "barrier";
    case activity::barrier_async:
      return "barrier_async";
    case activity::broadcast:
      return "broadcast";
    case activity::reduce:
      return "reduce";
    case activity::gather:
      return "gather";
    case activity::rpc:
      return "rpc";
    case activity::rpc_ff:
      return "rpc_ff";
    case activity::copy:
      return "copy";
    case activity::put:
      return "rput";
    case activity::get:
      return "rget";
    case activity::wait:
      return "wait";
    case activity::progress:
      return "progress";
    case activity::discharge:
      return "discharge";
    case activity::dist_object_fetch:
      return "dist_object::fetch";
    case activity::team:
      return "team";
    case activity::am:
      return "active message";
    case activity::backpressure:
      return "waiting for room in a peer's queue";
  }
  return "unknown";
}

}  // namespace atl
