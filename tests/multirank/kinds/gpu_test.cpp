// What only a driver shows, real or fake: devices that work while their processes do something else, memory
// that the program allocated itself, several devices in a rank.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include <atoll/engine/kernels.hpp>
#include <atoll/stream.hpp>
#include <upcxx/experimental/heap.hpp>

#include "multirank/kinds/on_devices.hpp"
#include "multirank/kinds/opened_driver.hpp"

namespace {

namespace cuda = atl::memory::cuda;
using upcxx::cuda_device;
using upcxx::memory_kind;
using upcxx::remote_cx;
using ints_ptr = upcxx::global_ptr<int, memory_kind::cuda_device>;
using allocator = upcxx::device_allocator<cuda_device>;

cuda::api& driver() { return opened_driver(); }

}  // namespace

class gpu_test : public multirank::fixture {
 protected:
  void SetUp() override {
    fixture::SetUp();
    int const most = upcxx::reduce_all(cuda_device::device_n(), upcxx::op_fast_max).wait();
    if (driver().init == nullptr || most == 0) GTEST_SKIP() << cuda_device::kind_info();
  }

  /// Whether ranks copy from memory of others by themselves, not by its owner.
  static bool is_shared() {
    char const* const sharing = std::getenv("ATOLL_GPU_SHARING");
    return sharing == nullptr || std::string_view(sharing) != "no";
  }
  /// In rank 1's memory, known to all.
  ints_ptr sevens_of_rank_1(allocator& memory, std::size_t count) const {
    ints_ptr source;
    if (me == 1) {
      source = memory.allocate<int>(count);
      std::vector<int> const sevens(count, 7);
      upcxx::copy(sevens.data(), source, count).wait();
    }
    return upcxx::broadcast(source, 1).wait();
  }
};

TEST_F(gpu_test, an_initiator_that_computes_delays_no_notified_copy) {
  // Rank 0 starts the copy and then waits for a word of its memory, without calling the library. Only the
  // call that the copy announces writes it, at the target, which has looked at the data first: if that needed
  // rank 0, the test would never end.
  auto memory = upcxx::make_gpu_allocator(mib);
  auto const landing = of_all(memory.allocate<int>(2000));
  multirank::shared_array<int> const seen(1);
  std::atomic_ref<int> word(*seen.local());
  for (bool const from_device : {false, true}) {
    word.store(0);
    upcxx::barrier();
    if (me == 0 && n > 1) {
      std::vector<int> const values(1000, from_device ? 7 : 5);
      ints_ptr const own = landing[0] + 1000;
      if (from_device) upcxx::copy(values.data(), own, 1000).wait();
      auto const tell = remote_cx::as_rpc(
          [](ints_ptr p, upcxx::global_ptr<int> to) {
            auto const found = std::make_shared<std::vector<int>>(1000);
            upcxx::copy(p, found->data(), 1000).then([found, to] {
              EXPECT_EQ(*found, std::vector<int>(1000, found->front()));
              std::atomic_ref<int>(*to.local()).store(found->front());
            });
          },
          landing[static_cast<std::size_t>(n - 1)], seen.at(0));
      auto const done = from_device ? upcxx::copy(own, landing[static_cast<std::size_t>(n - 1)], 1000,
                                                  tell | upcxx::operation_cx::as_future())
                                    : upcxx::copy(values.data(), landing[static_cast<std::size_t>(n - 1)],
                                                  1000, tell | upcxx::operation_cx::as_future());
      while (word.load() == 0) {
      }
      EXPECT_EQ(word.load(), from_device ? 7 : 5);
      done.wait();
    }
    upcxx::barrier();
  }
  memory.destroy();
}

TEST_F(gpu_test, of_many_notified_copies_an_initiator_that_computes_delays_the_last_only) {
  // As above, with many: the first sixteen calls run while rank 0 does nothing for them, all others when it looks.
  constexpr int many = 61;
  constexpr int at_least = 16;
  auto memory = upcxx::make_gpu_allocator(mib);
  auto const own = memory.allocate<int>(many);
  auto const landing = of_all(memory.allocate<int>(many));
  multirank::shared_array<int> const seen(1);
  std::atomic_ref<int> word(*seen.local());
  word.store(0);
  upcxx::barrier();
  if (me == 0 && n > 1) {
    std::vector<int> values(many);
    for (int i = 0; i < many; ++i) values[static_cast<std::size_t>(i)] = 100 + i;
    upcxx::copy(values.data(), own, many).wait();
    upcxx::promise<> all;
    ints_ptr const there = landing[static_cast<std::size_t>(n - 1)];
    for (int i = 0; i < many; ++i) {
      upcxx::copy(own + i, there + i, 1,
                  remote_cx::as_rpc(
                      [](ints_ptr p, int expected, upcxx::global_ptr<int> to) {
                        auto const found = std::make_shared<int>(-1);
                        upcxx::copy(p, found.get(), 1).then([found, expected, to] {
                          EXPECT_EQ(*found, expected);
                          std::atomic_ref<int>(*to.local()).fetch_add(1);
                        });
                      },
                      there + i, 100 + i, seen.at(0)) |
                      upcxx::operation_cx::as_promise(all));
    }
    EXPECT_TRUE(upcxx::progress_required());
    while (word.load() < at_least) {
    }
    all.finalize().wait();
    while (word.load() < many) upcxx::progress();
    EXPECT_EQ(word.load(), many);
  }
  upcxx::barrier();
  memory.destroy();
}

