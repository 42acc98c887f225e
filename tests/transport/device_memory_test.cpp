// Who copies device memory between hosts.

#include "transport/device_memory.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "memory/kind.hpp"

namespace atl::transport {
namespace {

abilities with(bool cuda, bool stages) {
  abilities all;
  all.memory_kinds = 1U << static_cast<unsigned>(memory::kind_id::host);
  if (cuda) all.memory_kinds |= 1U << static_cast<unsigned>(memory::kind_id::cuda);
  all.stages_devices = stages;
  return all;
}

TEST(device_memory, ANetworkThatTakesNoneCopiesNone) {
  for (std::optional<bool> const wanted :
       {std::optional<bool>(), std::optional(true), std::optional(false)}) {
    EXPECT_FALSE(moves_devices(with(false, false), wanted));
    EXPECT_NE(device_memory_words(with(false, false), wanted).find("takes no device memory"),
              std::string::npos);
  }
}

TEST(device_memory, LeftOpenItIsTheNetworksWhereItStagesNothing) {
  EXPECT_TRUE(moves_devices(with(true, false), {}));
  EXPECT_EQ(device_memory_words(with(true, false), {}), "by the network (cuda)");
  EXPECT_FALSE(moves_devices(with(true, true), {}));
  EXPECT_NE(device_memory_words(with(true, true), {}).find("slower"), std::string::npos);
}

TEST(device_memory, TheSettingDecides) {
  EXPECT_TRUE(moves_devices(with(true, true), true));
  EXPECT_FALSE(moves_devices(with(true, false), false));
  EXPECT_NE(device_memory_words(with(true, false), false).find("ATOLL_NETWORK_DEVICE_MEMORY"),
            std::string::npos);
}

}  // namespace
}  // namespace atl::transport
