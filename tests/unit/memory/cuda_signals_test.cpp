// Signals in streams of the program through the CUDA driver: waits that reset, and additions.

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "unit/memory/cuda_fixture.hpp"

namespace atl::memory {
namespace {

class cuda_signals_test : public cuda_test {};

TEST_F(cuda_signals_test, a_wait_and_a_reset_are_one_call) {
  auto const kind = open();
  auto const memory = kind->create(0, mib, nullptr);
  program_streams& streams = *kind->streams();
  stream_handle const on = streams.make(0);
  stream_handle const other = streams.make(1);
  std::uint64_t out = 0;
  for (comparison const how : {comparison::equal, comparison::at_least}) {
    streams.write(on, end(*memory, 64), 0);
    finish(*kind, on);
    std::uint64_t const before = fake_->operations;
    std::uint64_t const writes = fake_->writes;
    EXPECT_TRUE(streams.wait_and_write(on, end(*memory, 64), 3, how, 8));
    EXPECT_EQ(fake_->operations, before + 1);
    EXPECT_EQ(fake_->writes, writes);
    streams.copy(on, host(&out), end(*memory, 64), 8, false);
    std::vector<int> order;
    watched passed;
    passed.order = &order;
    streams.report(on, &passed);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_FALSE(kind->poll()) << "the stream does not wait";
    streams.write(other, end(*memory, 64), how == comparison::equal ? 3 : 4);
    wait(*kind, order, 1);
    EXPECT_EQ(out, 8u);
  }
  finish(*kind, other);
}

TEST_F(cuda_signals_test, what_devices_can_do_is_asked_once) {
  auto const kind = open("reductions");
  auto const own = kind->create(0, mib, nullptr);
  auto const theirs = kind->create(1, mib, nullptr);
  program_streams& streams = *kind->streams();
  stream_handle const on = streams.make(0);
  // Of a device when it is used.
  std::uint64_t before = fake_->attributes;
  EXPECT_TRUE(streams.write(on, end(*own), 1));
  EXPECT_GT(fake_->attributes, before);
  before = fake_->attributes;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(streams.write(on, end(*own), 1));
    EXPECT_TRUE(streams.add(on, end(*own), 1));
    EXPECT_TRUE(streams.add(on, end(*theirs), 1));
    EXPECT_TRUE(streams.wait(on, end(*own), 2, comparison::equal));
    EXPECT_TRUE(streams.wait_and_write(on, end(*own), 2, comparison::equal, 0));
  }
  finish(*kind, on);
  EXPECT_EQ(fake_->attributes, before);
}

TEST_F(cuda_signals_test, of_many_reports_in_a_stream_the_first_alone_is_asked_for) {
  auto const kind = open();
  auto const memory = kind->create(0, mib, nullptr);
  program_streams& streams = *kind->streams();
  stream_handle const on = streams.make(0);
  stream_handle const other = streams.make(0);
  EXPECT_TRUE(streams.write(on, end(*memory), 0));
  finish(*kind, on);  // else the other stream's 1 may come before it
  EXPECT_TRUE(streams.wait(on, end(*memory), 1, comparison::equal));
  constexpr int count = 200;
  std::vector<int> order;
  std::vector<watched> all(count + 2);
  auto const report = [&](stream_handle s, int number) {
    auto& record = all[static_cast<std::size_t>(number)];
    record.number = number;
    record.order = &order;
    streams.report(s, &record);
  };
  for (int i = 0; i < count; ++i) report(on, i);
  report(other, count);
  wait(*kind, order, 1);
  EXPECT_EQ(order, std::vector<int>(1, count)) << "another stream's is behind them";
  constexpr int polls = 10;
  std::uint64_t const before = fake_->queries;
  for (int i = 0; i < polls; ++i) kind->poll();
  EXPECT_LE(fake_->queries - before, 2U * polls);
  // What is left in a stream that has ended is not in the way of the next one, which may have its handle.
  streams.drop(on);
  stream_handle const next = streams.make(0);
  report(next, count + 1);
  wait(*kind, order, 2);
  EXPECT_EQ(order.back(), count + 1);
  EXPECT_TRUE(streams.write(other, end(*memory), 1));
  wait(*kind, order, count + 2);
  for (int i = 0; i < count; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i) + 2], i);
  finish(*kind, other);
}

