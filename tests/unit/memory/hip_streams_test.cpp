// Streams of the program through HIP, over a fake of its runtime, whose streams wait for memory of signals alone, as documented.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "memory/gpu/gpu_kind.hpp"
#include "memory/hip/hip_driver.hpp"
#include "memory/program_streams.hpp"
#include "support/fake_cuda/control.hpp"
#include "unit/memory/gpu_copies.hpp"

namespace atl::memory {
namespace {

class hip_streams_test : public testing::Test {
 protected:
  hip_streams_test()
      : library_(std::getenv("FAKE_HIP_LIBRARY")), handle_(dlopen(library_.c_str(), RTLD_NOW)) {
    fake_ = reinterpret_cast<fake_cuda::get_control*>(dlsym(handle_, "fake_cuda"))();
    hip_.load(library_.c_str());
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  ~hip_streams_test() override {
    expect_nothing_left(*fake_);
    EXPECT_EQ(hip_.last_error(), hip::success);
    for (char const* name : {"FAKE_CUDA", "FAKE_HIP"}) unsetenv(name);
  }
  std::unique_ptr<gpu::gpu_kind> open(char const* what = "") {
    setenv("FAKE_CUDA", what, 1);
    fake_->restart();
    std::string why;
    return std::make_unique<gpu::gpu_kind>(hip::hip_driver::open(library_, why));
  }
  static void finish(gpu::gpu_kind& kind, stream_handle on) {
    noted_copy record;
    kind.streams()->report(on, &record);
    while (!record.done) kind.poll();
  }
  /// Whether a stream has not come to the record, though it had time.
  static bool stands(gpu::gpu_kind& kind, noted_copy const& before) {
    for (int i = 0; i < 20; ++i) {
      kind.poll();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return !before.done;
  }
  static std::uint64_t value(gpu::gpu_kind& kind, device_segment const& in, std::uint64_t offset) {
    std::uint64_t out = 0;
    move(kind, host(&out), end(in, offset), 8);
    return out;
  }

  std::string library_;
  void* handle_;
  hip::api hip_;
  fake_cuda::control* fake_ = nullptr;
};

TEST_F(hip_streams_test, streams_of_the_program_copy_and_write_in_their_order) {
  auto const kind = open();
  auto const own = kind->create(1, mib, nullptr);
  hip::stream theirs = nullptr;
  hip_.device_set(1);
  ASSERT_EQ(hip_.stream_create(&theirs, hip::stream_non_blocking), hip::success);
  hip_.device_set(0);
  program_streams& streams = *kind->streams();
  EXPECT_EQ(streams.device_of(theirs), 1);
  EXPECT_FALSE(streams.is_captured(theirs));
  EXPECT_EQ(streams.device_of(nullptr), 0) << "the null stream is of the current device";
  std::uint64_t const in = 5;
  std::uint64_t out[2] = {};
  streams.copy(theirs, end(*own), host(&in), 8, false);
  streams.copy(theirs, host(&out[0]), end(*own), 8, false);
  EXPECT_TRUE(streams.write(theirs, end(*own), 6));
  streams.copy(theirs, host(&out[1]), end(*own), 8, false);
  finish(*kind, theirs);
  EXPECT_EQ(out[0], 5u);
  EXPECT_EQ(out[1], 6u);
  EXPECT_FALSE(streams.need_polls());
  int device = -1;
  hip_.device_get(&device);
  EXPECT_EQ(device, 0);
  hip_.stream_destroy(theirs);
}

TEST_F(hip_streams_test, a_stream_waits_for_words_of_devices_and_of_the_host) {
  alignas(4096) static std::uint64_t word[512];
  for (bool const on_host : {false, true}) {
    SCOPED_TRACE(on_host);
    auto const kind = open();
    auto const own = kind->create(0, mib, nullptr);
    auto const other = kind->create(1, mib, nullptr);
    word[0] = 0;
    kind->know_host_memory(word, sizeof word);
    program_streams& streams = *kind->streams();
    stream_handle const on = streams.make(0);
    stream_handle const writer = streams.make(1);
    // The second one is of a device that is not the stream's.
    for (copy_end const w :
         on_host ? std::vector{host(word)} : std::vector{end(*own, 64), end(*other, 128)}) {
      streams.write(on, w, ~std::uint64_t{1});
      finish(*kind, on);  // else the other stream's 2 may come before it
      noted_copy passed;
      EXPECT_TRUE(streams.wait(on, w, 1, comparison::at_least));
      EXPECT_TRUE(streams.need_polls());
      streams.report(on, &passed);
      EXPECT_TRUE(stands(*kind, passed)) << "the signed difference counts";
      streams.write(writer, w, 2);
      while (!passed.done) kind->poll();
      EXPECT_FALSE(streams.need_polls());
      noted_copy equal;
      EXPECT_TRUE(streams.wait(on, w, 1, comparison::equal));
      streams.report(on, &equal);
      EXPECT_TRUE(stands(*kind, equal));
      streams.write(writer, w, 1);
      while (!equal.done) kind->poll();
      finish(*kind, writer);
    }
    kind->forget_host_memory(word);
  }
}

TEST_F(hip_streams_test, the_host_looks_when_the_stream_has_come) {
  auto const kind = open();
  auto const own = kind->create(0, mib, nullptr);
  program_streams& streams = *kind->streams();
  stream_handle const on = streams.make(0);
  stream_handle const writer = streams.make(0);
  streams.write(on, end(*own), 3);
  finish(*kind, on);
  noted_copy first;
  noted_copy second;
  EXPECT_TRUE(streams.wait_and_write(on, end(*own), 3, comparison::equal, 0));
  streams.report(on, &first);
  // The word has the value until the stream resets it.
  EXPECT_TRUE(streams.wait_and_write(on, end(*own), 3, comparison::equal, 7));
  streams.report(on, &second);
  while (!first.done) kind->poll();
  EXPECT_TRUE(stands(*kind, second));
  EXPECT_EQ(value(*kind, *own, 0), 0u);
  streams.write(writer, end(*own), 3);
  while (!second.done) kind->poll();
  finish(*kind, on);
  EXPECT_EQ(value(*kind, *own, 0), 7u);
  // Nor does it before.
  static std::uint64_t word;
  word = 3;
  fake_->hold(true);
  streams.wait(on, host(&word), 3, comparison::equal);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(kind->poll());
  fake_->hold(false);
  finish(*kind, on);
}

TEST_F(hip_streams_test, many_streams_wait_each_for_its_word_and_gates_are_used_again) {
  constexpr std::uint64_t count = 20;
  auto const kind = open();
  auto const own = kind->create(0, mib, nullptr);
  program_streams& streams = *kind->streams();
  stream_handle const writer = streams.make(0);
  std::vector<stream_handle> on;
  for (std::uint64_t i = 0; i < count; ++i) {
    on.push_back(streams.make(0));
    streams.write(writer, end(*own, 8 * i), 0);
  }
  finish(*kind, writer);
  int made = 0;
  for (std::uint64_t round = 1; round <= 5; ++round) {
    std::vector<noted_copy> passed(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      streams.wait(on[i], end(*own, 8 * i), round, comparison::at_least);
      streams.report(on[i], &passed[i]);
    }
    if (round == 1) made = fake_->objects;
    EXPECT_EQ(fake_->objects, made);
    // The last first.
    for (std::uint64_t i = count; i-- > 0;) {
      EXPECT_FALSE(passed[i].done);
      streams.write(writer, end(*own, 8 * i), round);
      while (!passed[i].done) kind->poll();
    }
  }
  finish(*kind, writer);
}

TEST_F(hip_streams_test, additions_are_made_where_the_word_is) {
  auto const kind = open();
  auto const own = kind->create(0, mib, nullptr);
  program_streams& streams = *kind->streams();
  stream_handle const on = streams.make(0);
  streams.write(on, end(*own, 8), 40);
  EXPECT_FALSE(streams.add(on, end(*own, 8), 1));
  for (std::uint64_t const more : {3, -2, 1}) EXPECT_TRUE(streams.add_at_home(on, end(*own, 8), more));
  finish(*kind, on);
  EXPECT_EQ(value(*kind, *own, 8), 42u);
}

TEST_F(hip_streams_test, host_memory_that_others_have_registered_is_theirs) {
  alignas(4096) static std::byte memory[2 * 4096];
  memory_range const whole{memory, sizeof memory};
  memory_range const first{memory, 4096};
  auto const kind = open();
  auto const segment = kind->create(0, mib, nullptr);
  ASSERT_EQ(hip_.host_register(memory, sizeof memory, 0), hip::success);
  int const before = fake_->registrations;
  EXPECT_EQ(kind->pin(whole, whole), "");
  EXPECT_TRUE(kind->is_pinned(whole));
  move(*kind, end(*segment), host(memory), sizeof memory);
  EXPECT_TRUE(kind->unpin(whole));
  EXPECT_EQ(fake_->registrations, before);
  ASSERT_EQ(hip_.host_unregister(memory), hip::success);
  // A part of it.
  ASSERT_EQ(hip_.host_register(memory, 4096, 0), hip::success);
  expect_words(kind->pin(whole, whole), "already mapped");
  EXPECT_EQ(kind->pin(first, first), "");
  EXPECT_TRUE(kind->unpin(first));
  ASSERT_EQ(hip_.host_unregister(memory), hip::success);
}

TEST_F(hip_streams_test, segments_outlive_what_streams_do) {
  auto const kind = open();
  auto const own = kind->create(0, mib, nullptr);
  program_streams& streams = *kind->streams();
  stream_handle const on = streams.make(0);
  streams.write(on, end(*own), 0);
  finish(*kind, on);  // else the other stream's 1 may come before it
  streams.wait(on, end(*own), 1, comparison::at_least);
  std::uint64_t const number = kind->begin_waiting();
  noted_copy passed;
  streams.report(on, &passed);
  EXPECT_TRUE(stands(*kind, passed));
  EXPECT_FALSE(kind->has_ended(number));
  stream_handle const writer = streams.make(0);
  streams.write(writer, end(*own), 1);
  while (!kind->has_ended(number)) kind->poll();
  finish(*kind, on);
  finish(*kind, writer);
}

TEST_F(hip_streams_test, what_a_device_or_the_library_lacks_is_said) {
  auto const wait = [&](char const* device, char const* runtime) {
    setenv("FAKE_HIP", runtime, 1);
    auto const kind = open(device);
    auto const own = kind->create(0, mib, nullptr);
    kind->streams()->wait(kind->streams()->make(0), end(*own), 1, comparison::at_least);
  };
  EXPECT_DEATH(wait("refuse=write", ""),
               "HIP device 0 cannot let streams wait .*lacks hipDeviceAttributeCanUseStreamWaitValue");
  EXPECT_DEATH(wait("", "no_signals"), "has no memory of signals .*hipMallocSignalMemory.*invalid argument");
  setenv("FAKE_HIP", "", 1);
  auto const use = [&](bool known) {
    auto const kind = open();
    program_streams& streams = *kind->streams();
    int nothing = 0;
    stream_handle const on = known ? streams.make(0) : &nothing;
    auto const begin =
        reinterpret_cast<hip::hip_result (*)(stream_handle, int)>(dlsym(handle_, "hipStreamBeginCapture"));
    if (known) begin(on, 0);
    auto const own = kind->create(0, mib, nullptr);
    streams.copy(on, end(*own), end(*own, 64), 8, false);
  };
  EXPECT_DEATH(use(true), "of HIP device 0 is captured into a graph, which works with CUDA alone");
  EXPECT_DEATH(use(false), "is no stream of a HIP device: invalid resource handle");
}

}  // namespace
}  // namespace atl::memory
