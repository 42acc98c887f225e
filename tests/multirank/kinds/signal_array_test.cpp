// Signals of all ranks, found by rank and number, over simulated devices, the fake CUDA driver and GPUs.

#include <optional>
#include <string>
#include <utility>

#include <atoll/signal_array.hpp>

#include "multirank/kinds/stream_fixture.hpp"

namespace {

/// Finds what each member has said of its own ones, and whether one place could stand for all.
template <class Signals>
void expect_places(Signals const& signals, upcxx::team const& over) {
  using access = upcxx::detail::global_ptr_access;
  upcxx::dist_object<typename Signals::pointer> const told(signals.mine(), over);
  bool alike = true;
  for (int r = 0; r < over.rank_n(); ++r) {
    auto const theirs = told.fetch(r).wait();
    EXPECT_EQ(theirs.where(), over[r]);
    for (std::size_t i = 0; i < signals.size(); ++i) {
      EXPECT_EQ(signals.at(r, i), theirs + static_cast<std::ptrdiff_t>(i)) << r;
    }
    alike = alike && access::address(theirs) == access::address(signals.mine()) &&
            access::segment(theirs) == access::segment(signals.mine());
  }
  EXPECT_EQ(signals.is_symmetric(), alike);
  upcxx::barrier(over);
}

template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (upcxx::bad_shared_alloc const& problem) {
    return problem.what();
  }
  return "not refused";
}

}  // namespace

class signal_array_test : public stream_fixture {
 protected:
  /// All signal the right neighbour, and the left one in the other word.
  template <class Signals>
  void expect_exchange(Signals const& signals, upcxx::team const& over) {
    auto const s = atl::make_stream(gpu_);
    int const members = over.rank_n();
    int const after = (over.rank_me() + 1) % members;
    int const before = (over.rank_me() + members - 1) % members;
    pinned<std::uint64_t> const seen(2, 77);
    // Nobody sets them before: they are zero.
    atl::fetch(s, signals.mine(0), seen.data());
    atl::fetch(s, signals.mine(2), seen.data() + 1);
    atl::wait(s);
    EXPECT_EQ(seen.values(), (std::vector<std::uint64_t>{0, 0}));
    upcxx::barrier(over);
    for (std::uint64_t step = 1; step <= 5; ++step) {
      atl::signal(s, signals.at(after, 0), 10 + step);
      atl::signal(s, signals.at(before, 2), 2, atl::signal_op::add);
      atl::wait(s, signals.mine(0), 10 + step);
      atl::wait(s, signals.mine(2), 2 * step);
    }
    atl::wait(s);
    upcxx::barrier(over);
  }
};

TEST_F(signal_array_test, signals_are_found_by_rank_and_number) {
  auto signals = atl::make_signals(gpu_, 3);
  EXPECT_EQ(signals.size(), 3u);
  expect_places(signals, upcxx::world());
  expect_exchange(signals, upcxx::world());
  std::size_t const used = gpu_.segment_used();
  auto moved = std::move(signals);
  expect_places(moved, upcxx::world());
  moved.destroy();
  EXPECT_LT(gpu_.segment_used(), used);
}

TEST_F(signal_array_test, wherever_they_are) {
  auto second = upcxx::make_gpu_allocator(mib, gpu_.device_id());
  auto const before = gpu_.allocate<char>(static_cast<std::size_t>(1000 * (me + 1)));
  // What was there is not zero.
  auto const dirty = filled<std::uint64_t>(1000, ~std::uint64_t{0});
  gpu_.deallocate(dirty);
  auto first = atl::make_signals(gpu_, 3);
  auto mixed = atl::make_signals(me % 2 == 0 ? gpu_ : second, 3);
  EXPECT_EQ(mixed.is_symmetric(), upcxx::rank_n() == 1);
  for (auto* const each : {&first, &mixed}) {
    expect_places(*each, upcxx::world());
    expect_exchange(*each, upcxx::world());
    each->destroy();
  }
  gpu_.deallocate(before);
  second.destroy();
}

TEST_F(signal_array_test, of_a_part_of_the_ranks) {
  upcxx::team split = upcxx::world().split(me % 2, -me);
  auto signals = atl::make_signals(gpu_, 3, split);
  upcxx::team halves = std::move(split);  // they are still that team's
  expect_places(signals, halves);
  expect_exchange(signals, halves);
  signals.destroy();
  halves.destroy();
}

TEST_F(signal_array_test, in_the_shared_heaps_where_hosts_see_them) {
  for (bool const alike : {true, false}) {
    // Others of their size come before them, as many on all ranks or not.
    std::vector<upcxx::global_ptr<std::uint64_t>> before;
    for (int i = 0; i < (alike ? 1 : 1 + me); ++i) before.push_back(upcxx::allocate<std::uint64_t>(3));
    auto signals = atl::make_signals(3);
    EXPECT_EQ(signals.is_symmetric(), alike || upcxx::rank_n() == 1);
    expect_places(signals, upcxx::world());
    expect_exchange(signals, upcxx::world());
    EXPECT_EQ(*signals.mine(0).local(), 15u);
    signals.destroy();
    for (auto const each : before) upcxx::deallocate(each);
  }
}

TEST_F(signal_array_test, all_hear_that_one_has_no_room_or_no_device) {
  int const last = upcxx::rank_n() - 1;
  std::size_t const used = gpu_.segment_used();
  std::string said = refusal([&] { (void)atl::make_signals(gpu_, me == last ? std::size_t{1} << 20 : 3); });
  EXPECT_NE(said.find("rank " + std::to_string(last) + " has no room in the device segment"),
            std::string::npos)
      << said;
  upcxx::device_allocator<upcxx::gpu_default_device> none;
  said = refusal([&] { (void)atl::make_signals(me == last ? none : gpu_, 3); });
  EXPECT_NE(said.find("the allocator of rank " + std::to_string(last) + " is inactive"), std::string::npos)
      << said;
  said = refusal([&] { (void)atl::make_signals(me == 0 ? std::size_t{1} << 40 : 3); });
  EXPECT_NE(said.find("rank 0 has no room in the shared heap"), std::string::npos) << said;
  EXPECT_EQ(gpu_.segment_used(), used);
}
