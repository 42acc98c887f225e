// copy between host pointers: own, peer's, private and third-party memory (parallel digest, 7.4).

#include <algorithm>
#include <numeric>
#include <string>

#include <atoll/engine/host_map.hpp>

#include "common.hpp"

namespace {

using upcxx::global_ptr;
using upcxx::memory_kind;

int notified;
int notified_by;

}  // namespace

using copy_test = multirank::fixture;

TEST_F(copy_test, every_pair_of_ranks_can_be_source_and_destination_of_anyones_copy) {
  // Initiator me, for all (s, d): slot by initiator and source, so that no two copies touch the same memory.
  constexpr int block = 40;
  std::size_t const slots = static_cast<std::size_t>(n * n * block);
  multirank::shared_array<int> origin(block);
  multirank::shared_array<int> landing(slots);
  std::iota(origin.local(), origin.local() + block, me * 1000);
  std::fill_n(landing.local(), slots, -1);
  upcxx::barrier();
  for (int s = 0; s < n; ++s) {
    for (int d = 0; d < n; ++d) {
      auto f = upcxx::copy(origin.at(s), landing.at(d) + (me * n + s) * block, block);
      static_assert(std::is_same_v<decltype(f), upcxx::future<>>);
      f.wait();
    }
  }
  upcxx::barrier();
  int wrong = 0;
  for (int initiator = 0; initiator < n; ++initiator) {
    for (int s = 0; s < n; ++s) {
      for (int i = 0; i < block; ++i) {
        wrong += landing.local()[(initiator * n + s) * block + i] != s * 1000 + i ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(copy_test, arrays_of_every_size_and_alignment_arrive_between_untouched_guards) {
  constexpr std::size_t limit = 64 << 10;
  constexpr std::size_t guard = 128;
  std::size_t const total = limit + 2 * guard;
  multirank::shared_array<std::uint8_t> origin(limit + 64, 64);
  multirank::shared_array<std::uint8_t> landing(total, 64);
  std::vector<std::uint8_t> mine(limit + 64);
  std::vector<std::uint8_t> fetched(total);
  multirank::fill_pattern(origin.local(), limit + 64, me);
  multirank::fill_pattern(mine.data(), limit + 64, me);
  for (std::size_t const size : multirank::interesting_sizes(limit)) {
    for (std::size_t const shift : {0, 1, 8}) {
      if (size + shift > limit || (size > 4096 && shift > 1)) {
        continue;
      }
      std::size_t const at = guard + shift;
      std::size_t const used = at + size + guard;
      auto const step = static_cast<std::ptrdiff_t>(at);
      // Private memory to the right neighbour.
      std::memset(landing.local(), multirank::guard_byte, used);
      upcxx::barrier();
      upcxx::copy(mine.data(), landing.at(right) + step, size).wait();
      upcxx::barrier();
      EXPECT_TRUE(multirank::holds_only(landing.local(), used, at, size, left)) << "put " << size;
      // The left neighbour's memory to the right neighbour.
      std::memset(landing.local(), multirank::guard_byte, used);
      upcxx::barrier();
      upcxx::copy(origin.at(left), landing.at(right) + step, size).wait();
      upcxx::barrier();
      EXPECT_TRUE(multirank::holds_only(landing.local(), used, at, size, (me + 2 * n - 2) % n))
          << "third " << size;
      // The right neighbour's memory to private memory.
      std::fill_n(fetched.begin(), used, multirank::guard_byte);
      upcxx::copy(origin.at(right), fetched.data() + at, size).wait();
      EXPECT_TRUE(multirank::holds_only(fetched.data(), used, at, size, right)) << "get " << size;
    }
  }
}

TEST_F(copy_test, several_mebibytes_travel_in_all_three_forms) {
  constexpr std::size_t size = (2 << 20) + 5;
  multirank::shared_array<std::uint8_t> origin(size);
  multirank::shared_array<std::uint8_t> landing(size);
  multirank::fill_pattern(origin.local(), size, me);
  upcxx::barrier();
  upcxx::copy(origin.at(me), landing.at(right), size).wait();
  upcxx::barrier();
  EXPECT_EQ(multirank::first_mismatch(landing.local(), size, left), size);
  std::vector<std::uint8_t> fetched(size);
  upcxx::copy(landing.at(right), fetched.data(), size).wait();
  EXPECT_EQ(multirank::first_mismatch(fetched.data(), size, me), size);
  multirank::fill_pattern(fetched.data(), size, me, 5);
  upcxx::barrier();
  upcxx::copy(fetched.data(), landing.at(left), size).wait();
  upcxx::barrier();
  EXPECT_EQ(multirank::first_mismatch(landing.local(), size, right, 5), size);
}

TEST_F(copy_test, pointers_of_any_kind_and_to_const_are_accepted) {
  multirank::shared_array<int> origin(4);
  multirank::shared_array<int> landing(16);
  std::iota(origin.local(), origin.local() + 4, me * 10);
  upcxx::barrier();
  global_ptr<int, memory_kind::any> const any_source = origin.at(left);
  global_ptr<int, memory_kind::any> const any_dest = landing.at(right);
  global_ptr<int const> const const_source = origin.at(left);
  global_ptr<int const, memory_kind::any> const const_any = origin.at(left);
  upcxx::when_all(upcxx::copy(any_source, any_dest, 4), upcxx::copy(const_source, landing.at(right) + 4, 4),
                  upcxx::copy(const_any, any_dest + 8, 4))
      .wait();
  int fetched[4] = {};
  upcxx::copy(any_source, fetched, 4).wait();
  EXPECT_EQ(fetched[3], left * 10 + 3);
  upcxx::copy(fetched, any_dest + 12, 4).wait();
  upcxx::barrier();
  int const owner = (me + 2 * n - 2) % n;
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(landing.local()[i], owner * 10 + i % 4) << i;
  }
}

TEST_F(copy_test, remote_completion_runs_at_the_owner_of_the_destination_also_for_third_parties) {
  notified = notified_by = 0;
  multirank::shared_array<int> origin(100);
  multirank::shared_array<int> landing(static_cast<std::size_t>(100 * n));
  std::iota(origin.local(), origin.local() + 100, me * 1000);
  upcxx::barrier();
  for (int d = 0; d < n; ++d) {
    global_ptr<int> const dest = landing.at(d) + 100 * me;
    upcxx::copy(origin.at(left), dest, 100,
                upcxx::remote_cx::as_rpc(
                    [](global_ptr<int> p, int first, int initiator) {
                      EXPECT_EQ(p.where(), upcxx::rank_me());
                      EXPECT_TRUE(upcxx::in_progress());
                      int wrong = 0;
                      for (int i = 0; i < 100; ++i) {
                        wrong += p.local()[i] != first + i ? 1 : 0;
                      }
                      EXPECT_EQ(wrong, 0);
                      ++notified;
                      notified_by += initiator + 1;
                    },
                    dest, left * 1000, me));
  }
  multirank::spin_until([this] { return notified == n; });
  EXPECT_EQ(notified_by, n * (n + 1) / 2);
}

TEST_F(copy_test, remote_completion_on_ones_own_memory_is_an_ordinary_call) {
  notified = 0;
  multirank::shared_array<int> cells(2);
  int value = 5;
  int fetched = 0;
  auto cx = upcxx::remote_cx::as_rpc([] { ++notified; });
  upcxx::copy(&value, cells.at(me), 1, cx);
  EXPECT_EQ(notified, 0);
  upcxx::copy(cells.at(me), cells.at(me) + 1, 1, cx);
  EXPECT_EQ(notified, 0);
  upcxx::copy(cells.at(right), &fetched, 1, cx);
  EXPECT_EQ(notified, 0);
  upcxx::progress(upcxx::progress_level::internal);
  EXPECT_EQ(notified, 0);
  multirank::spin_until([] { return notified == 3; });
  EXPECT_EQ(*cells.local(), 5);
}

TEST_F(copy_test, source_completion_allows_reuse) {
  constexpr int rounds = 20;
  constexpr std::size_t size = 20000;
  multirank::shared_array<std::uint8_t> landing(rounds * size);
  std::vector<std::uint8_t> buffer(size);
  upcxx::promise<> done;
  for (int i = 0; i < rounds; ++i) {
    multirank::fill_pattern(buffer.data(), size, me, i);
    auto const dest = landing.at(right) + static_cast<std::ptrdiff_t>(size) * i;
    if (i % 2 == 0) {
      upcxx::copy(buffer.data(), dest, size,
                  upcxx::source_cx::as_future() | upcxx::operation_cx::as_promise(done))
          .wait();
    } else {
      upcxx::copy(buffer.data(), dest, size,
                  upcxx::source_cx::as_buffered() | upcxx::operation_cx::as_promise(done));
    }
    std::fill(buffer.begin(), buffer.end(), std::uint8_t{0});
  }
  done.finalize().wait();
  upcxx::barrier();
  for (int i = 0; i < rounds; ++i) {
    EXPECT_EQ(multirank::first_mismatch(landing.local() + size * static_cast<std::size_t>(i), size, left, i),
              size);
  }
}

TEST_F(copy_test, halos_arrive_counted_without_barriers) {
  // The pattern of a stencil code: buffers alternate by parity, arrivals are counted per parity.
  static int arrivals[2];
  arrivals[0] = arrivals[1] = 0;
  constexpr int width = 500;
  constexpr int steps = 100;
  multirank::shared_array<double> halos(4 * width);  // [parity][side]
  upcxx::barrier();
  std::vector<double> edge(width);
  int wrong = 0;
  for (int step = 0; step < steps; ++step) {
    int const parity = step % 2;
    std::fill(edge.begin(), edge.end(), step * 100.0 + me);
    auto const arrive =
        upcxx::remote_cx::as_rpc([](int p) { ++arrivals[p]; }, parity) | upcxx::source_cx::as_buffered();
    upcxx::copy(edge.data(), halos.at(left) + (parity * 2 + 1) * width, width, arrive);
    upcxx::copy(edge.data(), halos.at(right) + (parity * 2 + 0) * width, width, arrive);
    multirank::spin_until([&] { return arrivals[parity] >= 2; });
    arrivals[parity] -= 2;
    for (int i = 0; i < width; ++i) {
      wrong += halos.local()[(parity * 2 + 0) * width + i] != step * 100.0 + left ? 1 : 0;
      wrong += halos.local()[(parity * 2 + 1) * width + i] != step * 100.0 + right ? 1 : 0;
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(copy_test, a_copy_onto_itself_changes_nothing) {
  multirank::shared_array<int> cells(100);
  std::iota(cells.local(), cells.local() + 100, me);
  upcxx::copy(cells.at(me), cells.at(me), 100).wait();
  upcxx::rput(cells.local(), cells.at(me), 100).wait();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(cells.local()[i], me + i);
  upcxx::barrier();
}

TEST_F(copy_test, no_elements_may_begin_where_a_heap_ends) {
  multirank::shared_array<int> origin(1);
  auto const end = upcxx::detail::global_ptr_access::make_host<int>(static_cast<std::uint32_t>(right),
                                                                    atl::engine::hosts.heap_end);
  int here = 7;
  upcxx::copy(end, origin.at(me), 0).wait();
  upcxx::copy(origin.at(me), end, 0).wait();
  upcxx::rput(&here, end, 0).wait();
  upcxx::rget(end, &here, 0).wait();
  EXPECT_EQ(here, 7);
  upcxx::barrier();
}
