// More ranks than cores: everything that waits must let the others run.

#include "../common.hpp"

namespace {
long arrived;
}

using oversubscribed_test = multirank::fixture;

TEST_F(oversubscribed_test, barriers) {
  multirank::shared_array<int> cell(1);
  for (int round = 0; round < 300; ++round) {
    *cell.local() = round;
    upcxx::barrier();
    ASSERT_EQ(upcxx::rget(cell.at((me + round) % n)).wait(), round);
    upcxx::barrier();
  }
}

TEST_F(oversubscribed_test, a_ring_of_calls) {
  for (int round = 0; round < 50; ++round) {
    EXPECT_EQ(upcxx::rpc(
                  right, [](int x) { return x + upcxx::rank_me(); }, round)
                  .wait(),
              round + right);
  }
}

TEST_F(oversubscribed_test, a_token_travels_around_the_ring) {
  static int token;
  token = -1;
  upcxx::barrier();
  for (int round = 0; round < 10; ++round) {
    if (me == 0) {
      upcxx::rpc_ff(
          right, [](int t) { token = t; }, round * 1000 + 1);
    }
    multirank::spin_until([&] { return token >= round * 1000; });
    EXPECT_EQ(token, round * 1000 + (me == 0 ? n : me));
    if (me != 0) {
      upcxx::rpc_ff(
          right, [](int t) { token = t; }, token + 1);
    }
    upcxx::barrier();
  }
}

TEST_F(oversubscribed_test, reductions) {
  for (int round = 0; round < 100; ++round) {
    EXPECT_EQ(upcxx::reduce_all(me + round, upcxx::op_fast_add).wait(), n * (n - 1) / 2 + n * round);
    std::vector<double> v(1000, me);
    upcxx::reduce_all(v.data(), v.data(), v.size(), upcxx::op_fast_max).wait();
    EXPECT_EQ(v[999], n - 1);
    EXPECT_EQ(upcxx::broadcast(me, round % n).wait(), round % n);
  }
}

TEST_F(oversubscribed_test, all_to_all_floods) {
  arrived = 0;
  upcxx::barrier();
  std::vector<int> block(500, me);
  for (int i = 0; i < 100; ++i) {
    for (int r = 0; r < n; ++r) {
      upcxx::rpc_ff(
          r, [](upcxx::view<int> v) { arrived += v[499] + 1; }, upcxx::make_view(block));
    }
  }
  long const expected = 100L * n * (n + 1) / 2;
  multirank::spin_until([&] { return arrived >= expected; });
  EXPECT_EQ(arrived, expected);
}