TEST_F(gpu_test, every_device_of_every_rank_reaches_every_other) {
  std::vector<cuda_device> devices;
  std::vector<allocator> allocators;
  std::vector<std::vector<ints_ptr>> all;
  int const most = upcxx::reduce_all(cuda_device::device_n(), upcxx::op_fast_max).wait();
  for (int d = 0; d < most; ++d) {
    devices.emplace_back(d < cuda_device::device_n() ? d : cuda_device::invalid_device_id);
    allocators.emplace_back(devices.back(), mib);
    all.push_back(of_all(allocators.back().is_active() ? allocators.back().allocate<int>(256) : nullptr));
  }
  for (std::size_t from = 0; from < all.size(); ++from) {
    for (std::size_t to = 0; to < all.size(); ++to) {
      ints_ptr const source = all[from][static_cast<std::size_t>(me)];
      ints_ptr const target = all[to][static_cast<std::size_t>(right)];
      int const in = static_cast<int>(1000 * from + 10 * to) + me;
      int out = -1;
      if (source && target) {
        upcxx::copy(&in, source + 3, 1).wait();
        upcxx::copy(source + 3, target + 5, 1).wait();
        upcxx::copy(target + 5, &out, 1).wait();
        EXPECT_EQ(out, in) << "from device " << from << " to device " << to;
      }
      upcxx::barrier();
    }
  }
  for (auto& device : devices) device.destroy();
}

TEST_F(gpu_test, a_rank_without_devices_copies_to_from_and_between_those_of_others) {
  auto memory = upcxx::make_gpu_allocator(mib);
  std::size_t const slots = static_cast<std::size_t>(n);
  auto const all = of_all(memory.is_active() ? memory.allocate<int>(2 * slots) : nullptr);
  multirank::shared_array<int> const host(1);
  static int told;
  told = 0;
  int expected = 0;
  upcxx::barrier();
  for (int r = 0; r < n; ++r) {
    ints_ptr const p = all[static_cast<std::size_t>(r)];
    ints_ptr const q = all[static_cast<std::size_t>((r + 1) % n)];
    if (r == me && p) expected = n;
    if (!p) continue;
    int const in = 100 * me + r;
    int out = -1;
    auto const call = remote_cx::as_rpc(
        [](ints_ptr to, int value) {
          auto const found = std::make_shared<int>(-1);
          upcxx::copy(to, found.get(), 1).then([found, value] {
            EXPECT_EQ(*found, value);
            ++told;
          });
        },
        p + me, in);
    upcxx::copy(&in, p + me, 1, call | upcxx::operation_cx::as_future()).wait();
    if (q) upcxx::copy(p + me, q + n + me, 1).wait();
    upcxx::copy(q ? q + n + me : p + me, host.at(me), 1).wait();
    upcxx::copy(host.at(me), p + n + me, 0).wait();
    upcxx::copy(p + me, &out, 1).wait();
    EXPECT_EQ(out, in);
    EXPECT_EQ(*host.local(), in);
  }
  multirank::spin_until([&] { return told == expected; });
  upcxx::barrier();
  memory.destroy();
}

TEST_F(gpu_test, devices_forget_the_memory_of_a_heap_that_is_destroyed) {
  // They pin it. Pages of the restored heap are others, at the same addresses.
  if (upcxx::reduce_all(cuda_device::device_n(), upcxx::op_fast_min).wait() == 0) GTEST_SKIP() << "one each";
  constexpr std::size_t count = 20000;
  auto memory = upcxx::make_gpu_allocator(mib);
  auto const landing = of_all(memory.allocate<int>(count));
  for (int round = 0; round < 3; ++round) {
    auto const out = upcxx::new_array<int>(count);
    auto const in = upcxx::allocate<int>(count);
    std::fill_n(out.local(), count, 1000 * round + me);
    upcxx::copy(out, landing[static_cast<std::size_t>(right)], count).wait();
    upcxx::barrier();
    upcxx::copy(landing[static_cast<std::size_t>(me)], in, count).wait();
    EXPECT_EQ(std::count(in.local(), in.local() + count, 1000 * round + left), count) << "round " << round;
    upcxx::barrier();
    upcxx::experimental::destroy_heap();
    upcxx::experimental::restore_heap();
  }
  memory.destroy();
}

