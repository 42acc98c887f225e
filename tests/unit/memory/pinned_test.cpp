// Private memory of the program that is pinned, over a driver that refuses what crosses the border of what is registered.

#include "unit/memory/cuda_fixture.hpp"

namespace atl::memory {
namespace {

constexpr std::size_t page = 4096;

class pinned_test : public cuda_test {
 protected:
  static memory_range range(std::byte* begin, std::size_t bytes) { return {begin, bytes}; }
  /// There and back.
  void expect_copies(gpu::gpu_kind& kind, device_segment const& segment, std::byte* memory,
                     std::size_t bytes) {
    std::vector<std::byte> values(bytes);
    for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<std::byte>(i * 7 + i / 256);
    std::memcpy(memory, values.data(), bytes);
    move(kind, end(segment), host(memory), bytes);
    std::memset(memory, 0, bytes);
    move(kind, host(memory), end(segment), bytes);
    EXPECT_EQ(std::memcmp(memory, values.data(), bytes), 0);
  }

  /// Registered for copies of long private memory.
  static constexpr int staging = 1;
  alignas(page) static inline std::byte memory_[16 * page];
};

TEST_F(pinned_test, memory_is_registered_once_and_copies_cross_its_borders) {
  auto const kind = open();
  auto const segment = kind->create(0, mib, nullptr);
  memory_range const middle = range(memory_ + 4 * page, 4 * page);
  EXPECT_FALSE(kind->is_pinned(middle));
  EXPECT_EQ(kind->pin(middle, range(middle.begin + 10, 3 * page)), "");
  EXPECT_EQ(kind->pin(range(memory_ + 8 * page, page), range(memory_ + 8 * page, page)), "");
  EXPECT_EQ(fake_->registrations - staging, 2);
  EXPECT_TRUE(kind->is_pinned(middle));
  EXPECT_TRUE(kind->is_pinned(range(memory_ + 7 * page + 1, page)));
  EXPECT_FALSE(kind->is_pinned(range(memory_ + 8 * page + 1, page)));
  std::uint64_t before = fake_->copies;
  expect_copies(*kind, *segment, middle.begin, middle.bytes);
  EXPECT_EQ(fake_->copies - before, 2u);
  before = fake_->copies;
  expect_copies(*kind, *segment, memory_ + 100, 15 * page);  // not pinned, one, the other, not pinned
  EXPECT_EQ(fake_->copies - before, 8u);
  EXPECT_TRUE(kind->unpin(middle));
  EXPECT_TRUE(kind->unpin(middle));
  EXPECT_EQ(fake_->registrations - staging, 1);
  EXPECT_FALSE(kind->is_pinned(middle));
  expect_copies(*kind, *segment, memory_ + 100, 15 * page);
}  // the rest is unregistered with the kind

TEST_F(pinned_test, copies_under_way_keep_memory_pinned) {
  auto const kind = open();
  auto const segment = kind->create(0, mib, nullptr);
  memory_range const whole = range(memory_, 2 * page);
  ASSERT_EQ(kind->pin(whole, whole), "");
  std::vector<int> order;
  std::vector<watched> records(4);
  for (auto& record : records) record.order = &order;
  fake_->hold(true);
  kind->copy(end(*segment), host(memory_ + 10), 100, 0, &records[0], nullptr);
  kind->copy(host(memory_ + page), end(*segment, 1000), 100, 1, &records[1], nullptr);
  records[2].gathered = true;
  kind->copy(end(*segment, 2000), host(memory_ + 200), 100, 2, &records[2],
             nullptr);  // kept: the driver knows nothing of it
  EXPECT_FALSE(kind->unpin(whole));
  EXPECT_EQ(fake_->registrations - staging, 1);
  kind->poll();
  EXPECT_FALSE(kind->unpin(whole));
  fake_->hold(false);
  while (!kind->unpin(whole)) kind->poll();
  EXPECT_EQ(order.size(), 3u);
  EXPECT_EQ(fake_->registrations - staging, 0);
  // Copies of other memory do not.
  ASSERT_EQ(kind->pin(whole, whole), "");
  fake_->hold(true);
  kind->copy(end(*segment), host(memory_ + 2 * page), 100, 0, &records[3], nullptr);
  EXPECT_TRUE(kind->unpin(whole));
  fake_->hold(false);
  wait(*kind, order, 4);
}

TEST_F(pinned_test, gathered_copies_of_pinned_memory_go_together) {
  auto const kind = open();
  auto const segment = kind->create(0, mib, nullptr);
  ASSERT_EQ(kind->pin(range(memory_, page), range(memory_, page)), "");
  std::vector<int> order;
  std::vector<watched> records(3);
  auto const start = [&](std::size_t i, std::size_t offset) {
    records[i].order = &order;
    records[i].gathered = true;
    kind->copy(end(*segment, 64 * i), host(memory_ + offset), 64, 0, &records[i], nullptr);
  };
  std::uint64_t const before = fake_->copies;
  std::uint64_t const batches = fake_->batches;
  start(0, 0);
  start(1, 128);
  EXPECT_EQ(fake_->copies, before);
  start(2, page - 32);  // crosses the border
  EXPECT_EQ(fake_->batches, batches + 1);
  EXPECT_EQ(fake_->copies, before + 4);
  wait(*kind, order, 3);
}

TEST_F(pinned_test, what_others_have_registered_is_theirs) {
  auto const kind = open();
  auto const segment = kind->create(0, mib, nullptr);
  // By the byte, as programs do; and something beside it in its last page.
  cuda::context current = nullptr;
  ASSERT_EQ(cu_.primary_retain(&current, 0), cuda::success);
  ASSERT_EQ(cu_.context_push(current), cuda::success);
  std::byte* const theirs = memory_ + page + 100;
  ASSERT_EQ(cu_.host_register(theirs, page, 0), cuda::success);
  EXPECT_EQ(kind->pin(range(memory_ + page, 2 * page), range(theirs, page)), "");
  EXPECT_TRUE(kind->is_pinned(range(theirs, page)));
  EXPECT_FALSE(kind->is_pinned(range(theirs, page + 1)));
  expect_copies(*kind, *segment, memory_, 4 * page);
  EXPECT_EQ(kind->pin(range(memory_ + 4 * page, page), range(memory_ + 4 * page + 8, 16)), "");
  EXPECT_TRUE(kind->unpin(range(memory_ + page, 2 * page)));
  EXPECT_EQ(fake_->registrations - staging, 2);
  // Beside it in its page: what is wanted alone. More than they have: not at all.
  EXPECT_EQ(kind->pin(range(memory_ + 2 * page, page), range(memory_ + 2 * page + 1000, 64)), "");
  EXPECT_EQ(fake_->registrations - staging, 3);
  EXPECT_TRUE(kind->is_pinned(range(memory_ + 2 * page + 1000, 64)));
  expect_words(kind->pin(range(memory_ + page, page), range(memory_ + page + 50, page - 50)),
               "already mapped");
  EXPECT_FALSE(kind->is_pinned(range(theirs, 8)));
  ASSERT_EQ(cu_.host_unregister(theirs), cuda::success);
  ASSERT_EQ(cu_.context_pop(&current), cuda::success);
  cu_.primary_release(0);
}

TEST_F(pinned_test, a_refusal_has_words_and_copies_go_on) {
  for (char const* const what : {"refuse=register", "lockable=4096"}) {
    auto const kind = open(what);
    auto const segment = kind->create(0, mib, nullptr);
    memory_range const whole = range(memory_, 4 * page);
    expect_words(kind->pin(whole, whole),
                 std::strcmp(what, "refuse=register") == 0 ? "operation not supported" : "out of memory");
    EXPECT_FALSE(kind->is_pinned(whole));
    expect_copies(*kind, *segment, memory_, 4 * page);
    EXPECT_TRUE(kind->unpin(whole));
  }
}

TEST_F(pinned_test, streams_of_programs_take_it_as_pinned) {
  auto const kind = open();
  auto const segment = kind->create(0, mib, nullptr);
  program_streams& streams = *kind->streams();
  stream_handle const s = streams.make(0);
  memory_range const whole = range(memory_ + page, 2 * page);
  EXPECT_FALSE(streams.is_pinned(whole.begin, whole.bytes, false));
  ASSERT_EQ(kind->pin(range(whole.begin, page), range(whole.begin, page)), "");
  ASSERT_EQ(kind->pin(range(whole.begin + page, page), range(whole.begin + page, page)), "");
  ASSERT_EQ(kind->pin(range(memory_ + 4 * page, page), range(memory_ + 4 * page, page)), "");
  EXPECT_TRUE(streams.is_pinned(whole.begin, whole.bytes, false));
  EXPECT_FALSE(streams.is_pinned(whole.begin, whole.bytes + 1, false));
  EXPECT_FALSE(streams.is_pinned(whole.begin, 4 * page, false));  // both ends are
  memory_[2 * page - 1] = std::byte{5};
  memory_[2 * page] = std::byte{6};
  streams.copy(s, end(*segment), host(whole.begin), whole.bytes, false);
  noted_copy done;
  streams.report(s, &done);
  while (!done.done) kind->poll();
  std::byte out[2] = {};
  move(*kind, host(out), end(*segment, page - 1), 2);
  EXPECT_EQ(out[0], std::byte{5});
  EXPECT_EQ(out[1], std::byte{6});
}

}  // namespace
}  // namespace atl::memory
