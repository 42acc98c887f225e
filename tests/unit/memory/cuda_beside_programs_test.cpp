// What programs do with the CUDA driver beside the library: contexts, captures, kernels, registered memory.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "unit/memory/cuda_fixture.hpp"

namespace atl::memory {
namespace {

class cuda_beside_programs_test : public cuda_test {
 protected:
  cuda_beside_programs_test() {
    begin_ = find<cuda::cu_result(cuda::stream, cuda::capture_mode)>("cuStreamBeginCapture_v2");
    end_ = find<cuda::cu_result(cuda::stream, void**)>("cuStreamEndCapture");
    destroy_graph_ = find<cuda::cu_result(void*)>("cuGraphDestroy");
    instantiate_ = find<cuda::cu_result(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags");
    launch_ = find<cuda::cu_result(void*, cuda::stream)>("cuGraphLaunch");
    destroy_executable_ = find<cuda::cu_result(void*)>("cuGraphExecDestroy");
  }
  template <class F>
  F* find(char const* name) {
    return reinterpret_cast<F*>(dlsym(dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL), name));
  }
  /// With a device's context current for a scope, as programs have it.
  template <class F>
  void within(int device, F&& f) {
    cuda::context context = nullptr;
    ASSERT_EQ(cu_.primary_retain(&context, device), cuda::success);
    ASSERT_EQ(cu_.context_push(context), cuda::success);
    f();
    cuda::context now = nullptr;
    ASSERT_EQ(cu_.context_pop(&now), cuda::success);
    EXPECT_EQ(now, context);
    ASSERT_EQ(cu_.primary_release(device), cuda::success);
  }
  cuda::stream make_stream() {
    cuda::stream made = nullptr;
    EXPECT_EQ(cu_.stream_create(&made, cuda::stream_non_blocking), cuda::success);
    return made;
  }
  /// Captures one of the program's streams while `f` runs; the capture's end must succeed.
  template <class F>
  void while_capturing(cuda::stream on, cuda::capture_mode mode, F&& f) {
    ASSERT_EQ(begin_(on, mode), cuda::success);
    f();
    void* graph = nullptr;
    EXPECT_EQ(end_(on, &graph), cuda::success) << "mode " << mode;
    if (graph != nullptr) {
      EXPECT_EQ(destroy_graph_(graph), cuda::success);
    }
  }

