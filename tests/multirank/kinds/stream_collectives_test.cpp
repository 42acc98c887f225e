// Collectives in streams, over simulated devices, the fake CUDA driver and GPUs.

#include <deque>
#include <memory>
#include <tuple>
#include <utility>

#include <atoll/pin.hpp>
#include <atoll/stream_collectives.hpp>

#include "multirank/kinds/collectives_script.hpp"
#include "multirank/kinds/nearly_full_heap.hpp"

class stream_collectives_test : public stream_fixture {
 protected:
  /// Peers have come, this rank has not.
  void poll_with_all() {
    upcxx::barrier();
    multirank::poll(300);
    upcxx::barrier();
  }
  std::size_t ranks_ = static_cast<std::size_t>(upcxx::rank_n());
};

TEST_F(stream_collectives_test, each_finds_what_all_have_sent) {
  auto const s = atl::make_stream(gpu_);
  std::size_t const much = 1500 * ranks_ + 1;
  // In one piece each, or long ones in several.
  for (auto const& [room, step] :
       {std::pair(ranks_, mib), std::pair(much, mib), std::pair(much, mib / 512)}) {
    atl::stream_collectives all(gpu_, upcxx::world(), step);
    auto const destination = filled(room + 1, -1);
    collectives_script script(upcxx::world(), filled(room, 0), destination, room,
                              some_collectives(upcxx::rank_n(), room));
    auto const to = all.bind(destination, room);
    EXPECT_EQ(to.size(), room);
    script.fill(1);
    script.run(s, to);
    atl::wait(s);
    script.expect(1);
    all.destroy();
  }
}

TEST_F(stream_collectives_test, memory_lies_elsewhere_on_each_rank) {
  auto const s = atl::make_stream(gpu_);
  auto second = upcxx::make_gpu_allocator(mib, gpu_.device_id());
  (void)gpu_.allocate<char>(static_cast<std::size_t>(1000 * (me + 1)));
  std::size_t const room = 30 * ranks_;
  auto& from = me % 2 == 0 ? gpu_ : second;
  auto const destination = from.allocate<int>(room + 1);
  upcxx::copy(std::vector<int>(room + 1, -1).data(), destination, room + 1).wait();
  atl::stream_collectives all(gpu_);
  collectives_script script(upcxx::world(), filled(room, 0), destination, room,
                            some_collectives(upcxx::rank_n(), room));
  script.fill(1);
  script.run(s, all.bind(destination, room));
  atl::wait(s);
  script.expect(1);
  all.destroy();
  second.destroy();
}

TEST_F(stream_collectives_test, teams_and_streams_do_not_disturb_each_other) {
  upcxx::team halves = upcxx::world().split(me % 2, -me);
  std::size_t const room = 40 * ranks_;
  auto const make = [&](upcxx::team const& over) {
    auto const destination = filled(room + 1, -1);
    auto made = std::make_unique<atl::stream_collectives<upcxx::gpu_default_device>>(gpu_, over, 64);
    auto to = made->bind(destination, room);
    return std::tuple(std::move(made), atl::make_stream(gpu_),
                      std::make_unique<collectives_script>(over, filled(room, 0), destination, room,
                                                           some_collectives(over.rank_n(), room)),
                      to);
  };
  auto whole = make(upcxx::world());
  auto half = make(halves);
  auto another = make(upcxx::world());
  auto const start = [](auto& each) {
    auto& [all, s, script, to] = each;
    script->fill(3);
    script->run(s, to);
  };
  // Not in the same order everywhere.
  if (me % 2 == 0) start(whole);
  start(half);
  start(another);
  if (me % 2 != 0) start(whole);
  auto const end = [](auto& each) {
    auto& [all, s, script, to] = each;
    atl::wait(s);
    script->expect(3);
  };
  end(whole);
  end(half);
  end(another);
  for (auto* const each : {&whole, &half, &another}) std::get<0>(*each)->destroy();
  halves.destroy();
}

TEST_F(stream_collectives_test, streams_take_turns_and_destinations_share_an_object) {
  atl::stream_collectives all(gpu_);
  auto const first = atl::make_stream(gpu_);
  auto const second = atl::make_stream(gpu_);
  std::size_t const room = 10 * ranks_;
  std::deque<collectives_script> scripts;
  std::vector<atl::collective_destination<int>> to;
  auto const source = filled(room, 0);
  for (int i = 0; i < 3; ++i) {
    auto const destination = filled(room + 1, -1);
    scripts.emplace_back(upcxx::world(), source, destination, room, some_collectives(upcxx::rank_n(), room));
    to.push_back(all.bind(destination, room));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    auto const& s = i % 2 == 0 ? first : second;
    scripts[i].fill(static_cast<int>(i));
    scripts[i].run(s, to[i]);
    atl::wait(s);
  }
  for (std::size_t i = 0; i < 3; ++i) scripts[i].expect(static_cast<int>(i));
  all.destroy();
}

