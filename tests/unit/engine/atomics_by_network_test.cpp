// Who does the operations of an atomic domain of several hosts.

#include <gtest/gtest.h>

#include <optional>

#include "engine/rma/network_atomics.hpp"

namespace atl::engine {
namespace {

using transport::ability;
using transport::support;

constexpr ability by_adapter{support::native, false};
constexpr ability by_target{support::native, true};
constexpr ability emulated{support::emulated, false};
constexpr ability absent{};

transport::abilities network(bool with_processor, bool loopback) {
  transport::abilities all;
  all.atomics_with_processor = with_processor;
  all.loopback = loopback;
  return all;
}
transport::abilities safe() { return network(true, false); }

TEST(atomics_by_network, an_adapter_that_has_all_operations_does_them) {
  ability const all[]{by_adapter, by_adapter};
  for (bool const loopback : {false, true}) {
    EXPECT_EQ(choose_atomics(network(true, loopback), all, std::nullopt), atomics_by::network);
    EXPECT_EQ(choose_atomics(network(true, loopback), all, true), atomics_by::network);
    EXPECT_EQ(choose_atomics(network(true, loopback), all, false), atomics_by::processors);
  }
}

TEST(atomics_by_network, one_operation_that_it_has_not_leaves_all_to_processors) {
  for (ability const other : {absent, emulated}) {
    ability const some[]{by_adapter, other, by_adapter};
    for (transport::abilities const& each : {safe(), network(false, true)}) {
      EXPECT_EQ(choose_atomics(each, some, std::nullopt), atomics_by::processors);
      EXPECT_EQ(choose_atomics(each, some, true), atomics_by::processors);
    }
  }
}

TEST(atomics_by_network, what_needs_the_target_is_a_message_unless_asked_for) {
  ability const all[]{by_adapter, by_target};
  EXPECT_EQ(choose_atomics(safe(), all, std::nullopt), atomics_by::processors);
  EXPECT_EQ(choose_atomics(safe(), all, true), atomics_by::network);
}

TEST(atomics_by_network, an_adapter_that_processors_would_disturb_does_all_or_none) {
  ability const all[]{by_adapter};
  EXPECT_EQ(choose_atomics(network(false, true), all, std::nullopt), atomics_by::network_alone);
  EXPECT_EQ(choose_atomics(network(false, true), all, false), atomics_by::processors);
  for (auto const wanted : {std::optional<bool>(), std::optional(true)}) {
    EXPECT_EQ(choose_atomics(network(false, false), all, wanted), atomics_by::processors);
  }
}

}  // namespace
}  // namespace atl::engine