  cuda::cu_result (*begin_)(cuda::stream, cuda::capture_mode) = nullptr;
  cuda::cu_result (*end_)(cuda::stream, void**) = nullptr;
  cuda::cu_result (*destroy_graph_)(void*) = nullptr;
  cuda::cu_result (*instantiate_)(void**, void*, unsigned long long) = nullptr;
  cuda::cu_result (*launch_)(void*, cuda::stream) = nullptr;
  cuda::cu_result (*destroy_executable_)(void*) = nullptr;
};

TEST_F(cuda_beside_programs_test, the_threads_current_context_stays_as_it_was) {
  auto const kind = open();
  cuda::context other = nullptr;
  cuda::context now = nullptr;
  cu_.primary_retain(&other, 1);
  cu_.context_push(other);
  auto const unchanged = [&] { return cu_.context_current(&now) == cuda::success && now == other; };
  {
    auto const segment = kind->create(0, mib, nullptr);
    EXPECT_TRUE(unchanged());
    os::unique_fd descriptor;
    export_record const record = kind->export_segment(*segment, descriptor);
    auto const imported = kind->import_segment(record, std::move(descriptor), segment->base(), mib);
    EXPECT_TRUE(unchanged());
    expect_travel(*kind, *segment, *imported);
    EXPECT_TRUE(unchanged());
    refusal([&] { kind->create(0, 1000 * mib, nullptr); });
    EXPECT_TRUE(unchanged());
    std::thread([&] {
      move(*kind, end(*segment), end(*segment, 8), 8);
      EXPECT_TRUE(cu_.context_current(&now) == cuda::success && now == nullptr);
    }).join();
  }
  EXPECT_TRUE(unchanged());
  cu_.context_pop(&now);
  EXPECT_EQ(now, other);
  cu_.primary_release(1);
}

TEST_F(cuda_beside_programs_test, several_contexts_lie_on_top_of_each_other) {
  alignas(4096) static announcement_line lines[1];
  for (char const* const what : {"", "refuse=streams_alone"}) {
    lines[0].word = 0;  // what it was would tell of copies that have not landed
    auto const kind = open(what);
    auto const segment = kind->create(0, mib, nullptr);
    kind->know_host_memory(lines, sizeof lines);
    kind->use_announcements(lines);
    auto const copy = [&] {
      expect_travel(*kind, *segment, *segment);
      std::vector<int> order;
      watched record;
      record.order = &order;
      announcement news;
      kind->copy(end(*segment), end(*segment, 64), 4, 1, &record, &news);
      EXPECT_NE(news.word, nullptr);
      wait(*kind, order, 1);
    };
    // A stream is refused while another device's context is current, and none when none is.
    within(1, [&] {
      copy();
      within(0, [&] {
        copy();
        within(1, copy);
        within(0, copy);
      });
    });
  }
}

TEST_F(cuda_beside_programs_test, a_capture_goes_on_beside_everything_that_the_library_does) {
  alignas(4096) static announcement_line lines[1];
  auto const kind = open();
  auto const early = kind->create(0, mib, nullptr);
  std::vector<std::unique_ptr<device_segment>> made;
  within(0, [&] {
    cuda::stream const stream = make_stream();
    for (auto const mode : {cuda::capture_global, cuda::capture_thread_local, cuda::capture_relaxed}) {
      while_capturing(stream, mode, [&] {
        move(*kind, end(*early), end(*early, 64), 8);
        made.push_back(kind->create(1, mib, nullptr));
        expect_travel(*kind, *made.back(), *early);
        kind->know_host_memory(lines, sizeof lines);
        kind->forget_host_memory(lines);
        std::thread([&] { move(*kind, end(*early), end(*early, 64), 8); }).join();
      });
    }
    // Nobody can wait for kernels of a device that is captured.
    ASSERT_EQ(begin_(stream, cuda::capture_relaxed), cuda::success);
    testing::internal::CaptureStderr();
    std::uint64_t const number = kind->begin_waiting();
    while (!kind->has_ended(number)) std::this_thread::yield();
    expect_words(testing::internal::GetCapturedStderr(),
                 "a segment ends while the program captures a stream into a graph");
    void* lost = nullptr;
    EXPECT_NE(end_(stream, &lost), cuda::success);
    // What it is that the library avoids.
    ASSERT_EQ(begin_(stream, cuda::capture_global), cuda::success);
    EXPECT_EQ(cu_.stream_query(stream), cuda::error_capture_unsupported);
    void* graph = nullptr;
    EXPECT_NE(end_(stream, &graph), cuda::success);
    EXPECT_EQ(cu_.stream_destroy(stream), cuda::success);
  });
}

TEST_F(cuda_beside_programs_test, memory_stays_until_kernels_that_use_it_have_ended) {
  for (int const on : {0, 1}) {
    auto const kind = open();
    auto const kept = kind->create(0, mib, nullptr);
    auto gone = kind->create(1, mib, nullptr);
    within(on, [&] {
      cuda::stream const stream = make_stream();
      // From now on each device reaches the other's.
      move(*kind, end(*kept), end(*gone), 8);
      move(*kind, end(*gone), end(*kept), 8);
      // In the place of a kernel of the program, which the library does not know of.
      fake_->hold(true);
      ASSERT_EQ(cu_.copy_async(kept->base() + 64, gone->base(), 64, stream), cuda::success);
      std::atomic<bool> ended{false};
      std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        ended = true;
        fake_->hold(false);
      });
      std::uint64_t const number = kind->begin_waiting();
      while (!kind->has_ended(number)) std::this_thread::yield();
      EXPECT_TRUE(ended);
      gone.reset();  // the driver that plays devices ends the process if memory goes too early
      later.join();
      EXPECT_EQ(cu_.stream_destroy(stream), cuda::success);
    });
  }
}

