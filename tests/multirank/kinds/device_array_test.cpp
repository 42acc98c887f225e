// Arrays in memory of devices, and copies between them and arrays of hosts, element by element.

#include <atoll/array.hpp>
#include <atoll/stream.hpp>

#include <random>

#include "multirank/extensions/any_layout.hpp"
#include "multirank/kinds/stream_fixture.hpp"

namespace {

using atl::array;
using atl::domain;
using atl::point;
using multirank::any_layout;
using multirank::value_at;
using upcxx::memory_kind;

constexpr std::size_t cells = 2048;

}  // namespace

class device_array_test : public stream_fixture {
 protected:
  void SetUp() override {
    stream_fixture::SetUp();
    if (IsSkipped()) return;
    on_host_ = of_all(upcxx::new_array<int>(cells));
    on_device_ = of_all(gpu_.allocate<int>(cells));
  }
  void TearDown() override {
    if (!on_host_.empty()) {
      upcxx::barrier();
      upcxx::delete_array(on_host_[static_cast<std::size_t>(me)]);
      gpu_.deallocate(on_device_[static_cast<std::size_t>(me)]);
    }
    stream_fixture::TearDown();
  }

  /// Some ints of a rank, on its host or its device.
  template <memory_kind Kind>
  auto memory(int rank) const {
    auto const r = static_cast<std::size_t>(rank);
    if constexpr (Kind == memory_kind::host) {
      return on_host_[r];
    } else {
      return upcxx::global_ptr<int, Kind>(on_device_[r]);
    }
  }
  template <memory_kind Kind>
  void set(std::vector<int> const& values) const {
    upcxx::copy(values.data(), memory<Kind>(me), values.size()).wait();
  }
  template <memory_kind Kind>
  std::vector<int> get() const {
    std::vector<int> values(cells);
    upcxx::copy(memory<Kind>(me), values.data(), cells).wait();
    return values;
  }

  /// Arrays of any layouts and owners, copied by anybody: by `copy(from, to)` of the copier, after which the data are in place.
  template <int N, memory_kind From, memory_kind To, class Copy>
  void expect_copies(int rounds, Copy&& copy) {
    for (int round = 0; round < rounds; ++round) {
      std::minstd_rand numbers(static_cast<unsigned>(round * 16 + N + 1));  // the same on all ranks
      auto const any_rank = [&] { return static_cast<int>(numbers() % static_cast<unsigned>(n)); };
      int const owner = any_rank();
      int const other = any_rank();
      int const copier = any_rank();
      auto const from = any_layout<N>(memory<From>(owner), numbers, point<N>{});
      auto const to = any_layout<N>(memory<To>(other) + cells / 2, numbers, point<N>::all(round % 3));
      std::vector<int> values(cells);
      for (std::size_t i = 0; i < cells; ++i) values[i] = me * 100000 + static_cast<int>(i);
      set<memory_kind::host>(values);
      set<gpu_kind>(values);
      if (me == owner) {
        for (point<N> const& p : from.domain()) values[index(from, p)] = value_at(p, -1);
        set<From>(values);
      }
      std::vector<int> expected = get<To>();
      if (me == other) {
        for (point<N> const& p : (from.domain() & to.domain())) expected[index(to, p)] = value_at(p, -1);
      }
      upcxx::barrier();
      if (me == copier) copy(from, to);
      upcxx::barrier();
      EXPECT_TRUE(get<To>() == expected) << "round " << round << ", " << N << " dimensions";
      upcxx::barrier();
    }
  }
  template <memory_kind From, memory_kind To>
  void expect_copies_of_all_dimensions() {
    auto const by_library = [](auto const& from, auto const& to) { atl::copy(from, to).wait(); };
    expect_copies<1, From, To>(6, by_library);
    expect_copies<2, From, To>(8, by_library);
    expect_copies<3, From, To>(12, by_library);
  }

 private:
  /// Of a point's element in the memory of its rank.
  template <int N, memory_kind Kind>
  std::size_t index(array<int, N, Kind> const& a, point<N> const& p) const {
    return static_cast<std::size_t>(a.pointer(p) - memory<Kind>(a.where()));
  }

