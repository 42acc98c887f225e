// Transfers by host: which data share a message, to whom that goes, and that all arrive, whoever is late. Linked with the library's
// objects, to look inside.

#include <atoll/array.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <vector>

#include "../common.hpp"
#include "../extensions/uneven_boxes.hpp"
#include "engine/progress/progress_engine.hpp"

namespace {

using atl::domain;
using atl::point;
using atl::engine::flagged_puts;
using multirank::intrank_t;

class joint_test : public multirank::fixture {
 protected:
  void SetUp() override {
    multirank::fixture::SetUp();
    for (intrank_t r = 0; r < n; ++r) {
      if (upcxx::local_team_contains(r)) continue;
      by_host[flagged_puts::host_of(static_cast<std::uint32_t>(r))].push_back(r);
      upcxx::rpc(r, [] {}).wait();  // the connections stand
    }
    upcxx::barrier();
  }
  /// A bad network has no room now and then, and what it has no room for leaves otherwise.
  static bool exact() {
    char const* const network = std::getenv("ATOLL_SIM_NETWORK");
    return network != nullptr && std::string_view(network).find("bad") == std::string_view::npos;
  }
  bool is_highest_of_host(intrank_t r) const {
    for (intrank_t other = r + 1; other < n; ++other) {
      if (flagged_puts::host_of(static_cast<std::uint32_t>(other)) ==
          flagged_puts::host_of(static_cast<std::uint32_t>(r)))
        return false;
    }
    return true;
  }
  /// When this rank last sent something to each rank of other hosts.
  std::map<intrank_t, std::uint64_t> uses() const {
    std::map<intrank_t, std::uint64_t> result;
    for (auto const& [host, ranks] : by_host) {
      for (intrank_t const r : ranks) result[r] = atl::engine::network_messages::here().peer(r).last_use;
    }
    return result;
  }

  /// Each rank has a row, of which every other one wants as many elements as `elements(from, to)` says; ranks of `over`. Returns to
  /// which ranks of other hosts the start of the last run has sent a message.
  template <class Elements>
  std::vector<intrank_t> exchange(Elements const& elements, int runs, atl::transfer_options const& options,
                                  upcxx::team const& over = upcxx::world()) const {
    constexpr std::ptrdiff_t most = 8'192;
    auto const here = static_cast<std::ptrdiff_t>(over.rank_me());
    std::ptrdiff_t const all = over.rank_n();
    auto const row = atl::make_array<double>(domain<2>{{here, 0}, {here + 1, all * most}});
    std::vector<atl::owned_array<double, 2>> wanted;
    std::vector<atl::array<double, 2>> destinations;
    for (std::ptrdiff_t from = 0; from < all; ++from) {
      std::ptrdiff_t const count = from == here ? 0 : elements(over[static_cast<int>(from)], me);
      if (count == 0) continue;
      wanted.push_back(
          atl::make_array<double>(domain<2>{{from, here * most}, {from + 1, here * most + count}}));
      destinations.push_back(wanted.back().view());
    }
    atl::transfer<double, 2> moves({&row.view(), 1}, destinations, options, over);
    std::vector<intrank_t> sent_to;
    for (int run = 1; run <= runs; ++run) {
      for (point<2> const& p : row.domain()) row[p] = value_at(p, run);
      std::map<intrank_t, std::uint64_t> const before = uses();
      moves.start();
      sent_to.clear();
      for (auto const& [r, use] : uses()) {
        if (before.at(r) != use) sent_to.push_back(r);
      }
      moves.finish();
      multirank::lag(run);
      for (auto const& got : destinations) {
        for (point<2> const& p : got.domain()) {
          if (got[p] != value_at(p, run)) {
            ADD_FAILURE() << "run " << run << ", row " << p[0] << ", element " << p[1] << ": " << got[p];
            std::abort();
          }
        }
      }
    }
    upcxx::barrier();
    return sent_to;
  }
  static double value_at(point<2> const& p, int run) {
    return static_cast<double>(run) * 1e9 + static_cast<double>(p[0] * 1'000'000 + p[1]);
  }
  std::size_t far() const { return static_cast<std::size_t>(n - upcxx::local_team().rank_n()); }

