// Main function of the suite network_* for networks that need a library which may be absent.

#include <cstdio>

#include <gtest/gtest.h>

#include "network_fabric.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (std::string const why = atl::transport::why_no_network(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
  }
  return RUN_ALL_TESTS();
}
