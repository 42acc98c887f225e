// Misuse of collectives in streams; see misuse.cpp.

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <atoll/stream_barrier.hpp>
#include <atoll/stream_collectives.hpp>
#include <atoll/stream_neighbors.hpp>
#include <atoll/stream_reduction.cuh>
#include <upcxx/upcxx.hpp>

namespace {

/// Calls a function of the fake CUDA driver.
template <class... Parameters>
int driver(char const* name, Parameters... parameters) {
  void* const library = dlopen(std::getenv("ATOLL_CUDA_DRIVER"), RTLD_NOW);
  return reinterpret_cast<int (*)(Parameters...)>(dlsym(library, name))(parameters...);
}

/// A graph of what `f` starts in the stream.
template <class F>
void* captured_by_driver(atl::stream const& s, F&& f) {
  void* graph = nullptr;
  driver("cuStreamBeginCapture_v2", s.native(), 0);
  f();
  driver("cuStreamEndCapture", s.native(), &graph);
  return graph;
}
template <class F>
void capture_only(atl::stream const& s, F&& f) {
  driver("cuGraphDestroy", captured_by_driver(s, f));
}

/// Makes the context of the stream's device the current one.
void enter(atl::stream const& s) {
  void* context = nullptr;
  driver("cuDevicePrimaryCtxRetain", &context, s.device_id());
  driver("cuCtxPushCurrent_v2", context);
}
void launch(atl::stream const& s, void* graph) {
  void* ready = nullptr;
  driver("cuGraphInstantiateWithFlags", &ready, graph, 0ULL);
  driver("cuGraphLaunch", ready, s.native());
}

/// Graphs with a collective each, which ranks launch in different orders.
template <class First, class Second>
void launch_in_different_orders(atl::stream const& s, First&& first, Second&& second, bool other) {
  enter(s);
  void* const graphs[] = {captured_by_driver(s, first), captured_by_driver(s, second)};
  for (int i = 0; i < 2; ++i) launch(s, graphs[other ? 1 - i : i]);
  atl::wait(s);
}

/// A graph with a collective, which is launched before a direct call or behind it.
template <class Captured, class Direct>
void launch_beside_call(atl::stream const& s, Captured&& captured, Direct&& direct, bool other) {
  enter(s);
  void* const graph = captured_by_driver(s, captured);
  if (other) direct();
  launch(s, graph);
  if (!other) direct();
  atl::wait(s);
}

}  // namespace

int misuse_neighbours(char const* what) {
  auto const is = [what](char const* name) { return std::strcmp(what, name) == 0; };
  auto gpu = upcxx::make_gpu_allocator(1 << 20);
  auto const s = atl::make_stream(gpu);
  std::vector<upcxx::intrank_t> to;
  for (upcxx::intrank_t r = 0; r < upcxx::rank_n(); ++r) to.push_back(r);
  if (is("neighbours_not_mutual") && upcxx::rank_me() == 1) to = {0};
  if (is("neighbours_not_mutual") && upcxx::rank_me() == 2) to.clear();
  if (is("neighbours_outside")) to.push_back(upcxx::rank_n());
  auto around = std::make_unique<atl::stream_neighbors<upcxx::gpu_default_device>>(gpu, to);
  if (is("neighbours_index")) around->signal(s, 1);
  if (is("neighbours_forgotten")) around.reset();
  around->destroy();
  if (is("neighbours_twice")) around->destroy();
  if (is("neighbours_gone")) around->sync(s);
  gpu.destroy();
  return 0;
}

