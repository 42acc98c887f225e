// copy between all kinds of memory (parallel digest, 7.4): over simulated devices, whose copies complete late
// and in any order, and over a CUDA driver, real or fake, with simulated hip devices beside it.

#include <array>
#include <atoll/copy_batch.hpp>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <thread>

#include "multirank/common.hpp"

namespace {

using upcxx::memory_kind;
using upcxx::operation_cx;
using upcxx::remote_cx;
using upcxx::source_cx;
using any_ptr = upcxx::global_ptr<int, memory_kind::any>;
using cuda_ptr = upcxx::global_ptr<int, memory_kind::cuda_device>;

constexpr int kinds = 3;  // of places: host, cuda, hip
constexpr std::size_t heap_ints = std::size_t{1} << 20;

/// Before init.
bool const queues_given = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS") != nullptr;

int notified;
long sum_seen;

/// An array of equal size in host memory and on two devices of every rank, whose pointers all know.
class everywhere {
 public:
  explicit everywhere(std::size_t count)
      : cuda_(upcxx::make_gpu_allocator(count * sizeof(int) + 4096)),
        hip_(upcxx::make_gpu_allocator<upcxx::hip_device>(count * sizeof(int) + 4096)),
        host_(upcxx::new_array<int>(count)),
        count_(count),
        all_(std::array<any_ptr, kinds>{host_, cuda_.allocate<int>(count), hip_.allocate<int>(count)}) {
    for (int r = 0; r < upcxx::rank_n(); ++r) places_.push_back(all_.fetch(r).wait());
    upcxx::barrier();
  }
  ~everywhere() {
    upcxx::barrier();
    upcxx::delete_array(host_);
    cuda_.destroy();
    hip_.destroy();
  }
  any_ptr at(int rank, int kind) const {
    return places_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(kind)];
  }
  cuda_ptr cuda(int rank) const { return upcxx::static_kind_cast<memory_kind::cuda_device>(at(rank, 1)); }
  /// Writes the own array of this kind, or reads it.
  void fill(int kind, std::vector<int> const& values) const {
    upcxx::copy(values.data(), at(upcxx::rank_me(), kind), values.size()).wait();
  }
  std::vector<int> read(int kind) const { return read(upcxx::rank_me(), kind); }
  std::vector<int> read(int rank, int kind) const {
    std::vector<int> values(count_, -9);
    upcxx::copy(at(rank, kind), values.data(), count_).wait();
    return values;
  }

 private:
  upcxx::gpu_heap_allocator cuda_;
  upcxx::device_allocator<upcxx::hip_device> hip_;
  upcxx::global_ptr<int> host_;
  std::size_t count_;
  upcxx::dist_object<std::array<any_ptr, kinds>> all_;
  std::vector<std::array<any_ptr, kinds>> places_;
};

int value(int rank, int kind, int i) { return rank * 10000 + kind * 1000 + i; }

std::vector<int> numbers(int first, std::size_t count) {
  std::vector<int> v(count);
  std::iota(v.begin(), v.end(), first);
  return v;
}

}  // namespace

using kinds_test = multirank::fixture;

TEST_F(kinds_test, every_pair_of_places_can_be_source_and_destination_of_anyones_copy) {
  constexpr int block = 12;
  std::size_t const slots = static_cast<std::size_t>(n * n * kinds * kinds);
  everywhere const origin(block);
  everywhere const landing(slots * block);
  for (int k = 0; k < kinds; ++k) {
    origin.fill(k, numbers(value(me, k, 0), block));
    landing.fill(k, std::vector<int>(slots * block, -1));
  }
  upcxx::barrier();
  upcxx::promise<> all;
  auto const slot = [&](int initiator, int s, int sk, int dk) {
    return (((initiator * n + s) * kinds + sk) * kinds + dk) * block;
  };
  for (int s = 0; s < n; ++s) {
    for (int d = 0; d < n; ++d) {
      for (int sk = 0; sk < kinds; ++sk) {
        for (int dk = 0; dk < kinds; ++dk) {
          upcxx::copy(origin.at(s, sk), landing.at(d, dk) + slot(me, s, sk, dk), block,
                      operation_cx::as_promise(all));
        }
      }
    }
  }
  all.finalize().wait();
  upcxx::barrier();
  for (int dk = 0; dk < kinds; ++dk) {
    std::vector<int> const arrived = landing.read(dk);
    int wrong = 0;
    for (int initiator = 0; initiator < n; ++initiator) {
      for (int s = 0; s < n; ++s) {
        for (int sk = 0; sk < kinds; ++sk) {
          for (int other = 0; other < kinds; ++other) {
            for (int i = 0; i < block; ++i) {
              int const expected = other == dk ? value(s, sk, i) : -1;
              wrong +=
                  arrived[static_cast<std::size_t>(slot(initiator, s, sk, other) + i)] != expected ? 1 : 0;
            }
          }
        }
      }
    }
    EXPECT_EQ(wrong, 0) << "into kind " << dk;
  }
}

