// Communication in the order of streams, over simulated devices, the fake CUDA driver and GPUs.

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <type_traits>

#include <atoll/stream.hpp>
#include <atoll/stream_barrier.hpp>
#include <atoll/strided.hpp>

#include "multirank/kinds/stream_fixture.hpp"

namespace {

using upcxx::operation_cx;

}  // namespace

class stream_test : public stream_fixture {};

TEST_F(stream_test, copies_happen_in_order_and_the_host_hears_of_it) {
  auto const s = atl::make_stream(gpu_);
  auto const a = filled(1000, me);
  auto const b = filled(1000, -1);
  EXPECT_FALSE(s.is_captured());
  pinned<int> const values(1000, 0);
  std::iota(values.data(), values.data() + 1000, 7 * me);
  // Each needs the one before.
  upcxx::copy(values.data(), a, 1000, atl::on_stream(s));
  upcxx::copy(a, b, 1000, atl::on_stream(s));
  auto const c = filled(1000, -2);
  upcxx::copy(a + 1, c, 999, atl::on_stream(s));
  pinned<int> const found(2000, -1);
  upcxx::copy(b, found.data(), 1000, atl::on_stream(s));
  bool called = false;
  auto const done =
      upcxx::copy(c, found.data() + 1000, 999,
                  atl::on_stream(s) | operation_cx::as_future() |
                      operation_cx::as_lpc(upcxx::current_persona(), [&called] { called = true; }));
  EXPECT_FALSE(done.is_ready());
  done.wait();
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(found[i], 7 * me + static_cast<int>(i));
    if (i == 999) break;
    EXPECT_EQ(found[1000 + i], 7 * me + static_cast<int>(i) + 1);
  }
  atl::wait(s);
  EXPECT_TRUE(called);
  atl::wait(s);  // empty
}

TEST_F(stream_test, copies_between_heaps_and_private_memory_are_in_order_too) {
  auto const s = atl::make_stream(gpu_);
  auto const a = filled(100, me);
  pinned<int> const between(100, -1);
  upcxx::dist_object<upcxx::global_ptr<int>> room(upcxx::new_array<int>(100));
  auto const theirs = room.fetch(right).wait();
  std::vector<int> sent(100, -2);
  std::vector<int> got(100, -3);
  // Private memory that nobody has pinned, with a heap, this rank's or another's, at the other end.
  auto const from_device = upcxx::copy(a, upcxx::try_global_ptr(between.data()), 100,
                                       atl::on_stream(s) | operation_cx::as_future());
  upcxx::copy(upcxx::try_global_ptr(between.data()), sent.data(), 100, atl::on_stream(s));
  bool told = false;
  auto const there = upcxx::copy(sent.data(), theirs, 100, atl::on_stream(s) | operation_cx::as_future());
  upcxx::copy(theirs, got.data(), 100,
              atl::on_stream(s) | operation_cx::as_lpc(upcxx::current_persona(), [&told] { told = true; }));
  atl::wait(s);
  upcxx::when_all(from_device, there).wait();
  EXPECT_EQ(sent, std::vector<int>(100, me));
  EXPECT_EQ(got, std::vector<int>(100, me));
  while (!told) upcxx::progress();
  upcxx::barrier();
  EXPECT_EQ(std::vector<int>(room->local(), room->local() + 100), std::vector<int>(100, left));
  upcxx::delete_array(*room);
}

TEST_F(stream_test, a_copy_within_the_hosts_memory_does_not_wait_in_the_call) {
  auto const s = atl::make_stream(gpu_);
  auto const word = filled<std::uint64_t>(1, 0);
  auto const heap = upcxx::new_array<int>(200);
  std::iota(heap.local(), heap.local() + 100, me);
  std::fill(heap.local() + 100, heap.local() + 200, -1);
  pinned<int> const apart(100, -2);
  atl::wait(s, word, 1);
  upcxx::copy(heap, heap + 100, 100, atl::on_stream(s));
  upcxx::copy(heap + 100, apart.data(), 100, atl::on_stream(s));
  EXPECT_EQ(heap.local()[100], -1);
  std::uint64_t const one = 1;
  upcxx::copy(&one, word, 1).wait();
  atl::wait(s);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(apart[i], me + static_cast<int>(i));
  EXPECT_EQ(heap.local()[199], me + 99);
  upcxx::delete_array(heap);
}

