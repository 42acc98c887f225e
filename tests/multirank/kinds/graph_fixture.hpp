#pragma once

/// What tests of graphs of CUDA have in common.

#include <dlfcn.h>

#include <cstdlib>

#include <atoll/stream.hpp>

#include "memory/cuda/api.hpp"
#include "multirank/kinds/stream_fixture.hpp"
#include "support/fake_cuda/control.hpp"

namespace cuda = atl::memory::cuda;

/// What programs call of the driver that the library has opened, too.
struct graph_driver {
  using stream = CUstream_st*;
  template <class... Parameters>
  using function = cuda::cu_result (*)(Parameters...);
  function<stream, cuda::capture_mode> begin = nullptr;
  function<stream, void**> end = nullptr;
  function<void**, void*, unsigned long long> instantiate = nullptr;
  function<void*, stream> launch = nullptr;
  function<> synchronize = nullptr;
  function<void*> destroy_executable = nullptr;
  function<void*> destroy_graph = nullptr;
  function<cuda::context*, int> retain = nullptr;
  function<cuda::context> push = nullptr;
  function<cuda::context*> pop = nullptr;
  function<int> release = nullptr;
  function<cuda::pointer*, std::size_t> allocate = nullptr;
  function<cuda::pointer> deallocate = nullptr;
  fake_cuda::control* fake = nullptr;  ///< null: a true one

  graph_driver() {
    char const* const library = std::getenv("ATOLL_CUDA_DRIVER");
    void* const handle = dlopen(library == nullptr ? "libcuda.so.1" : library, RTLD_NOW | RTLD_LOCAL);
    auto const find = [handle]<class F>(F& f, char const* name) {
      f = reinterpret_cast<F>(dlsym(handle, name));
    };
    find(begin, "cuStreamBeginCapture_v2");
    find(end, "cuStreamEndCapture");
    find(instantiate, "cuGraphInstantiateWithFlags");
    find(launch, "cuGraphLaunch");
    find(synchronize, "cuCtxSynchronize");
    find(destroy_executable, "cuGraphExecDestroy");
    find(destroy_graph, "cuGraphDestroy");
    find(retain, "cuDevicePrimaryCtxRetain");
    find(push, "cuCtxPushCurrent_v2");
    find(pop, "cuCtxPopCurrent_v2");
    find(release, "cuDevicePrimaryCtxRelease_v2");
    find(allocate, "cuMemAlloc_v2");
    find(deallocate, "cuMemFree_v2");
    fake_cuda::get_control* control = nullptr;
    find(control, "fake_cuda");
    if (control != nullptr) fake = control();
  }
};

class graph_fixture : public stream_fixture {
 protected:
  void SetUp() override {
    stream_fixture::SetUp();
    if (!gpu_.is_active()) return;
    // As cudaSetDevice does.
    cuda::context context = nullptr;
    ASSERT_EQ(cu_.retain(&context, gpu_.device_id()), cuda::success);
    ASSERT_EQ(cu_.push(context), cuda::success);
  }
  void TearDown() override {
    if (!gpu_.is_active()) return;
    cuda::context context = nullptr;
    EXPECT_EQ(cu_.pop(&context), cuda::success);
    EXPECT_EQ(cu_.release(gpu_.device_id()), cuda::success);
    stream_fixture::TearDown();
  }
  /// An executable graph of what `f` starts in a stream.
  template <class F>
  void* capture(atl::stream const& s, cuda::capture_mode mode, F&& f) {
    void* graph = nullptr;
    void* executable = nullptr;
    EXPECT_EQ(cu_.begin(s.native(), mode), cuda::success);
    EXPECT_TRUE(s.is_captured());
    f();
    EXPECT_EQ(cu_.end(s.native(), &graph), cuda::success);
    EXPECT_EQ(cu_.instantiate(&executable, graph, 0), cuda::success);
    EXPECT_EQ(cu_.destroy_graph(graph), cuda::success);
    EXPECT_FALSE(s.is_captured());
    return executable;
  }

  graph_driver cu_;
};