TEST_F(kinds_test, private_memory_goes_to_and_comes_from_devices_of_all_ranks) {
  everywhere const landing(static_cast<std::size_t>(n * 50));
  std::vector<int> mine = numbers(me * 1000, 50);
  for (int r = 0; r < n; ++r) upcxx::copy(mine.data(), landing.cuda(r) + me * 50, 50).wait();
  upcxx::barrier();
  for (int r = 0; r < n; ++r) {
    std::vector<int> back(50);
    upcxx::global_ptr<int const, memory_kind::cuda_device> const source = landing.cuda(right) + r * 50;
    upcxx::copy(source, back.data(), 50).wait();
    EXPECT_EQ(back, numbers(r * 1000, 50));
  }
}

TEST_F(kinds_test, nothing_happens_before_progress_and_every_form_of_notification_comes_once) {
  everywhere const landing(64);
  int const in = 40 + me;
  int lpcs = 0;
  notified = 0;
  upcxx::barrier();
  upcxx::promise<> source_promise;
  upcxx::promise<int> operation_promise(2);
  auto const start = [&](std::size_t count) {
    return upcxx::copy(&in, landing.cuda(right), count,
                       source_cx::as_future() | operation_cx::as_defer_future() |
                           source_cx::as_lpc(upcxx::current_persona(), [&] { ++lpcs; }) |
                           operation_cx::as_lpc(upcxx::current_persona(), [&] { ++lpcs; }) |
                           source_cx::as_promise(source_promise) |
                           operation_cx::as_promise(operation_promise) |
                           remote_cx::as_rpc([](int from) { notified += from + 1; }, me) |
                           remote_cx::as_rpc([] { ++notified; }));
  };
  for (std::size_t const count : {1, 0}) {
    auto [source, operation] = start(count);
    EXPECT_FALSE(source.ready());
    EXPECT_FALSE(operation.ready());
    for (int i = 0; i < 1000; ++i) upcxx::progress(upcxx::progress_level::internal);
    EXPECT_FALSE(operation.ready());  // the data is there, but only user-level progress says so
    EXPECT_EQ(lpcs, count == 1 ? 0 : 2);
    upcxx::when_all(source, operation).wait();
    multirank::spin_until([&] { return lpcs == (count == 1 ? 2 : 4); });
  }
  operation_promise.fulfill_result(5);
  source_promise.finalize().wait();
  EXPECT_EQ(operation_promise.finalize().wait(), 5);
  multirank::spin_until([this] { return notified == 2 * (left + 2); });
  EXPECT_EQ(landing.read(1)[0], 40 + left);
}

TEST_F(kinds_test, blocking_source_completion_leaves_the_buffer_free) {
  everywhere const landing(20);
  upcxx::promise<> done;
  for (int i = 0; i < 20; ++i) {
    int value_on_stack = me * 100 + i;
    auto const both = i % 2 == 0 ? i : -i;
    if (both >= 0) {
      upcxx::copy(&value_on_stack, landing.cuda(right) + i, 1,
                  source_cx::as_buffered() | operation_cx::as_promise(done));
    } else {
      upcxx::copy(&value_on_stack, landing.cuda(right) + i, 1,
                  source_cx::as_blocking() | operation_cx::as_promise(done));
    }
    value_on_stack = -1;
  }
  done.finalize().wait();
  upcxx::barrier();
  EXPECT_EQ(landing.read(1), numbers(left * 100, 20));
}