TEST_F(stream_test, a_ring_of_signals_needs_no_host) {
  constexpr std::uint64_t rounds = 20;
  auto const s = atl::make_stream(gpu_);
  auto const signals = of_all(filled<std::uint64_t>(2, 0));
  auto const landing = of_all(filled(64, -1));
  auto const source = filled(64, 0);
  auto const mine = static_cast<std::size_t>(me);
  pinned<int> const in(64 * rounds, 0);
  pinned<int> const out(64 * rounds, -1);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    int* const values = in.data() + 64 * (round - 1);
    std::fill(values, values + 64, static_cast<int>(round) * 100 + me);
    upcxx::copy(values, source, 64, atl::on_stream(s));
    // The neighbour has read what it got last.
    if (round > 1) atl::wait(s, signals[mine] + 1, round - 1);
    upcxx::copy(source, landing[right_index()], 64,
                atl::on_stream(s) | atl::remote_cx::as_signal(signals[right_index()], round));
    atl::wait(s, signals[mine], round);
    upcxx::copy(landing[mine], out.data() + 64 * (round - 1), 64, atl::on_stream(s));
    atl::signal(s, signals[static_cast<std::size_t>(left)] + 1, round);
  }
  atl::wait(s);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    int const* const values = out.data() + 64 * (round - 1);
    EXPECT_EQ(std::vector<int>(values, values + 64),
              std::vector<int>(64, static_cast<int>(round) * 100 + left))
        << round;
  }
  upcxx::barrier();
}

TEST_F(stream_test, a_signal_can_be_waited_for_by_equality_fetched_and_reset) {
  auto const s = atl::make_stream(gpu_);
  auto const signals = of_all(filled<std::uint64_t>(1, 5));
  auto const own = signals[static_cast<std::size_t>(me)];
  auto const theirs = signals[right_index()];
  atl::wait(s, own, 5, atl::signal_cmp::equal);
  // An equality must be waited for before somebody writes another value.
  atl::wait(s);
  upcxx::barrier();
  atl::signal(s, theirs, 2);
  atl::wait(s, own, 2, atl::signal_cmp::equal);
  pinned<std::uint64_t> const seen(2, 77);
  upcxx::copy(own, seen.data(), 1, atl::on_stream(s));
  atl::signal(s, own, 0);
  upcxx::copy(own, seen.data() + 1, 1, atl::on_stream(s));
  atl::wait(s);
  EXPECT_EQ(seen[0], 2u);
  EXPECT_EQ(seen[1], 0u);
  // The signed difference counts.
  atl::signal(s, own, 3);
  atl::wait(s, own, ~std::uint64_t{0});
  atl::wait(s);
  upcxx::barrier();
}

TEST_F(stream_test, signals_in_the_shared_heap_are_seen_by_hosts) {
  auto const s = atl::make_stream(gpu_);
  multirank::shared_array<std::uint64_t> const words(1);
  *words.local() = 0;
  auto const landing = of_all(filled(10, -1));
  auto const from = filled(10, me);
  upcxx::barrier();
  upcxx::copy(from, landing[right_index()], 10,
              atl::on_stream(s) | atl::remote_cx::as_signal(words.at(right), 1));
  std::atomic_ref<std::uint64_t> const word(*words.local());
  while (word.load(std::memory_order_acquire) == 0) upcxx::progress();
  EXPECT_EQ(content(landing[static_cast<std::size_t>(me)], 10), std::vector<int>(10, left));
  // And by streams, from hosts.
  atl::wait(s, words.at(me), 9);
  auto const passed = atl::when(s);
  for (int i = 0; i < 100; ++i) upcxx::progress();
  EXPECT_FALSE(passed.is_ready());
  word.store(9, std::memory_order_release);
  passed.wait();
  upcxx::barrier();
}

TEST_F(stream_test, an_owned_stream_may_get_another_ones) {
  std::vector<atl::owned_stream> all(2);
  auto const p = filled(4, 1);
  pinned<int> const found(4, -1);
  for (int round = 0; round < 2; ++round) {
    for (auto& each : all) {
      each = atl::make_stream(gpu_);  // the last one's has nothing left to do
      upcxx::copy(p, found.data(), 4, atl::on_stream(each));
      atl::wait(each);
    }
  }
  EXPECT_EQ(found.values(), std::vector<int>(4, 1));
  void* const second = all[1].native();
  all.erase(all.begin());
  EXPECT_EQ(all[0].native(), second);
  atl::wait(all[0]);
}

