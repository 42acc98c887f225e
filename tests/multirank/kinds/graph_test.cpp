// Graphs of CUDA, captured from streams that communicate, over the fake driver and GPUs.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>

#include <atoll/array.hpp>
#include <atoll/copy_batch.hpp>
#include <atoll/graph.hpp>
#include <atoll/pin.hpp>
#include <atoll/stream.hpp>
#include <atoll/stream_barrier.hpp>
#include <upcxx/experimental/heap.hpp>

#include "multirank/kinds/graph_fixture.hpp"

using device = upcxx::gpu_default_device;

class graph_test : public graph_fixture {};

TEST_F(graph_test, private_memory_that_is_pinned_is_captured) {
  auto const s = atl::make_stream(gpu_);
  auto const p = gpu_.allocate<int>(2000);
  std::vector<int> values(4000, -1);
  auto const pinned = atl::pin(values.data(), values.size() * sizeof(int));
  ASSERT_TRUE(pinned.is_pinned());
  void* const both_ways = capture(s, cuda::capture_global, [&] {
    upcxx::copy(values.data(), p, 2000, atl::on_stream(s));
    upcxx::copy(p, values.data() + 2000, 2000, atl::on_stream(s));
  });
  for (int round = 0; round < 3; ++round) {
    std::fill(values.begin(), values.begin() + 2000, round + me);
    EXPECT_EQ(cu_.launch(both_ways, s.native()), cuda::success);
    atl::wait(s);
    EXPECT_EQ(values, std::vector<int>(4000, round + me));
  }
  EXPECT_EQ(cu_.destroy_executable(both_ways), cuda::success);
}

TEST_F(graph_test, copies_on_the_host_across_the_border_of_two_pins_are_captured) {
  constexpr std::size_t page = 65536;  // of any host, at most
  constexpr std::size_t count = 2 * page / sizeof(int);
  struct alignas(page) pages {
    int values[count];
  };
  auto const s = atl::make_stream(gpu_);
  auto const memory = std::make_unique<pages>();
  int* const values = memory->values;
  auto const first = atl::pin(values, page);
  auto const second = atl::pin(values + count / 2, page);
  ASSERT_TRUE(first.is_pinned() && second.is_pinned());
  pinned<int> const heap(count, -1);
  auto const in_heap = upcxx::to_global_ptr(heap.data());
  void* const out =
      capture(s, cuda::capture_global, [&] { upcxx::copy(values, in_heap, count - 100, atl::on_stream(s)); });
  void* const back = capture(s, cuda::capture_global,
                             [&] { upcxx::copy(in_heap, values + 100, count - 100, atl::on_stream(s)); });
  for (int round = 0; round < 3; ++round) {
    std::iota(values, values + count, 1000 * round + me);
    std::vector<int> expected(values, values + count - 100);
    EXPECT_EQ(cu_.launch(out, s.native()), cuda::success);
    EXPECT_EQ(cu_.launch(back, s.native()), cuda::success);
    atl::wait(s);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), heap.data())) << round;
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), values + 100)) << round;
  }
  EXPECT_EQ(cu_.destroy_executable(out), cuda::success);
  EXPECT_EQ(cu_.destroy_executable(back), cuda::success);
}

TEST_F(graph_test, words_of_a_restored_heap_are_reached_whose_owner_asks_nothing_of_devices) {
  upcxx::experimental::destroy_heap();
  upcxx::experimental::restore_heap();
  auto const words = of_all(upcxx::new_<std::uint64_t>(0));
  std::atomic_ref<std::uint64_t> const own(*words[static_cast<std::size_t>(me)].local());
  if (me == 0) {
    auto const s = atl::make_stream(gpu_);
    void* const signals = capture(s, cuda::capture_global, [&] {
      for (auto const word : words) atl::signal(s, word, 1);
    });
    EXPECT_EQ(cu_.launch(signals, s.native()), cuda::success);
    atl::wait(s);
    EXPECT_EQ(cu_.destroy_executable(signals), cuda::success);
  }
  multirank::spin_until([&] { return own.load(std::memory_order_acquire) == 1; });
  upcxx::barrier();
  upcxx::delete_(words[static_cast<std::size_t>(me)]);
}

