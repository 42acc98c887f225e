// Communication in the order of streams by threads that do nothing else.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <atoll/copy_batch.hpp>
#include <atoll/engine/kernels.hpp>
#include <atoll/stream_collectives.hpp>
#include <atoll/stream_reduction.cuh>

#include "multirank/kinds/stream_fixture.hpp"

class stream_threads_test : public stream_fixture {};

/// What is left to be said of its calls another thread says.
TEST_F(stream_threads_test, a_thread_may_end_when_it_has_called_collectives) {
  auto const ranks = static_cast<std::size_t>(n);
  auto const s = atl::make_stream(gpu_);
  auto const source = filled(10, me);
  auto const destination = filled(10 * ranks, -1);
  atl::stream_collectives all(gpu_);
  auto const to = all.bind(destination, 10 * ranks);
  for (int i = 0; i < 3; ++i) {
    std::thread([&] { to.gather_all(s, source, 10); }).join();
    atl::wait(s);
  }
  auto const found = content(destination, 10 * ranks);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], static_cast<int>(i / 10)) << i;
  all.destroy();
}

/// Where hosts do them they meet in messages, which come to the thread that has the master persona.
TEST_F(stream_threads_test, reductions_are_called_beside_the_thread_that_has_the_master_persona) {
  constexpr std::size_t count = 10;
  auto const s = atl::make_stream(gpu_);
  auto const source = filled(count, me + 1);
  auto const destination = filled(count, -1);
  atl::stream_reduction sums(gpu_, upcxx::world(), count);
  std::atomic<bool> done = false;
  std::thread calls([&] {
    for (int i = 0; i < 20; ++i) {
      sums.reduce_all(s, source, destination, count, atl::device::plus{});
      if (i % 5 == 4) atl::wait(s);
    }
    done = true;
  });
  while (!done) upcxx::progress();
  calls.join();
  EXPECT_EQ(content(destination, count), std::vector<int>(count, n * (n + 1) / 2));
  sums.destroy();
}

/// Whoever looks for the device of a pointer looks at all that were opened before it, too.
TEST_F(stream_threads_test, devices_are_looked_for_while_segments_of_another_one_come_and_go) {
  using gpu = upcxx::gpu_default_device;
  gpu other(gpu_.device_id());
  gpu asked_for(gpu_.device_id());
  upcxx::device_allocator<gpu> memory(asked_for, mib);
  auto const word = memory.allocate<int>(1);
  std::atomic<int> looks{0};
  std::atomic<bool> over{false};
  std::thread asks([&] {
    for (; !over; ++looks) EXPECT_EQ(memory.device_id(word), gpu_.device_id());
  });
  for (int i = 0; i < 10; ++i) {
    upcxx::device_allocator<gpu> comes_and_goes(other, mib);
    for (int const before = looks; looks == before;) std::this_thread::yield();
    comes_and_goes.destroy();
  }
  over = true;
  asks.join();
  other.destroy();
  asked_for.destroy();
}

/// What a launch does first, over the fake driver alone, since simulated devices keep no copies back.
TEST_F(stream_threads_test, a_launch_by_another_thread_comes_after_what_is_gathered) {
  fake_cuda::control const* const fake = fake_driver();
  if (fake == nullptr) GTEST_SKIP() << "not over the fake driver";
  auto const s = atl::make_stream(gpu_);
  auto const from = filled(2, me);
  auto const to = filled(2, -1);
  {
    atl::copy_batch const together;
    std::uint64_t const before = fake->kernels;
    for (int i = 0; i < 2; ++i) upcxx::copy(from + i, to + i, 1, atl::on_stream(s));
    EXPECT_EQ(fake->kernels, before);
    std::thread([] { atl::engine::submit_gathered(); }).join();
    EXPECT_EQ(fake->kernels, before + 1);
  }
  atl::wait(s);
  EXPECT_EQ(content(to, 2), std::vector<int>(2, me));
}

/// Who asks first has drivers opened. In a process of its own, too, where nobody has asked.
TEST(first_question, is_asked_by_several_threads) {
  std::atomic<int> come = 0;
  constexpr int threads = 4;
  std::vector<std::string> said(threads);
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      ++come;
      while (come < threads) {
      }
      int const devices = upcxx::gpu_default_device::device_n();
      said[static_cast<std::size_t>(i)] = std::to_string(devices) + upcxx::gpu_default_device::kind_info();
      if (devices > 0) said[static_cast<std::size_t>(i)] += upcxx::gpu_default_device::uuid(0);
    });
  }
  for (auto& each : all) each.join();
  for (auto const& each : said) EXPECT_EQ(each, said[0]);
}