/// Who discharges need not know what brings its streams on.
TEST_F(stream_test, discharging_does_not_wait_for_streams) {
  auto const to = filled(100, -1);
  pinned<std::uint64_t> const word(1, 0);
  auto const s = atl::make_stream(gpu_);
  atl::wait(s, upcxx::to_global_ptr(word.data()), 1);
  std::vector<int> const from(100, 7);  // not pinned: by the host, when the stream is there
  upcxx::copy(from.data(), to, 100, atl::on_stream(s));
  auto const there = atl::when(s);
  upcxx::discharge();
  EXPECT_FALSE(upcxx::progress_required());
  EXPECT_FALSE(there.is_ready());
  std::atomic_ref<std::uint64_t>(word[0]).store(1, std::memory_order_release);
  there.wait();
  EXPECT_EQ(content(to, 100), from);
}

TEST_F(stream_test, a_stream_waits_for_a_future) {
  auto const s = atl::make_stream(gpu_);
  auto const p = filled(4, 1);
  upcxx::promise<int> gate;
  pinned<int> const found(4, -1);
  atl::wait(s, gate.get_future());
  upcxx::copy(p, found.data(), 4, atl::on_stream(s));
  auto const passed = atl::when(s);
  for (int i = 0; i < 200; ++i) upcxx::progress();
  EXPECT_FALSE(passed.is_ready());
  EXPECT_EQ(found.values(), std::vector<int>(4, -1));
  gate.fulfill_result(1);
  passed.wait();
  EXPECT_EQ(found.values(), std::vector<int>(4, 1));
  atl::wait(s, upcxx::make_future(3));  // ready: nothing to wait for
  // An rpc's answer lets it go on.
  atl::wait(s, upcxx::rpc(right, [] { return 5; }));
  atl::wait(s);
  upcxx::barrier();
}

TEST_F(stream_test, remote_completion_comes_when_the_stream_has_copied) {
  static int calls;
  calls = 0;
  auto const s = atl::make_stream(gpu_);
  auto const landing = of_all(filled(100, -1));
  auto const from = filled(100, 10 + me);
  upcxx::promise<> all;
  upcxx::copy(from, landing[right_index()], 100,
              atl::on_stream(s) |
                  upcxx::remote_cx::as_rpc(
                      [](gpu_ptr<int> p, int value) {
                        auto const found = std::make_shared<std::vector<int>>(100);
                        upcxx::copy(p, found->data(), 100).then([found, value] {
                          EXPECT_EQ(*found, std::vector<int>(100, value));
                          ++calls;
                        });
                      },
                      landing[right_index()], 10 + me) |
                  operation_cx::as_promise(all));
  all.finalize().wait();
  while (calls == 0) upcxx::progress();
  EXPECT_EQ(calls, 1);
  upcxx::barrier();
}

TEST_F(stream_test, a_barrier_of_streams_lets_nobody_through_before_the_last_has_come) {
  constexpr int rounds = 15;
  upcxx::team halves = upcxx::world().split(me % 2, me);
  for (upcxx::team const* const over : {&upcxx::world(), &halves}) {
    atl::stream_barrier all(gpu_, *over);
    auto const first = atl::make_stream(gpu_);
    auto const second = atl::make_stream(gpu_);
    int const next = (*over)[(over->rank_me() + 1) % over->rank_n()];
    auto const words = of_all(filled<int>(1, -1));
    pinned<int> const in(rounds, 0);
    pinned<int> const out(rounds, -1);
    for (int round = 0; round < rounds; ++round) {
      in[static_cast<std::size_t>(round)] = 1000 * me + round;
      auto const& s = round < 10 ? first : second;
      if (round == 10) atl::wait(first);
      upcxx::copy(in.data() + round, words[static_cast<std::size_t>(me)], 1, atl::on_stream(s));
      all.enter(s);
      upcxx::copy(words[static_cast<std::size_t>(next)], out.data() + round, 1, atl::on_stream(s));
      all.enter(s);
    }
    atl::wait(second);
    for (int round = 0; round < rounds; ++round)
      EXPECT_EQ(out[static_cast<std::size_t>(round)], 1000 * next + round);
    all.destroy();
    gpu_.deallocate(words[static_cast<std::size_t>(me)]);
  }
  halves.destroy();
}

