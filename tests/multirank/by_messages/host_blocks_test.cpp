// What scatter, gathers, all to all and scan send between hosts: as few messages as the hosts need, whatever the number
// of their ranks. What arrives, blocks_test checks.

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <atoll/engine/collectives.hpp>
#include <atoll/engine/team.hpp>

#include "several_hosts.hpp"

namespace {

using atl::engine::on_done;
using several_hosts::place;

/// Starts a collective by calling `start` with what to tell, and waits for it.
template <class Start>
void run(Start start) {
  std::atomic<bool> done{false};
  start(on_done{[](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }, &done});
  multirank::spin_until([&] { return done.load(); });
}

}  // namespace

class host_blocks_test : public several_hosts::fixture {
 protected:
  /// Steps between hosts of all ranks together. Every 16th collective of those that do not wait for each other asks
  /// before it sends: so the fewest of two.
  template <class Call>
  int all_crossing(Call call) {
    int const first = crossing(call);
    int const second = crossing(call);
    return upcxx::reduce_all(std::min(first, second), upcxx::op_fast_add).wait();
  }
  void use(std::size_t block) {
    block_ = block;
    mine_.assign(block, static_cast<std::uint8_t>(me));
    row_.assign(block * static_cast<std::size_t>(n), static_cast<std::uint8_t>(me));
    target_.assign(row_.size(), 0);
  }

  atl::engine::team_view& world = atl::engine::world_team();
  std::size_t block_ = 0;
  std::vector<std::uint8_t> mine_;
  std::vector<std::uint8_t> row_;
  std::vector<std::uint8_t> target_;
};

TEST_F(host_blocks_test, a_row_crosses_once_for_each_other_host_from_one_or_to_one) {
  use(8);
  for (int root = 0; root < n; ++root) {
    EXPECT_EQ(
        all_crossing([&] {
          run([&](on_done done) { start_scatter(world, row_.data(), block_, mine_.data(), root, done); });
        }),
        used_ - 1)
        << "from " << root;
    EXPECT_EQ(
        all_crossing([&] {
          run([&](on_done done) { start_gather(world, mine_.data(), block_, row_.data(), root, done); });
        }),
        used_ - 1)
        << "to " << root;
  }
}

TEST_F(host_blocks_test, gathers_to_all_cross_in_rounds_of_leaders) {
  use(8);
  auto const gather = [&] {
    run([&](on_done done) { start_gather_all(world, mine_.data(), block_, target_.data(), done); });
  };
  EXPECT_EQ(crossing(gather), leads() ? rounds() : 0);
  use(100'000);
  int const crossed = crossing(gather);
  EXPECT_EQ(crossed > 0, leads() && used_ > 1);
}

TEST_F(host_blocks_test, small_blocks_from_all_to_all_cross_once_for_each_pair_of_hosts) {
  int const others = used_ - 1;
  int const elsewhere =
      static_cast<int>(std::count_if(all_.begin(), all_.end(), [&](int r) { return place(r) != place(me); }));
  auto const exchange = [&] {
    run([&](on_done done) { start_all_to_all(world, row_.data(), block_, target_.data(), done); });
  };
  use(8);
  EXPECT_EQ(crossing(exchange), leads() ? others : 0);
  // Large ones do not travel together, in one segment each and with one grant.
  use(5000);
  EXPECT_EQ(crossing(exchange), 2 * elsewhere);
}

TEST_F(host_blocks_test, scans_cross_in_rounds_of_hosts) {
  auto const scan = [&] {
    run([&](on_done done) {
      start_scan(
          world, row_.data(), target_.data(), block_, 1,
          [](void* a, void const* b, std::size_t count, void const*) {
            for (std::size_t i = 0; i < count; ++i)
              static_cast<std::uint8_t*>(a)[i] += static_cast<std::uint8_t const*>(b)[i];
          },
          nullptr, done);
    });
  };
  use(8);
  EXPECT_EQ(crossing(scan), leads() ? rounds() : 0);
  if (!std::is_sorted(all_.begin(), all_.end(), [](int a, int b) { return place(a) < place(b); })) return;
  // Too large for everyone to hear all: the values before a host come to its last member, who sends its own on.
  use(1500);
  bool const last =
      std::none_of(all_.begin() + me + 1, all_.end(), [&](int r) { return place(r) == place(me); });
  int sent = 0;
  for (int step = 1; step < used_; step *= 2) sent += place(me) + step < used_ ? 1 : 0;
  EXPECT_EQ(std::min(crossing(scan), crossing(scan)), last ? sent : 0);
}