TEST_F(cuda_beside_programs_test,
       host_memory_that_others_have_registered_is_reached_directly_and_stays_theirs) {
  alignas(4096) static std::byte shared[4 * 4096];
  auto const kind = open();
  auto const segment = kind->create(0, mib, nullptr);
  auto const copies_go_together = [&] {
    std::uint64_t const before = fake_->batches;
    std::vector<int> order;
    std::vector<watched> records(2);
    for (std::size_t i = 0; i < 2; ++i) {
      records[i].order = &order;
      records[i].gathered = true;
      kind->copy(end(*segment, 64 * i), host(shared + 64 * i), 64, 0, &records[i], nullptr);
    }
    kind->submit();
    wait(*kind, order, 2);
    return fake_->batches != before;
  };
  within(0, [&] {
    // All of it, and more.
    ASSERT_EQ(cu_.host_register(shared, sizeof shared, 0), cuda::success);
    testing::internal::CaptureStderr();
    kind->know_host_memory(shared, 2 * 4096);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_TRUE(copies_go_together());
    // Nothing is announced there: a write to memory that they unregister would end the job.
    kind->use_announcements({reinterpret_cast<announcement_line*>(shared), 1});
    std::vector<int> order;
    watched record;
    record.order = &order;
    announcement news;
    kind->copy(end(*segment), end(*segment, 64), 4, 0, &record, &news);
    EXPECT_EQ(news.word, nullptr);
    wait(*kind, order, 1);
    kind->forget_host_memory(shared);
    EXPECT_EQ(fake_->registrations, 2) << "theirs, and buffers for private memory";
    EXPECT_FALSE(copies_go_together());
    ASSERT_EQ(cu_.host_unregister(shared), cuda::success);
    // A part of it.
    ASSERT_EQ(cu_.host_register(shared + 4096, 4096, 0), cuda::success);
    testing::internal::CaptureStderr();
    kind->know_host_memory(shared, 2 * 4096);
    kind->know_host_memory(shared + 4096, 2 * 4096);
    std::string const said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("already mapped") != std::string::npos, true) << said;
    EXPECT_FALSE(copies_go_together());
    ASSERT_EQ(cu_.host_unregister(shared + 4096), cuda::success);
  });
}

TEST_F(cuda_beside_programs_test, streams_of_the_program_keep_their_order_whichever_context_is_current) {
  for (char const* const what : {"", "refuse=streams_alone"}) {
    auto const kind = open(what);
    auto const a = kind->create(0, mib, nullptr);
    auto const b = kind->create(1, mib, nullptr);
    program_streams& streams = *kind->streams();
    stream_handle const made = streams.make(0);
    EXPECT_EQ(streams.device_of(made), 0);
    EXPECT_FALSE(streams.is_captured(made));
    auto const use = [&](stream_handle on) {
      std::vector<int> in(16, 4);
      std::vector<int> out(16, -1);
      fake_->hold(true);
      streams.copy(on, end(*a), host(in.data()), 64, false);
      streams.wait(on, end(*a, 1024), 3, comparison::at_least);
      streams.copy(on, end(*b), end(*a), 64, false);  // of another device
      streams.copy(on, host(out.data()), end(*b), 64, false);
      streams.copy(on, host(out.data()), end(*b), 0, false);
      std::vector<int> order;
      watched passed;
      passed.order = &order;
      streams.report(on, &passed);
      fake_->hold(false);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_FALSE(kind->poll()) << "the stream does not wait";
      stream_handle const other = streams.make(1);
      streams.write(other, end(*a, 1024), 7);  // at least 3
      wait(*kind, order, 1);
      EXPECT_EQ(out, in);
      streams.write(other, end(*a, 1024), 0);
      finish(*kind, other);
      streams.drop(other);
    };
    use(made);
    within(1, [&] {
      use(made);
      within(0, [&] { use(made); });
      // Handles that every context has are of the device that is current.
      for (std::uintptr_t common = 0; common <= 2; ++common) {
        EXPECT_EQ(streams.device_of(reinterpret_cast<stream_handle>(common)), 1);
        use(reinterpret_cast<stream_handle>(common));
      }
    });
    streams.drop(made);
  }
}

TEST_F(cuda_beside_programs_test, no_device_is_opened_to_ask_whose_a_stream_is) {
  auto const kind = open("devices=4");
  auto const mine = kind->create(1, mib, nullptr);
  program_streams& streams = *kind->streams();
  stream_handle const on = streams.make(1);
  int const before = fake_->contexts_ever;
  EXPECT_EQ(streams.device_of(on), 1);
  EXPECT_EQ(fake_->contexts_ever, before);
  within(2, [&] {
    // One that the program alone has used until now.
    cuda::stream const theirs = make_stream();
    EXPECT_EQ(streams.device_of(theirs), 2);
    EXPECT_EQ(fake_->contexts_ever, before + 1);
    finish(*kind, theirs);
    streams.drop(theirs);  // not made here: stays
    EXPECT_EQ(cu_.stream_destroy(theirs), cuda::success);
  });
  streams.make(0);  // ends with the kind
  streams.drop(on);
  EXPECT_EQ(fake_->streams, 1);
}

