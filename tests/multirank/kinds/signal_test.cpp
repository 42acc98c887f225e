// What streams do with signals, over simulated devices, the fake CUDA driver and GPUs.

#include <atoll/stream_barrier.hpp>

#include "multirank/kinds/nearly_full_heap.hpp"
#include "multirank/kinds/stream_fixture.hpp"

class signal_test : public stream_fixture {
 protected:
  using signals_of_all = std::vector<gpu_ptr<std::uint64_t>>;
  [[nodiscard]] std::uint64_t ranks() const { return static_cast<std::uint64_t>(upcxx::rank_n()); }
  template <class Word>
  static std::uint64_t now(atl::stream const& s, Word word) {
    pinned<std::uint64_t> const seen(1, 77);
    atl::fetch(s, word, seen.data());
    atl::wait(s);
    return seen[0];
  }
};

TEST_F(signal_test, what_all_ranks_add_to_a_signal_is_all_there) {
  constexpr std::uint64_t rounds = 15;
  auto const s = atl::make_stream(gpu_);
  auto const other = atl::make_stream(gpu_);
  signals_of_all const on_gpus = of_all(filled<std::uint64_t>(1, 5));
  multirank::shared_array<std::uint64_t> const in_heaps(1);
  *in_heaps.local() = 5;
  upcxx::barrier();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    auto const& on = round % 2 == 0 ? s : other;
    for (int to = 0; to < upcxx::rank_n(); ++to) {
      atl::signal(on, on_gpus[static_cast<std::size_t>(to)], 3, atl::signal_op::add);
      atl::signal(on, in_heaps.at(to), 3, atl::signal_op::add);
    }
  }
  std::uint64_t const sum = 5 + 3 * rounds * ranks();
  for (auto const* const on : {&s, &other}) {
    atl::wait(*on, on_gpus[static_cast<std::size_t>(me)], sum);
    atl::wait(*on, in_heaps.at(me), sum);
  }
  atl::wait(other);
  EXPECT_EQ(now(s, on_gpus[static_cast<std::size_t>(me)]), sum);
  EXPECT_EQ(now(s, in_heaps.at(me)), sum);
  upcxx::barrier();
  // Less is added by more: the difference wraps around.
  atl::signal(s, on_gpus[static_cast<std::size_t>(me)], -sum, atl::signal_op::add);
  EXPECT_EQ(now(s, on_gpus[static_cast<std::size_t>(me)]), 0u);
  upcxx::barrier();
}

TEST_F(signal_test, one_signal_counts_the_planes_of_several_neighbours) {
  constexpr std::uint64_t rounds = 12;
  auto const s = atl::make_stream(gpu_);
  auto const mine = static_cast<std::size_t>(me);
  auto const landing = of_all(filled<int>(2, -1));  // of the left and of the right one
  signals_of_all const news = of_all(filled<std::uint64_t>(2, 0));
  auto const source = filled<int>(1, 0);
  pinned<int> const in(rounds, 0);
  pinned<int> const out(2 * rounds, -1);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    in[round - 1] = static_cast<int>(round) * 100 + me;
    upcxx::copy(in.data() + round - 1, source, 1, atl::on_stream(s));
    int side = 0;
    for (int const to : {right, left}) {
      auto const theirs = static_cast<std::size_t>(to);
      upcxx::copy(source, landing[theirs] + side++, 1,
                  atl::on_stream(s) | atl::remote_cx::as_signal(news[theirs], 1, atl::signal_op::add));
    }
    atl::wait(s, news[mine], 2 * round);
    upcxx::copy(landing[mine], out.data() + 2 * (round - 1), 2, atl::on_stream(s));
    // Both may write again when both have read.
    for (int const to : {right, left})
      atl::signal(s, news[static_cast<std::size_t>(to)] + 1, 1, atl::signal_op::add);
    atl::wait(s, news[mine] + 1, 2 * round);
  }
  atl::wait(s);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    EXPECT_EQ(out[2 * (round - 1)], static_cast<int>(round) * 100 + left) << round;
    EXPECT_EQ(out[2 * (round - 1) + 1], static_cast<int>(round) * 100 + right) << round;
  }
  upcxx::barrier();
}