TEST_F(cuda_signals_test, devices_add_where_their_atomics_reach) {
  alignas(4096) static std::uint64_t word[512];
  struct form {
    char const* what;
    bool on_peer;
    bool on_host;
    bool on_own;
  };
  for (form const& each :
       {form{"", true, false, true}, form{"reductions", true, false, true},
        form{"host_atomics", true, true, true}, form{"refuse=atomics", false, false, true},
        form{"refuse=peer,host_atomics", false, true, true}, form{"refuse=write", true, false, true},
        form{"refuse=kernels,reductions", true, false, true},
        form{"refuse=kernels,host_atomics", false, false, false}}) {
    SCOPED_TRACE(each.what);
    testing::internal::CaptureStderr();
    auto const kind = open(each.what);
    auto const own = kind->create(0, mib, nullptr);
    auto const theirs = kind->create(1, mib, nullptr);
    kind->know_host_memory(word, sizeof word);
    program_streams& streams = *kind->streams();
    stream_handle const on = streams.make(0);
    word[0] = 0;
    std::uint64_t in[2] = {7, ~std::uint64_t{0}};
    std::uint64_t out[2] = {};
    streams.copy(on, end(*own), host(&in[0]), 8, false);
    // By a device that reaches it.
    stream_handle const there = streams.make(1);
    bool const reached = std::strstr(each.what, "peer") == nullptr;
    EXPECT_EQ(streams.can_copy(on, end(*theirs), host(&in[1])), reached);
    std::uint64_t const copies = fake_->copies;
    EXPECT_EQ(streams.copy(on, end(*theirs), host(&in[1]), 8, false), reached);
    EXPECT_EQ(fake_->copies, copies + (reached ? 1 : 0));
    streams.copy(there, end(*theirs), host(&in[1]), 8, false);
    finish(*kind, there);
    std::uint64_t const before = fake_->additions;
    std::uint64_t const calls = fake_->operations;
    std::uint64_t const kernels = fake_->kernels;
    EXPECT_EQ(streams.add(on, end(*own), 5), each.on_own);
    EXPECT_EQ(streams.add(on, end(*theirs), 5), each.on_peer);
    EXPECT_EQ(streams.add(on, host(&word[0]), 5), each.on_host);
    auto const done = static_cast<std::uint64_t>(each.on_own) + each.on_peer + each.on_host;
    EXPECT_EQ(fake_->additions, before + done);
    EXPECT_EQ(fake_->operations - calls, std::strstr(each.what, "reductions") != nullptr ? done : 0);
    EXPECT_EQ(fake_->kernels, kernels) << "counts copies alone";
    streams.copy(on, host(&out[0]), end(*own), 8, false);
    finish(*kind, on);
    streams.copy(there, host(&out[1]), end(*theirs), 8, false);
    finish(*kind, there);
    EXPECT_EQ(out[0], each.on_own ? 12u : 7u);
    EXPECT_EQ(out[1], each.on_peer ? 4u : ~std::uint64_t{0});
    EXPECT_EQ(word[0], each.on_host ? 5u : 0u);
    kind->forget_host_memory(word);
    std::string const said = testing::internal::GetCapturedStderr();
    if (!each.on_own) expect_words(said, "others add to signals for it");
  }
}

TEST_F(cuda_signals_test, nothing_is_added_to_memory_of_devices_that_are_not_seen) {
  auto const kind = open();
  auto const segment = kind->create(1, mib, nullptr);
  os::unique_fd descriptor;
  export_record record = kind->export_segment(*segment, descriptor);
  program_streams& streams = *kind->streams();
  stream_handle const on = streams.make(0);
  for (bool const seen : {true, false}) {
    if (!seen) record.device.fill(1);
    os::unique_fd copy(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0));
    auto const imported = kind->import_segment(record, std::move(copy), segment->base(), mib);
    EXPECT_EQ(streams.add(on, end(*imported), 1), seen);
    finish(*kind, on);
  }
}

}  // namespace
}  // namespace atl::memory
