// What only transfers between hosts meet: they complete after the call, in pieces, many at once, between two other
// ranks. Inside a host the same holds at once.

#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "common.hpp"

using upcxx::global_ptr;
using upcxx::operation_cx;
using upcxx::remote_cx;
using upcxx::source_cx;

namespace {

using byte = std::uint8_t;

/// Around a piece of a transfer, around what is under way at once, and beyond.
constexpr std::size_t sizes[] = {1, 7, 2048, 65535, 65536, 65537, 3 * 65536, 8 * 65536 + 1, 1'500'000};
constexpr std::size_t largest = 1'500'000;

using remote_memory_test = multirank::fixture;

TEST_F(remote_memory_test, puts_and_gets_of_any_size_bring_every_byte) {
  multirank::shared_array<byte> landing(largest + 2);
  std::vector<byte> source(largest);
  std::vector<byte> back(largest + 2);
  for (std::size_t const size : sizes) {
    multirank::fill_pattern(source.data(), size, me, static_cast<int>(size));
    std::memset(landing.local(), 0xee, size + 2);
    upcxx::barrier();
    upcxx::rput(source.data(), landing.at(right) + 1, size).wait();
    upcxx::barrier();
    ASSERT_EQ(multirank::first_mismatch(landing.local() + 1, size, left, static_cast<int>(size)), size);
    ASSERT_EQ(landing.local()[0], 0xee);
    ASSERT_EQ(landing.local()[size + 1], 0xee);
    std::memset(back.data(), 0xdd, size + 2);
    upcxx::rget(landing.at(right) + 1, back.data() + 1, size).wait();
    ASSERT_EQ(multirank::first_mismatch(back.data() + 1, size, me, static_cast<int>(size)), size);
    ASSERT_EQ(back[0], 0xdd);
    ASSERT_EQ(back[size + 1], 0xdd);
    upcxx::barrier();
  }
}

TEST_F(remote_memory_test, a_third_rank_copies_between_two_others) {
  static long calls;
  static std::size_t right_bytes;
  calls = 0;
  right_bytes = 0;
  multirank::shared_array<byte> from(largest);
  multirank::shared_array<byte> to(largest);
  long expected = 0;
  for (std::size_t const size : sizes) {
    multirank::fill_pattern(from.local(), size, me, static_cast<int>(size));
    std::memset(to.local(), 0, size);
    upcxx::barrier();
    auto [source, operation] =
        upcxx::copy(from.at(left), to.at(right), size,
                    source_cx::as_future() | operation_cx::as_future() |
                        remote_cx::as_rpc(
                            [](global_ptr<byte> place, std::size_t bytes, int writer) {
                              ++calls;
                              right_bytes += multirank::first_mismatch(place.local(), bytes, writer,
                                                                       static_cast<int>(bytes));
                            },
                            to.at(right), size, left));
    upcxx::when_all(source, operation).wait();
    ++expected;
    multirank::spin_until([&] { return calls == expected; });
    upcxx::barrier();
    int const writer = (me + 2 * n - 2) % n;
    ASSERT_EQ(multirank::first_mismatch(to.local(), size, writer, static_cast<int>(size)), size);
    upcxx::barrier();
  }
  EXPECT_EQ(right_bytes, std::accumulate(std::begin(sizes), std::end(sizes), std::size_t{0}));
}

TEST_F(remote_memory_test, the_source_may_be_written_once_that_is_said) {
  constexpr std::size_t size = 1'300'001;
  multirank::shared_array<byte> landing(size);
  std::vector<byte> source(size);
  enum { by_future, by_promise, by_lpc, blocking, ways };
  for (int way = 0; way < ways; ++way) {
    multirank::fill_pattern(source.data(), size, me, way);
    upcxx::promise<> done;
    upcxx::promise<> left_here;
    bool told = false;
    auto const whole = operation_cx::as_promise(done);
    switch (way) {
      case by_future: {
        upcxx::future<> const f =
            upcxx::rput(source.data(), landing.at(right), size, source_cx::as_future() | whole);
        f.wait();
        break;
      }
      case by_promise:
        upcxx::rput(source.data(), landing.at(right), size, source_cx::as_promise(left_here) | whole);
        left_here.finalize().wait();
        break;
      case by_lpc:
        upcxx::rput(source.data(), landing.at(right), size,
                    source_cx::as_lpc(upcxx::current_persona(), [&] { told = true; }) | whole);
        multirank::spin_until([&] { return told; });
        break;
      default:
        upcxx::rput(source.data(), landing.at(right), size, source_cx::as_blocking() | whole);
    }
    std::memset(source.data(), 0xaa, size);
    done.finalize().wait();
    upcxx::barrier();
    EXPECT_EQ(multirank::first_mismatch(landing.local(), size, left, way), size) << "way " << way;
    upcxx::barrier();
  }
}

TEST_F(remote_memory_test, a_large_value_is_the_librarys_when_the_call_returns) {
  using value = std::array<byte, 300'000>;
  multirank::shared_array<value> landing(1);
  auto const mine = std::make_unique<value>();
  multirank::fill_pattern(mine->data(), mine->size(), me, 9);
  upcxx::rput(*mine, landing.at(right)).wait();
  upcxx::barrier();
  EXPECT_EQ(multirank::first_mismatch(landing.local()->data(), mine->size(), left, 9), mine->size());
  // And comes back as a value.
  upcxx::future<value> const back = upcxx::rget(landing.at(right));
  back.wait();
  EXPECT_EQ(multirank::first_mismatch(back.result().data(), mine->size(), me, 9), mine->size());
}

TEST_F(remote_memory_test, calls_find_all_data_of_large_puts_while_many_are_under_way) {
  static int arrived;
  static int wrong;
  arrived = wrong = 0;
  constexpr int rounds = 24;
  constexpr std::size_t size = 200'003;
  multirank::shared_array<byte> landing(rounds * size);
  std::vector<byte> source(rounds * size);
  upcxx::promise<> done;
  for (int i = 0; i < rounds; ++i) {
    byte* const mine = source.data() + size * static_cast<std::size_t>(i);
    multirank::fill_pattern(mine, size, me, i);
    auto const call = [](global_ptr<byte> place, int writer, int salt, std::vector<int> const& more) {
      ++arrived;
      wrong += multirank::first_mismatch(place.local(), size, writer, salt) != size || more.back() != salt;
    };
    std::vector<int> const more(static_cast<std::size_t>(1 + i * 40), i);  // small and large calls
    auto const place = landing.at(right) + static_cast<std::ptrdiff_t>(size) * i;
    upcxx::rput(mine, place, size,
                operation_cx::as_promise(done) | remote_cx::as_rpc(call, place, me, i, more) |
                    remote_cx::as_rpc(call, place, me, i, more));
  }
  done.finalize().wait();
  multirank::spin_until([] { return arrived == 2 * rounds; });
  EXPECT_EQ(wrong, 0);
}

TEST_F(remote_memory_test, thousands_of_small_transfers_are_under_way_at_once) {
  constexpr int count = 6000;
  multirank::shared_array<std::uint64_t> cells(count);
  std::vector<std::uint64_t> back(count);
  upcxx::promise<> puts;
  for (int i = 0; i < count; ++i) {
    upcxx::rput(static_cast<std::uint64_t>(me) << 32 | static_cast<std::uint64_t>(i), cells.at(right) + i,
                operation_cx::as_promise(puts));
  }
  puts.finalize().wait();
  upcxx::barrier();
  upcxx::promise<> gets;
  std::uint64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    if (i % 2 == 0) {
      upcxx::rget(cells.at(left) + i, &back[static_cast<std::size_t>(i)], 1, operation_cx::as_promise(gets));
    } else {
      upcxx::rget(cells.at(left) + i, operation_cx::as_lpc(upcxx::current_persona(), [&, i](std::uint64_t v) {
                    back[static_cast<std::size_t>(i)] = v;
                    ++sum;
                  }));
    }
  }
  gets.finalize().wait();
  multirank::spin_until([&] { return sum == count / 2; });
  int const writer = (me + 2 * n - 2) % n;
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(back[static_cast<std::size_t>(i)],
              static_cast<std::uint64_t>(writer) << 32 | static_cast<std::uint64_t>(i));
    ASSERT_EQ(cells.local()[i], static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(i));
  }
}

