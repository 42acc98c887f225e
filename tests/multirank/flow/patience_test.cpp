// Targets that are slow cost their senders patience once, not with every message. Linked with the library's objects, to count the
// waits that ended so.

#include <atomic>
#include <memory>
#include <vector>

#include <unistd.h>

#include "../common.hpp"
#include "engine/progress/back_pressure.hpp"

namespace {

constexpr int calls = 200;
constexpr std::size_t call_words = 2048;
int taken;

class patience_test : public multirank::fixture {
 protected:
  patience_test() : woken_(multirank::shared_array<long>(1)) {}

  /// Rank 0 does that while no other rank makes progress.
  template <class Work>
  void while_others_are_away(Work work) {
    taken = 0;
    woken_.local()[0] = 0;
    upcxx::barrier();
    if (me == 0) {
      // One that is late in the barrier would take calls there.
      for (int r = 1; r < n; ++r) wait_until(r, away);
      work();
      for (int r = 1; r < n; ++r) flag_of(r).store(woken);
    } else {
      flag_of(me).store(away);
      wait_until(me, woken);
    }
  }
  static void call(int target) {
    std::vector<long> const data(call_words, target);
    upcxx::rpc_ff(
        target, [](upcxx::view<long> v) { taken += v.size() == call_words ? 1 : 0; }, upcxx::make_view(data));
  }
  /// Waits that end without room while so many calls go to that rank.
  static std::uint64_t waits_for(int target) {
    std::uint64_t const before = atl::engine::waits_in_vain;
    for (int i = 0; i < calls; ++i) call(target);
    return atl::engine::waits_in_vain - before;
  }

 private:
  static constexpr long away = 1;
  static constexpr long woken = 2;

  void wait_until(int rank, long state) {
    while (flag_of(rank).load() != state) ::usleep(1000);
  }
  std::atomic_ref<long> flag_of(int rank) { return std::atomic_ref<long>(*woken_.at(rank).local()); }

  multirank::shared_array<long> woken_;
};

TEST_F(patience_test, a_slow_target_costs_it_once) {
  while_others_are_away([&] {
    for (int target = 1; target < n; ++target) EXPECT_EQ(waits_for(target), 1U) << target;
    // They are remembered together.
    for (int target = 1; target < n; ++target) EXPECT_EQ(waits_for(target), 0U) << target;
  });
  if (me != 0) multirank::spin_until([] { return taken == 2 * calls; });
  upcxx::barrier();
}

// What is staged for collectives is as much in the way as what was sent.
TEST_F(patience_test, memory_that_teams_have_staged_costs_it_once_for_each_target) {
  constexpr std::size_t words = 8192, ahead = 4;
  std::vector<std::unique_ptr<upcxx::team>> teams;
  for (int i = 0; i < 14; ++i)  // with world and local_team() as many as have channels
    teams.push_back(std::make_unique<upcxx::team>(upcxx::world().split(0, me)));
  std::vector<std::vector<long>> data(teams.size(), std::vector<long>(words, me == 0 ? 5 : 0));
  std::vector<upcxx::future<>> done;
  auto const broadcast_on_all = [&] {
    for (std::size_t round = 0; round < ahead; ++round) {
      for (std::size_t i = 0; i < teams.size(); ++i)
        done.push_back(upcxx::broadcast(data[i].data(), words, 0, *teams[i]));
    }
  };
  while_others_are_away([&] {
    broadcast_on_all();
    for (int target = 1; target < n; ++target) EXPECT_LE(waits_for(target), 1U) << target;
  });
  if (me != 0) broadcast_on_all();
  for (upcxx::future<> const& each : done) each.wait();
  for (std::vector<long> const& each : data) EXPECT_EQ(each, std::vector<long>(words, 5));
  if (me != 0) multirank::spin_until([] { return taken == calls; });
  upcxx::barrier();
  for (auto& each : teams) each->destroy();
}

}  // namespace
