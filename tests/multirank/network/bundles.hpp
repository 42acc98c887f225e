#pragma once

/// Tests of messages that leave together look into the neighbour's bundles. Linked with the library's objects.

#include <cstdlib>
#include <string_view>

#include "../common.hpp"
#include "engine/progress/progress_engine.hpp"

class bundles_fixture : public multirank::fixture {
 protected:
  using lane = atl::engine::lane;

  void SetUp() override {
    multirank::fixture::SetUp();
    upcxx::rpc(right, [] {}).wait();  // the connection stands
    upcxx::barrier();
    begin();
    end_burst();
    upcxx::barrier();
    end_burst();
  }
  /// Calls of the test before have run, and none of this one has.
  virtual void begin() {}
  /// Internal progress only: nothing of the other side's runs here.
  static void end_burst() { upcxx::progress(upcxx::progress_level::internal); }
  atl::engine::message_bundle const& bundle(lane way = lane::request) const {
    return atl::engine::network_messages::here().peer(right).bundles[atl::transport::index_of(way)];
  }
  /// A bad network has no room now and then, and what it has no room for waits elsewhere.
  static bool exact() {
    return std::string_view(std::getenv("ATOLL_SIM_NETWORK")).find("bad") == std::string_view::npos;
  }
};
