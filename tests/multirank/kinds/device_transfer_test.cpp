// Transfers and ghost exchanges between devices, by hosts and in the order of streams, against what the same ones between hosts bring.

#include <atoll/array.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include "multirank/extensions/uneven_boxes.hpp"
#include "multirank/kinds/nearly_full_heap.hpp"
#include "multirank/kinds/stream_fixture.hpp"
#include "support/sanitized.hpp"

namespace {

using atl::array;
using atl::domain;
using atl::point;
using atl::shape;
using multirank::fields;
using multirank::lag;
using multirank::point_value;
using multirank::uneven_boxes;

/// How runs are made.
enum class way { by_host, in_stream, either };

/// Boxes on the host, and a copy of each on the device.
template <int N>
struct twins {
  static constexpr std::size_t elements = fields * uneven_boxes<N>::field_elements;

  twins(upcxx::device_allocator<upcxx::gpu_default_device>& gpu, domain<N> const& all, int cuts, int depth,
        unsigned seed)
      : gpu_(gpu), on_host(all, cuts, depth, seed, upcxx::rank_n(), upcxx::rank_me()) {
    for (std::size_t b = 0; b < on_host.mine.size(); ++b) {
      auto const& box = on_host.mine[b];
      auto const memory = gpu.template allocate<double>(elements);
      on_device.emplace_back(memory, box.domain(), box.strides());
      std::fill_n(on_host.memory[b].local(), elements, -1.0);
      upcxx::copy(on_host.memory[b], memory, elements).wait();
    }
  }
  ~twins() {
    upcxx::barrier();
    for (auto const& box : on_device) gpu_.deallocate(box.data());
  }
  twins(twins const&) = delete;
  twins& operator=(twins const&) = delete;

 private:
  upcxx::device_allocator<upcxx::gpu_default_device>& gpu_;

 public:
  uneven_boxes<N> on_host;
  std::vector<array<double, N, gpu_kind>> on_device;
};

}  // namespace

class device_transfer_test : public stream_fixture {
 protected:
  /// One decomposition, exchanged many times, with destinations that alternate and such that do not.
  template <int N>
  void expect_exchanges(way how, domain<N> const& all, int cuts, int depth, shape which,
                        std::optional<domain<N>> const& periodic, unsigned seed, int usual_steps) {
    int const steps = atoll_test::sanitized ? (usual_steps + 2) / 3 : usual_steps;
    twins<N> const boxes(gpu_, all, cuts, depth, seed);
    atl::ghost_exchange<double, N> of_hosts(boxes.on_host.mine, depth, which, periodic);
    atl::ghost_exchange<double, N, gpu_kind> of_devices(boxes.on_device, depth, which, periodic);
    EXPECT_EQ(of_devices.messages(), of_hosts.messages());
    EXPECT_EQ(of_devices.elements(), of_hosts.elements());
    auto const in_order = [](std::vector<std::size_t> bytes) {
      std::sort(bytes.begin(), bytes.end());
      return bytes;
    };
    EXPECT_EQ(in_order(of_devices.bytes_by_target()), in_order(of_hosts.bytes_by_target()));
    EXPECT_EQ(of_devices.statistics().local_copies, of_hosts.statistics().local_copies);
    EXPECT_GE(of_devices.statistics().device_copies, of_devices.messages());
    auto const s = atl::make_stream(gpu_);
    if (how != way::by_host) of_devices.use_streams(gpu_);
    std::size_t const count = boxes.on_host.field_elements;
    auto const offset_of = [](int step) {
      constexpr int pattern[] = {0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1};
      return static_cast<std::ptrdiff_t>(pattern[step % 13]) * static_cast<std::ptrdiff_t>(count);
    };
    // The hosts first, since their runs would keep the ranks in step.
    std::vector<std::vector<double>> expected;  // [step][box]
    for (int step = 1; step <= steps; ++step) {
      for (auto const& box : boxes.on_host.mine) {
        auto const here = box.moved(offset_of(step));
        for (point<N> const& p : here.domain().shrink(depth)) here[p] = point_value(p, step);
      }
      of_hosts.run(offset_of(step), offset_of(step));
      for (auto const& box : boxes.on_host.mine) {
        double const* const first = box.moved(offset_of(step)).data_handle();
        expected.emplace_back(first, first + count);
      }
    }
    auto next = expected.begin();
    for (int step = 1; step <= steps; ++step) {
      std::ptrdiff_t const offset = offset_of(step);
      for (std::size_t b = 0; b < boxes.on_device.size(); ++b) {
        auto const here = boxes.on_host.mine[b].moved(offset);
        std::copy_n(next[static_cast<std::ptrdiff_t>(b)].begin(), count, here.data_handle());
        atl::copy(here.restrict_to(here.domain().shrink(depth)), boxes.on_device[b].moved(offset)).wait();
      }
      if (how == way::in_stream || (how == way::either && step / 3 % 2 == 0)) {
        of_devices.run(s, offset, offset);
        lag(step);
        atl::wait(s);
      } else if (step % 3 == 0) {
        of_devices.start(offset, offset);
        auto going = std::move(of_devices);
        EXPECT_TRUE(of_devices.test());  // NOLINT: what is under way has moved
        while (!going.test()) {
        }
        of_devices = std::move(going);
      } else {
        of_devices.run(offset, offset);
      }
      lag(step);
      for (auto const& box : boxes.on_device) {
        EXPECT_TRUE(content(box.moved(offset).data(), count) == *next++) << "step " << step;
      }
    }
    // Streams have come to the end of their runs on all ranks.
    upcxx::barrier();
  }
  void expect_all_exchanges(way how) {
    domain<3> const cube{{0, 0, 0}, {8, 8, 8}};
    expect_exchanges<3>(how, {{-3, 0, 5}, {7, 9, 14}}, 2, 1, shape::faces, {}, 1, 15);
    expect_exchanges<2>(how, {{0, -40}, {31, 3}}, 3, 3, shape::all, {}, 3, 15);
    expect_exchanges<3>(how, cube, 2, 2, shape::faces_edges, cube, 4, 8);
    expect_exchanges<1>(how, {{2}, {5}}, 1, 7, shape::all, domain<1>{{2}, {5}}, 7, 14);
  }
};

