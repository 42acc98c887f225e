// Beside a kernel of the program that waits, of which the library knows nothing. A driver loads code only when that has ended, and the fake
// one ends a process that tries.

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <atoll/copy_batch.hpp>
#include <atoll/stream.hpp>

#include "multirank/kinds/opened_driver.hpp"
#include "multirank/kinds/stream_fixture.hpp"

namespace cuda = atl::memory::cuda;

class beside_kernels_test : public stream_fixture {
 protected:
  /// Calls of the program's own, in the device's context.
  template <class Calls>
  void with_driver(Calls const& calls) {
    cuda::api& cu = opened_driver();
    cuda::context context = nullptr;
    ASSERT_EQ(cu.primary_retain(&context, gpu_.device_id()), cuda::success);
    cu.context_push(context);
    calls(cu);
    cu.context_pop(&context);
    cu.primary_release(gpu_.device_id());
  }
  /// As a kernel does.
  void wait_in(atl::stream const& s, gpu_ptr<std::uint64_t> word) {
    with_driver([&](cuda::api& cu) {
      EXPECT_EQ(cu.stream_wait64(reinterpret_cast<cuda::stream>(s.native()),
                                 reinterpret_cast<cuda::pointer>(gpu_.local(word)), 1, cuda::wait_at_least),
                cuda::success);
    });
  }
};

TEST_F(beside_kernels_test, kernels_of_the_library_are_there) {
  constexpr int pieces = 4;
  auto const from = filled(pieces, me);
  auto const to = filled(pieces, -1);
  auto const word = filled<std::uint64_t>(1, 0);
  auto const sum = filled<std::uint64_t>(1, 5);
  auto const waits = atl::make_stream(gpu_);
  auto const works = atl::make_stream(gpu_);
  wait_in(waits, word);
  {
    atl::copy_batch const together;
    for (int i = 0; i < pieces; ++i) upcxx::copy(from + i, to + i, 1, atl::on_stream(works));
  }
  atl::signal(works, sum, 2, atl::signal_op::add);
  atl::wait(works);
  EXPECT_EQ(content(to, pieces), std::vector<int>(pieces, me));
  EXPECT_EQ(content(sum, 1), (std::vector<std::uint64_t>{7}));
  pinned<std::uint64_t> const one(1, 1);
  upcxx::copy(one.data(), word, 1).wait();
  atl::wait(waits);
}

// Nobody rings a rank's bell when a device has come to its end: the rank that destroys a segment may not sleep meanwhile.
TEST_F(beside_kernels_test, a_segment_ends_soon_after_the_kernel) {
  upcxx::gpu_default_device device(gpu_.device_id());
  upcxx::device_allocator<upcxx::gpu_default_device> memory(device, 1 << 20);
  auto const waits = atl::make_stream(gpu_);
  auto const word = filled<std::uint64_t>(1, 0);
  wait_in(waits, word);
  std::thread ends([&] {
    // Until the rank would sleep: nothing can show that it does.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    with_driver([&](cuda::api& cu) {
      cuda::stream own = nullptr;
      EXPECT_EQ(cu.stream_create(&own, cuda::stream_non_blocking), cuda::success);
      EXPECT_EQ(cu.stream_write64(own, reinterpret_cast<cuda::pointer>(gpu_.local(word)), 1, 0),
                cuda::success);
      EXPECT_EQ(cu.stream_destroy(own), cuda::success);
    });
  });
  device.destroy();
  ends.join();
  EXPECT_FALSE(memory.is_active());
}