TEST_F(graph_test, an_exchange_is_captured_once_and_launched_again_and_again) {
  auto const s = atl::make_stream(gpu_);
  // News and credit: a value that nobody has consumed must not be overwritten.
  auto const own = gpu_.allocate<std::uint64_t>(2);
  std::uint64_t const first[2] = {0, 1};
  upcxx::copy(first, own, 2).wait();
  auto const words = of_all(own);
  auto const landing = of_all(gpu_.allocate<int>(256));
  auto const source = gpu_.allocate<int>(256);
  auto* const in = upcxx::new_array<int>(512).local();
  int* const out = in + 256;
  std::fill(out, out + 256, -1);
  auto const arrived = [out] { return std::vector<int>(out, out + 256); };
  auto const theirs = static_cast<std::size_t>(right);
  void* const exchange = capture(s, cuda::capture_global, [&] {
    upcxx::copy(in, source, 256, atl::on_stream(s));
    atl::wait(s, own + 1, 1, atl::signal_cmp::equal);
    atl::signal(s, own + 1, 0);
    upcxx::copy(source, landing[theirs], 256,
                atl::on_stream(s) | atl::remote_cx::as_signal(words[theirs], 1));
    atl::wait(s, own, 1, atl::signal_cmp::equal);
    atl::signal(s, own, 0);
    upcxx::copy(landing[static_cast<std::size_t>(me)], out, 256, atl::on_stream(s));
    atl::signal(s, words[static_cast<std::size_t>(left)] + 1, 1);
  });
  EXPECT_EQ(arrived(), std::vector<int>(256, -1));
  for (int round = 0; round < 30; ++round) {
    std::fill(in, in + 256, 100 * round + me);
    ASSERT_EQ(cu_.launch(exchange, s.native()), cuda::success);
    atl::wait(s);
    EXPECT_EQ(arrived(), std::vector<int>(256, 100 * round + left)) << round;
  }
  // Without a host in between.
  for (int round = 0; round < 50; ++round) ASSERT_EQ(cu_.launch(exchange, s.native()), cuda::success);
  atl::wait(s);
  EXPECT_EQ(arrived(), std::vector<int>(256, 2900 + left));
  EXPECT_EQ(cu_.destroy_executable(exchange), cuda::success);
  upcxx::delete_array(upcxx::to_global_ptr(in));
  upcxx::barrier();
}

TEST_F(graph_test, additions_and_resets_are_nodes) {
  auto const s = atl::make_stream(gpu_);
  auto const own = gpu_.allocate<std::uint64_t>(2);
  std::uint64_t const first[2] = {0, 0};
  upcxx::copy(first, own, 2).wait();
  auto const words = of_all(own);
  auto const ranks = static_cast<std::uint64_t>(upcxx::rank_n());
  auto* const seen = upcxx::new_<std::uint64_t>(0).local();
  // All add to all, twice: the second time nobody is left who waits for the first.
  void* const made = capture(s, cuda::capture_global, [&] {
    for (int pass = 0; pass < 2; ++pass) {
      for (auto const word : words) atl::signal(s, word + pass, 2, atl::signal_op::add);
      atl::wait_and_reset(s, own + pass, 2 * ranks, atl::signal_cmp::equal,
                          static_cast<std::uint64_t>(pass) * 5);
      if (pass == 0) continue;
      atl::fetch(s, own + 1, seen);
      atl::reset(s, own + 1);
    }
  });
  for (int round = 0; round < 30; ++round) {
    *seen = 0;
    ASSERT_EQ(cu_.launch(made, s.native()), cuda::success);
    atl::wait(s);
    EXPECT_EQ(*seen, 5u);
    // The last word is reset after it was waited for, so a credit is needed.
    upcxx::barrier();
  }
  EXPECT_EQ(cu_.destroy_executable(made), cuda::success);
  upcxx::delete_(upcxx::to_global_ptr(seen));
}