TEST_F(stream_collectives_test, sources_are_any_memory_of_the_rank_and_places_in_the_destination) {
  auto const s = atl::make_stream(gpu_);
  atl::stream_collectives all(gpu_);
  std::size_t const count = 50;
  auto const mine = static_cast<std::size_t>(me);
  auto const destination = filled(count * ranks_, -1);
  auto const to = all.bind(destination, count * ranks_);
  std::vector<int> const loose(count, 10 + me);
  std::vector<int> const held(count, 20 + me);
  auto const pin = atl::pin(held.data(), count * sizeof(int));
  pinned<int> const shared(count, 30 + me);
  auto const device = filled(count, 40 + me);
  auto const expect_all = [&](int base) {
    atl::wait(s);
    auto const found = content(destination, count * ranks_);
    for (std::size_t i = 0; i < count * ranks_; ++i)
      ASSERT_EQ(found[i], base + static_cast<int>(i / count)) << i;
  };
  to.gather_all(s, loose.data(), count);
  expect_all(10);
  to.gather_all(s, held.data(), count);
  expect_all(20);
  to.gather_all(s, upcxx::to_global_ptr(shared.data()), count);
  expect_all(30);
  to.gather_all(s, upcxx::global_ptr<int const, upcxx::gpu_default_device::kind>(device), count);
  expect_all(40);
  // In place.
  upcxx::copy(std::vector<int>(count, 50 + me).data(),
              destination + static_cast<std::ptrdiff_t>(mine * count), count)
      .wait();
  to.gather_all(s, destination + static_cast<std::ptrdiff_t>(mine * count), count);
  expect_all(50);
  int const root = upcxx::rank_n() - 1;
  to.broadcast(s, root, destination, count * ranks_);
  expect_all(50);
  to.broadcast(s, root, me == root ? loose.data() : nullptr, count);
  atl::wait(s);
  EXPECT_EQ(content(destination, count), std::vector<int>(count, 10 + root));
  // Others' is not looked at.
  auto gone = upcxx::make_gpu_allocator<upcxx::gpu_default_device>(mib);
  auto const stale = gone.allocate<int>(count);
  gone.destroy();
  to.broadcast(s, root, me == root ? device : stale, count);
  atl::wait(s);
  EXPECT_EQ(content(destination, count), std::vector<int>(count, 40 + root));
  all.destroy();
}

TEST_F(stream_collectives_test, destinations_are_of_any_type_and_kind_of_memory) {
  struct odd {
    char of[3];
    bool operator==(odd const&) const = default;
  };
  auto const s = atl::make_stream(gpu_);
  atl::stream_collectives all(gpu_);
  multirank::shared_array<odd> const heap(static_cast<std::ptrdiff_t>(ranks_) * 5);
  auto const to = all.bind(heap.at(me), 5 * ranks_);
  auto const source = filled<odd>(5, {{'a', static_cast<char>(me), 'z'}});
  to.gather_all(s, source, 5);
  atl::wait(s);
  for (std::size_t i = 0; i < 5 * ranks_; ++i) {
    odd const wanted{{'a', static_cast<char>(i / 5), 'z'}};
    EXPECT_EQ(heap.local()[i], wanted) << i;
  }
  all.destroy();
}

TEST_F(stream_collectives_test, nobody_writes_before_a_stream_has_come) {
  auto const s = atl::make_stream(gpu_);
  std::size_t const count = 6;
  auto const source = filled(count * ranks_, me);
  auto const gate = filled<std::uint64_t>(1, 0);
  auto const destination = filled(count * ranks_, -1);
  atl::stream_collectives all(gpu_, upcxx::world(), 4);
  auto const to = all.bind(destination, count * ranks_);
  std::uint64_t round = 0;
  // In turn each is late, for each of them.
  for (int late = 0; late < upcxx::rank_n(); ++late) {
    for (int what = 0; what < 3; ++what) {
      upcxx::copy(std::vector<int>(count * ranks_, -1).data(), destination, count * ranks_).wait();
      upcxx::barrier();
      ++round;
      if (me == late) atl::wait(s, gate, round);
      if (what == 0) to.broadcast(s, (late + 1) % upcxx::rank_n(), source, count * ranks_);
      if (what == 1) to.gather_all(s, source, count);
      if (what == 2) to.all_to_all(s, source, count);
      poll_with_all();
      if (me == late) {
        EXPECT_EQ(content(destination, count * ranks_), std::vector<int>(count * ranks_, -1)) << what;
      }
      upcxx::copy(&round, gate, 1).wait();
      atl::wait(s);
      EXPECT_EQ(content(destination, count).front(), what == 0 ? (late + 1) % upcxx::rank_n() : 0) << what;
      upcxx::barrier();
    }
  }
  all.destroy();
}

