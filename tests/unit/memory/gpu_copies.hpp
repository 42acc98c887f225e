#pragma once

/// What tests of GPU memory have in common, whoever's driver is played.

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "memory/gpu/gpu_kind.hpp"
#include "support/fake_cuda/control.hpp"

namespace atl::memory {

inline constexpr std::uint64_t mib = std::uint64_t{1} << 20;

inline copy_end host(void const* at) { return {nullptr, reinterpret_cast<std::uintptr_t>(at)}; }
inline copy_end end(device_segment const& s, std::uint64_t offset = 0) { return {&s, s.base() + offset}; }

/// Knows whether it has landed.
struct noted_copy : copy_record {
  bool done = false;
  noted_copy()
      : copy_record{[](copy_record* record) noexcept { static_cast<noted_copy*>(record)->done = true; }} {}
};

/// Copies, and waits for it.
inline void move(gpu::gpu_kind& kind, copy_end to, copy_end from, std::size_t bytes) {
  noted_copy record;
  kind.copy(to, from, bytes, 0, &record, nullptr);
  while (!record.done) kind.poll();
}

/// Through the source, then the destination, and back.
inline void expect_travel(gpu::gpu_kind& kind, device_segment const& to, device_segment const& from) {
  std::vector<int> in(300);
  std::vector<int> out(300, -1);
  std::iota(in.begin(), in.end(), 5);
  move(kind, end(from, 4), host(in.data()), 1200);
  move(kind, end(to, 4096), end(from, 4), 1200);
  move(kind, host(out.data()), end(to, 4096), 1200);
  EXPECT_EQ(in, out);
}

/// The words with which something is refused.
template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (segment_error const& problem) {
    return problem.what();
  }
  return "not refused";
}

inline void expect_words(std::string const& text, char const* words) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

inline void expect_nothing_left(fake_cuda::control const& fake) {
  EXPECT_EQ(fake.contexts, 0);
  EXPECT_EQ(fake.streams, 0);
  EXPECT_EQ(fake.events, 0);
  EXPECT_EQ(fake.reservations, 0);
  EXPECT_EQ(fake.mappings, 0);
  EXPECT_EQ(fake.objects, 0);
  EXPECT_EQ(fake.registrations, 0);
  EXPECT_EQ(fake.modules, 0);
  EXPECT_EQ(fake.user_objects, 0);
}

}  // namespace atl::memory