  std::vector<upcxx::global_ptr<int>> on_host_;  ///< by rank
  std::vector<gpu_ptr<int>> on_device_;
};

TEST_F(device_array_test, copies_to_devices) {
  expect_copies_of_all_dimensions<memory_kind::host, gpu_kind>();
}
TEST_F(device_array_test, copies_from_devices) {
  expect_copies_of_all_dimensions<gpu_kind, memory_kind::host>();
}
TEST_F(device_array_test, copies_between_devices) { expect_copies_of_all_dimensions<gpu_kind, gpu_kind>(); }

TEST_F(device_array_test, copies_of_arrays_whose_kind_is_known_when_asked) {
  auto const by_library = [](auto const& from, auto const& to) {
    array<int, 2, memory_kind::any> const source = from;
    array<int const, 2, memory_kind::any> const constant = from;
    array<int, 2, memory_kind::any> const target = to;
    EXPECT_EQ(source.data().dynamic_kind(), from.data().dynamic_kind());
    atl::copy(source, target).wait();
    atl::copy(constant, target).wait();
  };
  expect_copies<2, memory_kind::host, gpu_kind>(4, by_library);
  expect_copies<2, gpu_kind, memory_kind::host>(4, by_library);
  expect_copies<2, gpu_kind, gpu_kind>(4, by_library);
  expect_copies<2, memory_kind::host, memory_kind::host>(4, by_library);
}

TEST_F(device_array_test, copies_in_the_order_of_streams) {
  auto const s = atl::make_stream(gpu_);
  auto const in_stream = [&](auto const& from, auto const& to) {
    atl::copy(from, to, atl::on_stream(s));
    atl::wait(s);
  };
  expect_copies<2, gpu_kind, gpu_kind>(8, in_stream);
  expect_copies<3, memory_kind::host, gpu_kind>(5, in_stream);
  expect_copies<2, memory_kind::host, memory_kind::host>(5, in_stream);
}

TEST_F(device_array_test, signals_come_behind_strided_copies) {
  auto const s = atl::make_stream(gpu_);
  auto const news = of_all(filled<std::uint64_t>(1, 0));
  domain<2> const plane{{0, 3}, {10, 4}};  // single elements of the arrays
  auto const layout = [](auto memory) {
    return array<int, 2, gpu_kind>(memory, domain<2>{{0, 0}, {10, 6}}, atl::order::last_fastest);
  };
  auto const mine = layout(memory<gpu_kind>(me));
  auto const seen = layout(memory<gpu_kind>(me) + cells / 2);
  for (int step = 1; step <= 5; ++step) {
    set<gpu_kind>(std::vector<int>(cells, 1000 * me + step));
    upcxx::barrier();
    auto const theirs = layout(memory<gpu_kind>(right) + cells / 2);
    auto const word = static_cast<std::uint64_t>(step);
    atl::copy(mine.restrict_to(plane), theirs,
              atl::on_stream(s) | atl::remote_cx::as_signal(news[right_index()], word));
    atl::wait(s, news[static_cast<std::size_t>(me)], word);
    pinned<int> const got(10, 0);
    atl::copy(seen.restrict_to(plane), array<int, 2>(upcxx::to_global_ptr(got.data()), plane),
              atl::on_stream(s));
    // Nothing in common: the signal comes all the same.
    atl::copy(mine, theirs.translate({100, 0}),
              atl::on_stream(s) | atl::remote_cx::as_signal(news[right_index()], word + 1000));
    atl::wait(s, news[static_cast<std::size_t>(me)], word + 1000);
    atl::wait(s);
    EXPECT_EQ(got.values(), std::vector<int>(10, 1000 * left + step));
    upcxx::barrier();
    upcxx::copy(std::vector<std::uint64_t>(1, 0).data(), news[static_cast<std::size_t>(me)], 1).wait();
  }
  upcxx::barrier();
  gpu_.deallocate(news[static_cast<std::size_t>(me)]);
}