TEST_F(kinds_test, remote_completion_finds_the_data_and_carries_arguments_serialised_at_once) {
  // Both destinations' owners look at their memory: the host directly, the device by a copy
  // started in the callback.
  everywhere const landing(static_cast<std::size_t>(100 * n));
  everywhere const origin(100);
  origin.fill(2, numbers(me * 1000, 100));
  notified = 0;
  sum_seen = 0;
  upcxx::barrier();
  for (int d = 0; d < n; ++d) {
    std::vector<int> words{1, 2, 3};
    upcxx::copy(origin.at(left, 2), landing.at(d, 1) + 100 * me, 100,
                remote_cx::as_rpc(
                    [](any_ptr p, std::vector<int> const& v, int first) {
                      EXPECT_EQ(p.where(), upcxx::rank_me());
                      EXPECT_EQ(v.size(), 3u);
                      auto const back = std::make_shared<std::vector<int>>(100);
                      upcxx::copy(p, back->data(), 100).then([back, first] {
                        EXPECT_EQ(*back, numbers(first, 100));
                        ++notified;
                      });
                    },
                    landing.at(d, 1) + 100 * me, words, left * 1000));
    words.assign(3, 0);
    upcxx::copy(origin.at(left, 2), landing.at(d, 0) + 100 * me, 100,
                remote_cx::as_rpc(
                    [](any_ptr p, upcxx::view<int> v, int first) {
                      auto const host = upcxx::static_kind_cast<memory_kind::host>(p);
                      EXPECT_EQ(std::vector<int>(host.local(), host.local() + 100), numbers(first, 100));
                      for (int const x : v) sum_seen += x;
                      ++notified;
                    },
                    landing.at(d, 0) + 100 * me, upcxx::make_view(numbers(1, 4)), left * 1000));
  }
  multirank::spin_until([this] { return notified == 2 * n; });
  EXPECT_EQ(sum_seen, 10 * n);
}

TEST_F(kinds_test, calls_that_devices_of_two_kinds_announce_at_once_find_their_own_data) {
  constexpr int rounds = 200;
  everywhere const origin(rounds);
  everywhere const landing(2 * rounds);
  for (int k = 0; k < kinds; ++k) {
    origin.fill(k, numbers(value(me, k, 0), rounds));
    landing.fill(k, std::vector<int>(2 * rounds, -1));
  }
  notified = 0;
  upcxx::barrier();
  for (int i = 0; i < rounds; ++i) {
    for (int const k : {1, 2}) {
      any_ptr const to = landing.at(right, 0) + (2 * i + k - 1);
      upcxx::copy(origin.at(me, k) + i, to, 1,
                  remote_cx::as_rpc(
                      [](any_ptr p, int expected) {
                        EXPECT_EQ(*upcxx::static_kind_cast<memory_kind::host>(p).local(), expected);
                        ++notified;
                      },
                      to, value(me, k, i)));
    }
  }
  multirank::spin_until([] { return notified == 2 * rounds; });
}

TEST_F(kinds_test, remote_completion_at_the_caller_is_an_ordinary_call) {
  everywhere const data(4);
  notified = 0;
  int in = 3;
  int out = 0;
  auto const cx = remote_cx::as_rpc([] { ++notified; }) | operation_cx::as_future();
  upcxx::copy(&in, data.cuda(me), 1, cx).wait();
  upcxx::copy(data.cuda(me), &out, 1, cx).wait();
  multirank::spin_until([] { return notified == 2; });
  EXPECT_EQ(out, 3);
}

