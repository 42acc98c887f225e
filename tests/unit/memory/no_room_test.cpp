// A device that is full: what copies and streams need of it, in calls that throw nothing.

#include "unit/memory/cuda_fixture.hpp"

namespace atl::memory {
namespace {

class no_room_test : public cuda_test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  /// A copy of so many bytes of private memory to a device, and what comes of it.
  void copy(char const* what, std::size_t bytes) {
    auto const kind = open(what);
    auto const segment = kind->create(0, mib, nullptr);
    std::vector<std::byte> values(bytes);
    std::vector<int> order;
    watched record;
    record.order = &order;
    kind->copy(end(*segment), host(values.data()), bytes, 0, &record, nullptr);
    wait(*kind, order, 1);
  }
};

TEST_F(no_room_test, for_a_stream_ends_a_copy_in_words) {
  EXPECT_DEATH(copy("refuse=streams", 8),
               "cuda device 0 gives this process no stream, .*: CUDA: .*out of memory.*smaller segments");
}

TEST_F(no_room_test, for_an_event_ends_progress_in_words) {
  EXPECT_DEATH(copy("refuse=events", 8),
               "cuda device 0 gives this process no event, .*: CUDA: .*out of memory");
}

TEST_F(no_room_test, for_an_event_ends_a_long_copy_of_private_memory_in_words) {
  EXPECT_DEATH(copy("refuse=events", mib),
               "cuda device 0 gives this process no event, .*: CUDA: .*out of memory");
}

TEST_F(no_room_test, for_a_stream_of_the_program_ends_the_call_in_words) {
  EXPECT_DEATH(
      {
        auto const kind = open("refuse=streams");
        auto const segment = kind->create(1, mib, nullptr);
        kind->streams()->make(1);
      },
      "cuda device 1 gives this process no stream, .*: CUDA: .*out of memory");
}

}  // namespace
}  // namespace atl::memory
