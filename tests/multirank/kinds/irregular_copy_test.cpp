// Lists of runs between any two memories, over simulated devices, the fake CUDA driver and GPUs.

#include <algorithm>
#include <cstdlib>
#include <list>
#include <numeric>
#include <random>
#include <utility>

#include <atoll/irregular.hpp>
#include <atoll/stream.hpp>

#include "multirank/kinds/any_memory.hpp"

namespace {

struct listed_words {
  int rank;
  std::size_t place;
  std::size_t first;
  std::size_t count;
};

/// As many words as `total` in runs of any length, some empty, so that none overlap, from `first` on in the places.
std::vector<listed_words> any_runs(std::minstd_rand& numbers, std::size_t total, std::size_t first, int rank,
                                   int ranks, std::size_t places) {
  std::vector<std::size_t> next(static_cast<std::size_t>(ranks) * places, first);
  std::vector<listed_words> runs;
  while (total != 0) {
    int const of = rank < 0 ? static_cast<int>(numbers() % static_cast<unsigned>(ranks)) : rank;
    std::size_t const place = numbers() % places;
    std::size_t& at = next[static_cast<std::size_t>(of) * places + place];
    std::size_t const count = std::min<std::size_t>(total, numbers() % 8 == 0 ? 0 : 1 + numbers() % 60);
    if (numbers() % 3 != 0) at += 1 + numbers() % 5;
    runs.push_back({of, place, at, count});
    at += count;
    total -= count;
  }
  std::shuffle(runs.begin(), runs.end(), numbers);
  return runs;
}

}  // namespace

class irregular_copy_test : public any_memory_fixture {
 protected:
  using pair_list = std::list<std::pair<any_ptr, std::size_t>>;

  [[nodiscard]] pair_list pairs(std::vector<listed_words> const& runs) const {
    pair_list all;
    for (listed_words const& r : runs)
      all.emplace_back(memory(r.rank, r.place) + static_cast<std::ptrdiff_t>(r.first), r.count);
    return all;
  }
  /// copy(sources, destinations), after which the data are in place. Sources of one rank or of many.
  template <class Copy>
  void expect_lists(int rounds, Copy&& copy) {
    for (int round = 0; round < rounds; ++round) {
      std::minstd_rand numbers(static_cast<unsigned>(round + 1));  // the same on all ranks
      auto const any_rank = [&] { return static_cast<int>(numbers() % static_cast<unsigned>(n)); };
      int const other = any_rank();
      int const owner = round % 2 == 0 ? -1 : any_rank();
      int const copier = numbers() % 3 == 0 ? any_rank() : other;
      std::size_t const total = round == 0 ? 0 : numbers() % 600;
      std::size_t const of_places = round % 4 == 3 ? 1 : places;  // heaps alone
      auto const sources = any_runs(numbers, total, 0, owner, n, of_places);
      auto const dests = any_runs(numbers, total, words / 2, other, n, of_places);
      fill(round);
      std::vector<std::int16_t> sent;
      for (listed_words const& r : sources) {
        for (std::size_t i = 0; i < r.count; ++i) sent.push_back(word(r.rank, r.place, r.first + i, round));
      }
      std::vector<std::vector<std::int16_t>> expected;
      for (std::size_t p = 0; p < places; ++p) expected.push_back(words_of(other, p, round));
      auto next = sent.begin();
      for (listed_words const& r : dests) {
        std::copy_n(next, r.count, expected[r.place].begin() + static_cast<std::ptrdiff_t>(r.first));
        next += static_cast<std::ptrdiff_t>(r.count);
      }
      upcxx::barrier();
      if (me == copier) {
        auto const from = pairs(sources);
        auto const to = pairs(dests);
        copy(from, to);
      }
      upcxx::barrier();
      if (me == other) {
        for (std::size_t p = 0; p < places; ++p)
          EXPECT_TRUE(read(p) == expected[p]) << "round " << round << ", place " << p << ", by " << copier;
      }
      upcxx::barrier();
    }
  }
};

TEST_F(irregular_copy_test, lists_go_from_any_memory_to_any_other) {
  expect_lists(8, [](pair_list const& from, pair_list const& to) {
    atl::copy_irregular(from.begin(), from.end(), to.begin(), to.end()).wait();
  });
}

TEST_F(irregular_copy_test, lists_go_in_the_order_of_a_stream) {
  auto const s = atl::make_stream(gpu_);
  expect_lists(5, [&s](pair_list const& from, pair_list const& to) {
    atl::copy_irregular(from.begin(), from.end(), to.begin(), to.end(), atl::on_stream(s));
    atl::wait(s);
  });
}