TEST_F(graph_test, a_capture_that_the_driver_has_given_up_ends_by_its_exception) {
  auto const s = atl::make_stream(gpu_);
  auto const flag = filled<std::uint64_t>(1, 0);
  auto const small = filled(2, 7);
  auto const give_up = [&] {
    atl::signal(s, flag, 1);
    atl::copy_batch const kept;
    upcxx::copy(small, small + 1, 1, atl::on_stream(s));
    // A device cannot be waited for beside a capture.
    EXPECT_NE(cu_.synchronize(), cuda::success);
    throw std::runtime_error("no graph");
  };
  EXPECT_THROW(static_cast<void>(atl::capture(s, give_up)), std::runtime_error);
  EXPECT_FALSE(s.is_captured());
  atl::graph const after = atl::capture(s, [&] { atl::signal(s, flag, 2); });
  after.launch(s);
  atl::wait(s);
  EXPECT_EQ(content(flag, 1), std::vector<std::uint64_t>{2});
}

TEST_F(graph_test, small_copies_of_a_batch_are_one_node) {
  auto const s = atl::make_stream(gpu_);
  auto const source = gpu_.allocate<int>(4000);
  auto const landing = of_all(gpu_.allocate<int>(4000));
  auto const words = of_all(gpu_.allocate<std::uint64_t>(1));
  auto const mine = static_cast<std::size_t>(me);
  auto const theirs = static_cast<std::size_t>(right);
  std::uint64_t const zero = 0;
  upcxx::copy(&zero, words[mine], 1).wait();
  auto* const host = upcxx::new_array<int>(8000).local();
  upcxx::barrier();
  void* const made = capture(s, cuda::capture_global, [&] {
    upcxx::copy(host, source, 4000, atl::on_stream(s));
    {
      atl::copy_batch const together;
      // Of odd sizes and at odd places, too.
      for (int i = 0; i < 40; ++i) {
        upcxx::copy(source + i * 100, landing[theirs] + i * 100,
                    static_cast<std::size_t>(i % 3 == 0 ? 100 : 99), atl::on_stream(s));
        if (i % 3 != 0)
          upcxx::copy(source + i * 100 + 99, landing[theirs] + i * 100 + 99, 1, atl::on_stream(s));
      }
      atl::signal(s, words[theirs], 1);
    }
    atl::wait(s, words[mine], 1, atl::signal_cmp::equal);
    atl::signal(s, words[mine], 0);
    upcxx::copy(landing[mine], host + 4000, 4000, atl::on_stream(s));
  });
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 4000; ++i) host[i] = 100000 * me + 10000 * round + i;
    ASSERT_EQ(cu_.launch(made, s.native()), cuda::success);
    atl::wait(s);
    for (int i = 0; i < 4000; ++i)
      ASSERT_EQ(host[4000 + i], 100000 * left + 10000 * round + i) << round << ' ' << i;
    upcxx::barrier();  // in the place of a credit
  }
  EXPECT_EQ(cu_.destroy_executable(made), cuda::success);
  upcxx::delete_array(upcxx::to_global_ptr(host));
}

TEST_F(graph_test, the_library_goes_on_beside_a_capture) {
  auto const s = atl::make_stream(gpu_);
  auto const p = gpu_.allocate<int>(1000);
  auto const all = of_all(p);
  std::vector<int> const values(1000, me);
  for (auto const mode : {cuda::capture_global, cuda::capture_thread_local, cuda::capture_relaxed}) {
    std::vector<int> found(1000, -1);
    auto* const in_graph = upcxx::new_array<int>(1000).local();
    auto const before = upcxx::copy(values.data(), p, 1000);
    void* const made = capture(s, mode, [&] {
      before.wait();
      upcxx::barrier();
      upcxx::copy(all[static_cast<std::size_t>(right)], found.data(), 1000).wait();
      upcxx::copy(p, in_graph, 1000, atl::on_stream(s));
      EXPECT_EQ(upcxx::rpc(right, [] { return 5; }).wait(), 5);
      // And so do other streams.
      auto const other = atl::make_stream(gpu_);
      atl::wait(other);
    });
    EXPECT_EQ(found, std::vector<int>(1000, right));
    ASSERT_EQ(cu_.launch(made, s.native()), cuda::success);
    atl::wait(s);
    EXPECT_EQ(std::vector<int>(in_graph, in_graph + 1000), values);
    upcxx::delete_array(upcxx::to_global_ptr(in_graph));
    EXPECT_EQ(cu_.destroy_executable(made), cuda::success);
    upcxx::barrier();
  }
}