TEST_F(stream_collectives_test, long_and_short_ones_take_turns_by_kernels_and_copies) {
  auto gpu = upcxx::make_gpu_allocator<upcxx::gpu_default_device>(8 * mib);
  auto const s = atl::make_stream(gpu);
  // From three ranks on long broadcasts are passed on; of 64 KiB on nothing is little.
  std::size_t const most = 300'007 * 2;
  auto const destination = gpu.allocate<int>(most);
  auto const source = gpu.allocate<int>(most);
  auto const whole = [&](int round, int rank, std::size_t count) {
    std::vector<int> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = (round * 17 + rank) << 20 | static_cast<int>(i);
    return values;
  };
  for (std::size_t const kernels_to : {std::size_t{0}, std::size_t{4096}, 64 * mib}) {
    atl::stream_collectives all(gpu, upcxx::world(), mib, kernels_to);
    auto const to = all.bind(destination, most);
    int round = 0;
    for (std::size_t const count : {most, std::size_t{3}, std::size_t{1000}, most, std::size_t{16'384}}) {
      int const root = ++round % upcxx::rank_n();
      upcxx::copy(whole(round, me, count).data(), source, count).wait();
      to.broadcast(s, root, source, count);
      atl::wait(s);
      EXPECT_TRUE(content(destination, count) == whole(round, root, count)) << kernels_to << ' ' << count;
      std::size_t const each = count / ranks_;
      if (each == 0) continue;
      to.gather_all(s, source, each);
      atl::wait(s);
      auto const found = content(destination, each * ranks_);
      for (int r = 0; r < upcxx::rank_n(); ++r) {
        auto const wanted = whole(round, r, each);
        EXPECT_TRUE(
            std::equal(wanted.begin(), wanted.end(), found.data() + static_cast<std::size_t>(r) * each))
            << kernels_to << ' ' << count << " of " << r;
      }
    }
    all.destroy();
  }
  gpu.destroy();
}

TEST_F(stream_collectives_test, parts_for_all_lie_in_any_memory_too) {
  auto gpu = upcxx::make_gpu_allocator<upcxx::gpu_default_device>(8 * mib);
  auto const s = atl::make_stream(gpu);
  atl::stream_collectives all(gpu);
  auto const mine = static_cast<std::size_t>(me);
  for (std::size_t const count : {std::size_t{7}, std::size_t{20'000}}) {
    auto const destination = gpu.allocate<int>(count * ranks_);
    auto const to = all.bind(destination, count * ranks_);
    std::vector<int> loose(count * ranks_);
    for (std::size_t i = 0; i < loose.size(); ++i) loose[i] = me << 20 | static_cast<int>(i);
    pinned<int> const shared(count * ranks_, 0);
    std::copy(loose.begin(), loose.end(), shared.data());
    for (bool const is_private : {true, false}) {
      // Not in the same kind of memory everywhere.
      bool const from_private = is_private == (me % 2 == 0);
      from_private ? to.all_to_all(s, loose.data(), count)
                   : to.all_to_all(s, upcxx::to_global_ptr(shared.data()), count);
      atl::wait(s);
      auto const found = content(destination, count * ranks_);
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i], static_cast<int>(i / count) << 20 | static_cast<int>(mine * count + i % count))
            << i;
    }
    gpu.deallocate(destination);
  }
  all.destroy();
  gpu.destroy();
}

/// Ranks on other hosts are signalled by this one's.
TEST_F(stream_collectives_test, no_room_in_the_middle_of_a_call_leaves_it_unmade) {
  if (upcxx::local_team().rank_n() == n) GTEST_SKIP() << "devices do all";
  auto const s = atl::make_stream(gpu_);
  std::size_t const count = 300;
  auto const source = filled(count * ranks_, me);
  auto const destination = filled(count * ranks_, -1);
  atl::stream_collectives all(gpu_, upcxx::world(), 64);
  auto const to = all.bind(destination, count * ranks_);
  auto const make = [&](auto const& call) {
    if (me == 0) {
      nearly_full_heap const full;
      EXPECT_THROW(call(), upcxx::bad_shared_alloc);
    }
    call();
    atl::wait(s);
  };
  make([&] { to.broadcast(s, n - 1, source, count * ranks_); });
  EXPECT_EQ(content(destination, count * ranks_), std::vector<int>(count * ranks_, n - 1));
  make([&] { to.all_to_all(s, source, count); });
  make([&] { to.gather_all(s, source, count); });
  std::vector<int> expected;
  for (int r = 0; r < n; ++r) expected.insert(expected.end(), count, r);
  EXPECT_EQ(content(destination, count * ranks_), expected);
  all.destroy();
}