TEST_F(stream_test, no_device_for_a_barrier_on_one_rank_is_an_error_on_all) {
  upcxx::device_allocator<upcxx::gpu_default_device> none;
  EXPECT_THROW(atl::stream_barrier(me == 0 ? none : gpu_), upcxx::bad_shared_alloc);
  upcxx::barrier();
}

TEST_F(stream_test, private_memory_that_is_not_pinned_is_served_by_the_host) {
  auto const s = atl::make_stream(gpu_);
  auto const p = filled(100, -1);
  std::vector<int> const in(100, 5 + me);
  std::vector<int> out(100, -1);
  upcxx::copy(in.data(), p, 100, atl::on_stream(s));
  upcxx::copy(p, out.data(), 100, atl::on_stream(s));
  atl::wait(s);
  EXPECT_EQ(out, in);
}

/// Of host memory and of a device that the stream's does not reach, where there are such, drivers copy nothing in a stream.
TEST_F(stream_test, memory_of_another_device_is_filled_from_the_host_and_read_there) {
  using device = upcxx::gpu_default_device;
  if (device::device_n() < 2) GTEST_SKIP() << "one device";
  device second((gpu_.device_id() + 1) % device::device_n());
  upcxx::device_allocator<device> elsewhere(second, mib);
  auto const s = atl::make_stream(gpu_);
  auto const there = elsewhere.allocate<int>(100);
  auto const here = filled(100, -1);
  pinned<int> const in(100, 5 + me);
  pinned<int> const out(100, -1);
  upcxx::copy(in.data(), there, 100, atl::on_stream(s));
  upcxx::copy(there, here, 100, atl::on_stream(s));
  upcxx::copy(here, there + 1, 99, atl::on_stream(s));
  upcxx::copy(there, out.data(), 100, atl::on_stream(s));
  atl::wait(s);
  EXPECT_EQ(out.values(), in.values());
  second.destroy();
}

TEST_F(stream_test, a_segment_outlives_what_streams_do_with_it) {
  auto const s = atl::make_stream(gpu_);
  auto other = upcxx::make_gpu_allocator(mib);
  auto const from = other.allocate<int>(1000);
  auto const to = of_all(filled(1000, -1));
  std::vector<int> const values(1000, me);
  upcxx::copy(values.data(), from, 1000).wait();
  // The stream stands still until an answer has come, which needs this rank's progress, and uses the segment then.
  atl::wait(s, upcxx::rpc(right, [] { return 1; }));
  for (int i = 0; i < 20; ++i) upcxx::copy(from, to[right_index()], 1000, atl::on_stream(s));
  auto const done = upcxx::copy(from, to[right_index()], 1000, atl::on_stream(s) | operation_cx::as_future());
  other.destroy();
  EXPECT_TRUE(other.segment_size() == 0);
  done.wait();
  upcxx::barrier();
  EXPECT_EQ(content(to[static_cast<std::size_t>(me)], 1000), std::vector<int>(1000, left));
}

/// Between hosts copies go by keys that peers have of segments, which come back before a segment ends.
TEST_F(stream_test, segments_end_beside_copies_that_use_them) {
  constexpr std::size_t bytes = 6 * mib;
  auto a = upcxx::make_gpu_allocator<upcxx::gpu_default_device>(8 * mib);
  auto const mine = a.allocate<char>(bytes);
  auto const heap = upcxx::new_array<char>(bytes);
  upcxx::dist_object<gpu_ptr<char>> const segments(mine);
  upcxx::dist_object<upcxx::global_ptr<char>> const heaps(heap);
  int const far = (me + std::max(n / 2, 1)) % n;
  auto const there = segments.fetch(far).wait();
  auto const far_heap = heaps.fetch(far).wait();
  auto const s = atl::make_stream(a);
  if (me == 0) upcxx::copy(there, heap, 1000).wait();  // so there is a key
  upcxx::barrier();
  upcxx::future<> all = upcxx::make_future();
  if (me == 0) all = upcxx::copy(mine, far_heap, bytes);
  // Of a peer's segment, which between hosts does not end before its keys are back.
  if (me == 0 && !upcxx::local_team_contains(far))
    all = upcxx::when_all(all, upcxx::copy(there, heap, bytes));
  upcxx::copy(mine, far_heap, bytes, atl::on_stream(s));
  a.destroy(upcxx::entry_barrier::internal);  // and yet the host does its part for the stream
  all.wait();
  upcxx::barrier();
  upcxx::delete_array(heap);
}