TEST_F(graph_test, segments_stay_for_the_graphs_that_use_them) {
  auto const s = atl::make_stream(gpu_);
  auto* const host = upcxx::new_array<int>(200).local();
  for (bool const launched_last : {false, true}) {
    auto other = upcxx::make_gpu_allocator<device>(mib, gpu_.device_id());
    auto const memory = of_all(other.allocate<int>(200));
    auto const own = memory[static_cast<std::size_t>(me)];
    auto const theirs = memory[static_cast<std::size_t>(right)] + 100;
    int const objects = cu_.fake == nullptr ? 0 : cu_.fake->user_objects.load();
    void* const made = capture(s, cuda::capture_global, [&] {
      upcxx::copy(host, own, 100, atl::on_stream(s));
      upcxx::copy(own, theirs, 100, atl::on_stream(s));
      upcxx::copy(theirs, host + 100, 100, atl::on_stream(s));
    });
    // One for host memory and both segments.
    if (cu_.fake != nullptr) {
      EXPECT_EQ(cu_.fake->user_objects, objects + 1);
    }
    upcxx::barrier();
    int const before = cu_.fake == nullptr ? 0 : cu_.fake->mappings.load();
    other.destroy();
    if (cu_.fake != nullptr) {
      EXPECT_EQ(cu_.fake->mappings, before);
    }
    for (int round = 0; round < 3; ++round) {
      std::fill(host, host + 100, 100 * me + round);
      std::fill(host + 100, host + 200, -1);
      ASSERT_EQ(cu_.launch(made, s.native()), cuda::success);
      if (round == 2 && launched_last) break;
      atl::wait(s);
      EXPECT_EQ(std::vector<int>(host + 100, host + 200), std::vector<int>(100, 100 * me + round));
      upcxx::barrier();
    }
    EXPECT_EQ(cu_.destroy_executable(made), cuda::success);
    if (launched_last) {
      atl::wait(s);
      EXPECT_EQ(std::vector<int>(host + 100, host + 200), std::vector<int>(100, 100 * me + 2));
    }
    // Nobody keeps them any more, neither owner nor neighbour.
    if (cu_.fake != nullptr) {
      int const gone = upcxx::rank_n() == 1 ? 1 : 2;
      while (cu_.fake->mappings > before - gone) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        atl::wait(s);
      }
      EXPECT_EQ(cu_.fake->mappings, before - gone);
    }
    upcxx::barrier();
  }
  upcxx::delete_array(upcxx::to_global_ptr(host));
}

TEST_F(graph_test, the_programs_memory_is_given_back_when_graphs_that_use_it_are_gone) {
  auto const s = atl::make_stream(gpu_);
  cuda::pointer memory = 0;
  ASSERT_EQ(cu_.allocate(&memory, mib), cuda::success);
  auto other = upcxx::make_gpu_allocator<device>(
      mib, gpu_.device_id(), reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory)));
  auto const words = other.allocate<std::uint64_t>(1);
  // A node that only waits uses it, too.
  void* const made =
      capture(s, cuda::capture_global, [&] { atl::wait(s, words, 1, atl::signal_cmp::equal); });
  std::atomic<bool> destroyed{false};
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    destroyed = true;
    EXPECT_EQ(cu_.destroy_executable(made), cuda::success);
  });
  other.destroy();
  EXPECT_TRUE(destroyed);
  later.join();
  EXPECT_EQ(cu_.deallocate(memory), cuda::success);
}

