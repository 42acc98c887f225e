// Misuse of device memory, one for each value of the first argument; see CMakeLists.txt
// for what must be said.

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <atoll/copy_batch.hpp>
#include <atoll/graph.hpp>
#include <atoll/pin.hpp>
#include <atoll/stream.hpp>
#include <upcxx/upcxx.hpp>

int misuse_kernels(char const* what);      // misuse_kernels.cpp
int misuse_collectives(char const* what);  // misuse_collectives.cpp
int misuse_neighbours(char const* what);   // there, too
int misuse_reductions(char const* what);   // there, too
void misuse_arrays(char const* what);      // misuse_arrays.cpp

namespace {

using upcxx::memory_kind;

upcxx::cuda_device forgotten() {
  upcxx::cuda_device device(0);
  return device;
}

/// No misuse: pins that come before devices, and that finalize ends.
int pinned_left_open() {
  std::vector<int> values(5000, 3);
  auto const before = atl::pin(values.data(), values.size() * sizeof(int));
  bool good = !before.is_pinned();
  auto gpu = upcxx::make_gpu_allocator(1 << 20);
  good = good && before.is_pinned();
  (void)upcxx::copy(values.data(), gpu.allocate<int>(5000), 5000);
  upcxx::finalize();
  good = good && !before.is_pinned();
  upcxx::init();
  gpu = upcxx::make_gpu_allocator(1 << 20);
  good = good && !before.is_pinned();
  auto again = atl::pin(values.data(), values.size() * sizeof(int));
  good = good && again.is_pinned();
  again.unpin();
  good = good && !again.is_pinned();
  gpu.destroy();
  upcxx::finalize();
  return good ? 0 : 1;
}

/// Calls that nothing tells of the library's end but themselves.
void too_late(char const* what) {
  auto gpu = upcxx::make_gpu_allocator(1 << 20);
  auto const s = new atl::owned_stream(atl::make_stream(gpu));
  gpu.destroy();
  if (std::strcmp(what, "late_allocator") == 0) (void)atl::make_stream(gpu);
  upcxx::finalize();
  { atl::copy_batch const nothing; }  // has nothing to start, so it is no misuse
  if (std::strcmp(what, "late_device_id") == 0) (void)s->device_id();
  if (std::strcmp(what, "late_is_captured") == 0) (void)s->is_captured();
  if (std::strcmp(what, "late_make") == 0) (void)atl::make_stream(gpu);
}

}  // namespace