int misuse_reductions(char const* what) {
  auto const is = [what](char const* name) { return std::strcmp(what, name) == 0; };
  bool const other = upcxx::rank_me() != 0;
  auto gpu = upcxx::make_gpu_allocator(4 << 20);
  auto const s = atl::make_stream(gpu);
  auto const values = gpu.allocate<float>(1000);
  auto const wide = gpu.allocate<double>(1000);
  using reductions = atl::stream_reduction<upcxx::gpu_default_device>;
  auto all = std::make_unique<reductions>(gpu, upcxx::world(), is("reduction_few") && other ? 100 : 200,
                                          is("reduction_late") ? 1 : 0);
  atl::device::plus const sum;
  if (is("reduction_counts")) all->reduce_all(s, values, values, other ? 11 : 10, sum);
  if (is("reduction_long_counts")) all->reduce_all(s, values, values, other ? 300 : 10, sum);
  if (is("reduction_types")) {
    other ? all->reduce_all(s, values, values, 10, sum) : all->reduce_all(s, wide, wide, 10, sum);
  }
  if (is("reduction_operations")) {
    other ? all->reduce_all(s, values, values, 10, sum)
          : all->reduce_all(s, values, values, 10, atl::device::greatest());
  }
  if (is("reduction_signs")) {
    auto const numbers = upcxx::reinterpret_pointer_cast<int>(values);
    auto const unsigned_ones = upcxx::reinterpret_pointer_cast<unsigned>(values);
    other ? all->reduce_all(s, numbers, numbers, 10, sum)
          : all->reduce_all(s, unsigned_ones, unsigned_ones, 10, sum);
  }
  upcxx::dist_object<upcxx::global_ptr<float, upcxx::gpu_default_device::kind>> places(values);
  if (is("reduction_roots")) all->reduce_one(s, other ? 1 : 0, values, values, 10, sum);
  if (is("reduction_nobody")) all->reduce_one(s, 7, values, values, 10, sum);
  if (is("reduction_theirs")) {
    all->reduce_all(s, places.fetch((upcxx::rank_me() + 1) % upcxx::rank_n()).wait(), values, 10, sum);
  }
  if (is("reduction_null")) all->reduce_all(s, values, decltype(places)::value_type(), 10, sum);
  if (is("reduction_beyond")) all->reduce_all(s, values, values, 1 << 20, sum);
  if (is("reduction_overlaps")) all->reduce_all(s, values, values + 9, 10, sum);
  if (is("reduction_captured")) capture_only(s, [&] { all->reduce_all(s, values, values, 10, sum); });
  if (is("reduction_late") && other) all->reduce_all(s, values, values, 300, sum);
  while (is("reduction_late") && !other) upcxx::progress();
  if (is("reduction_more") && other) all->reduce_all(s, values, values, 10, sum);
  if (!is("reduction_more")) atl::wait(s);
  all->destroy();
  if (is("reduction_destroyed")) all->reduce_all(s, values, values, 10, sum);
  if (is("reduction_twice")) all->destroy();
  gpu.destroy();
  return 0;
}