TEST_F(remote_memory_test, large_gets_from_all_at_once_fill_all_buffers) {
  constexpr std::size_t size = 700'001;
  multirank::shared_array<byte> mine(size);
  multirank::fill_pattern(mine.local(), size, me, 4);
  upcxx::barrier();
  std::vector<std::vector<byte>> buffers(static_cast<std::size_t>(4 * n));
  upcxx::promise<> done;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    buffers[i].resize(size);
    upcxx::rget(mine.at(static_cast<int>(i) % n), buffers[i].data(), size, operation_cx::as_promise(done));
  }
  done.finalize().wait();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(multirank::first_mismatch(buffers[i].data(), size, static_cast<int>(i) % n, 4), size);
  }
}

TEST_F(remote_memory_test, an_owner_that_makes_internal_progress_only_serves_all) {
  multirank::shared_array<byte> data(300'000);
  multirank::shared_array<int> over(1);
  upcxx::atomic_domain<int> counter({upcxx::atomic_op::inc, upcxx::atomic_op::load});
  multirank::fill_pattern(data.local(), 300'000, me, 1);
  *over.local() = 0;
  upcxx::barrier();
  if (me == 0) {
    // Nobody may run callbacks here before all have been served.
    auto const served = [&] { return std::atomic_ref<int>(*over.local()).load() == n - 1; };
    while (!served()) upcxx::progress(upcxx::progress_level::internal);
  } else {
    std::vector<byte> back(300'000);
    upcxx::rget(data.at(0), back.data(), back.size()).wait();
    EXPECT_EQ(multirank::first_mismatch(back.data(), back.size(), 0, 1), back.size());
    counter.inc(over.at(0), std::memory_order_relaxed).wait();
  }
  counter.destroy();
}

TEST_F(remote_memory_test, discharge_leaves_nothing_that_needs_this_rank) {
  static int arrived;
  arrived = 0;
  constexpr std::size_t size = 900'000;
  multirank::shared_array<byte> landing(size);
  std::vector<byte> source(size);
  multirank::fill_pattern(source.data(), size, me, 2);
  auto const done = upcxx::rput(source.data(), landing.at(right), size,
                                operation_cx::as_future() | remote_cx::as_rpc([] { ++arrived; }));
  upcxx::discharge();
  EXPECT_FALSE(upcxx::progress_required());
  done.wait();
  multirank::spin_until([] { return arrived == 1; });
  EXPECT_EQ(multirank::first_mismatch(landing.local(), size, left, 2), size);
}

TEST_F(remote_memory_test, all_ranks_hammer_the_same_cells_and_nothing_is_lost) {
  constexpr int rounds = 1500;
  multirank::shared_array<std::int64_t> integers(4);
  multirank::shared_array<double> reals(1);
  std::fill_n(integers.local(), 4, 0);
  *reals.local() = 0;
  upcxx::barrier();
  using upcxx::atomic_op;
  upcxx::atomic_domain<std::int64_t> ints({atomic_op::fetch_add, atomic_op::inc, atomic_op::fetch_max,
                                           atomic_op::compare_exchange, atomic_op::bit_xor});
  upcxx::atomic_domain<double> doubles({atomic_op::add, atomic_op::load});
  constexpr auto relaxed = std::memory_order_relaxed;
  std::vector<std::int64_t> seen(rounds, -1);
  upcxx::promise<> done;
  for (int i = 0; i < rounds; ++i) {
    ints.fetch_add(integers.at(0), 1, &seen[static_cast<std::size_t>(i)], relaxed,
                   operation_cx::as_promise(done));
    ints.inc(integers.at(0) + 1, relaxed, operation_cx::as_promise(done));
    ints.bit_xor(integers.at(0) + 2, std::int64_t{1} << i % 60, relaxed, operation_cx::as_promise(done));
    doubles.add(reals.at(0), 0.5, relaxed, operation_cx::as_promise(done));
  }
  std::int64_t const before = ints.fetch_max(integers.at(0) + 3, me + 1, relaxed).wait();
  EXPECT_LE(before, n);
  done.finalize().wait();
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end()) << "two got the same value";
  EXPECT_GE(seen.front(), 0);
  upcxx::barrier();
  std::int64_t const old =
      ints.compare_exchange(integers.at(0), std::int64_t{rounds} * n, -1, relaxed).wait();
  EXPECT_TRUE(old == std::int64_t{rounds} * n || old == -1);
  upcxx::barrier();
  if (me == 0) {
    EXPECT_EQ(integers.local()[0], -1);
    EXPECT_EQ(integers.local()[1], std::int64_t{rounds} * n);
    EXPECT_EQ(integers.local()[3], n);
  }
  EXPECT_EQ(doubles.load(reals.at(0), relaxed).wait(), 0.5 * rounds * n);
  upcxx::barrier();
  ints.destroy();
  doubles.destroy();
}

/// Cannot be serialised for want of memory.
struct too_large {
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer&, too_large const&) {
      throw std::bad_alloc();
    }
    template <class Reader, class Storage>
    static too_large* deserialize(Reader&, Storage storage) {
      return storage.construct();
    }
  };
};

TEST_F(remote_memory_test, a_call_that_cannot_be_serialised_leaves_nothing_of_those_before_it) {
  multirank::shared_array<int> cells(1);
  std::vector<byte> const large(1 << 20);
  int const value = 5;
  auto const put = [&] {
    EXPECT_THROW(upcxx::rput(&value, cells.at(right), 1,
                             remote_cx::as_rpc([](upcxx::view<byte>) {}, upcxx::make_view(large)) |
                                 remote_cx::as_rpc([](too_large const&) {}, too_large())),
                 std::bad_alloc);
    upcxx::progress();
  };
  auto const taken = [] {
    auto const all = ::mallinfo2();  // zeros where a sanitizer allocates, which has its own check
    return all.uordblks + all.hblkhd;
  };
  // Inside a host the first call may have left, and is in memory until it has run.
  if (!upcxx::local_team_contains(right)) {
    put();
    std::size_t const before = taken();
    for (int i = 0; i < 20; ++i) put();
    EXPECT_LT(taken(), before + 10 * large.size());
  }
  upcxx::barrier();
}

}  // namespace
