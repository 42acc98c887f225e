// Small puts and atomic operations of one promise that wait to leave: they share a message, an answer and a completion, and nobody sees
// the difference. Linked with the library's objects, to look inside.

#include <algorithm>
#include <vector>

#include "bundles.hpp"

namespace {

using atl::engine::message_bundle;
using upcxx::atomic_op;
using upcxx::operation_cx;

class series_test : public bundles_fixture {
 protected:
  static void expect_waiting(std::uint32_t messages, message_bundle const& b) {
    if (!exact()) return;
    EXPECT_EQ(b.begun ? b.messages : 0, messages);
  }
  void expect_waiting(std::uint32_t messages) const { expect_waiting(messages, bundle(lane::control)); }
  void put(long value, std::size_t at, upcxx::promise<> const& all) const {
    upcxx::rput(value, words.at(right) + static_cast<std::ptrdiff_t>(at), operation_cx::as_promise(all));
  }
  void expect_from_left(std::size_t count, long factor) const {
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(words.local()[i], left + factor * static_cast<long>(i)) << i;
  }

  static constexpr std::size_t most = 5000;
  multirank::shared_array<long> words{most};
};

TEST_F(series_test, puts_of_a_promise_share_a_message) {
  upcxx::promise<> all;
  put(me, 0, all);
  expect_waiting(0);  // the first leaves at once
  for (std::size_t i = 1; i < 100; ++i) put(me + 3 * static_cast<long>(i), i, all);
  expect_waiting(1);
  EXPECT_TRUE(upcxx::progress_required());
  upcxx::future<> const done = all.finalize();
  EXPECT_FALSE(done.is_ready());
  done.wait();
  upcxx::barrier();
  expect_from_left(100, 3);
}

TEST_F(series_test, what_differs_begins_another) {
  upcxx::promise<> all;
  upcxx::promise<> other;
  put(1, 0, all);
  put(1, 1, all);
  put(1, 2, other);
  expect_waiting(2);
  put(1, 3, other);
  expect_waiting(2);
  upcxx::rput('x', upcxx::reinterpret_pointer_cast<char>(words.at(right) + 4),
              operation_cx::as_promise(other));
  expect_waiting(3);
  char const text[] = "one of 23 bytes, at odd";
  upcxx::rput(text, upcxx::reinterpret_pointer_cast<char>(words.at(right) + 5) + 1, sizeof text,
              operation_cx::as_promise(other));
  expect_waiting(4);
  upcxx::future<> const alone = upcxx::rput(7L, words.at(right) + 9);
  expect_waiting(5);
  put(1, 10, all);
  expect_waiting(6);
  upcxx::when_all(all.finalize(), other.finalize(), alone).wait();
  upcxx::barrier();
  for (int const i : {0, 1, 2, 3, 10}) EXPECT_EQ(words.local()[i], 1);
  EXPECT_EQ(words.local()[9], 7);
  EXPECT_EQ(*reinterpret_cast<char const*>(words.local() + 4), 'x');
  EXPECT_STREQ(reinterpret_cast<char const*>(words.local() + 5) + 1, text);
}

TEST_F(series_test, a_flood_takes_several_messages) {
  upcxx::promise<> all;
  for (std::size_t i = 0; i < most; ++i) put(me + 5 * static_cast<long>(i), i, all);
  all.finalize().wait();
  upcxx::barrier();
  expect_from_left(most, 5);
}

/// Records whose operations are over take no more, also while their promise still hears of it.
TEST_F(series_test, goes_on_while_earlier_ones_arrive) {
  upcxx::promise<> all;
  for (std::size_t i = 0; i < most; ++i) {
    put(me + 7 * static_cast<long>(i), i, all);
    if (i % 37 == 0) end_burst();
    if (i % 101 == 0) upcxx::progress();
    if (i % 1009 == 0) multirank::spin_until([] { return !upcxx::progress_required(); });
  }
  upcxx::future<> const done = all.finalize();
  done.wait();
  upcxx::barrier();
  expect_from_left(most, 7);
}

TEST_F(series_test, a_promise_is_ready_with_the_last) {
  for (int round = 0; round < 50; ++round) {
    upcxx::promise<> all;
    for (std::size_t i = 0; i < 20; ++i) put(round, i, all);
    upcxx::future<> const done = all.finalize();
    std::vector<upcxx::future<long>> seen;
    bool said = false;
    done.then([&] {
          said = true;
          for (int i = 0; i < 20; ++i) seen.push_back(upcxx::rget(words.at(right) + i));
        })
        .wait();
    EXPECT_TRUE(said);
    for (auto const& each : seen) EXPECT_EQ(each.wait(), round);
    upcxx::barrier();
  }
}

TEST_F(series_test, promises_that_go_early) {
  {
    upcxx::promise<> all;
    for (std::size_t i = 0; i < 10; ++i) put(me, i, all);
  }
  upcxx::promise<long, int> with_values;
  for (int i = 10; i < 20; ++i) {
    upcxx::rput(static_cast<long>(me), words.at(right) + i, operation_cx::as_promise(with_values));
  }
  with_values.fulfill_result(4L, 2);
  EXPECT_EQ(with_values.get_future().wait<0>(), 4L);
  upcxx::barrier();
  upcxx::rpc(right, [] {}).wait();
  multirank::spin_until([&] { return words.local()[9] == left; });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(words.local()[i], left);
  upcxx::barrier();
}

TEST_F(series_test, atomic_operations_bring_the_values_before) {
  upcxx::atomic_domain<long> domain(
      {atomic_op::fetch_add, atomic_op::add, atomic_op::compare_exchange, atomic_op::load});
  std::fill_n(words.local(), most, -1);
  words.local()[0] = words.local()[1] = 0;
  upcxx::barrier();
  end_burst();
  upcxx::promise<> all;
  std::vector<long> before(most, -1);
  constexpr auto order = std::memory_order_relaxed;
  for (std::size_t i = 0; i < 4; ++i)
    domain.fetch_add(words.at(right), 2, &before[i], order, operation_cx::as_promise(all));
  expect_waiting(1);
  for (int i = 0; i < 3; ++i) domain.add(words.at(right) + 1, 3, order, operation_cx::as_promise(all));
  expect_waiting(2);
  for (std::size_t i = 4; i < most; ++i)
    domain.fetch_add(words.at(right), 2, &before[i], order, operation_cx::as_promise(all));
  all.finalize().wait();
  // In whatever order.
  std::sort(before.begin(), before.end());
  for (std::size_t i = 0; i < most; ++i) ASSERT_EQ(before[i], 2 * static_cast<long>(i));
  EXPECT_EQ(domain.load(words.at(right) + 1, order).wait(), 9);
  upcxx::promise<> changed;
  std::vector<long> found(100);
  for (std::size_t i = 0; i < 100; ++i) {
    domain.compare_exchange(words.at(right) + 2 + static_cast<std::ptrdiff_t>(i), i % 2 == 0 ? -1 : 0, 7,
                            &found[i], order, operation_cx::as_promise(changed));
  }
  changed.finalize().wait();
  EXPECT_EQ(std::count(found.begin(), found.end(), -1), 100);
  upcxx::barrier();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(words.local()[2 + i], i % 2 == 0 ? 7 : -1);
  upcxx::barrier();
  domain.destroy();
}

TEST_F(series_test, atomic_operations_on_short_cells) {
  upcxx::atomic_domain<float> domain({atomic_op::fetch_add, atomic_op::fetch_max});
  multirank::shared_array<float> cells(2);
  cells.local()[0] = cells.local()[1] = 0;
  upcxx::barrier();
  upcxx::promise<> all;
  std::vector<float> before(50, -1);
  for (std::size_t i = 0; i < before.size(); ++i) {
    domain.fetch_add(cells.at(right) + 1, 0.5F, &before[i], std::memory_order_relaxed,
                     operation_cx::as_promise(all));
  }
  all.finalize().wait();
  std::sort(before.begin(), before.end());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i], 0.5F * static_cast<float>(i));
  upcxx::barrier();
  domain.destroy();
}

/// Calls that fail say which one has.
TEST_F(series_test, calls_of_several_names_and_one_promise) {
  upcxx::atomic_domain<long> domain({atomic_op::fetch_add, atomic_op::load});
  words.local()[0] = 0;
  upcxx::barrier();
  upcxx::promise<> all;
  std::vector<long> before(200);
  for (std::size_t i = 0; i < before.size(); ++i) {
    domain.fetch_add(words.at(right), 1, &before[i], std::memory_order_relaxed,
                     operation_cx::as_promise(all));
    put(me, 1 + i, all);
  }
  all.finalize().wait();
  std::sort(before.begin(), before.end());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i], static_cast<long>(i));
  upcxx::barrier();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(words.local()[1 + i], left);
  domain.destroy();
}

}  // namespace
