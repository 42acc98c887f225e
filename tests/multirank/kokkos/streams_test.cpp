// Copies and signals in the streams of Kokkos' execution spaces. Where Kokkos computes on the host, of a space of this
// program's own on a simulated device.

#include <cstdint>
#include <memory>
#include <vector>

#include "multirank/kokkos/kokkos_fixture.hpp"

namespace {

using cells_on_device = atl::kokkos::shared_view<int*, upcxx::memory_kind::cuda_device>;
using cells_on_host = Kokkos::View<int*, Kokkos::HostSpace>;
constexpr int cells = 300;

#ifdef KOKKOS_ENABLE_CUDA

using instance_type = Kokkos::Cuda;
struct add {
  cells_on_device::view_type view;
  int value;
  KOKKOS_INLINE_FUNCTION void operator()(int i) const { view(i) += value; }
};

instance_type make_instance(atl::stream const& s) { return instance_type(s.native()); }
/// What a kernel does.
void add_to(instance_type const& instance, cells_on_device const& where, int value) {
  Kokkos::parallel_for(Kokkos::RangePolicy<Kokkos::Cuda>(instance, 0, cells), add{where.view(), value});
}

#else

struct instance_type {
  using execution_space = instance_type;
  atl::stream on;
};

instance_type make_instance(atl::stream const& s) { return {s}; }
/// A simulated device has no kernels: what one would do is done when the stream comes there, by its host, for which it waits.
void add_to(instance_type const& instance, cells_on_device const& where, int value) {
  auto const added = atl::when(instance.on).then([data = where.global_ptr(), value] {
    auto const got = std::make_shared<std::vector<int>>(cells);
    return upcxx::copy(data, got->data(), cells).then([data, got, value] {
      for (int& each : *got) each += value;
      return upcxx::copy(got->data(), data, cells).then([got] {});
    });
  });
  atl::wait(instance.on, added);
}

#endif

}  // namespace

#ifndef KOKKOS_ENABLE_CUDA
template <>
struct atl::kokkos::execution_stream<instance_type> {
  static atl::stream of(instance_type const& instance) { return instance.on; }
};
#endif

TEST_F(kokkos_test, copies_in_the_stream_of_an_instance_take_turns_with_its_kernels) {
  auto gpu = upcxx::make_gpu_allocator<upcxx::cuda_device>(1 << 20, atl::kokkos::device_id());
  ASSERT_TRUE(gpu.is_active());
  {
    auto const made = atl::make_stream(gpu);
    instance_type const instance = make_instance(made);
    atl::stream const s = atl::kokkos::stream_of(instance);
    EXPECT_EQ(s.native(), made.native());
    cells_on_device const mine(gpu, cells);
    cells_on_device const ghost(gpu, cells);
    auto const word = gpu.allocate<std::uint64_t>(1);
    std::uint64_t const nothing = 0;
    upcxx::copy(&nothing, word, 1).wait();
    cells_on_host const values("values", cells), found("found", cells);
    for (int i = 0; i < cells; ++i) values(i) = 1000 * me + i;
    atl::kokkos::copy(values, mine).wait();
    upcxx::dist_object<atl::kokkos::global_view<int, 1, upcxx::memory_kind::cuda_device>> ghosts(
        ghost.global());
    upcxx::dist_object<decltype(word)> words(word);
    auto const theirs = ghosts.fetch(right).wait();
    auto const their_word = words.fetch(right).wait();
    upcxx::barrier();
    // Nobody waits in between: kernel, copy, signal, wait, kernel, copy.
    add_to(instance, mine, 100000);
    atl::kokkos::copy(mine, theirs, atl::on_stream(s) | atl::remote_cx::as_signal(their_word, 1));
    atl::wait(s, word, 1);
    add_to(instance, ghost, 7);
    auto const back = atl::kokkos::copy(ghost, found, atl::on_stream(s) | upcxx::operation_cx::as_future());
    atl::wait(s);
    back.wait();
    for (int i = 0; i < cells; ++i) EXPECT_EQ(found(i), 100007 + 1000 * left + i) << i;
    upcxx::barrier();
    gpu.deallocate(word);
  }
  gpu.destroy();
}
