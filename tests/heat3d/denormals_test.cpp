#include "program/denormals.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace heat3d {
namespace {

TEST(denormals, are_flushed) {
  bool known = false;
  double product = 1;
  double denormal = 0;
  // In a thread of its own, since it is the thread's processor that changes.
  std::thread([&] {
    double volatile const small = 1e-310;
    double volatile const one = 1;
    denormal = small;
    known = flush_denormals();
    product = small * one;
  }).join();
  EXPECT_GT(denormal, 0);
  EXPECT_EQ(product, known ? 0 : denormal);
}

}  // namespace
}  // namespace heat3d
