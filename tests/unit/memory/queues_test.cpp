// How many queues of a device a process asks CUDA's driver for.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "memory/kind.hpp"

namespace {

class queues_test : public testing::Test {
 protected:
  void SetUp() override {
    pipes_ = testing::TempDir() + "atoll-queues-test-XXXXXX";
    ASSERT_NE(::mkdtemp(pipes_.data()), nullptr);
    ::setenv("CUDA_MPS_PIPE_DIRECTORY", pipes_.c_str(), 1);
    ::unsetenv(variable);
  }
  void TearDown() override { std::filesystem::remove_all(pipes_); }
  void start_service() const { std::ofstream(pipes_ + "/control") << '\n'; }
  static std::string asked_by(int processes) {
    ::unsetenv(variable);
    atl::memory::ask_for_queues(processes);
    return std::getenv(variable);
  }
  static constexpr char const* variable = "CUDA_DEVICE_MAX_CONNECTIONS";

 private:
  std::string pipes_;
};

TEST_F(queues_test, are_all_that_there_are) {
  EXPECT_EQ(asked_by(1), "32");
  EXPECT_EQ(asked_by(64), "32");
}

TEST_F(queues_test, of_the_multi_process_service_are_shared) {
  start_service();
  EXPECT_EQ(asked_by(1), "32");
  EXPECT_EQ(asked_by(8), "12");
  EXPECT_EQ(asked_by(64), "2");
}

TEST_F(queues_test, are_as_many_as_the_environment_says) {
  ::setenv(variable, "5", 1);
  atl::memory::ask_for_queues(1);
  EXPECT_STREQ(std::getenv(variable), "5");
}

}  // namespace