int misuse_collectives(char const* what) {
  auto const is = [what](char const* name) { return std::strcmp(what, name) == 0; };
  bool const other = upcxx::rank_me() != 0;
  auto gpu = upcxx::make_gpu_allocator(1 << 20);
  auto const ranks = static_cast<std::size_t>(upcxx::rank_n());
  auto const source = gpu.allocate<int>(10 * ranks);
  auto const destination = gpu.allocate<int>(10 * ranks);
  upcxx::dist_object<upcxx::global_ptr<int, upcxx::gpu_default_device::kind>> sources(source);
  auto const theirs = sources.fetch((upcxx::rank_me() + 1) % upcxx::rank_n()).wait();
  upcxx::barrier();
  auto const s = atl::make_stream(gpu);
  auto all = std::make_unique<atl::stream_collectives<upcxx::gpu_default_device>>(
      gpu, upcxx::world(), is("collective_steps") && other ? 1000 : 2000);
  if (is("collective_null")) (void)all->bind(upcxx::global_ptr<int>(), 10);
  if (is("collective_binds_theirs")) (void)all->bind(theirs, 10);
  if (is("collective_binds_too_much")) (void)all->bind(destination, 10 * ranks + 1000);
  if (is("collective_sizes")) (void)all->bind(destination, 10 + static_cast<std::size_t>(upcxx::rank_me()));
  if (is("collective_types")) {
    if (other)
      (void)all->bind(upcxx::reinterpret_pointer_cast<short>(destination), 20);
    else
      (void)all->bind(destination, 10);
  }
  if (is("collective_numbers")) {
    if (other) {
      all->bind(upcxx::reinterpret_pointer_cast<float>(destination), 10 * ranks)
          .broadcast(s, 0, upcxx::reinterpret_pointer_cast<float>(source), 10);
    } else {
      all->bind(destination, 10 * ranks).broadcast(s, 0, source, 10);
    }
  }
  auto const to = all->bind(destination, 10 * ranks);
  if (is("collective_no_source")) to.gather_all(s, nullptr, 10);
  if (is("collective_other_device")) {
    upcxx::gpu_default_device second((gpu.device_id() + 1) % upcxx::gpu_default_device::device_n());
    upcxx::device_allocator<upcxx::gpu_default_device> const elsewhere(second, 1 << 20);
    to.gather_all(atl::make_stream(elsewhere), source, 10);
  }
  if (is("collective_no_root_source")) to.broadcast(s, upcxx::rank_me(), static_cast<int*>(nullptr), 10);
  if (is("collective_theirs")) to.gather_all(s, theirs, 10);
  if (is("collective_loose_source")) to.all_to_all(s, source + 200'000, 10);
  if (is("collective_too_many")) to.gather_all(s, source, 11);
  if (is("collective_root")) to.broadcast(s, upcxx::rank_n(), source, 10);
  if (is("collective_overlaps")) to.all_to_all(s, destination, 10);
  if (is("collective_counts")) to.gather_all(s, source, other ? 9 : 10);
  if (is("collective_nothing")) to.all_to_all(s, source, other ? 0 : 10);
  if (is("collective_roots")) to.broadcast(s, upcxx::rank_me(), source, 10);
  if (is("collective_operations")) other ? to.all_to_all(s, source, 10) : to.gather_all(s, source, 10);
  if (is("collective_destinations")) {
    auto const second = all->bind(source, 10 * ranks);
    (other ? to : second).gather_all(s, upcxx::new_array<int>(10), 10);
  }
  if (is("collective_captured_counts")) capture_only(s, [&] { to.gather_all(s, source, other ? 9 : 10); });
  if (is("collective_captured_order")) {
    // What is known already counts no more, so this one is no. 2.
    capture_only(s, [&] {
      for (int i = 0; i < (other ? 3 : 2); ++i) to.gather_all(s, source, 10);
      to.broadcast(s, other ? 1 : 0, source, 10);
    });
  }
  if (is("collective_captured_alone") && other) capture_only(s, [&] { to.gather_all(s, source, 10); });
  if (is("collective_launched_apart")) {
    launch_in_different_orders(
        s, [&] { to.broadcast(s, 0, source, 10); }, [&] { to.broadcast(s, 1, source, 10); }, other);
  }
  if (is("collective_launched_alike")) {  // of which each would do for the other
    auto const second = all->bind(gpu.allocate<int>(10 * ranks), 10 * ranks);
    launch_in_different_orders(
        s, [&] { to.gather_all(s, source, 10); }, [&] { second.gather_all(s, source, 10); }, other);
  }
  if (is("collective_launched_beside")) {
    auto const second = all->bind(gpu.allocate<int>(10 * ranks), 10 * ranks);
    launch_beside_call(
        s, [&] { to.broadcast(s, 1, source, 10); }, [&] { second.broadcast(s, 1, source, 10); }, other);
  }
  if (is("collective_many")) {
    for (int i = 0; i < 5000; ++i) {
      other&& i == 3000 ? to.all_to_all(s, source, 0) : to.gather_all(s, source, 0);
    }
  }
  if (is("collective_more") && other) to.gather_all(s, source, 10);
  if (!is("collective_more")) atl::wait(s);
  if (is("collective_forgotten")) all.reset();
  all->destroy();
  if (is("collective_twice")) all->destroy();
  atl::stream_barrier meeting(gpu);
  meeting.destroy();
  if (is("collective_barrier_twice")) meeting.destroy();
  if (is("collective_barrier_gone")) meeting.enter(s);
  if (is("collective_destroyed")) to.gather_all(s, source, 10);
  if (is("collective_binds_late")) (void)all->bind(destination, 10);
  all.reset();
  if (is("collective_gone")) to.broadcast(s, 0, source, 10);
  gpu.destroy();
  return 0;
}
