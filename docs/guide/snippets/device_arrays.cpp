// Snippets of the page on arrays: those on devices. ATOLL_SIM_DEVICES=1 gives every machine a device.
#include <span>

#include <atoll/array.hpp>
#include <atoll/stream.hpp>
#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  auto gpu = upcxx::make_gpu_allocator(1 << 20);
  {
    // [memory]
    constexpr auto kind = upcxx::gpu_default_device::kind;
    atl::domain<3> const whole{{0, 0, 0}, {8, 8, 8 * ranks}};
    atl::domain<3> const interior{{0, 0, 8 * me}, {8, 8, 8 * me + 8}};
    auto const box = atl::make_array<double>(gpu, interior.grow(1));
    double* const first =
        box.data_handle();  // for kernels: p is at first[offset(p)]

    auto const here = atl::make_array<double>(interior);  // on the host
    for (atl::point<3> const& p : interior) here[p] = me;
    atl::copy(here, box).wait();  // into the inner points of the box
    // [/memory]

    // [halo]
    atl::array<double, 3, kind> const boxes[] = {box};
    atl::ghost_exchange<double, 3, kind> halo(boxes, 1, atl::shape::faces, whole);
    auto const s = atl::make_stream(gpu);  // or the program's own cudaStream_t
    for (int step = 0; step < 3; ++step) {
      // kernel<<<grid, block, 0, s>>>(first, ...);
      atl::wait(s);  // the kernel has ended
      halo.run();    // from device to device; the ghosts are filled
    }
    // [/halo]

    // [stream]
    halo.use_streams(gpu);  // collective, once
    for (int step = 0; step < 3; ++step) {
      // kernel<<<grid, block, 0, s>>>(first, ...);
      halo.run(s);  // after the kernel, before the next one
    }
    auto const above = atl::make_array<double>(interior.border(2, +1));
    atl::copy(box, above, atl::on_stream(s));
    atl::wait(s);  // the host, at last
    UPCXX_ASSERT_ALWAYS(above(3, 3, 8 * me + 8) == (me + 1) % ranks);
    // [/stream]
    UPCXX_ASSERT_ALWAYS(first != nullptr);
    upcxx::barrier();
  }
  gpu.destroy();
  upcxx::finalize();
}