TEST_F(signal_test, a_signal_is_reset_when_it_was_seen) {
  auto const s = atl::make_stream(gpu_);
  signals_of_all const signals = of_all(filled<std::uint64_t>(2, 0));
  auto const own = signals[static_cast<std::size_t>(me)];
  auto const back = signals[static_cast<std::size_t>(left)] + 1;
  pinned<std::uint64_t> const seen(3, 77);
  for (std::uint64_t round = 0; round < 10; ++round) {
    atl::signal(s, signals[right_index()], 1);
    atl::wait_and_reset(s, own, 1, atl::signal_cmp::equal);
    atl::fetch(s, own, seen.data());
    atl::signal(s, back, 1);
    atl::wait_and_reset(s, own + 1, 1, atl::signal_cmp::at_least, 1000);
    atl::fetch(s, own + 1, seen.data() + 1);
    atl::reset(s, own + 1);
    atl::fetch(s, own + 1, seen.data() + 2);
    atl::wait(s);
    EXPECT_EQ(seen.values(), (std::vector<std::uint64_t>{0, 1000, 0})) << round;
    upcxx::barrier();
  }
  // It waits, too.
  atl::wait_and_reset(s, own, 4);
  auto const passed = atl::when(s);
  for (int i = 0; i < 100; ++i) upcxx::progress();
  EXPECT_FALSE(passed.is_ready());
  auto const other = atl::make_stream(gpu_);
  atl::signal(other, own, 6);
  passed.wait();
  EXPECT_EQ(now(s, own), 0u);
  atl::wait(other);
  upcxx::barrier();
}

TEST_F(signal_test, additions_come_after_the_data_before_them) {
  auto const s = atl::make_stream(gpu_);
  multirank::shared_array<std::uint64_t> const words(1);
  *words.local() = 0;
  auto const landing = of_all(filled(100, -1));
  auto const from = filled(100, me);
  upcxx::barrier();
  upcxx::copy(from, landing[right_index()], 100,
              atl::on_stream(s) | atl::remote_cx::as_signal(words.at(right), 1, atl::signal_op::add));
  std::atomic_ref<std::uint64_t> const word(*words.local());
  while (word.load(std::memory_order_acquire) == 0) upcxx::progress();
  EXPECT_EQ(content(landing[static_cast<std::size_t>(me)], 100), std::vector<int>(100, left));
  atl::wait(s);
  upcxx::barrier();
}

TEST_F(signal_test, no_room_for_a_signal_of_the_hosts_takes_none) {
  auto const s = atl::make_stream(gpu_);
  signals_of_all const words = of_all(filled<std::uint64_t>(1, 0));
  int far = (me + 1) % n;
  while (far != me && upcxx::local_team_contains(far)) far = (far + 1) % n;
  if (far == me) GTEST_SKIP() << "devices write all signals";
  auto const theirs = words[static_cast<std::size_t>(far)];
  auto const from = filled(10, me);
  auto const to = filled(10, -1);
  {
    // Two are needed: for the value, and for the stream to wait for.
    nearly_full_heap const full;
    std::int64_t const used = upcxx::shared_segment_used();
    EXPECT_THROW(atl::signal(s, theirs, 1), upcxx::bad_shared_alloc);
    EXPECT_EQ(upcxx::shared_segment_used(), used);
    // The device copies by itself, but not before it is known that the signal can be given.
    auto const cx = atl::on_stream(s) | atl::remote_cx::as_signal(theirs, 1);
    EXPECT_THROW(upcxx::copy(from, to, 10, cx), upcxx::bad_shared_alloc);
    EXPECT_THROW(upcxx::copy(from, to, 10, cx | upcxx::operation_cx::as_future()), upcxx::bad_shared_alloc);
    EXPECT_EQ(upcxx::shared_segment_used(), used);
  }
  atl::wait(s);
  EXPECT_EQ(content(to, 10), std::vector<int>(10, -1));
  upcxx::barrier();
  EXPECT_EQ(now(s, words[static_cast<std::size_t>(me)]), 0u);
  upcxx::barrier();
  upcxx::copy(from, to, 10, atl::on_stream(s) | atl::remote_cx::as_signal(theirs, 1));
  atl::wait(s);
  EXPECT_EQ(content(to, 10), std::vector<int>(10, me));
  upcxx::barrier();
}

/// The first signals are such that devices write.
TEST_F(signal_test, no_room_in_the_middle_of_a_barrier_leaves_it_as_it_was) {
  if (upcxx::local_team().rank_n() == n) GTEST_SKIP() << "devices write all signals";
  auto const s = atl::make_stream(gpu_);
  atl::stream_barrier all(gpu_);
  for (int round = 0; round < 3; ++round) {
    if (me == 0) {
      nearly_full_heap const full;
      EXPECT_THROW(all.enter(s), upcxx::bad_shared_alloc);
    }
    all.enter(s);
    atl::wait(s);
  }
  all.destroy();
}