TEST_F(cuda_beside_programs_test, what_is_captured_happens_whenever_the_graph_is_launched) {
  auto const kind = open();
  auto const memory = kind->create(0, mib, nullptr);
  program_streams& streams = *kind->streams();
  within(0, [&] {
    stream_handle const on = streams.make(0);
    auto* const native = static_cast<cuda::stream>(on);
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    streams.write(on, end(*memory, 64), 0);
    ASSERT_EQ(begin_(native, cuda::capture_global), cuda::success);
    EXPECT_TRUE(streams.is_captured(on));
    streams.wait(on, end(*memory, 64), 1, comparison::equal);
    streams.write(on, end(*memory, 64), 0);
    streams.copy(on, end(*memory), host(&in), 8, false);
    streams.copy(on, host(&out), end(*memory), 8, false);
    void* graph = nullptr;
    void* executable = nullptr;
    ASSERT_EQ(end_(native, &graph), cuda::success);
    ASSERT_EQ(instantiate_(&executable, graph, 0), cuda::success);
    EXPECT_FALSE(streams.is_captured(on));
    finish(*kind, on);
    EXPECT_EQ(out, 0u);
    stream_handle const other = streams.make(1);
    for (in = 10; in < 13; ++in) {
      ASSERT_EQ(launch_(executable, native), cuda::success);
      streams.write(other, end(*memory, 64), 1);
      finish(*kind, on);
      EXPECT_EQ(out, in);
    }
    EXPECT_EQ(destroy_executable_(executable), cuda::success);
    EXPECT_EQ(destroy_graph_(graph), cuda::success);
    streams.drop(on);
    streams.drop(other);
  });
}