TEST_F(irregular_copy_test, runs_of_one_length_and_pointers_of_known_kinds) {
  auto const blocks = of_all(filled(100, me));
  auto const theirs = blocks[right_index()];
  auto const mine = blocks[static_cast<std::size_t>(me)];
  std::vector<int> values(12);
  std::iota(values.begin(), values.end(), 100 * me);
  std::vector<int const*> const from{values.data() + 6, values.data()};
  std::vector<gpu_ptr<int>> const to{theirs + 50, theirs + 60, theirs + 70};
  atl::copy_regular(from.begin(), from.end(), 6, to.begin(), to.end(), 4).wait();
  upcxx::barrier();
  std::vector<int> got(12, -1);
  std::vector<gpu_ptr<int const>> const back{mine + 50, mine + 60, mine + 70};
  std::vector<int*> const into{got.data()};
  atl::copy_regular(back.begin(), back.end(), 4, into.begin(), into.end(), 12).wait();
  for (int i = 0; i < 12; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], 100 * left + (i + 6) % 12);
  // Within private memory, at once.
  std::vector<std::pair<int const*, int>> const two{{got.data(), 2}, {got.data() + 4, 1}};
  std::vector<int> three(3);
  std::vector<std::pair<int*, int>> const one{{three.data(), 3}};
  EXPECT_TRUE(atl::copy_irregular(two.begin(), two.end(), one.begin(), one.end()).is_ready());
  EXPECT_EQ(three, (std::vector<int>{got[0], got[1], got[4]}));
  upcxx::barrier();
}

TEST_F(irregular_copy_test, all_that_asks_hears_of_it_also_if_the_lists_are_empty) {
  static int arrived;
  arrived = 0;
  upcxx::barrier();
  auto const s = atl::make_stream(gpu_);
  auto const words_of_all = of_all(filled<std::uint64_t>(1, 0));
  auto const blocks = of_all(filled(100, me));
  gpu_ptr<int> const from = blocks[static_cast<std::size_t>(me)];
  using runs = std::vector<std::pair<gpu_ptr<int>, std::size_t>>;
  int lpcs = 0;
  std::uint64_t signals = 0;
  for (std::size_t const count : {2, 0}) {
    runs const sources{{from, count}, {from + 10, 2 * count}};
    runs const dests{{blocks[right_index()] + 50, 2 * count}, {blocks[right_index()] + 60, count}};
    auto const copy = [&](auto&& cx) {
      return atl::copy_irregular(sources.begin(), sources.end(), dests.begin(), dests.end(),
                                 std::forward<decltype(cx)>(cx));
    };
    auto [source, complete] = copy(upcxx::source_cx::as_future() | upcxx::operation_cx::as_future() |
                                   upcxx::source_cx::as_lpc(upcxx::current_persona(), [&lpcs] { ++lpcs; }) |
                                   upcxx::remote_cx::as_rpc([](int by) { arrived += by + 1; }, me));
    upcxx::when_all(source, complete).wait();
    copy(upcxx::source_cx::as_blocking() | upcxx::operation_cx::as_future()).wait();
    copy(atl::on_stream(s) | atl::remote_cx::as_signal(words_of_all[right_index()], ++signals));
    atl::wait(s, words_of_all[static_cast<std::size_t>(me)], signals);
    atl::wait(s);
  }
  // To nobody: this rank hears.
  runs const none;
  atl::copy_irregular(none.begin(), none.end(), none.begin(), none.end(),
                      upcxx::remote_cx::as_rpc([] { ++arrived; }));
  multirank::spin_until([&] { return lpcs == 2 && arrived == 2 * (left + 1) + 1; });
  upcxx::barrier();
  auto const found = content(from, 100);
  for (std::size_t i = 50; i < 70; ++i) EXPECT_EQ(found[i], i < 54 || (i >= 60 && i < 62) ? left : me) << i;
  upcxx::barrier();
}

/// Counted by the fake driver.
TEST_F(irregular_copy_test, runs_are_one_call_of_the_driver) {
  fake_cuda::control* const fake = counting_driver();
  if (fake == nullptr) GTEST_SKIP() << "not over the fake driver, or devices do not reach each other";
  auto const blocks = of_all(filled(200, me));
  auto const mine = blocks[static_cast<std::size_t>(me)];
  auto const theirs = blocks[right_index()];
  auto const s = atl::make_stream(gpu_);
  std::vector<gpu_ptr<int>> from;
  std::vector<gpu_ptr<int>> to;
  for (int i = 0; i < 20; ++i) {
    from.push_back(mine + 3 * i);
    to.push_back(theirs + 100 + 5 * (19 - i));
  }
  std::uint64_t const batches = fake->batches;
  std::uint64_t const kernels = fake->kernels;
  atl::copy_regular(from.begin(), from.end(), 2, to.begin(), to.end(), 2).wait();
  EXPECT_EQ(fake->batches, batches + 1);
  EXPECT_EQ(fake->kernels, kernels);
  std::uint64_t const copies = fake->copies;
  atl::copy_regular(from.begin(), from.end(), 2, to.begin(), to.end(), 2, atl::on_stream(s));
  atl::wait(s);
  EXPECT_EQ(fake->kernels, kernels + 1);
  EXPECT_EQ(fake->copies, copies);
  upcxx::barrier();
}
