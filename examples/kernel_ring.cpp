// Kernels that pass a block around the ring from device to device, each adding its rank; no host has a part in it.
//
// Without a GPU, where threads of the host play the kernels: ATOLL_SIM_DEVICES=1 atoll run -n 4 kernel_ring
// For GPUs: nvcc -x cu -std=c++20 --expt-relaxed-constexpr, or CMake's language CUDA.

#include <atoll/device.cuh>
#include <cstdio>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {

constexpr auto kind = upcxx::gpu_default_device::kind;
constexpr std::size_t count = 1000;
constexpr std::uint64_t laps = 5;

/// All threads of a block together.
struct pass_on {
  ATOLL_ANYWHERE void operator()(atl::device_team team, double* mine, std::uint64_t const* news,
                                 upcxx::global_ptr<double, kind> theirs,
                                 upcxx::global_ptr<std::uint64_t, kind> their_news) const {
    auto const block = atl::device::this_block();
    bool const first = team.rank_me() == 0;
    for (std::uint64_t lap = 1; lap <= laps; ++lap) {
      // Who sees the number of the lap sees the block that was put before it. False: nobody comes any more.
      if (!first && !team.wait(block, news, lap)) return;
      for (std::size_t i = block.rank(); i < count; i += block.size()) mine[i] += team.rank_me() + 1;
      block.sync();  // a thread sends what others have written
      team.put_signal(block, mine, theirs, count, their_news, lap);
      // It has been everywhere: the block is there again, and everybody may write once more.
      if (first && !team.wait(block, news, lap)) return;
    }
  }
};

}  // namespace

int main() {
  upcxx::init();
  bool right_result = true;
  {
    auto gpu = upcxx::make_gpu_allocator(1 << 20);
    bool const all_have_one = upcxx::reduce_all(gpu.is_active(), upcxx::op_fast_bit_and).wait();
    if (all_have_one) {
      int const me = upcxx::rank_me();
      int const ranks = upcxx::rank_n();
      // A block and a signal on the device, both 0 at first. Everyone learns where the right neighbour's are.
      auto const block = gpu.allocate<double>(count);
      auto const news = gpu.allocate<std::uint64_t>(1);
      std::vector<double> values(count, 0);
      std::uint64_t const nothing_yet = 0;
      upcxx::copy(values.data(), block, count).wait();
      upcxx::copy(&nothing_yet, news, 1).wait();
      upcxx::dist_object<upcxx::global_ptr<double, kind>> blocks(block);
      upcxx::dist_object<upcxx::global_ptr<std::uint64_t, kind>> signals(news);
      auto const theirs = blocks.fetch((me + 1) % ranks).wait();
      auto const their_news = signals.fetch((me + 1) % ranks).wait();

      // A wait gives up after 30 s, and the job ends with a report of it.
      auto team = atl::make_device_team(gpu, upcxx::world(), 30);
      auto const stream = atl::make_stream(gpu);
      atl::device::launch(team, stream, {1, 256}, pass_on{}, team, team.local(block), team.local(news),
                          theirs, their_news);
      atl::wait(stream);  // with progress: for ranks on other hosts the host copies

      upcxx::copy(block, values.data(), count).wait();
      double const in_a_lap = ranks * (ranks + 1) / 2.0;
      double const expected = me == 0 ? laps * in_a_lap : (laps - 1) * in_a_lap + (me + 1) * (me + 2) / 2.0;
      for (double const x : values) right_result = right_result && x == expected;
      std::printf("rank %d: %s block came around %d times\n", me, right_result ? "the right" : "a WRONG",
                  static_cast<int>(laps));

      team.destroy();
      gpu.deallocate(news);
      gpu.deallocate(block);
    } else if (upcxx::rank_me() == 0) {
      std::printf("no device here: set ATOLL_SIM_DEVICES=1 to simulate one\n");
    }
    gpu.destroy();
  }
  upcxx::finalize();
  return right_result ? 0 : 1;
}
