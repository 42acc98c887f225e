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
#include "support/fake_cuda/control.hpp"

namespace atl::memory {
inline constexpr std::uint64_t mib = std::uint64_t{1} << 20;

struct watched : copy_record {
  int number = -1;
  std::vector<int>* order = nullptr;
  watched()
      : copy_record{[](copy_record* record) noexcept {
          auto* const self = static_cast<watched*>(record);
          self->order->push_back(self->number);
        }} {}
};

inline copy_end host(void const* at) { return {nullptr, reinterpret_cast<std::uintptr_t>(at)}; }
inline copy_end end(device_segment const& s, std::uint64_t offset = 0) { return {&s, s.base() + offset}; }

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
    EXPECT_EQ(fake_->contexts, 0);
    EXPECT_EQ(fake_->streams, 0);
    EXPECT_EQ(fake_->events, 0);
    EXPECT_EQ(fake_->reservations, 0);
    EXPECT_EQ(fake_->mappings, 0);
    EXPECT_EQ(fake_->objects, 0);
    EXPECT_EQ(fake_->registrations, 0);
    EXPECT_EQ(fake_->modules, 0);
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
  static void move(gpu::gpu_kind& kind, copy_end to, copy_end from, std::size_t bytes) {
    std::vector<int> order;
    watched record;
    record.order = &order;
    kind.copy(to, from, bytes, 0, &record, nullptr);
    wait(kind, order, 1);
  }
  /// Through the source, then the destination, and back.
  static void expect_travel(gpu::gpu_kind& kind, device_segment const& to, device_segment const& from) {
    std::vector<int> in(300);
    std::vector<int> out(300, -1);
    std::iota(in.begin(), in.end(), 5);
    move(kind, end(from, 4), host(in.data()), 1200);
    move(kind, end(to, 4096), end(from, 4), 1200);
    move(kind, host(out.data()), end(to, 4096), 1200);
    EXPECT_EQ(in, out);
  }
  template <class F>
  static std::string refusal(F&& f) {
    try {
      f();
    } catch (segment_error const& problem) {
      return problem.what();
    }
    return "not refused";
  }
  static void expect_words(std::string const& text, char const* words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  }

  std::string library_;
  std::string why_;
  cuda::api cu_;
  fake_cuda::control* fake_ = nullptr;
};

}  // namespace atl::memory