TEST_F(gpu_test, a_restored_heap_is_pinned_though_devices_were_used_while_there_was_none) {
  if (upcxx::reduce_all(cuda_device::device_n(), upcxx::op_fast_min).wait() == 0) GTEST_SKIP() << "one each";
  auto memory = upcxx::make_gpu_allocator(mib);
  upcxx::experimental::destroy_heap();
  upcxx::make_gpu_allocator(mib).destroy();
  upcxx::experimental::restore_heap();
  // The stream waits for a word of the heap, which must be pinned for that.
  auto const s = atl::make_stream(memory);
  upcxx::promise<> ready;
  atl::wait(s, ready.get_future());
  auto const come = atl::when(s);
  EXPECT_FALSE(come.is_ready());
  ready.finalize();
  come.wait();
  upcxx::barrier();
  memory.destroy();
}

TEST_F(gpu_test, memory_that_the_program_allocated_is_shared_and_stays_its_own) {
  cuda::context context = nullptr;
  cuda::context before = nullptr;
  cuda::pointer memory = 0;
  cuda::api& cu = driver();
  ASSERT_EQ(cu.primary_retain(&context, 0), cuda::success);
  cu.context_push(context);
  ASSERT_EQ(cu.memory_alloc(&memory, 65536), cuda::success);
  cu.context_pop(&before);
  for (std::uint64_t const offset : {0, 4096}) {
    cuda_device device(0);
    allocator over(device, reinterpret_cast<void*>(memory + offset), 32768);
    auto const all = of_all(over.allocate<int>(16));
    int const in = 100 + me;
    int out = -1;
    upcxx::copy(&in, all[static_cast<std::size_t>(right)] + 7, 1).wait();
    upcxx::barrier();
    upcxx::copy(all[static_cast<std::size_t>(me)] + 7, &out, 1).wait();
    EXPECT_EQ(out, 100 + left);
    device.destroy();
  }
  cu.context_current(&before);
  EXPECT_EQ(before, nullptr) << "the library left a context behind";
  cu.context_push(context);
  EXPECT_EQ(cu.memory_free(memory), cuda::success);
  cu.context_pop(&before);
  cu.primary_release(0);
}

TEST_F(gpu_test, what_a_program_has_current_is_so_again_after_a_launch) {
  constexpr auto cuda_kind = static_cast<unsigned>(memory_kind::cuda_device);
  cuda::api& cu = driver();
  int const last = cuda_device::device_n() - 1;
  cuda_device device(last);
  allocator over(device, mib);
  for (int programs = -1; programs <= last; ++programs) {
    cuda::context own = nullptr;
    cuda::context before = nullptr;
    cuda::context now = nullptr;
    cuda::context gone = nullptr;
    ASSERT_EQ(cu.primary_retain(&own, last), cuda::success);
    if (programs >= 0) {
      ASSERT_EQ(cu.primary_retain(&before, programs), cuda::success);
      cu.context_push(before);
    }
    // As launch() does.
    bool const entered = atl::engine::enter_device(cuda_kind, last);
    EXPECT_EQ(entered, before != own);
    cu.context_current(&now);
    EXPECT_EQ(now, own);
    if (entered) atl::engine::leave_device(cuda_kind);
    cu.context_current(&now);
    EXPECT_EQ(now, before);
    if (programs >= 0) {
      cu.context_pop(&gone);
      cu.primary_release(programs);
    }
    cu.context_current(&now);
    EXPECT_EQ(now, nullptr);
    cu.primary_release(last);
  }
  upcxx::barrier();
  device.destroy();
}