TEST_F(device_transfer_test, ghosts_are_those_of_hosts) { expect_all_exchanges(way::by_host); }
TEST_F(device_transfer_test, ghosts_in_streams_are_those_of_hosts) { expect_all_exchanges(way::in_stream); }
TEST_F(device_transfer_test, runs_of_hosts_and_streams_follow_each_other) {
  expect_exchanges<2>(way::either, {{0, -40}, {31, 3}}, 3, 2, shape::all, {}, 3, 30);
}

TEST_F(device_transfer_test, runs_follow_each_other_in_a_stream) {
  // The own number goes round the ring, a step a run, with a copy in the place of a kernel.
  auto const mine = atl::make_array<int>(gpu_, domain<1>{{me}, {me + 1}});
  domain<1> const place{{left}, {left + 1}};
  auto const theirs = atl::make_array<int>(gpu_, place);
  std::vector<array<int, 1, gpu_kind>> const sources{mine};
  std::vector<array<int, 1, gpu_kind>> const destinations{theirs};
  atl::transfer<int, 1, gpu_kind> ring(sources, destinations);
  ring.use_streams(gpu_);
  auto const s = atl::make_stream(gpu_);
  upcxx::copy(&me, mine.view().data(), 1).wait();
  constexpr int rounds = 20;
  for (int i = 0; i < rounds; ++i) {
    ring.run(s);
    atl::copy(theirs.view().translate({me - left}), mine, atl::on_stream(s));
  }
  atl::wait(s);
  EXPECT_EQ(content(mine.view().data(), 1), std::vector<int>{(me + rounds * (n - 1)) % n});
  upcxx::barrier();
}

TEST_F(device_transfer_test, one_rank_feeds_the_others_which_send_nothing_back) {
  constexpr std::ptrdiff_t side = 24;
  domain<2> const all{{0, 0}, {side, side}};
  domain<2> const wanted{{side * me / n, 0}, {side * (me + 1) / n, side}};
  auto const whole = atl::make_array<int>(gpu_, all);
  auto const rows = atl::make_array<int>(gpu_, wanted, atl::order::last_fastest);
  std::vector<array<int, 2, gpu_kind>> sources;
  if (me == 0) sources.push_back(whole);
  std::vector<array<int, 2, gpu_kind>> const destinations{rows};
  atl::transfer<int, 2, gpu_kind> feed(sources, destinations);
  feed.use_streams(gpu_);
  EXPECT_EQ(feed.messages(), static_cast<std::size_t>(me == 0 ? n - 1 : 0));
  // The layouts differ: each element is a copy.
  EXPECT_EQ(feed.statistics().device_copies, me == 0 ? all.size() : 0U);
  auto const s = atl::make_stream(gpu_);
  for (int step = 1; step <= 12; ++step) {
    if (me == 0) {
      std::vector<int> values(all.size());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1000 * step + static_cast<int>(i);
      upcxx::copy(values.data(), whole.view().data(), values.size()).wait();
    }
    if (step % 2 == 0) {
      feed.run(s);
      atl::wait(s);
    } else {
      feed.run();
    }
    lag(step);
    std::vector<int> const got = content(rows.view().data(), wanted.size());
    for (point<2> const& p : wanted) {
      EXPECT_EQ(got[static_cast<std::size_t>(rows.view().offset(p))], 1000 * step + p[0] + side * p[1]);
    }
    upcxx::barrier();
  }
}

