// init, finalize and initialized: counting, and new periods after a complete finalize
// (core digest, chapter 2).

#include <cstdlib>
#include <string>
#include <unordered_set>

#include "common.hpp"

namespace {

// Allowed before init and destroyed after the last finalize (digest 2.6).
upcxx::global_ptr<int> static_pointer;
upcxx::global_ptr<int> static_null_pointer(nullptr);
upcxx::future<int> static_never_ready;
upcxx::future<int> static_ready = upcxx::make_future(7);
upcxx::future<int, std::string> static_joined = upcxx::when_all(static_ready, std::string("before init"));
upcxx::promise<int> static_promise;
bool const initialized_before_main = upcxx::initialized();

/// Leaves every nested period; returns how many there were.
int finalize_completely() {
  int depth = 0;
  while (upcxx::initialized()) {
    upcxx::finalize();
    ++depth;
  }
  return depth;
}

void initialize(int depth) {
  for (int i = 0; i < depth; ++i) {
    upcxx::init();
  }
}

}  // namespace

using init_test = multirank::fixture;

TEST_F(init_test, initialized_is_false_during_static_construction_and_true_in_a_period) {
  EXPECT_FALSE(initialized_before_main);
  EXPECT_TRUE(upcxx::initialized());
}

TEST_F(init_test, futures_made_before_init_keep_their_values) {
  EXPECT_TRUE(static_ready.ready());
  EXPECT_EQ(static_ready.result(), 7);
  EXPECT_TRUE(static_joined.ready());
  EXPECT_EQ(static_joined.result<1>(), "before init");
  EXPECT_FALSE(static_never_ready.ready());
  EXPECT_TRUE(static_pointer.is_null());
  EXPECT_TRUE(static_null_pointer == static_pointer);
  static_promise.fulfill_result(3);
  EXPECT_EQ(static_promise.get_future().result(), 3);
}

TEST_F(init_test, nested_init_and_finalize_only_count) {
  upcxx::global_ptr<int> kept = upcxx::new_<int>(42 + me);
  upcxx::init();
  upcxx::init();
  EXPECT_EQ(upcxx::rank_me(), me);
  upcxx::finalize();
  EXPECT_TRUE(upcxx::initialized());
  upcxx::finalize();
  EXPECT_TRUE(upcxx::initialized());
  EXPECT_EQ(*kept.local(), 42 + me);
  EXPECT_EQ(upcxx::rpc(
                right, [](int x) { return x + upcxx::rank_me(); }, 100)
                .wait(),
            100 + right);
  upcxx::barrier();
  upcxx::delete_(kept);
}

TEST_F(init_test, nested_finalize_makes_progress_and_nested_init_none) {
  static bool ran;
  ran = false;
  upcxx::master_persona().lpc_ff([] { ran = true; });
  upcxx::init();
  EXPECT_FALSE(ran);
  upcxx::finalize();
  EXPECT_TRUE(ran);
}

TEST_F(init_test, rank_and_size_are_stable_and_in_range) {
  EXPECT_GE(me, 0);
  EXPECT_LT(me, n);
  EXPECT_GE(n, 1);
  EXPECT_EQ(upcxx::rank_me(), upcxx::world().rank_me());
  EXPECT_EQ(upcxx::rank_n(), upcxx::world().rank_n());
  static_assert(std::is_signed_v<upcxx::intrank_t>);
  static_assert(std::is_same_v<decltype(upcxx::rank_me()), upcxx::intrank_t>);
  // Every rank number exists exactly once.
  int const sum = upcxx::reduce_all(me, upcxx::op_fast_add).wait();
  EXPECT_EQ(sum, n * (n - 1) / 2);
  EXPECT_EQ(upcxx::reduce_all(1, upcxx::op_fast_add).wait(), n);
}

TEST_F(init_test, getenv_console_finds_variables_and_reports_missing_ones) {
  char const* path = upcxx::getenv_console("PATH");
  ASSERT_NE(path, nullptr);
  EXPECT_STRNE(path, "");
  EXPECT_EQ(upcxx::getenv_console("ATOLL_TEST_NO_SUCH_VARIABLE_EVER"), nullptr);
}

TEST_F(init_test, version_macros_are_integer_literals) {
  static_assert(UPCXX_SPEC_VERSION >= 20201100L);
  static_assert(UPCXX_VERSION > 20200000L);
#if UPCXX_SPEC_VERSION < 20201100L
#error "UPCXX_SPEC_VERSION must be usable by the preprocessor"
#endif
}

// Last: it leaves the library completely several times.
TEST_F(init_test, zz_a_new_period_after_complete_finalize_works_from_fresh_heaps) {
  int const depth = finalize_completely();
  ASSERT_GE(depth, 1);
  EXPECT_FALSE(upcxx::initialized());
  std::unordered_set<upcxx::team_id> ids;
  for (int period = 0; period < 3; ++period) {
    upcxx::init();
    EXPECT_TRUE(upcxx::initialized());
    EXPECT_EQ(upcxx::rank_me(), me);
    EXPECT_EQ(upcxx::rank_n(), n);
    // A heap that kept the previous period's blocks would not hold a second block of half its size.
    std::int64_t const half = upcxx::shared_segment_size() / 8 * 5;
    upcxx::global_ptr<char> block = upcxx::allocate<char>(static_cast<std::size_t>(half));
    EXPECT_TRUE(block) << "period " << period << ": " << upcxx::shared_segment_used() << " bytes in use";
    {
      upcxx::dist_object<upcxx::global_ptr<int>> cell(upcxx::new_<int>(me));
      upcxx::global_ptr<int> peer = cell.fetch(right).wait();
      EXPECT_EQ(upcxx::rget(peer).wait(), right);
      upcxx::barrier();
      upcxx::rput(1000 * period + me, peer).wait();
      upcxx::barrier();
      EXPECT_EQ(*cell->local(), 1000 * period + left);
      EXPECT_EQ(upcxx::rpc(
                    left, [](std::string s) { return s + "!"; }, std::string("again"))
                    .wait(),
                "again!");
      EXPECT_EQ(upcxx::reduce_all(1, upcxx::op_fast_add).wait(), n);
      upcxx::team all = upcxx::world().split(0, me);
      EXPECT_TRUE(ids.insert(all.id()).second) << "as a team of an earlier period";
      all.destroy();
    }
    upcxx::finalize();
    EXPECT_FALSE(upcxx::initialized());
  }
  // Still legal between periods.
  upcxx::promise<int> p;
  upcxx::future<int> f = upcxx::when_all(upcxx::make_future(1));
  EXPECT_TRUE(f.ready());
  initialize(depth);
  EXPECT_EQ(upcxx::rank_me(), me);
}
