#include "base/diagnostics.hpp"

namespace atl {

char const* to_string(activity what) noexcept {
  switch (what) {
    case activity::none:
      return "nothing yet";
    case activity::init:
      return "init";
    case activity::barrier:
      return "barrier";
    case activity::collective:
      return "collective";
    case activity::rpc:
      return "rpc";
    case activity::rpc_ff:
      return "rpc_ff";
    case activity::rma:
      return "put, get or atomic";
    case activity::copy:
      return "copy";
    case activity::wait:
      return "wait";
    case activity::discharge:
      return "discharge";
    case activity::team:
      return "team";
    case activity::segment:
      return "end of a device's segment";
    case activity::backpressure:
      return "waiting for room in a peer's queue";
  }
  return "unknown";
}

}  // namespace atl
