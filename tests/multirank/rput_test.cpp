// rput of values and arrays: sizes, alignment, types, every pair of ranks (communication digest, chapter 11).

#include <algorithm>
#include <array>
#include <complex>
#include <numeric>
#include <string>

#include "common.hpp"

namespace {

using upcxx::global_ptr;

struct mixed {
  char c;
  double d;
  int i;
  std::uint16_t s[3];
  friend bool operator==(mixed const& a, mixed const& b) {
    return a.c == b.c && a.d == b.d && a.i == b.i && std::memcmp(a.s, b.s, sizeof a.s) == 0;
  }
};
struct alignas(64) line {
  int words[16];
};
struct big {
  std::array<std::uint64_t, 1000> words;
};
enum class colour : std::uint8_t { red = 3, green = 200 };

template <class T, class Make>
void put_values(Make const& value_of) {
  auto make = [&](int rank, int i) -> T { return value_of(rank, i); };
  int const me = upcxx::rank_me();
  int const n = upcxx::rank_n();
  multirank::shared_array<T> cells(static_cast<std::size_t>(n) + 2);
  for (int i = 0; i < n + 2; ++i) {
    cells.local()[i] = make(me, -1);
  }
  upcxx::barrier();
  for (int r = 0; r < n; ++r) {
    static_assert(std::is_same_v<decltype(upcxx::rput(make(0, 0), cells.at(0))), upcxx::future<>>);
    upcxx::rput(make(me, r), cells.at(r) + me + 1).wait();
  }
  upcxx::barrier();
  EXPECT_TRUE(cells.local()[0] == make(me, -1));
  for (int r = 0; r < n; ++r) {
    EXPECT_TRUE(cells.local()[r + 1] == make(r, me)) << "from rank " << r;
  }
  EXPECT_TRUE(cells.local()[n + 1] == make(me, -1));
}

}  // namespace

using rput_test = multirank::fixture;

TEST_F(rput_test, values_of_every_type_reach_every_rank_and_touch_nothing_else) {
  put_values<char>([](int r, int i) { return static_cast<char>(r * 16 + i + 3); });
  put_values<bool>([](int r, int i) { return i < 0 ? false : (r + i) % 2 == 0; });
  put_values<std::int16_t>([](int r, int i) { return static_cast<std::int16_t>(r * 100 + i - 500); });
  put_values<int>([](int r, int i) { return r * 100 + i; });
  put_values<std::uint64_t>(
      [](int r, int i) { return 0x0123456789ABCDEFull * static_cast<std::uint64_t>(r * 64 + i + 2); });
  put_values<float>([](int r, int i) { return 0.5f * static_cast<float>(r) + static_cast<float>(i); });
  put_values<double>([](int r, int i) { return 1e100 * r + i; });
  put_values<long double>([](int r, int i) { return static_cast<long double>(r) / 3 + i; });
  put_values<std::complex<double>>([](int r, int i) { return std::complex<double>(r, i); });
  put_values<colour>([](int r, int i) { return (r + i) % 2 == 0 ? colour::red : colour::green; });
  put_values<mixed>([](int r, int i) {
    return mixed{static_cast<char>(r),
                 i * 0.5,
                 r * 100 + i,
                 {static_cast<std::uint16_t>(r), 2, static_cast<std::uint16_t>(i)}};
  });
}

TEST_F(rput_test, a_large_value_type_arrives_whole) {
  multirank::shared_array<big> cells(3);
  std::memset(static_cast<void*>(cells.local()), multirank::guard_byte, 3 * sizeof(big));
  upcxx::barrier();
  big value;
  multirank::fill_pattern(reinterpret_cast<std::uint8_t*>(&value), sizeof value, me);
  upcxx::rput(value, cells.at(right) + 1).wait();
  upcxx::barrier();
  EXPECT_TRUE(multirank::holds_only(reinterpret_cast<std::uint8_t*>(cells.local()), 3 * sizeof(big),
                                    sizeof(big), sizeof(big), left));
}

