// Who does the operations of an atomic domain on memory of other hosts.

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

transport::abilities safe() {
  transport::abilities all;
  all.atomics_with_processor = true;
  return all;
}

TEST(atomics_by_network, an_adapter_that_has_all_operations_does_them) {
  ability const all[]{by_adapter, by_adapter};
  EXPECT_TRUE(atomics_by_network(safe(), all, std::nullopt));
  EXPECT_TRUE(atomics_by_network(safe(), all, true));
  EXPECT_FALSE(atomics_by_network(safe(), all, false));
}

TEST(atomics_by_network, one_operation_that_it_has_not_leaves_all_to_processors) {
  for (ability const other : {absent, emulated}) {
    ability const some[]{by_adapter, other, by_adapter};
    EXPECT_FALSE(atomics_by_network(safe(), some, std::nullopt));
    EXPECT_FALSE(atomics_by_network(safe(), some, true));
  }
}

TEST(atomics_by_network, what_needs_the_target_is_a_message_unless_asked_for) {
  ability const all[]{by_adapter, by_target};
  EXPECT_FALSE(atomics_by_network(safe(), all, std::nullopt));
  EXPECT_TRUE(atomics_by_network(safe(), all, true));
}

TEST(atomics_by_network, an_adapter_that_processors_would_disturb_does_none) {
  ability const all[]{by_adapter};
  EXPECT_FALSE(atomics_by_network({}, all, std::nullopt));
  EXPECT_FALSE(atomics_by_network({}, all, true));
}

}  // namespace
}  // namespace atl::engine