TEST_F(cuda_beside_programs_test, a_graph_keeps_what_it_is_told_to_keep_until_nobody_can_execute_it) {
  auto const kind = open();
  auto const memory = kind->create(0, mib, nullptr);
  program_streams& streams = *kind->streams();
  within(0, [&] {
    stream_handle const on = streams.make(0);
    stream_handle const other = streams.make(0);
    auto* const native = static_cast<cuda::stream>(on);
    // Given up in a thread of the driver's.
    auto const await_end = [](std::weak_ptr<void> const& held) {
      while (!held.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    auto const stays = [](std::weak_ptr<void> const& held) {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      return !held.expired();
    };
    auto const keep = [&] {
      auto token = std::make_shared<int>(1);
      std::weak_ptr<void> const held = token;
      EXPECT_TRUE(streams.keep_for_graph(on, std::move(token)));
      return held;
    };
    EXPECT_EQ(streams.capture_of(on), 0u);
    ASSERT_EQ(begin_(native, cuda::capture_global), cuda::success);
    std::uint64_t const first = streams.capture_of(on);
    EXPECT_NE(first, 0u);
    EXPECT_EQ(streams.capture_of(other), 0u);
    streams.wait(on, end(*memory), 1, comparison::equal);
    EXPECT_EQ(streams.capture_of(on), first);
    auto const held = keep();
    void* graph = nullptr;
    void* executable = nullptr;
    ASSERT_EQ(end_(native, &graph), cuda::success);
    EXPECT_EQ(streams.capture_of(on), 0u);
    ASSERT_EQ(instantiate_(&executable, graph, 0), cuda::success);
    EXPECT_EQ(destroy_graph_(graph), cuda::success);
    EXPECT_TRUE(stays(held)) << "there is an executable graph";
    streams.write(on, end(*memory), 0);
    finish(*kind, on);  // else the other stream's 1 may come before it
    ASSERT_EQ(launch_(executable, native), cuda::success);
    EXPECT_EQ(destroy_executable_(executable), cuda::success);
    EXPECT_TRUE(stays(held)) << "it is being executed";
    streams.write(other, end(*memory), 1);
    await_end(held);
    // Captures that lead to nothing.
    ASSERT_EQ(begin_(native, cuda::capture_global), cuda::success);
    EXPECT_NE(streams.capture_of(on), first);
    auto const lost = keep();
    EXPECT_EQ(cu_.stream_query(native), cuda::error_capture_unsupported);
    EXPECT_EQ(streams.capture_of(on), 0u);
    EXPECT_NE(end_(native, &graph), cuda::success);
    await_end(lost);
    finish(*kind, on);
    finish(*kind, other);
    streams.drop(on);
    streams.drop(other);
  });
}

TEST_F(cuda_beside_programs_test, a_driver_that_keeps_nothing_for_graphs_is_named_once) {
  auto const kind = open("refuse=user_objects");
  program_streams& streams = *kind->streams();
  within(0, [&] {
    stream_handle const on = streams.make(0);
    while_capturing(static_cast<cuda::stream>(on), cuda::capture_global, [&] {
      testing::internal::CaptureStderr();
      for (int i = 0; i < 2; ++i) {
        auto token = std::make_shared<int>(1);
        std::weak_ptr<void> const held = token;
        EXPECT_FALSE(streams.keep_for_graph(on, std::move(token)));
        while (!held.expired()) std::this_thread::yield();
      }
      std::string const said = testing::internal::GetCapturedStderr();
      expect_words(said, "does not keep memory for graphs: operation not supported");
      EXPECT_EQ(said.find('\n'), said.size() - 1) << "said more than once";
    });
    streams.drop(on);
  });
}

TEST_F(cuda_beside_programs_test, small_copies_that_are_gathered_are_one_kernel_in_their_place) {
  for (char const* const what : {"", "refuse=kernels"}) {
    testing::internal::CaptureStderr();
    auto const kind = open(what);
    auto const a = kind->create(0, mib, nullptr);
    auto const b = kind->create(1, mib, nullptr);
    program_streams& streams = *kind->streams();
    stream_handle const on = streams.make(0);
    stream_handle const other = streams.make(0);
    std::vector<unsigned char> in(65536);
    std::iota(in.begin(), in.end(), 1);
    std::vector<unsigned char> out(65536);
    streams.copy(on, end(*a), host(in.data()), in.size(), false);
    std::uint64_t const kernels = fake_->kernels;
    std::uint64_t const copies = fake_->copies;
    auto const gather = [&](int first, int last) {
      for (int i = first; i < last; ++i) {
        auto const at = static_cast<std::uint64_t>(i) * 1000;
        streams.copy(on, end(*b, at), end(*a, at), 1000, true);
      }
    };
    bool const can = *what == '\0';
    // More than one launch takes; then what follows in the stream.
    gather(0, 40);
    EXPECT_EQ(fake_->kernels, kernels);
    streams.write(on, end(*b, 65600), 9);
    EXPECT_EQ(fake_->kernels, kernels + (can ? 2 : 0));
    EXPECT_EQ(fake_->copies, copies + (can ? 0u : 40u));
    // One alone is a copy; large ones, those of the host and those of other streams are, too.
    gather(40, 41);
    streams.submit();
    streams.copy(on, end(*b, 41000), end(*a, 41000), 9000, true);
    gather(50, 52);
    streams.copy(other, end(*b, 300000), end(*a), 8, true);
    EXPECT_EQ(fake_->kernels, kernels + (can ? 3 : 0));
    gather(52, 54);
    streams.copy(on, host(out.data()), end(*a), 8, true);
    EXPECT_EQ(fake_->kernels, kernels + (can ? 4 : 0));
    gather(54, 65);
    kind->poll();
    streams.copy(on, end(*b, 65000), end(*a, 65000), 536, true);
    streams.copy(on, host(out.data()), end(*b), out.size(), false);
    finish(*kind, on);
    EXPECT_EQ(out, in);
    finish(*kind, other);
    std::string const said = testing::internal::GetCapturedStderr();
    if (can) {
      EXPECT_EQ(said, "");
    } else {
      expect_words(said, "does not take the library's kernels for device 0: operation not supported");
      EXPECT_EQ(said.find('\n'), said.size() - 1) << "said more than once";
    }
    streams.drop(on);
    streams.drop(other);
  }
}

TEST_F(cuda_beside_programs_test, streams_that_make_no_sense_are_named) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto const run = [&](char const* what, auto&& f) {
    auto const kind = open(what);
    auto const a = kind->create(0, mib, nullptr);
    auto const b = kind->create(1, mib, nullptr);
    f(*kind->streams(), end(*a), end(*b));
  };
  int nothing = 0;
  EXPECT_DEATH(run("", [&](auto& streams, copy_end, copy_end) { streams.device_of(&nothing); }),
               "is no stream of a device's primary context.*invalid resource handle");
  EXPECT_DEATH(run("", [&](auto& streams, copy_end a, copy_end) { streams.write(nullptr, a, 1); }),
               "is no stream of a device's primary context.*invalid device context.*current in this thread");
  // What a stream cannot do is known before.
  alignas(64) static std::uint64_t word = 0;
  run("refuse=peer", [&](auto& streams, copy_end a, copy_end b) {
    stream_handle const on = streams.make(0);
    EXPECT_TRUE(streams.write(on, a, 1));
    noted_copy written;
    streams.report(on, &written);
    while (!written.done) streams.poll();
    EXPECT_FALSE(streams.write(on, b, 1));
    EXPECT_FALSE(streams.write(on, host(&word), 1));
    EXPECT_FALSE(streams.wait(on, host(&word), 1, comparison::equal));
    EXPECT_FALSE(streams.is_pinned(&word, 8, true));
  });
  run("refuse=write",
      [&](auto& streams, copy_end a, copy_end) { EXPECT_FALSE(streams.write(streams.make(0), a, 1)); });
}

}  // namespace
}  // namespace atl::memory