TEST_F(graph_test, a_barrier_of_streams_is_entered_with_every_launch) {
  atl::stream_barrier all(gpu_);
  auto const s = atl::make_stream(gpu_);
  auto const words = of_all(gpu_.allocate<int>(1));
  auto* const in = upcxx::new_array<int>(2).local();
  void* const made = capture(s, cuda::capture_global, [&] {
    upcxx::copy(in, words[static_cast<std::size_t>(me)], 1, atl::on_stream(s));
    all.enter(s);
    upcxx::copy(words[static_cast<std::size_t>(right)], in + 1, 1, atl::on_stream(s));
    all.enter(s);
  });
  for (int round = 0; round < 20; ++round) {
    in[0] = 1000 * me + round;
    if (round % 4 == me % 4) upcxx::progress();
    ASSERT_EQ(cu_.launch(made, s.native()), cuda::success);
    atl::wait(s);
    EXPECT_EQ(in[1], 1000 * right + round);
    if (round % 7 == 0) all.enter(s);  // what is captured and what is not do not disturb each other
  }
  atl::wait(s);
  EXPECT_EQ(cu_.destroy_executable(made), cuda::success);
  upcxx::delete_array(upcxx::to_global_ptr(in));
  all.destroy();
}

TEST_F(graph_test, runs_of_a_ghost_exchange_are_captured) {
  auto const s = atl::make_stream(gpu_);
  // A ring of boxes of 6 x 8 points, cut in the dimension in which single elements are ghosts.
  atl::domain<2> const interior{{6 * me, 0}, {6 * me + 6, 8}};
  auto const box = atl::make_array<int>(gpu_, interior.grow({1, 1}));
  auto const filling = atl::make_array<int>(interior);
  std::vector<atl::array<int, 2, device::kind>> const boxes{box};
  atl::ghost_exchange<int, 2, device::kind> halo(boxes, 1, atl::shape::faces,
                                                 atl::domain<2>{{0, 0}, {6 * n, 0}});
  halo.use_streams(gpu_);
  EXPECT_EQ(halo.statistics().device_copies, 16U);
  // Both columns that this rank gives are kernels, one each.
  std::uint64_t const kernels = cu_.fake == nullptr ? 0 : cu_.fake->kernels.load();
  halo.run();
  halo.run(s);
  atl::wait(s);
  if (cu_.fake != nullptr) {
    EXPECT_EQ(cu_.fake->kernels, kernels + 4);
  }
  // So are copies between other layouts.
  auto const across = atl::make_array<int>(gpu_, interior, atl::order::last_fastest);
  atl::copy(box, across).wait();
  atl::copy(across, box, atl::on_stream(s));
  atl::wait(s);
  if (cu_.fake != nullptr) {
    EXPECT_EQ(cu_.fake->kernels, kernels + 6);
  }
  upcxx::barrier();
  auto const seen = atl::make_array<int>(interior.grow({1, 0}));
  void* const two_steps = capture(s, cuda::capture_global, [&] {
    for (int step = 0; step < 2; ++step) {
      atl::copy(filling, box, atl::on_stream(s));
      halo.run(s);
    }
    atl::copy(box, seen, atl::on_stream(s));
  });
  for (int round = 0; round < 5; ++round) {
    for (auto const& p : interior) filling[p] = 1000 * round + static_cast<int>(10 * p[0] + p[1]);
    // In between not captured.
    if (round == 3) {
      atl::copy(filling, box, atl::on_stream(s));
      halo.run(s);
    }
    EXPECT_EQ(cu_.launch(two_steps, s.native()), cuda::success);
    atl::wait(s);
    for (auto const& p : seen.domain()) {
      auto const original = (p[0] + 6 * n) % (6 * n);
      EXPECT_EQ(seen[p], 1000 * round + 10 * original + p[1]) << round << ", " << p[0] << ", " << p[1];
    }
    upcxx::barrier();
  }
  EXPECT_EQ(cu_.destroy_executable(two_steps), cuda::success);
  upcxx::barrier();
}
