// Device memory: every rank computes on the host, and passes its block around the ring from device to device.
//
// Without a GPU: ATOLL_SIM_DEVICES=1 atoll run -n 4 device_ring

#include <cstdio>
#include <vector>

#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  constexpr std::size_t count = 1000;
  int const me = upcxx::rank_me();
  int const right = (me + 1) % upcxx::rank_n();
  bool right_result = true;
  {
    // A device and a segment of 1 MiB on it, in every rank. Where there is no device,
    // the allocator is inactive.
    auto gpu = upcxx::make_gpu_allocator(1 << 20);
    bool const all_have_one = upcxx::reduce_all(gpu.is_active(), upcxx::op_fast_bit_and).wait();
    if (all_have_one) {
      constexpr auto kind = upcxx::gpu_default_device::kind;
      // Two blocks: ours, and the one that the left neighbour fills. Everyone learns where the latter are.
      auto const mine = gpu.allocate<double>(count);
      auto const landing = gpu.allocate<double>(count);
      upcxx::dist_object<upcxx::global_ptr<double, kind>> landings(landing);
      auto const to = landings.fetch(right).wait();

      // Host to device; then device to device of the neighbour, who is told when the data is there.
      static bool arrived = false;
      std::vector<double> block(count, me + 0.5);
      upcxx::copy(block.data(), mine, count)
          .then([=] {
            return upcxx::copy(
                mine, to, count,
                upcxx::operation_cx::as_future() | upcxx::remote_cx::as_rpc([] { arrived = true; }));
          })
          .wait();
      while (!arrived) upcxx::progress();

      // A kernel would work on gpu.local(landing); here the block goes back to the host.
      upcxx::copy(landing, block.data(), count).wait();
      int const left = (me + upcxx::rank_n() - 1) % upcxx::rank_n();
      for (double const x : block) right_result = right_result && x == left + 0.5;
      std::printf("rank %d: the block of rank %d came from device to device\n", me, left);

      upcxx::barrier();  // nobody copies to or from here any more
      gpu.deallocate(landing);
      gpu.deallocate(mine);
    } else if (me == 0) {
      std::printf("no device here: set ATOLL_SIM_DEVICES=1 to simulate one\n");
    }
    gpu.destroy();  // on all ranks, also where it is inactive
  }
  upcxx::finalize();
  return right_result ? 0 : 1;
}
