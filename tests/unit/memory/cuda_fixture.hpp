#pragma once

/// Tests of GPU memory through the CUDA driver, over a driver that plays devices in host memory.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "memory/cuda/cuda_driver.hpp"
#include "memory/gpu/gpu_kind.hpp"
#include "memory/program_streams.hpp"
#include "support/fake_cuda/control.hpp"
#include "unit/memory/gpu_copies.hpp"

namespace atl::memory {

struct watched : copy_record {
  int number = -1;
  std::vector<int>* order = nullptr;
  watched()
      : copy_record{[](copy_record* record) noexcept {
          auto* const self = static_cast<watched*>(record);
          self->order->push_back(self->number);
        }} {}
};

class cuda_test : public testing::Test {
 protected:
  cuda_test() : library_(std::getenv("FAKE_CUDA_LIBRARY")) {
    void* const handle = dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL);
    fake_ = reinterpret_cast<fake_cuda::get_control*>(dlsym(handle, "fake_cuda"))();
    cu_.load(library_.c_str());
  }
  ~cuda_test() override {
    cuda::context current = nullptr;
    cu_.context_current(&current);
    EXPECT_EQ(current, nullptr) << "the thread's context is not as it was";
    expect_nothing_left(*fake_);
    for (char const* name : {"FAKE_CUDA", "CUDA_VISIBLE_DEVICES", "ATOLL_GPU_DESCRIPTORS"}) unsetenv(name);
  }

  std::unique_ptr<gpu::gpu_kind> open(char const* what = "") {
    setenv("FAKE_CUDA", what, 1);
    fake_->restart();
    auto driver = cuda::cuda_driver::open(library_, why_);
    return driver == nullptr ? nullptr : std::make_unique<gpu::gpu_kind>(std::move(driver));
  }
  static void wait(gpu::gpu_kind& kind, std::vector<int> const& order, std::size_t count) {
    while (order.size() < count) kind.poll();
  }
  /// Waits until a stream has done all that is in it.
  static void finish(gpu::gpu_kind& kind, stream_handle on) {
    std::vector<int> order;
    watched record;
    record.order = &order;
    kind.streams()->report(on, &record);
    wait(kind, order, 1);
  }

  std::string library_;
  std::string why_;
  cuda::api cu_;
  fake_cuda::control* fake_ = nullptr;
};

}  // namespace atl::memory