TEST_F(kinds_test, large_copies_and_many_at_once_arrive) {
  everywhere const big(heap_ints);
  std::vector<int> const mine = numbers(me, heap_ints);
  upcxx::copy(mine.data(), big.cuda(right), heap_ints).wait();
  upcxx::barrier();
  upcxx::copy(big.cuda(right), big.at(right, 2), heap_ints).wait();  // through a bounce buffer
  upcxx::barrier();
  EXPECT_EQ(big.read(2), numbers(left, heap_ints));
  upcxx::barrier();
  upcxx::promise<> all;
  for (int i = 0; i < 2000; ++i) {
    upcxx::copy(mine.data() + i, big.at(right, i % 3) + i, 1, operation_cx::as_promise(all));
  }
  all.finalize().wait();
  upcxx::barrier();
  int wrong = 0;
  for (int k = 0; k < kinds; ++k) {
    std::vector<int> const found = big.read(k);
    for (int i = k; i < 2000; i += kinds) wrong += found[static_cast<std::size_t>(i)] != left + i ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(kinds_test, copies_of_a_batch_arrive_whoever_waits_for_them) {
  constexpr int n_copies = 300;
  everywhere const e(2 * n_copies);
  std::vector<int> mine(2 * n_copies, -1);
  std::iota(mine.begin(), mine.begin() + n_copies, me * 1000);
  for (int kind = 0; kind < kinds; ++kind) e.fill(kind, mine);
  notified = 0;
  upcxx::barrier();
  upcxx::promise<> all;
  {
    atl::copy_batch const together;
    for (int i = 0; i < n_copies; ++i) {
      auto const from = e.at(me, 1 + i / 100 % 2) + i;
      auto const to = e.at(i % 3 == 0 ? left : right, i % kinds) + n_copies + i;
      if (i % 10 == 0) {
        upcxx::copy(from, to, 1, operation_cx::as_promise(all) | remote_cx::as_rpc([] { ++notified; }));
      } else {
        upcxx::copy(from, to, 1, operation_cx::as_promise(all));
      }
      // Not before the batch has ended, but for who asks; in an inner one, too.
      atl::copy_batch const inner;
      if (i % 97 == 0) upcxx::copy(from, to, 1).wait();
    }
  }
  all.finalize().wait();
  multirank::spin_until([&] { return notified == n_copies / 10; });
  upcxx::barrier();
  for (int kind = 0; kind < kinds; ++kind) {
    std::vector<int> const got = e.read(kind);
    for (int i = 0; i < n_copies; ++i) {
      if (i % kinds != kind) continue;
      EXPECT_EQ(got[static_cast<std::size_t>(n_copies + i)], (i % 3 == 0 ? right : left) * 1000 + i);
    }
  }
}

TEST_F(kinds_test, outstanding_copies_need_progress_and_discharge_waits_for_them) {
  everywhere const data(64);
  notified = 0;
  upcxx::barrier();
  upcxx::discharge();  // a bad network may have had no room for this rank's part of the barrier
  EXPECT_FALSE(upcxx::progress_required());
  int const in = 5 + me;
  upcxx::copy(&in, data.cuda(right), 1, remote_cx::as_rpc([] { ++notified; }));
  EXPECT_TRUE(upcxx::progress_required());
  upcxx::discharge();
  EXPECT_FALSE(upcxx::progress_required());
  multirank::spin_until([] { return notified == 1; });
  EXPECT_EQ(data.read(1)[0], 5 + left);
}

TEST_F(kinds_test, remote_calls_that_find_no_memory_leave_later) {
  // The test's limit of private memory (CMakeLists.txt) is far below what is under way here.
  constexpr int copies = 100;
  everywhere const data(64);
  notified = 0;
  upcxx::barrier();
  int const in_barrier = notified;  // of a rank that is ahead
  std::vector<int> const load = numbers(me, 50000);
  for (int i = 0; i < copies; ++i) {
    upcxx::copy(load.data(), data.cuda(right), 1,
                remote_cx::as_rpc([](std::vector<int> const& v,
                                     int from) { notified += v == numbers(from, 50000) ? 1 : 0; },
                                  load, me));
  }
  for (int i = 0; i < 1000; ++i) upcxx::progress(upcxx::progress_level::internal);
  EXPECT_EQ(notified, in_barrier);
  multirank::spin_until([] { return notified == copies; });
  upcxx::barrier();  // the neighbour has all of this rank's, so nothing reads the load any more
}

TEST(devices_test, drivers_are_asked_for_all_queues_where_ranks_copy_for_others) {
  if (queues_given) GTEST_SKIP() << "the environment says how many";
  char const* const sharing = std::getenv("ATOLL_GPU_SHARING");
  bool const for_others =
      upcxx::local_team().rank_n() != upcxx::rank_n() || (sharing != nullptr && std::string(sharing) == "no");
  char const* const queues = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  EXPECT_EQ(queues != nullptr ? std::string(queues) : "", for_others ? "32" : "");
}

#if defined(UPCXX_THREADMODE) && UPCXX_THREADMODE
TEST_F(kinds_test, a_thread_hears_of_its_own_copies) {
  everywhere const data(8);
  std::atomic<bool> ready{false};
  std::thread other([&] {
    upcxx::persona mine;
    upcxx::persona_scope const scope(mine);
    int lpcs = 0;
    for (int i = 0; i < 20; ++i) {
      int const in = i;
      int out = -1;
      upcxx::copy(&in, data.cuda(me), 1,
                  operation_cx::as_future() | operation_cx::as_lpc(mine, [&] { ++lpcs; }))
          .wait();
      auto f = upcxx::copy(data.cuda(me), &out, 1);
      auto const seen = std::make_shared<bool>(false);
      auto const g = f.then([&mine, seen] { *seen = mine.active_with_caller(); });
      g.wait();
      EXPECT_TRUE(*seen);
      EXPECT_EQ(out, i);
    }
    while (lpcs < 20) upcxx::progress();
    ready = true;
  });
  while (!ready) upcxx::progress();
  other.join();
}
#endif