/// They have one name. That one of them has come by says nothing of the other, which still needs a segment whose owner has ended it.
TEST_F(gpu_test, default_streams_of_two_devices_are_not_taken_for_each_other) {
  int const most = upcxx::broadcast(cuda_device::device_n(), 0).wait();
  if (n < 2 || most < 2 || !is_shared())
    GTEST_SKIP() << "one device, or one rank, or copies by the segment's owner";
  constexpr std::size_t count = 1000;
  cuda::api& cu = driver();
  bool const waits = me == 0;
  bool const ends = me == 1;
  cuda_device first(waits ? 0 : cuda_device::invalid_device_id);
  cuda_device second(waits ? 1 : cuda_device::invalid_device_id);
  cuda_device theirs(ends ? 0 : cuda_device::invalid_device_id);
  allocator mine(first, mib);
  allocator other(second, mib);
  allocator ended(theirs, mib);
  ints_ptr const source = sevens_of_rank_1(ended, count);
  cuda::context contexts[2] = {};
  cuda::context gone = nullptr;
  upcxx::global_ptr<std::uint64_t> word;
  ints_ptr target;
  if (waits) {
    for (int d : {0, 1}) ASSERT_EQ(cu.primary_retain(&contexts[d], d), cuda::success);
    target = mine.allocate<int>(count);
    word = upcxx::new_<std::uint64_t>(0);
    cu.context_push(contexts[0]);
    atl::stream const of_first(static_cast<CUstream_st*>(nullptr));
    ASSERT_EQ(of_first.device_id(), 0);
    atl::wait(of_first, word, 1);
    upcxx::copy(source, target, count, atl::on_stream(of_first));
    cu.context_pop(&gone);
    cu.context_push(contexts[1]);
    atl::stream const of_second(static_cast<CUstream_st*>(nullptr));
    ASSERT_EQ(of_second.device_id(), 1);
    atl::wait(of_second);
    cu.context_pop(&gone);
  }
  ended.destroy();
  for (int i = 0; i < 50; ++i) upcxx::barrier();
  if (waits) {
    std::atomic_ref<std::uint64_t>(*word.local()).store(1, std::memory_order_release);
    cu.context_push(contexts[0]);
    atl::wait(atl::stream(static_cast<CUstream_st*>(nullptr)));
    cu.context_pop(&gone);
    std::vector<int> got(count);
    upcxx::copy(target, got.data(), count).wait();
    EXPECT_EQ(got, std::vector<int>(count, 7));
    upcxx::delete_(word);
    for (int d : {0, 1}) cu.primary_release(d);
  }
  upcxx::barrier();
  first.destroy();
  second.destroy();
  theirs.destroy();
}

TEST_F(gpu_test, a_stream_that_was_ended_is_not_taken_for_a_new_one_with_its_handle) {
  // The driver does what is left in a stream that the program ends, and may give its handle to the next one. That one has come by does
  // not mean that nobody uses the peer's segment any more, which is gone meanwhile.
  int const least = upcxx::reduce_all(cuda_device::device_n(), upcxx::op_fast_min).wait();
  if (n < 2 || least == 0 || !is_shared()) GTEST_SKIP() << "one rank, or copies by the segment's owner";
  bool const waits = me == 0;
  bool const ends = me == 1;
  constexpr std::size_t count = 1000;
  cuda::api& cu = driver();
  cuda_device first(waits ? 0 : cuda_device::invalid_device_id);
  cuda_device theirs(ends ? 0 : cuda_device::invalid_device_id);
  allocator mine(first, mib);
  allocator ended(theirs, mib);
  ints_ptr const source = sevens_of_rank_1(ended, count);
  cuda::context context = nullptr;
  upcxx::global_ptr<std::uint64_t> word;
  ints_ptr target;
  if (waits) {
    ASSERT_EQ(cu.primary_retain(&context, 0), cuda::success);
    cu.context_push(context);
    target = mine.allocate<int>(count);
    word = upcxx::new_<std::uint64_t>(0);
    cuda::stream s = nullptr;
    ASSERT_EQ(cu.stream_create(&s, 1), cuda::success);
    atl::stream const given_up(reinterpret_cast<CUstream_st*>(s));
    atl::wait(given_up, word, 1);
    upcxx::copy(source, target, count, atl::on_stream(given_up));
    ASSERT_EQ(cu.stream_destroy(s), cuda::success);
  }
  ended.destroy();
  for (int i = 0; i < 50; ++i) upcxx::barrier();
  if (waits) {
    cuda::stream next = nullptr;
    ASSERT_EQ(cu.stream_create(&next, 1), cuda::success);
    atl::wait(atl::stream(reinterpret_cast<CUstream_st*>(next)));
    std::atomic_ref<std::uint64_t>(*word.local()).store(1, std::memory_order_release);
    ASSERT_EQ(cu.context_synchronize(), cuda::success);
    std::vector<int> got(count);
    upcxx::copy(target, got.data(), count).wait();
    EXPECT_EQ(got, std::vector<int>(count, 7));
    upcxx::delete_(word);
    ASSERT_EQ(cu.stream_destroy(next), cuda::success);
    cu.context_pop(&context);
    cu.primary_release(0);
  }
  upcxx::barrier();
  first.destroy();
  theirs.destroy();
}