int main(int argc, char** argv) {
  upcxx::init();
  if (argc < 2) return 1;
  char const* const what = argv[1];
  auto const is = [what](char const* name) { return std::strcmp(what, name) == 0; };
  if (is("forgotten")) forgotten();
  if (is("pinned_left_open")) return pinned_left_open();
  if (std::strncmp(what, "kernel_", 7) == 0) return misuse_kernels(what);
  if (std::strncmp(what, "neighbours_", 11) == 0) return misuse_neighbours(what);
  if (std::strncmp(what, "reduction_", 10) == 0) return misuse_reductions(what);
  if (std::strncmp(what, "collective_", 11) == 0) return misuse_collectives(what);
  if (std::strncmp(what, "array_", 6) == 0) misuse_arrays(what);
  if (is("pin_null")) (void)atl::pin(nullptr, 8);
  if (is("pin_beyond")) (void)atl::pin(&argc, SIZE_MAX);
  if (is("pin_after_finalize")) {
    upcxx::finalize();
    (void)atl::pin(&argc, 4);
  }
  if (std::strncmp(what, "late_", 5) == 0) too_late(what);
  if (is("no_device")) upcxx::cuda_device(17).destroy();
  auto allocator = upcxx::make_gpu_allocator(1 << 20);
  auto second = upcxx::make_gpu_allocator(1 << 20);
  auto const p = allocator.allocate<int>(100);
  upcxx::dist_object<upcxx::global_ptr<int, memory_kind::cuda_device>> all(p);
  auto const theirs = all.fetch((upcxx::rank_me() + 1) % upcxx::rank_n()).wait();
  upcxx::barrier();
  int value = 0;
  if (is("left_open")) {  // no misuse: finalize waits for copies, and closes devices
    (void)upcxx::copy(&value, theirs, 1);
    upcxx::finalize();
    if (allocator.is_active() || allocator.segment_size() != 0) return 1;
    upcxx::init();
    upcxx::make_gpu_allocator(4096).destroy();
    upcxx::finalize();
    return 0;
  }
  if (is("killed_in_flight")) {  // copies from and to memory of ranks that go
    for (int i = 0; i < 1000; ++i) {
      upcxx::copy(p, theirs, 100, upcxx::remote_cx::as_rpc([] {}));
      (void)upcxx::copy(&value, theirs, 1);
      if (i == 500 && upcxx::rank_me() == 1) ::kill(::getpid(), SIGKILL);
    }
    upcxx::barrier();
  }
  if (is("killed") && upcxx::rank_me() == 1) ::kill(::getpid(), SIGKILL);
  if (is("killed")) upcxx::barrier();
  if (is("outside")) upcxx::copy(&value, theirs + (1 << 20), 1).wait();
  if (is("outside_elsewhere")) {
    std::vector<int> values(1 << 19);
    if (upcxx::rank_me() == 0) upcxx::copy(values.data(), theirs, values.size()).wait();
    upcxx::barrier();
  }
  if (is("dangling_elsewhere")) {
    if (upcxx::rank_me() == 1) allocator.destroy(upcxx::entry_barrier::none);  // over when the barrier is
    upcxx::barrier();
    if (upcxx::rank_me() == 0) upcxx::copy(theirs, &value, 1).wait();
    upcxx::barrier();
  }
  if (is("beyond")) upcxx::copy(p, p + 200, 90).wait();
  if (is("count_wraps")) upcxx::copy(p, &value, SIZE_MAX / 4 + 5).wait();
  if (is("overlap")) upcxx::copy(p, p + 3, 10).wait();
  if (is("wrong_allocator")) second.deallocate(p);
  if (is("local")) *p.local() = 1;
  if (is("host_address")) value = *allocator.local(p);
  if (is("theirs")) value = allocator.local(theirs) == nullptr ? 1 : 0;
  if (is("not_in_segment")) value = allocator.to_global_ptr(&value).where();
  auto const is_about_streams = [&] { return std::strncmp(what, "stream_", 7) == 0; };
  if (is_about_streams()) {
    auto s = atl::make_stream(allocator);
    auto const signal = allocator.allocate<std::uint64_t>(1);
    std::uint64_t const zero = 0;
    upcxx::copy(&zero, signal, 1).wait();
    if (is("stream_null")) upcxx::copy(p, upcxx::global_ptr<int>(), 1, atl::on_stream(s));
    if (is("stream_theirs")) atl::wait(s, upcxx::reinterpret_pointer_cast<std::uint64_t>(theirs), 1);
    if (is("stream_overlap")) upcxx::copy(p + 9, p, 10, atl::on_stream(s));
    if (is("stream_count_wraps")) upcxx::copy(p, p, SIZE_MAX / 4 + 5, atl::on_stream(s));
    if (is("stream_never_reports") || is("stream_never_waits")) {
      auto* const left = new atl::owned_stream(std::move(s));
      upcxx::promise<> never;
      if (is("stream_never_reports")) {
        atl::wait(*left, signal, 1);
        (void)atl::when(*left);
      } else {
        atl::wait(*left, never.get_future());
      }
      upcxx::finalize();
      return 0;
    }
    if (is("stream_unknown")) atl::wait(atl::stream(reinterpret_cast<CUstream_st*>(&value)));
    if (is("stream_default")) atl::wait(atl::stream(nullptr));
    if (is("stream_unpinned")) {
      auto const pinned = atl::pin(&value, 4);
      atl::wait(s, signal, 1);
      upcxx::copy(p, &value, 1, atl::on_stream(s));
    }
    if (is("stream_unfinished") || is("stream_hangs") || is("stream_hangs_destroy")) atl::wait(s, signal, 1);
    if (is("stream_hangs")) atl::wait(s);
    if (is("stream_of_earlier_life")) {
      allocator.destroy();
      second.destroy();
      upcxx::finalize();
      upcxx::init();
      auto again = upcxx::make_gpu_allocator(1 << 12);
      atl::wait(s);
    }
    if (is("stream_in_callback")) upcxx::rpc(upcxx::rank_me(), [&s] { atl::wait(s); }).wait();
    if (is("stream_hangs_destroy")) allocator.destroy();
    if (is("stream_never_ends")) {
      auto* const left = new atl::owned_stream(std::move(s));
      atl::wait(*left, signal, 1);
      upcxx::finalize();
      return 0;
    }
    if (is("stream_graph_none")) atl::graph().launch(s);
    if (is("stream_graph_twice")) (void)atl::capture(s, [&] { (void)atl::capture(s, [] {}); });
    if (is("stream_graph_hip")) {
      auto amd = upcxx::make_gpu_allocator<upcxx::hip_device>(1 << 12, 0);
      (void)atl::capture(atl::make_stream(amd), [] {});
    }
    if (is("stream_graph_elsewhere")) {
      auto const graph = atl::capture(s, [&] { atl::signal(s, signal, 1); });
      auto other = upcxx::make_gpu_allocator<upcxx::gpu_default_device>(1 << 12, 1);
      graph.launch(atl::make_stream(other));
    }
    if (is("stream_addition")) {
      atl::signal(s, signal, 1, atl::signal_op::add);
      atl::wait(s);
    }
    if (is("stream_captured") || is("stream_captured_private") || is("stream_captured_addition") ||
        is("stream_captured_future") || is("stream_captured_unreached")) {
      auto const begin = reinterpret_cast<int (*)(CUstream_st*, int)>(
          dlsym(dlopen(std::getenv("ATOLL_CUDA_DRIVER"), RTLD_NOW), "cuStreamBeginCapture_v2"));
      begin(s.native(), 0);
      if (is("stream_captured")) (void)atl::when(s);
      if (is("stream_captured_future")) atl::wait(s, upcxx::make_future());
      if (is("stream_captured_unreached"))
        upcxx::copy(upcxx::new_<int>(), second.allocate<int>(1), 1, atl::on_stream(s));
      if (is("stream_captured_addition"))
        atl::signal(s, upcxx::new_<std::uint64_t>(), 1, atl::signal_op::add);
      upcxx::copy(p, &value, 1, atl::on_stream(s));
    }
    if (is("stream_batch_captured") || is("stream_batch_not_captured") || is("stream_batch_ended")) {
      void* const driver = dlopen(std::getenv("ATOLL_CUDA_DRIVER"), RTLD_NOW);
      auto const begin =
          reinterpret_cast<int (*)(CUstream_st*, int)>(dlsym(driver, "cuStreamBeginCapture_v2"));
      auto const end = reinterpret_cast<int (*)(CUstream_st*, void**)>(dlsym(driver, "cuStreamEndCapture"));
      auto const drop = reinterpret_cast<int (*)(CUstream_st*)>(dlsym(driver, "cuStreamDestroy_v2"));
      void* graph = nullptr;
      void* context = nullptr;
      reinterpret_cast<int (*)(void**, int)>(dlsym(driver, "cuDevicePrimaryCtxRetain"))(&context, 0);
      reinterpret_cast<int (*)(void*)>(dlsym(driver, "cuCtxPushCurrent_v2"))(context);
      atl::copy_batch const together;
      if (is("stream_batch_captured")) begin(s.native(), 2);
      upcxx::copy(p, p + 50, 10, atl::on_stream(s));
      if (is("stream_batch_captured")) end(s.native(), &graph);
      if (is("stream_batch_not_captured")) begin(s.native(), 2);
      if (is("stream_batch_ended")) drop(s.native());
    }
    if (is("stream_graph_left") || is("stream_graph_left_in_heap")) {
      void* const driver = dlopen(std::getenv("ATOLL_CUDA_DRIVER"), RTLD_NOW);
      auto const begin =
          reinterpret_cast<int (*)(CUstream_st*, int)>(dlsym(driver, "cuStreamBeginCapture_v2"));
      auto const end = reinterpret_cast<int (*)(CUstream_st*, void**)>(dlsym(driver, "cuStreamEndCapture"));
      void* graph = nullptr;
      auto const word = upcxx::new_<std::uint64_t>(0);
      for (int i = 0; i < 2; ++i) {
        begin(s.native(), 0);
        atl::signal(s, word, 1);
        if (is("stream_graph_left")) atl::signal(s, signal, 1);
        end(s.native(), &graph);
      }
      allocator.destroy();
      second.destroy();
      upcxx::finalize();
      return 3;
    }
    upcxx::barrier();
    return 0;
  }
  allocator.deallocate(p);
  if (is("freed")) upcxx::copy(p, &value, 1).wait();
  if (is("freed_twice")) allocator.deallocate(p);
  auto const q = second.allocate<int>(100);
  second.destroy();
  if (is("destroyed")) value = second.allocate<int>().where();
  if (is("dangling")) upcxx::copy(q, &value, 1).wait();
  if (is("allocator_on_one")) {
    if (upcxx::rank_me() == 1) upcxx::barrier();
    auto third = upcxx::make_gpu_allocator(4096);
    third.destroy();
  }
  if (is("two_allocators")) {
    upcxx::cuda_device device(0);
    upcxx::device_allocator<upcxx::cuda_device> one(device, 4096);
    upcxx::device_allocator<upcxx::cuda_device> two(device, 4096);
  }
  allocator.destroy();
  upcxx::finalize();
  return 0;
}
