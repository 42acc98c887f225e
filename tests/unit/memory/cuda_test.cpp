// GPU memory through the CUDA driver, over a driver that plays devices in host memory.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>

#include "unit/memory/cuda_fixture.hpp"

namespace atl::memory {
namespace {

using cuda_death_test = cuda_test;

TEST_F(cuda_test, what_is_not_there_is_said) {
  EXPECT_EQ(cuda::cuda_driver::open("libnot_there.so.1", why_), nullptr);
  expect_words(why_, "no CUDA driver: libnot_there.so.1");
  EXPECT_EQ(cuda::cuda_driver::open("libm.so.6", why_), nullptr);
  expect_words(why_, "lacks cuInit; a driver of CUDA 12");
  EXPECT_EQ(open("devices=0"), nullptr);
  expect_words(why_, "finds no device");
  EXPECT_EQ(open("refuse=start"), nullptr);
  expect_words(why_, "does not start: operation not supported (CUDA_ERROR_NOT_SUPPORTED)");
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_EQ(open(), nullptr);
}

TEST_F(cuda_test, devices_are_described_and_known_by_uuid_whoever_sees_them) {
  std::string second;
  {
    auto const kind = open("memory=67108864");
    EXPECT_EQ(kind->device_n(), 2);
    EXPECT_NE(kind->uuid(0), kind->uuid(1));
    second = kind->uuid(1);
    expect_words(kind->info(), "CUDA driver 13.0");
    expect_words(kind->info(), "cuda device 1: fake device 1, 64 MiB, uuid fafafafa-");
    expect_words(kind->info(), "copies directly to and from device 0");
  }
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  auto const kind = open();
  EXPECT_EQ(kind->device_n(), 1);
  EXPECT_EQ(kind->uuid(0), second);
}

TEST_F(cuda_test, copies_go_between_all_memories_directly_or_through_the_driver) {
  for (char const* const what : {"", "refuse=peer", "refuse=vmm"}) {
    auto const kind = open(what);
    auto const a = kind->create(0, mib + 5, nullptr);
    auto const b = kind->create(1, mib, nullptr);
    EXPECT_EQ(a->bytes(), mib + 5);
    std::uint64_t const before = fake_->peer_copies;
    expect_travel(*kind, *a, *a);
    EXPECT_EQ(fake_->peer_copies, before);
    expect_travel(*kind, *b, *a);
    expect_travel(*kind, *a, *b);
    EXPECT_EQ(fake_->peer_copies, before + (*what == '\0' ? 0u : 2u)) << what;
    move(*kind, end(*a), end(*b), 0);
  }
}

TEST_F(cuda_test, a_full_device_refuses_with_numbers_and_stays_usable) {
  for (char const* const what : {"memory=8388608", "memory=8388608,refuse=vmm"}) {
    auto const kind = open(what);
    auto const some = kind->create(0, 4 * mib, nullptr);
    std::string const text = refusal([&] { kind->create(0, 5 * mib, nullptr); });
    expect_words(text, "CUDA device 0: cannot allocate 5 MiB: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
    expect_words(text, "4 MiB of 8 MiB are free");
    EXPECT_NE(kind->create(1, 5 * mib, nullptr), nullptr);
    expect_travel(*kind, *some, *some);
  }
}

TEST_F(cuda_test, memory_of_the_program_serves_as_a_segment_and_stays_the_programs) {
  auto const kind = open();
  cuda::context context = nullptr;
  cuda::pointer memory = 0;
  cu_.primary_retain(&context, 1);
  cu_.context_push(context);
  cu_.memory_alloc(&memory, 65536);
  cu_.context_pop(&context);
  auto* const inner = reinterpret_cast<void*>(memory + 4096);
  {
    auto const segment = kind->create(1, 8192, inner);
    EXPECT_EQ(segment->base(), memory + 4096);
    expect_travel(*kind, *segment, *segment);
    os::unique_fd descriptor;
    export_record const record = kind->export_segment(*segment, descriptor);
    EXPECT_EQ(record.reach, export_record::way::handle);
    EXPECT_EQ(record.offset, 4096u);
    EXPECT_EQ(record.whole, 65536u);
    EXPECT_FALSE(descriptor);
  }
  expect_words(refusal([&] { kind->create(0, 8192, inner); }), "not memory of device 0 but of device 1");
  expect_words(refusal([&] { kind->create(1, 65536, inner); }), "65536 bytes at 0x");
  int on_host = 0;
  expect_words(refusal([&] { kind->create(1, 4, &on_host); }), "not memory of device 1");
  cu_.context_push(context);
  EXPECT_EQ(cu_.memory_free(memory), cuda::success);
  cu_.context_pop(&context);
  cu_.primary_release(1);
}

TEST_F(cuda_test, peers_import_by_descriptor_through_the_device_that_reaches_the_memory) {
  for (char const* const what : {"", "refuse=peer"}) {
    auto const kind = open(what);
    auto const peer = std::make_unique<gpu::gpu_kind>(cuda::cuda_driver::open(library_, why_));
    auto own = kind->create(1, 3 * mib, nullptr);
    auto const theirs = peer->create(0, mib, nullptr);
    os::unique_fd descriptor;
    export_record const record = kind->export_segment(*own, descriptor);
    EXPECT_EQ(record.reach, export_record::way::descriptor);
    EXPECT_EQ(record.whole, 4 * mib);
    auto const imported = peer->import_segment(record, std::move(descriptor), own->base(), own->bytes());
    EXPECT_EQ(imported->base(), own->base());
    std::uint64_t const before = fake_->peer_copies;
    expect_travel(*peer, *imported, *theirs);
    expect_travel(*peer, *theirs, *imported);
    EXPECT_EQ(fake_->peer_copies, before + (*what == '\0' ? 0u : 2u)) << what;
    int const in = 4711;
    int out = 0;
    move(*peer, end(*imported, 2 * mib), host(&in), 4);
    move(*kind, host(&out), end(*own, 2 * mib), 4);
    EXPECT_EQ(out, 4711);
    own.reset();  // the memory lives as long as somebody has it
    out = 0;
    move(*peer, host(&out), end(*imported, 2 * mib), 4);
    EXPECT_EQ(out, 4711);
  }
}

TEST_F(cuda_test, what_no_device_here_reaches_is_not_imported) {
  auto const kind = open("refuse=peer");
  auto const own = kind->create(1, mib, nullptr);
  os::unique_fd descriptor;
  export_record record = kind->export_segment(*own, descriptor);
  record.device.fill(7);  // not one of ours
  auto const peer = std::make_unique<gpu::gpu_kind>(cuda::cuda_driver::open(library_, why_));
  auto const theirs = peer->create(0, mib, nullptr);
  expect_words(refusal([&] { peer->import_segment(record, std::move(descriptor), own->base(), mib); }),
               "cannot reach the memory from the device: invalid device ordinal");
}

TEST_F(cuda_test, what_the_driver_does_not_export_is_left_to_its_owner) {
  auto const reach = [&](char const* what) {
    auto const kind = open(what);
    auto const own = kind->create(0, mib, nullptr);
    os::unique_fd descriptor;
    return kind->export_segment(*own, descriptor).reach;
  };
  using way = export_record::way;
  testing::internal::CaptureStderr();
  EXPECT_EQ(reach("refuse=export"), way::none);
  expect_words(testing::internal::GetCapturedStderr(),
               "peers cannot import 1 MiB of cuda device 0: operation");
  EXPECT_EQ(reach("refuse=vmm"), way::handle);
  EXPECT_EQ(reach("refuse=vmm,refuse=ipc"), way::none);
  setenv("ATOLL_GPU_DESCRIPTORS", "no", 1);
  EXPECT_EQ(reach(""), way::handle);
}

TEST_F(cuda_test, copies_started_in_a_row_share_an_event_and_land_in_order) {
  auto const kind = open();
  auto const segment = kind->create(0, mib, nullptr);
  std::vector<int> order;
  std::vector<watched> records(40);
  int const in = 1;
  auto const start = [&](std::size_t i) {
    records[i].number = static_cast<int>(i);
    records[i].order = &order;
    kind->copy(end(*segment, i * 4), host(&in), 4, 3, &records[i], nullptr);
  };
  fake_->hold(true);
  std::uint64_t const before = fake_->records;
  for (std::size_t i = 0; i < 20; ++i) start(i);
  EXPECT_EQ(fake_->records, before);  // nobody has looked
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(kind->poll());
  EXPECT_EQ(fake_->records, before + 1);
  for (std::size_t i = 20; i < 40; ++i) start(i);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(kind->poll());
  EXPECT_EQ(fake_->records, before + 2);
  EXPECT_TRUE(order.empty());
  fake_->hold(false);
  wait(*kind, order, 40);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_FALSE(kind->poll());
  EXPECT_EQ(fake_->records, before + 2);
}

TEST_F(cuda_test, announced_copies_write_their_word_while_nobody_looks_and_need_no_event) {
  alignas(4096) static announcement_line lines[4];
  for (char const* const what : {"", "refuse=write", "refuse=register"}) {
    bool const can = *what == '\0';
    testing::internal::CaptureStderr();
    for (announcement_line& line : lines) line.word = 0;
    auto const kind = open(what);
    auto const segment = kind->create(0, mib, nullptr);
    kind->know_host_memory(lines, sizeof lines);
    kind->use_announcements(lines);
    std::vector<int> order;
    std::vector<watched> records(3);
    std::vector<announcement> news(3);
    int const in = 77;
    std::uint64_t const before = fake_->records;
    for (std::size_t i = 0; i < 3; ++i) {
      records[i].order = &order;
      kind->copy(end(*segment, i * 4), host(&in), 4, static_cast<std::uint32_t>(i / 2), &records[i],
                 &news[i]);
      EXPECT_EQ(news[i].word != nullptr, can) << what;
    }
    if (can) {
      EXPECT_NE(news[0].word, news[1].word);  // one peer, several streams
      EXPECT_NE(news[0].word, news[2].word);
      EXPECT_NE(news[1].word, news[2].word);
      for (announcement const& n : news) {
        while (n.word->load(std::memory_order_acquire) < n.value) std::this_thread::yield();
      }
      EXPECT_TRUE(order.empty());
    }
    wait(*kind, order, 3);
    EXPECT_EQ(fake_->records == before, can) << what;
    std::string const said = testing::internal::GetCapturedStderr();
    if (std::strcmp(what, "refuse=register") == 0) expect_words(said, "does not pin 256 B");
  }
}

TEST_F(cuda_test, what_is_announced_after_other_copies_tells_of_them_too) {
  alignas(4096) static announcement_line lines[3];
  for (announcement_line& line : lines) line.word = 0;
  auto const kind = open();
  auto const segment = kind->create(0, mib, nullptr);
  kind->know_host_memory(lines, sizeof lines);
  kind->use_announcements(lines);
  std::vector<int> order;
  std::vector<watched> records(10);
  std::vector<announcement> news(10);
  int const in = 77;
  fake_->hold(true);
  auto const start = [&](std::size_t i, std::uint32_t peer, bool announced) {
    records[i].order = &order;
    kind->copy(end(*segment, i * 4), host(&in), 4, peer, &records[i], announced ? &news[i] : nullptr);
  };
  for (std::size_t i = 0; i < 6; ++i) start(i, 0, true);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NE(news[i].word, news[i + 1].word);
    EXPECT_EQ(news[i].word, news[i + 2].word) << "the streams take turns";
    EXPECT_LT(news[i].value, news[i + 2].value);
  }
  start(6, 0, false);
  for (std::size_t i = 7; i < 10; ++i) {
    start(i, 0, true);
    EXPECT_EQ(news[i].word, news[0].word) << "in the stream of the one that was not announced";
  }
  fake_->hold(false);
  wait(*kind, order, 10);
  fake_->hold(true);
  for (std::size_t i = 0; i < 2; ++i) start(i, 0, true);
  EXPECT_NE(news[0].word, news[1].word) << "that one has landed";
  fake_->hold(false);
  wait(*kind, order, 12);

  // One word is left, so there is one stream for those to another peer.
  for (std::size_t i = 0; i < 3; ++i) start(i, 1, true);
  EXPECT_EQ(news[0].word, news[1].word);
  EXPECT_EQ(news[0].word, news[2].word);
  wait(*kind, order, 15);
}

TEST_F(cuda_test, of_many_announced_copies_some_share_a_write) {
  alignas(4096) static announcement_line lines[1];
  lines[0].word = 0;
  auto const kind = open();
  auto const segment = kind->create(0, 8 * mib, nullptr);
  kind->know_host_memory(lines, sizeof lines);
  kind->use_announcements(lines);
  std::vector<int> order;
  std::vector<watched> records(32);
  std::vector<announcement> news(32);
  std::vector<std::byte> in(4 * mib);
  kind->know_host_memory(in.data(), in.size());  // else the call would wait for the device
  std::uint64_t const before = fake_->writes;
  auto const writes = [&] { return fake_->writes - before; };
  auto const start = [&](std::size_t i, std::size_t bytes, bool announced) {
    records[i].order = &order;
    kind->copy(end(*segment, 0), host(in.data()), bytes, 0, &records[i], announced ? &news[i] : nullptr);
  };
  auto const tells = [&](std::size_t i) {
    while (news[i].word->load(std::memory_order_acquire) < news[i].value) std::this_thread::yield();
  };
  fake_->hold(true);
  for (std::size_t i = 0; i < 8; ++i) start(i, 4, true);
  EXPECT_EQ(writes(), 8) << "each by itself: nobody need look for them to be told of";
  for (std::size_t i = 8; i < 17; ++i) start(i, 4, true);
  EXPECT_EQ(writes(), 10);
  for (std::size_t i = 1; i < 17; ++i) {
    bool const shares = i > 8 && i % 4 != 0;
    EXPECT_EQ(news[i].value - news[i - 1].value, shares ? 0 : 1) << i;
  }
  EXPECT_FALSE(kind->poll());
  EXPECT_EQ(writes(), 11) << "the last one's, since somebody looked";
  EXPECT_FALSE(kind->poll());
  EXPECT_EQ(writes(), 11);
  start(17, 4, true);
  EXPECT_EQ(writes(), 11);
  kind->submit();
  EXPECT_EQ(writes(), 12);
  start(18, 4, true);
  start(19, 4 * mib, true);
  EXPECT_EQ(writes(), 14) << "no write waits for a long copy, which has its own";
  EXPECT_LT(news[18].value, news[19].value);
  start(20, 4, true);
  start(21, 4, false);
  EXPECT_EQ(writes(), 15) << "nor for one that is not announced";
  EXPECT_FALSE(kind->poll());
  start(22, 4, true);
  EXPECT_EQ(writes(), 16) << "the last of several, of which it tells";
  fake_->hold(false);
  for (std::size_t const i : {7, 11, 15, 16, 17, 18, 19, 20, 22}) tells(i);
  wait(*kind, order, 23);
  start(23, 4, true);
  EXPECT_EQ(writes(), 17) << "all have landed";
  wait(*kind, order, 24);
}

TEST_F(cuda_test, gathered_copies_start_together_and_are_announced_once) {
  alignas(4096) static announcement_line lines[8];
  alignas(4096) static std::byte shared[4096];
  for (char const* const what : {"", "refuse=batch", "refuse=batch_function"}) {
    for (announcement_line& line : lines) line.word = 0;
    auto const kind = open(what);
    auto const segment = kind->create(0, mib, nullptr);
    kind->know_host_memory(lines, sizeof lines);
    kind->know_host_memory(shared, sizeof shared);
    kind->use_announcements(lines);
    std::iota(reinterpret_cast<unsigned char*>(shared), reinterpret_cast<unsigned char*>(shared) + 200, 1);
    std::vector<int> order;
    std::vector<watched> records(203);
    std::vector<announcement> news(203);
    std::uint64_t const copies = fake_->copies;
    std::uint64_t const batches = fake_->batches;
    std::uint64_t const writes = fake_->writes;
    auto const start = [&](std::size_t i, void const* from, bool announced) {
      records[i].number = static_cast<int>(i);
      records[i].order = &order;
      records[i].gathered = i != 201;
      kind->copy(end(*segment, i), host(from), i == 7 ? 0 : 1, 0, &records[i],
                 announced ? &news[i] : nullptr);
    };
    fake_->hold(true);
    // As many as are kept, then the rest.
    for (std::size_t i = 0; i < 200; ++i) start(i, shared + i, i % 2 == 1);
    EXPECT_EQ(fake_->copies, copies + 128);
    EXPECT_EQ(fake_->writes, writes + 1);
    kind->submit();
    kind->submit();
    EXPECT_EQ(fake_->copies, copies + 199);  // one had nothing to copy
    EXPECT_EQ(fake_->writes, writes + 2);
    EXPECT_EQ(fake_->batches, batches + (*what == '\0' ? 2 : 0)) << what;
    EXPECT_EQ(news[1].value, news[127].value);
    EXPECT_LT(news[127].value, news[129].value);
    EXPECT_EQ(news[129].value, news[199].value);
    // One that is not gathered does not overtake the announcement of those that were kept; nor does poll().
    start(200, shared, true);
    std::byte const in{99};
    start(201, &in, true);
    EXPECT_EQ(fake_->copies, copies + 201);
    EXPECT_LT(news[200].value, news[201].value);
    start(202, shared + 1, true);
    EXPECT_EQ(fake_->copies, copies + 201);
    EXPECT_FALSE(kind->poll());
    EXPECT_EQ(fake_->copies, copies + 202);
    fake_->hold(false);
    while (news[202].word->load(std::memory_order_acquire) < news[202].value) std::this_thread::yield();
    wait(*kind, order, 203);
    std::vector<unsigned char> out(203);
    move(*kind, host(out.data()), end(*segment), out.size());
    for (std::size_t i = 0; i < 200; ++i) {
      if (i == 7) continue;
      EXPECT_EQ(out[i], i + 1) << what;
    }
    EXPECT_EQ(out[201], 99);
  }
}

TEST_F(cuda_test, memory_is_made_for_networks_and_flushed_where_the_device_does_not_order_their_writes) {
  for (bool const unordered : {false, true}) {
    auto const kind = open(unordered ? "unordered" : "");
    std::uint64_t const made = fake_->for_networks;
    auto const segment = kind->create(1, mib, nullptr);
    EXPECT_EQ(fake_->for_networks, made + 1);
    EXPECT_EQ(kind->must_flush(*segment), unordered);
    if (!unordered) continue;
    std::uint64_t const before = fake_->flushes;
    kind->flush(*segment);
    EXPECT_EQ(fake_->flushes, before + 1);
  }
}

TEST_F(cuda_death_test, a_copy_that_fails_ends_the_job_with_the_drivers_words) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  alignas(4096) static announcement_line lines[1];
  auto const fail = [&](char const* what, bool announced) {
    auto const kind = open(what);
    auto const segment = kind->create(1, mib, nullptr);
    kind->know_host_memory(lines, sizeof lines);
    kind->use_announcements(lines);
    std::vector<int> order;
    watched record;
    record.order = &order;
    announcement news;
    fake_->hold(true);
    kind->copy(end(*segment), end(*segment, 64), 4, 0, &record, announced ? &news : nullptr);
    kind->poll();
    fake_->hold(false);
    wait(*kind, order, 1);
  };
  auto const failed = [](char const* what) {
    return "pid [0-9]+ .*copy: CUDA: " + std::string(what) +
           " in the library's stream 0x.* of device 1 failed: ";
  };
  EXPECT_DEATH(fail("fail_copy=1", false), failed("a copy") + "an illegal memory access was encountered");
  EXPECT_DEATH(fail("fail_copy=1", true), failed("a copy") + "an illegal memory access was encountered");
  EXPECT_DEATH(fail("refuse=submit", false), failed("starting a copy") + "operation not supported");
  // In a stream of the program, with that and its device.
  auto const fail_in_stream = [&](char const* what) {
    auto const kind = open(what);
    auto const segment = kind->create(1, mib, nullptr);
    program_streams& streams = *kind->streams();
    stream_handle const on = streams.make(1);
    std::vector<int> order;
    watched record;
    record.order = &order;
    fake_->hold(true);  // else the copy may have failed when the stream is marked
    streams.copy(on, end(*segment), end(*segment, 64), 4, false);
    streams.report(on, &record);
    fake_->hold(false);
    wait(*kind, order, 1);
  };
  EXPECT_DEATH(fail_in_stream("fail_copy=1"),
               "CUDA: what was started in stream 0x.* of device 1 failed: an illegal memory access");
  EXPECT_DEATH(fail_in_stream("refuse=submit"),
               "CUDA: starting a copy in stream 0x.* of device 1 failed: operation not supported");
}

}  // namespace
}  // namespace atl::memory
