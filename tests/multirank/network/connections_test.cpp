// Connections between hosts come and go: with a network to which few are no burden, all ranks talk to all, and what
// each keeps open stays bounded. Linked with the library's objects, to count.

#include <cstdint>
#include <vector>

#include "../common.hpp"
#include "engine/network/network_messages.hpp"

namespace {

class connections_test : public multirank::fixture {
 protected:
  static std::size_t open() { return atl::engine::network_messages::here().connections(); }
  /// 0: as many as there are ranks.
  static std::size_t most() {
    std::size_t const limit = atl::engine::network_messages::here().transport().limits().connections;
    return limit == 0 ? SIZE_MAX : limit;
  }
};

/// Calls and their answers, in both directions, with answers long enough to come in pieces.
TEST_F(connections_test, all_talk_to_all) {
  for (int round = 0; round < 3; ++round) {
    for (int distance = 1; distance < n; ++distance) {
      int const to = (me + distance) % n;
      std::vector<int> const sent(static_cast<std::size_t>(round * 10'000 + 5), me);
      auto const got = upcxx::rpc(
                           to,
                           [](upcxx::view<int> what) {
                             std::vector<int> back(what.begin(), what.end());
                             for (int& each : back) each += 1000 * upcxx::rank_me();
                             return back;
                           },
                           upcxx::make_view(sent))
                           .wait();
      ASSERT_EQ(got.size(), sent.size());
      EXPECT_EQ(got.front(), me + 1000 * to);
      EXPECT_EQ(got.back(), me + 1000 * to);
    }
  }
  // Closing takes polls of both sides.
  multirank::spin_until([] { return open() <= most(); });
  upcxx::barrier();
}

/// Many at once, so that connections are wanted while others are being closed.
TEST_F(connections_test, everything_at_once) {
  multirank::shared_array<long> cells(static_cast<std::size_t>(n) * 3000);
  upcxx::barrier();
  upcxx::promise<> all;
  std::vector<long> const row(3000, me + 1);
  static int arrived;
  arrived = 0;
  upcxx::barrier();
  for (int round = 0; round < 4; ++round) {
    for (int to = 0; to < n; ++to) {
      upcxx::rput(row.data(), cells.at(to) + me * 3000, 3000,
                  upcxx::operation_cx::as_promise(all) | upcxx::remote_cx::as_rpc([] { ++arrived; }));
      upcxx::rpc(to, upcxx::operation_cx::as_promise(all), [] { ++arrived; });
    }
  }
  all.finalize().wait();
  multirank::spin_until([this] { return arrived == 8 * n; });
  for (int from = 0; from < n; ++from) {
    EXPECT_EQ(cells.local()[from * 3000], from + 1);
    EXPECT_EQ(cells.local()[from * 3000 + 2999], from + 1);
  }
  upcxx::barrier();
  std::vector<long> back(static_cast<std::size_t>(n) * 3000);
  for (int from = 0; from < n; ++from) {
    upcxx::rget(cells.at(from) + me * 3000, back.data() + from * 3000, 3000).wait();
    EXPECT_EQ(back[static_cast<std::size_t>(from) * 3000 + 1500], me + 1);
  }
  multirank::spin_until([] { return open() <= most(); });
  upcxx::barrier();
}

}  // namespace