  std::map<std::int32_t, std::vector<intrank_t>> by_host;  ///< ranks of other hosts
};

constexpr atl::transfer_options together{.by_host = true};

TEST_F(joint_test, a_host_is_sent_one_message_by_each_rank) {
  auto const few = [](int, int) { return 20; };
  std::vector<intrank_t> const alone = exchange(few, 3, {});
  std::vector<intrank_t> const joint = exchange(few, 40, together);
  if (!exact()) return;
  EXPECT_EQ(alone.size(), far());
  // Ranks with different places in their host send to different ones.
  std::vector<intrank_t> expected;
  for (auto const& [host, ranks] : by_host)
    expected.push_back(ranks[static_cast<std::size_t>(upcxx::local_team().rank_me()) % ranks.size()]);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(joint, expected);
}

TEST_F(joint_test, it_goes_to_who_has_most_of_it) {
  auto const joint = exchange([&](int, int to) { return is_highest_of_host(to) ? 5'000 : 80; }, 20, together);
  if (!exact()) return;
  ASSERT_EQ(joint.size(), by_host.size());
  for (intrank_t const r : joint) EXPECT_TRUE(is_highest_of_host(r)) << r;
}

TEST_F(joint_test, what_is_large_or_fits_no_message_goes_by_itself) {
  auto const large =
      exchange([&](int, int to) { return is_highest_of_host(to) ? 5'000 : 2'500; }, 10, together);
  auto const longest =
      exchange([&](int, int to) { return is_highest_of_host(to) ? 8'192 : 80; }, 10, together);
  // One of two messages, too.
  static_cast<void>(
      exchange([&](int, int to) { return is_highest_of_host(to) ? 8'192 : 8'000; }, 10, together));
  if (!exact()) return;
  EXPECT_EQ(large.size(), far());
  std::size_t expected = 0;
  for (auto const& [host, ranks] : by_host) expected += std::min<std::size_t>(ranks.size(), 2);
  EXPECT_EQ(longest.size(), expected);
}

TEST_F(joint_test, nothing_need_come_back) {
  static_cast<void>(exchange([](int from, int to) { return from < to ? 20 : 0; }, 40, together));
  static_cast<void>(
      exchange([](int from, int to) { return from == 0 ? 30
                                             : to == 0 ? 20
                                                       : 0; }, 40, together));
}

TEST_F(joint_test, teams_number_their_ranks_as_they_like) {
  auto const sizes = [](int from, int to) { return 1 + 3 * from + 2 * to; };
  upcxx::team backwards = upcxx::world().split(0, n - me);
  upcxx::team without_first = upcxx::world().split(me == 0 ? 1 : 0, -me);
  upcxx::barrier();
  static_cast<void>(exchange(sizes, 40, together, backwards));
  static_cast<void>(exchange(sizes, 40, together, without_first));
  upcxx::barrier();
  backwards.destroy();
  without_first.destroy();
}

/// Each rank in turn lets the others wait, who exchange with it and those of other hosts, but with nobody of their own.
TEST_F(joint_test, who_makes_progress_passes_on_before_it_enters_the_run) {
  static int finished;
  domain<2> const rows{{0, 0}, {n, 10}};
  auto const row = atl::make_array<double>(domain<2>{{me, 0}, {me + 1, 10}});
  auto const got = atl::make_array<double>(rows);
  std::vector<atl::array<double, 2>> wanted;
  for (auto const& [host, ranks] : by_host)
    for (intrank_t const r : ranks) wanted.push_back(got.view().restrict_to({{r, 0}, {r + 1, 10}}));
  atl::transfer<double, 2> moves({&row.view(), 1}, wanted, together);
  int run = 0;
  for (int late = 0; late < n; ++late) {
    for (int again = 0; again < 5; ++again) {
      ++run;
      finished = 0;
      upcxx::barrier();
      for (point<2> const& p : row.domain()) row[p] = value_at(p, run);
      // Its neighbours on its own host need nothing of it but that it passes on.
      int const mates = upcxx::local_team().rank_n() - 1;
      if (me == late) multirank::spin_until([&] { return finished == mates; });
      moves.run();
      if (me != late && upcxx::local_team_contains(late)) upcxx::rpc(late, [] { ++finished; }).wait();
      for (auto const& part : wanted)
        for (point<2> const& p : part.domain()) ASSERT_EQ(part[p], value_at(p, run)) << "run " << run;
    }
  }
  upcxx::barrier();
}

}  // namespace
