// Main function of tests that run on several ranks.
//
// Every rank runs every test. Rank 0 prints GoogleTest's usual account; the others only speak up for
// failures, with their rank. Ranks stay in step between tests through a channel of the test's own. The job
// fails if a test failed on any rank, and ends with 77 if every test was skipped on all of them.

#include <gtest/gtest.h>
#include <unistd.h>
#include <upcxx/upcxx.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>

#include "support/rank_env.hpp"

namespace {

class rank_listener final : public testing::EmptyTestEventListener {
 public:
  explicit rank_listener(atoll_test::rank_env& env) : env_(env) {}

 private:
  void OnTestPartResult(testing::TestPartResult const& part) override {
    if (part.failed()) {
      std::fprintf(stderr, "[rank %d of %d] %s:%d: %s\n", env_.rank(), env_.size(),
                   part.file_name() != nullptr ? part.file_name() : "?", part.line_number(), part.message());
    }
  }
  void OnTestEnd(testing::TestInfo const&) override { env_.barrier(); }

  atoll_test::rank_env& env_;
};

}  // namespace

int main(int argc, char** argv) {
  upcxx::init();
  int const rank = upcxx::rank_me();
  int const size = upcxx::rank_n();
  testing::InitGoogleTest(&argc, argv);

  // One broadcast gives all ranks the name of their channel and the seed of --gtest_shuffle.
  auto const now = std::chrono::system_clock::now().time_since_epoch().count();
  auto const key =
      upcxx::broadcast((static_cast<std::uint64_t>(::getpid()) << 40) ^ static_cast<std::uint64_t>(now), 0)
          .wait();
  if (testing::GTEST_FLAG(shuffle) && testing::GTEST_FLAG(random_seed) == 0) {
    testing::GTEST_FLAG(random_seed) = static_cast<int>(key % 99999) + 1;
  }
  auto env = std::make_unique<atoll_test::rank_env>(rank, size, key);

  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    delete listeners.Release(listeners.default_xml_generator());
  }
  listeners.Append(new rank_listener(*env));  // owned by GoogleTest

  int const status = RUN_ALL_TESTS();
  auto const& unit = *testing::UnitTest::GetInstance();
  std::int64_t const failed = env->sum(status != 0 ? 1 : 0);
  std::int64_t const succeeded = env->sum(unit.successful_test_count());
  std::int64_t const skipped = env->sum(unit.skipped_test_count());
  if (rank == 0 && failed != 0) {
    std::fprintf(stderr, "tests failed on %d of %d ranks\n", static_cast<int>(failed), size);
  }
  if (upcxx::initialized()) {
    upcxx::finalize();
  }
  env.reset();
  if (failed != 0) {
    return 1;
  }
  return skipped > 0 && succeeded == 0 ? 77 : 0;
}
