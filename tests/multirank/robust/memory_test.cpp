// Nothing grows while a program repeats itself: neither private memory nor the shared heap.

#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "../common.hpp"
#include "support/sanitized.hpp"

namespace {

long resident_bytes() {
  long pages = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    long total = 0;
    if (std::fscanf(f, "%ld %ld", &total, &pages) != 2) {
      pages = 0;
    }
    std::fclose(f);
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

/// What the program holds of its private heap, without what the heap keeps for later.
long used_bytes() {
  auto const heap = ::mallinfo2();
  return static_cast<long>(heap.uordblks + heap.hblkhd);
}

}  // namespace

class memory_test : public multirank::fixture {
 protected:
  void SetUp() override {
    multirank::fixture::SetUp();
    if (atoll_test::sanitized) GTEST_SKIP() << "sanitizers keep freed memory";
  }
  /// Memory in use after `rounds` of `body` may be at most `slack` above the one after the first rounds.
  /// Resident memory also holds what the heap keeps of the largest round so far, of up to `round_bytes`.
  template <class Body>
  void expect_no_growth(int rounds, Body&& body, long round_bytes = 0) {
    std::int64_t const heap = upcxx::shared_segment_used();
    for (int i = 0; i < rounds / 4; ++i) {
      body(i);
    }
    upcxx::barrier();
    long const resident = resident_bytes();
    long const used = used_bytes();
    for (int i = 0; i < rounds; ++i) {
      body(i);
    }
    upcxx::barrier();
    EXPECT_LT(used_bytes() - used, slack);
    EXPECT_LT(resident_bytes() - resident, slack + round_bytes);
    EXPECT_EQ(upcxx::shared_segment_used(), heap);
  }
  static constexpr long slack = 4 << 20;
};

TEST_F(memory_test, futures_and_puts) {
  multirank::shared_array<int> cells(8);
  expect_no_growth(200, [&](int i) {
    upcxx::future<> all = upcxx::make_future();
    for (int k = 0; k < 1000; ++k) {
      all = upcxx::when_all(
          all, upcxx::rput(i, cells.at(right), upcxx::operation_cx::as_defer_future()).then([] {}));
    }
    all.wait();
  });
}

TEST_F(memory_test, calls_of_all_sizes) {
  for (std::size_t const size : {10, 2000, 100000}) {
    std::string const payload(size, 'x');
    expect_no_growth(size > 10000 ? 400 : 4000, [&](int) {
      EXPECT_EQ(upcxx::rpc(
                    right, [](std::string const& s) { return s; }, payload)
                    .wait_reference()
                    .size(),
                size);
    });
  }
}

TEST_F(memory_test, bursts_give_their_buffers_back) {
  static long arrived;
  arrived = 0;
  upcxx::barrier();
  std::vector<char> const block(50000, 'b');
  constexpr int burst = 200;
  long expected = 0;
  // How much of a burst waits on its way, with the sender and with the target, is another every time.
  auto const most_waiting = static_cast<long>(2 * burst * block.size());
  expect_no_growth(
      16,
      [&](int) {
        for (int i = 0; i < burst; ++i) {
          upcxx::rpc_ff(
              right, [](upcxx::view<char> v) { arrived += v[0] == 'b' ? 1 : 0; }, upcxx::make_view(block));
        }
        expected += burst;
        multirank::spin_until([&] { return arrived == expected; });
        upcxx::barrier();
      },
      most_waiting);
}

TEST_F(memory_test, collectives_and_distributed_objects) {
  std::vector<double> data(1000);
  expect_no_growth(1000, [&](int i) {
    upcxx::dist_object<std::vector<int>> d(std::vector<int>(100, i));
    upcxx::reduce_all(data.data(), data.data(), data.size(), upcxx::op_fast_max).wait();
    EXPECT_EQ(upcxx::broadcast(i, i % n).wait(), i);
    if (i % 10 == 0) {
      EXPECT_EQ(d.fetch(right).wait_reference().size(), 100u);
    }
    upcxx::barrier();
  });
}

TEST_F(memory_test, local_calls_and_allocation) {
  expect_no_growth(200, [&](int) {
    for (int k = 0; k < 200; ++k) {
      upcxx::current_persona().lpc([] { return std::string(100, 'l'); }).wait();
      auto p = upcxx::new_array<double>(static_cast<std::size_t>(k) + 1);
      upcxx::delete_array(p);
    }
  });
}