/// A driver has room for some thousand operations, and has its caller wait then: for ever, if this caller's progress is what the stream waits for.
TEST_F(stream_test, a_stream_that_waits_for_this_rank_takes_any_number_of_operations) {
  auto const s = atl::make_stream(gpu_);
  auto const p = filled(4000, me);
  auto const word = gpu_.allocate<std::uint64_t>(1);
  for (int round = 0; round < 2; ++round) {
    atl::wait(s, upcxx::rpc(right, [] { return 1; }));
    for (std::uint64_t i = 1; i <= 3000; ++i) {
      if (i % 3 == 0) {
        atl::wait(s, word, i - 1);
      } else {
        atl::signal(s, word, i);
      }
    }
    for (int i = 0; i < 1500; ++i) upcxx::copy(p, p + 2000, 10, atl::on_stream(s));
  }
  atl::wait(s, upcxx::rpc(right, [] { return 1; }));
  // One call with more than there is room for.
  upcxx::copy(p, p + 1, 1, atl::on_stream(s));
  pinned<int> const rows(8000, -1);
  atl::copy_strided<1>(p, {{8}}, upcxx::to_global_ptr(rows.data()), {{16}}, {{2000}}, atl::on_stream(s));
  atl::wait(s);
  EXPECT_EQ(rows[0], me);
  EXPECT_EQ(content(word, 1)[0], 2999u);
  gpu_.deallocate(word);
  upcxx::barrier();
}

TEST_F(stream_test, a_peers_segment_may_go_while_streams_stand_still) {
  auto const s = atl::make_stream(gpu_);
  auto other = upcxx::make_gpu_allocator(mib);
  auto const theirs = of_all(other.allocate<int>(10))[right_index()];
  auto const p = filled(10, me);
  upcxx::copy(p, theirs, 10, atl::on_stream(s));
  atl::wait(s);
  upcxx::barrier();
  // From now on the stream waits for what needs progress of all ranks, and peers hear meanwhile that the segments are gone.
  other.destroy();
  atl::wait(s, upcxx::rpc(right, [] { return 1; }));
  atl::wait(s);
  upcxx::barrier();
}

/// The end of a segment waits for streams of its kind alone.
TEST_F(stream_test, a_peers_segment_stays_for_a_stream_while_one_of_another_kind_ends) {
  using device = upcxx::gpu_default_device;
  using other_device =
      std::conditional_t<std::is_same_v<device, upcxx::cuda_device>, upcxx::hip_device, upcxx::cuda_device>;
  char const* const sharing = std::getenv("ATOLL_GPU_SHARING");
  bool const together = upcxx::broadcast(n > 1 && upcxx::local_team_contains(1), 0).wait();
  if (!together || (sharing != nullptr && std::string_view(sharing) == "no"))
    GTEST_SKIP() << "copies by the segment's owner";
  auto ended = upcxx::make_gpu_allocator<device>(mib, me == 1 ? 0 : device::invalid_device_id);
  auto other = upcxx::make_gpu_allocator<other_device>(mib);
  auto const mine = ended.is_active() ? ended.allocate<int>(1000) : nullptr;
  if (mine) upcxx::copy(std::vector<int>(1000, 7).data(), mine, 1000).wait();
  auto const source = upcxx::broadcast(mine, 1).wait();
  auto const to = filled(1000, -1);
  pinned<std::uint64_t> const word(1, 0);
  auto const s = atl::make_stream(gpu_);
  if (me == 0) {
    atl::wait(s, upcxx::to_global_ptr(word.data()), 1);
    upcxx::copy(source, to, 1000, atl::on_stream(s));
  }
  ended.destroy();
  for (int i = 0; i < 50; ++i) upcxx::barrier();  // the news is everywhere
  other.destroy();
  if (me == 0) {
    std::atomic_ref<std::uint64_t>(word[0]).store(1, std::memory_order_release);
    atl::wait(s);
    EXPECT_EQ(content(to, 1000), std::vector<int>(1000, 7));
  }
  upcxx::barrier();
}