TEST_F(rput_test, the_value_is_copied_at_the_call) {
  multirank::shared_array<line> cells(64);
  upcxx::promise<> done;
  line value{};
  for (int i = 0; i < 64; ++i) {
    value.words[3] = 1000 * me + i;
    upcxx::rput(value, cells.at(right) + i, upcxx::operation_cx::as_promise(done));
    value.words[3] = -1;
  }
  done.finalize().wait();
  upcxx::barrier();
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(cells.local()[i].words[3], 1000 * left + i);
  }
}

TEST_F(rput_test, arrays_of_every_size_and_alignment_arrive_between_untouched_guards) {
  constexpr std::size_t limit = 256 << 10;
  constexpr std::size_t guard = 128;
  std::size_t const total = limit + 2 * guard;
  multirank::shared_array<std::uint8_t> landing(total, 64);
  std::vector<std::uint8_t> source(limit + 64);
  int salt = 0;
  for (std::size_t const size : multirank::interesting_sizes(limit)) {
    for (std::size_t const shift : {0, 1, 7, 8, 33}) {
      if (size > 8192 && shift > 1) {
        continue;
      }
      std::size_t const source_shift = (shift * 5 + size) % 16;
      std::size_t const used = std::min(total, guard + shift + size + guard);
      std::size_t const count = std::min(size, total - guard - shift);
      ++salt;
      std::memset(landing.local(), multirank::guard_byte, used);
      multirank::fill_pattern(source.data() + source_shift, count, me, salt);
      upcxx::barrier();
      upcxx::rput(source.data() + source_shift,
                  landing.at(right) + static_cast<std::ptrdiff_t>(guard + shift), count)
          .wait();
      upcxx::barrier();
      EXPECT_TRUE(multirank::holds_only(landing.local(), used, guard + shift, count, left, salt))
          << "size " << count << " shift " << shift;
      upcxx::barrier();
    }
  }
}

TEST_F(rput_test, several_mebibytes_arrive) {
  constexpr std::size_t size = (5 << 20) + 13;
  multirank::shared_array<std::uint8_t> landing(size + 200, 64);
  std::vector<std::uint8_t> source(size);
  multirank::fill_pattern(source.data(), size, me);
  for (int const target : {right, left, me}) {
    std::memset(landing.local(), multirank::guard_byte, size + 200);
    upcxx::barrier();
    upcxx::rput(source.data(), landing.at(target) + 77, size).wait();
    upcxx::barrier();
    int const from = target == right ? left : target == left ? right : me;
    EXPECT_TRUE(multirank::holds_only(landing.local(), size + 200, 77, size, from));
    upcxx::barrier();
  }
}

TEST_F(rput_test, operation_completion_means_that_other_ranks_can_see_the_data) {
  multirank::shared_array<int> cells(static_cast<std::size_t>(n));
  // The owner is told by a third party's rpc, without any barrier.
  for (int round = 1; round <= 50; ++round) {
    for (int r = 0; r < n; ++r) {
      int const value = round * 1000 + me;
      upcxx::rput(value, cells.at(r) + me).wait();
      int const seen = upcxx::rpc(
                           r, [](global_ptr<int> p, int i) { return p.local()[i]; }, cells.at(r), me)
                           .wait();
      EXPECT_EQ(seen, value);
    }
  }
}

TEST_F(rput_test, thousands_in_flight_to_all_ranks_complete_through_one_promise) {
  constexpr int per_rank = 3000;
  multirank::shared_array<int> cells(static_cast<std::size_t>(per_rank * n));
  upcxx::promise<> done;
  for (int i = 0; i < per_rank; ++i) {
    for (int r = 0; r < n; ++r) {
      upcxx::rput(me * 100000 + i, cells.at(r) + (me * per_rank + i), upcxx::operation_cx::as_promise(done));
    }
  }
  done.finalize().wait();
  upcxx::barrier();
  int wrong = 0;
  for (int r = 0; r < n; ++r) {
    for (int i = 0; i < per_rank; ++i) {
      wrong += cells.local()[r * per_rank + i] != r * 100000 + i ? 1 : 0;
    }
  }
  EXPECT_EQ(wrong, 0);
}