/// Of a device whose others do not add to it by themselves, beside a kernel that leaves boxes no room there.
TEST_F(device_array_test, boxes_that_wait_hold_no_additions_back) {
  fake_cuda::control* const fake = fake_driver();
  if (fake == nullptr) GTEST_SKIP() << "devices cannot be stopped";
  auto const s = atl::make_stream(gpu_);
  auto const words = of_all(filled<std::uint64_t>(1, 0));
  auto const column =
      array<int, 2, gpu_kind>(memory<gpu_kind>(me), {{0, 0}, {10, 10}}).restrict_to({{3, 0}, {4, 10}});
  array<int, 2, gpu_kind> const theirs(memory<gpu_kind>(right) + cells / 2, {{0, 0}, {10, 10}});
  fake->hold_boxes(true);
  upcxx::barrier();
  auto const copied = atl::copy(column, theirs);
  atl::signal(s, words[right_index()], 1, atl::signal_op::add);
  atl::wait(s, words[static_cast<std::size_t>(me)], 1);
  atl::wait(s);
  upcxx::barrier();
  fake->hold_boxes(false);
  copied.wait();
  upcxx::barrier();
  gpu_.deallocate(words[static_cast<std::size_t>(me)]);
}

TEST_F(device_array_test, all_notifications_come) {
  static int arrived;
  arrived = 0;
  upcxx::barrier();
  int source_events = 0;
  auto const all = upcxx::source_cx::as_lpc(upcxx::current_persona(), [&] { ++source_events; }) |
                   upcxx::operation_cx::as_future() | upcxx::remote_cx::as_rpc([] { ++arrived; });
  array<int, 2, gpu_kind> const from(memory<gpu_kind>(me), {{0, 0}, {8, 8}});
  array<int, 2, gpu_kind> const to(memory<gpu_kind>(right) + 1000, {{4, 4}, {20, 20}});
  array<int, 2> const host(memory<memory_kind::host>(right), {{4, 4}, {20, 20}});
  upcxx::when_all(atl::copy(from, to, all), atl::copy(from, to.translate({40, 0}), all),
                  atl::copy(from, host, all), atl::copy(from.slice(0, 5), to.slice(0, 6), all))
      .wait();
  multirank::spin_until([&] { return source_events == 4 && arrived == 4; });
}

TEST_F(device_array_test, distributed_arrays_have_blocks_on_devices) {
  domain<2> const whole{{0, -3}, {20, 30}};
  atl::dist_array<int, 2, gpu_kind> a(gpu_, whole, {.depth = 1});
  atl::dist_array<int, 2> const of_hosts(whole, {.depth = 1});
  EXPECT_EQ(a.block(), of_hosts.block());
  EXPECT_EQ(a.rget({19, 29}).wait(), 0);
  EXPECT_EQ(a.local().where(), me);
  upcxx::barrier();
  auto const filling = atl::make_array<int>(a.block());
  for (point<2> const& p : a.block()) filling[p] = value_at(p, 3);
  atl::copy(filling, a.local()).wait();
  a.ghosts().run();
  auto const with_ghosts = atl::make_array<int>(a.block().grow(1));
  atl::copy(a.local(), with_ghosts).wait();
  for (point<2> const& p : with_ghosts.domain()) {
    EXPECT_EQ(with_ghosts[p], whole.contains(p) ? value_at(p, 3) : 0) << p[0] << ", " << p[1];
  }
  upcxx::barrier();
  a.rput(1000 + me, {me, 7}).wait();
  upcxx::barrier();
  for (int r = 0; r < n; ++r) EXPECT_EQ(a.rget({r, 7}).wait(), 1000 + r);
  upcxx::barrier();
}

TEST_F(device_array_test, distributed_arrays_may_have_no_ghosts_and_ranks_no_block) {
  domain<2> const whole{{0, 0}, {8, 8}};
  atl::dist_array<bool, 2, gpu_kind> without(gpu_, whole);
  without.ghosts().run();
  EXPECT_FALSE(without.rget({7, 7}).wait());
  atl::transfer<int, 2, gpu_kind> nothing;
  nothing.run();
  atl::dist_array<int, 2, gpu_kind> of_first(gpu_, whole, {.grid = {1, 1}, .depth = 1});
  of_first.ghosts().run();
  for (int r = 0; r < n; ++r) {
    EXPECT_EQ(of_first.on(r).wait().domain(), r == 0 ? whole.grow(1) : domain<2>{});
  }
  upcxx::barrier();
}