TEST_F(device_transfer_test, nothing_in_common_is_no_error) {
  auto const mine = atl::make_array<int>(gpu_, domain<2>{{10 * me, 0}, {10 * me + 4, 4}});
  std::vector<array<int, 2, gpu_kind>> const boxes{mine};
  atl::ghost_exchange<int, 2, gpu_kind> halo(boxes, 1);
  atl::transfer<int, 2, gpu_kind> nothing({}, {});
  nothing.use_streams(gpu_);
  auto const s = atl::make_stream(gpu_);
  for (int i = 0; i < 3; ++i) {
    halo.run();
    nothing.run();
    nothing.run(s);
  }
  EXPECT_TRUE(nothing.test());
  EXPECT_EQ(halo.statistics().neighbors, 0U);
  EXPECT_EQ(halo.statistics().device_copies, 0U);
  atl::wait(s);
}

TEST_F(device_transfer_test, plans_move_and_signals_need_room) {
  auto const mine = atl::make_array<int>(gpu_, domain<1>{{4 * me - 1}, {4 * me + 5}});
  std::vector<array<int, 1, gpu_kind>> const boxes{mine};
  std::vector<int> const values(6, me);
  atl::ghost_exchange<int, 1, gpu_kind> first(boxes, 1);
  auto moved = std::move(first);
  upcxx::copy(values.data(), mine.view().data(), values.size()).wait();
  upcxx::barrier();
  moved.run();
  std::vector<int> const got = content(mine.view().data(), 6);
  EXPECT_EQ(got.front(), me == 0 ? me : left);
  EXPECT_EQ(got.back(), me == n - 1 ? me : right);
  upcxx::barrier();
  // One rank's segment is full: all hear of it.
  if (n == 1) return;
  std::vector<gpu_ptr<char>> filler;
  for (std::size_t block = me == n - 1 ? mib / 2 : 0; block != 0; block /= 2) {
    while (auto const taken = gpu_.allocate<char>(block)) filler.push_back(taken);
  }
  EXPECT_THROW(moved.use_streams(gpu_), upcxx::bad_shared_alloc);
  upcxx::barrier();
  for (auto const block : filler) gpu_.deallocate(block);
}

TEST_F(device_transfer_test, no_room_in_the_middle_of_a_run_leaves_it_unmade) {
  int const elsewhere = n - upcxx::local_team().rank_n();
  if (elsewhere == 0) GTEST_SKIP() << "devices do all by themselves";
  auto const mine = atl::make_array<int>(gpu_, domain<1>{{me}, {me + 1}});
  auto const whole = atl::make_array<int>(gpu_, domain<1>{{0}, {n}});
  std::vector<array<int, 1, gpu_kind>> const sources{mine};
  std::vector<array<int, 1, gpu_kind>> const destinations{whole};
  atl::transfer<int, 1, gpu_kind> exchange(sources, destinations);
  exchange.use_streams(gpu_);
  auto const s = atl::make_stream(gpu_);
  std::vector<int> expected(static_cast<std::size_t>(n));
  std::iota(expected.begin(), expected.end(), 0);
  auto const all = [&] { return content(whole.view().data(), expected.size()); };
  upcxx::copy(&me, mine.view().data(), 1).wait();
  exchange.run(s);
  atl::wait(s);
  EXPECT_EQ(all(), expected);
  upcxx::barrier();
  if (me == 0) {
    // For each rank of another host a word for the copy, and two for either signal.
    for (int room = 0; room < 5 * elsewhere; ++room) {
      nearly_full_heap const full(room);
      EXPECT_THROW(exchange.run(s), upcxx::bad_shared_alloc) << room;
    }
    // Nothing is there that waits for the others.
    atl::wait(s);
  }
  upcxx::barrier();
  int const next = me + n;
  upcxx::copy(&next, mine.view().data(), 1).wait();
  if (me != 0) exchange.run(s);
  multirank::poll(100);
  upcxx::barrier();
  // Nor have they been told that they may send.
  if (me == 0) {
    EXPECT_EQ(all(), expected);
    exchange.run(s);
  }
  atl::wait(s);
  std::iota(expected.begin(), expected.end(), n);
  EXPECT_EQ(all(), expected);
  upcxx::barrier();
}