/// As in a function that forwards what it has been given, in a loop; to any rank, on this host or another.
TEST_F(rput_test, an_rvalue_of_promises_serves_many_operations) {
  multirank::shared_array<int> slots(static_cast<std::size_t>(n));
  upcxx::promise<> all;
  auto wanted = upcxx::operation_cx::as_promise(all);
  for (int r = 0; r < n; ++r) {
    upcxx::rput(me, slots.at(r) + me, std::move(wanted));
    upcxx::rput(&me, slots.at(r) + me, 1, std::move(wanted));
  }
  all.finalize().wait();
  upcxx::barrier();
  for (int r = 0; r < n; ++r) EXPECT_EQ(slots.local()[r], r);
  upcxx::barrier();
}

TEST_F(rput_test, a_chain_of_then_puts_one_after_another) {
  multirank::shared_array<int> cells(1);
  *cells.local() = -1;
  upcxx::barrier();
  upcxx::future<> f = upcxx::make_future();
  for (int i = 0; i < 1000; ++i) {
    f = f.then([i, p = cells.at(right)] { return upcxx::rput(i, p); });
  }
  f.wait();
  upcxx::barrier();
  EXPECT_EQ(*cells.local(), 999);
}

TEST_F(rput_test, source_completion_allows_reuse_of_the_buffer) {
  constexpr int rounds = 40;
  constexpr std::size_t size = 9000;
  multirank::shared_array<std::uint8_t> landing(rounds * size);
  std::vector<std::uint8_t> buffer(size);
  upcxx::promise<> done;
  for (int i = 0; i < rounds; ++i) {
    multirank::fill_pattern(buffer.data(), size, me, i);
    auto const dest = landing.at(right) + static_cast<std::ptrdiff_t>(size) * i;
    switch (i % 3) {
      case 0:
        upcxx::rput(buffer.data(), dest, size,
                    upcxx::source_cx::as_buffered() | upcxx::operation_cx::as_promise(done));
        break;
      case 1:
        upcxx::rput(buffer.data(), dest, size,
                    upcxx::operation_cx::as_promise(done) | upcxx::source_cx::as_blocking());
        break;
      default:
        upcxx::rput(buffer.data(), dest, size,
                    upcxx::source_cx::as_future() | upcxx::operation_cx::as_promise(done))
            .wait();
    }
    std::memset(buffer.data(), 0, size);
  }
  done.finalize().wait();
  upcxx::barrier();
  for (int i = 0; i < rounds; ++i) {
    EXPECT_EQ(multirank::first_mismatch(landing.local() + size * static_cast<std::size_t>(i), size, left, i),
              size)
        << "round " << i;
  }
}

TEST_F(rput_test, source_in_shared_memory_of_a_third_rank_is_fine) {
  multirank::shared_array<int> cells(200);
  std::iota(cells.local(), cells.local() + 100, me * 1000);
  upcxx::barrier();
  global_ptr<int> const from = cells.at(left);
  if (n > 1) {
    if (from.is_local()) {
      upcxx::rput(from.local(), cells.at(right) + 100, 100).wait();
    } else {
      upcxx::copy(from, cells.at(right) + 100, 100).wait();
    }
  }
  upcxx::barrier();
  if (n > 1) {
    int const owner = (me + n - 2) % n;
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(cells.local()[100 + i], owner * 1000 + i);
    }
  }
}

TEST_F(rput_test, an_arrival_counter_by_remote_rpc_sees_all_the_data) {
  static int arrived;
  static long sum;
  arrived = 0;
  sum = 0;
  constexpr int blocks = 30;
  constexpr std::size_t elements = 2000;
  multirank::shared_array<int> landing(blocks * elements);
  std::vector<int> source(blocks * elements);
  std::iota(source.begin(), source.end(), me);
  for (int b = 0; b < blocks; ++b) {
    std::ptrdiff_t const at = static_cast<std::ptrdiff_t>(elements) * b;
    upcxx::rput(source.data() + at, landing.at(right) + at, elements,
                upcxx::source_cx::as_buffered() | upcxx::remote_cx::as_rpc(
                                                      [](global_ptr<int> p, std::size_t count) {
                                                        ++arrived;
                                                        sum = std::accumulate(p.local(), p.local() + count,
                                                                              sum);
                                                      },
                                                      landing.at(right) + at, elements));
  }
  multirank::spin_until([] { return arrived == blocks; });
  long const count = static_cast<long>(blocks * elements);
  EXPECT_EQ(sum, count * (count - 1) / 2 + count * left);
}