TEST_F(device_array_test, nothing_is_copied_where_a_rank_has_no_block) {
  static int arrived;
  arrived = 0;
  domain<2> const whole{{2, 3}, {8, 8}};
  atl::dist_array<int, 2, gpu_kind> of_first(gpu_, whole, {.grid = {1, 1}, .depth = 1});
  auto const filling = atl::make_array<int>(whole);
  for (point<2> const& p : whole) filling[p] = value_at(p, 3);
  // All ranks do the same, as programs do; only rank 0 has something to copy.
  auto const cx = upcxx::operation_cx::as_future() | upcxx::remote_cx::as_rpc([] { ++arrived; });
  atl::copy(filling, of_first.local(), cx).wait();
  array<int, 2, memory_kind::any> const any = of_first.local();
  auto const back = atl::make_array<int>(of_first.block());
  upcxx::when_all(atl::copy(of_first.local(), back), atl::copy(any, back),
                  atl::copy(any.restrict_to({}), any, cx))
      .wait();
  auto const s = atl::make_stream(gpu_);
  if (me != 0) atl::copy(filling, of_first.local(), atl::on_stream(s));
  atl::wait(s);
  multirank::spin_until([&] { return arrived == 2; });
  for (point<2> const& p : of_first.block()) EXPECT_EQ(back[p], filling[p]);
  upcxx::barrier();
}

TEST_F(device_array_test, no_room_on_one_rank_is_an_error_on_all) {
  // Of the last rank, which may be the only one.
  upcxx::device_allocator<upcxx::gpu_default_device> nowhere;
  auto& mine = me == n - 1 ? nowhere : gpu_;
  using distributed = atl::dist_array<int, 1, gpu_kind>;
  EXPECT_THROW(distributed(mine, domain<1>{{0}, {100}}, {.depth = 1}), upcxx::bad_shared_alloc);
  upcxx::barrier();
}

TEST_F(device_array_test, memory_is_the_segments) {
  std::size_t const before = gpu_.segment_used();
  {
    auto mine = atl::make_array<double>(gpu_, domain<3>{{-1, 0, 5}, {3, 2, 9}}, atl::order::last_fastest);
    static_assert(std::is_same_v<decltype(mine), atl::owned_array<double, 3, gpu_kind>>);
    array<double, 3, gpu_kind> const a = mine;
    EXPECT_EQ(a.where(), me);
    EXPECT_FALSE(a.is_local());
    EXPECT_EQ(a.strides(), (point<3>{8, 4, 1}));
    EXPECT_EQ(a.data_handle(), gpu_.local(a.data()));
    EXPECT_EQ(a.pointer({0, 1, 6}), a.data() + 13);
    EXPECT_EQ(a.slice(1, 1).data(), a.data() + 4);
    EXPECT_GT(gpu_.segment_used(), before);
    auto const taken = std::move(mine);
    EXPECT_EQ(taken.view().data(), a.data());
    EXPECT_FALSE(mine.view().data());  // NOLINT(bugprone-use-after-move)
    // Views travel.
    auto const sum =
        upcxx::rpc(
            right, [](array<double, 3, gpu_kind> const& view) { return view.domain().size(); }, a)
            .wait();
    EXPECT_EQ(sum, a.size());
    EXPECT_TRUE(atl::make_array<int>(gpu_, domain<1>{}).view().empty());
  }
  EXPECT_EQ(gpu_.segment_used(), before);
  domain<1> const too_large{{0}, {static_cast<std::ptrdiff_t>(mib)}};
  EXPECT_THROW((void)atl::make_array<double>(gpu_, too_large), upcxx::bad_shared_alloc);
  upcxx::device_allocator<upcxx::gpu_default_device> nowhere;
  EXPECT_THROW((void)atl::make_array<double>(nowhere, domain<1>{{0}, {1}}), upcxx::bad_shared_alloc);
}
