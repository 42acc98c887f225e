// Main function of tests that run in one process. Ends with 77 when every test was skipped, so that a run
// which tested nothing is not counted as passed.

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int const status = RUN_ALL_TESTS();
  auto const& unit = *testing::UnitTest::GetInstance();
  bool const only_skips = unit.skipped_test_count() > 0 && unit.successful_test_count() == 0;
  return status == 0 && only_skips ? 77 : status;
}
