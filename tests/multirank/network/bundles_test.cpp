// Small messages to other hosts that leave together: which do, when, and what becomes of those that are given up, that grow, or that
// others are begun beside; and acknowledgements, which may wait for what follows them. Linked with the library's objects, to look inside.

#include <atoll/engine/am.hpp>
#include <atoll/engine/token.hpp>
#include <string>
#include <vector>

#include "bundles.hpp"

namespace {

using atl::engine::am_begin;
using atl::engine::am_cancel;
using atl::engine::am_commit;
using atl::engine::header_bytes;
using atl::engine::lane;
using atl::engine::message_bundle;
using atl::engine::network_messages;
using atl::engine::outgoing;
using atl::engine::pressure;

long sum;
int runs;

class bundles_test : public bundles_fixture {
 protected:
  void begin() override { sum = runs = 0; }
  void expect_in_bundle(std::uint32_t messages) const {
    if (!exact()) return;
    EXPECT_EQ(bundle().begun, messages != 0);
    if (messages != 0) {
      EXPECT_EQ(bundle().messages, messages);
    }
  }
  /// Calls of the neighbour, which add up.
  void call(long value) const {
    upcxx::rpc_ff(
        right,
        [](long v) {
          sum += v;
          ++runs;
        },
        value);
  }
  void check(int calls, long total) const {
    multirank::spin_until([&] { return runs >= calls; });
    EXPECT_EQ(runs, calls);
    EXPECT_EQ(sum, total);
    upcxx::barrier();
  }
};

TEST_F(bundles_test, the_first_leaves_at_once) {
  call(1);
  expect_in_bundle(0);
  call(2);
  call(3);
  expect_in_bundle(2);
  EXPECT_TRUE(upcxx::progress_required() || !exact());
  end_burst();
  expect_in_bundle(0);
  call(4);
  expect_in_bundle(0);
  check(4, 10);
}

TEST_F(bundles_test, discharge_sends_them) {
  call(1);
  call(2);
  upcxx::discharge();
  expect_in_bundle(0);
  EXPECT_FALSE(upcxx::progress_required());
  check(2, 3);
}

TEST_F(bundles_test, a_full_one_leaves) {
  constexpr int calls = 2000;
  std::uint32_t most = 0;
  for (int i = 0; i < calls; ++i) {
    call(i);
    most = std::max(most, bundle().messages);
  }
  EXPECT_GT(most, 8U);
  EXPECT_LT(most, 400U);
  check(calls, long{calls} * (calls - 1) / 2);
}

TEST_F(bundles_test, what_is_longer_leaves_behind_them) {
  std::string const longer(3000, 'x');
  std::string const large(100'000, 'y');
  long expected = 0;
  for (int i = 0; i < 50; ++i) {
    call(i);
    call(i);
    std::string const& text = i % 2 == 0 ? longer : large;
    upcxx::rpc_ff(
        right,
        [](upcxx::view<char> v) {
          sum += static_cast<long>(v.size());
          ++runs;
        },
        upcxx::make_view(text));
    expect_in_bundle(0);
    expected += 2 * i + static_cast<long>(text.size());
  }
  check(150, expected);
}

TEST_F(bundles_test, those_that_are_given_up_leave_a_gap) {
  call(1);
  call(2);
  outgoing out;
  am_begin(out, right, 60, pressure::always, 64, lane::request);
  call(4);
  am_cancel(out);
  am_begin(out, right, 80, pressure::always, 64, lane::request);
  am_cancel(out);
  call(8);
  expect_in_bundle(5);
  EXPECT_EQ(bundle().open, 0U);
  check(4, 15);
}

TEST_F(bundles_test, none_leaves_while_somebody_writes) {
  call(1);
  call(2);
  outgoing out;
  am_begin(out, right, 100, pressure::always, 64, lane::request);
  for (int i = 0; i < 3; ++i) end_burst();
  expect_in_bundle(2);
  EXPECT_TRUE(bundle().open == 1 || !exact());
  am_cancel(out);
  end_burst();
  expect_in_bundle(0);
  check(2, 3);
}

bool may_put;

[[gnu::visibility("hidden")]] void take(atl::engine::message* m) {
  ++runs;
  atl::engine::release(m);
}

/// Rank 0 puts a word. Rank 1 acknowledges it in internal progress, as if it had always sent a message at once behind that.
class acknowledgements_test : public bundles_test {
 protected:
  void SetUp() override {
    bundles_test::SetUp();
    *word.local() = 0;
    may_put = false;
    upcxx::barrier();
    if (me == 0) {
      multirank::spin_until([] { return may_put; });
      done = upcxx::rput(1L, word.at(right));
      return;
    }
    habit() = {};
    for (int i = 0; i < 2; ++i) {
      habit().acknowledged(0, false);
      habit().followed(0);
    }
    EXPECT_TRUE(habit().may_wait());
    end_burst();
    upcxx::rpc_ff(right, [] { may_put = true; });
    while (seen() == 0) end_burst();
    expect_waiting(true);
    EXPECT_TRUE(upcxx::progress_required() || !exact());
  }
  void TearDown() override {
    done.wait();
    bundles_test::TearDown();
  }
  long seen() const { return *const_cast<long volatile*>(word.local()); }
  atl::engine::acknowledgement_habit& habit() const { return network_messages::here().peer(right).habit; }
  void expect_waiting(bool wanted) const {
    if (!exact()) return;
    EXPECT_EQ(bundle(lane::control).waits, wanted);
    EXPECT_EQ(bundle(lane::control).begun, wanted);
  }

  multirank::shared_array<long> word{1};
  upcxx::future<> done = upcxx::make_future();
};

TEST_F(acknowledgements_test, leave_in_the_next_progress) {
  if (me == 0) return;
  end_burst();
  expect_waiting(false);
  EXPECT_FALSE(habit().may_wait() && exact());
}

TEST_F(acknowledgements_test, leave_with_the_next_message) {
  if (me == 0) {
    multirank::spin_until([&] { return seen() == 2; });
    EXPECT_TRUE(done.is_ready() || !exact());
    return;
  }
  done = upcxx::rput(2L, word.at(right));
  expect_waiting(false);
}

TEST_F(acknowledgements_test, follow_a_call) {
  if (me == 0) return check(1, 7);
  call(7);
  expect_waiting(false);
  upcxx::barrier();
}

TEST_F(acknowledgements_test, follow_a_long_message) {
  if (me == 0) return check(1, 0);
  outgoing out;
  am_begin(out, right, network_messages::most_in_place, pressure::always);
  am_commit(out, atl::engine::message_kind::active, atl::engine::token_cache<&take>::get(),
            network_messages::most_in_place);
  expect_waiting(false);
  upcxx::barrier();
}

TEST_F(acknowledgements_test, are_discharged) {
  if (me == 0) return;
  upcxx::discharge();
  expect_waiting(false);
  EXPECT_FALSE(upcxx::progress_required());
}

TEST_F(acknowledgements_test, stay_while_somebody_writes_behind_them) {
  if (me == 0) return;
  outgoing out;
  am_begin(out, right, 100, pressure::always);
  for (int i = 0; i < 3; ++i) end_burst();
  EXPECT_TRUE(bundle(lane::control).open == 1 || !exact());
  am_cancel(out);
  end_burst();
  expect_waiting(false);
}

TEST_F(acknowledgements_test, of_puts_in_turn) {
  for (long i = 2; i < 2000; ++i) {
    if (me == 0) upcxx::rput(i, word.at(right)).wait();
    multirank::spin_until([&] { return seen() == i; });
    if (me != 0) done = upcxx::when_all(upcxx::rput(i, word.at(right)), done);
  }
}

/// Sends a call of its own while it is written.
struct sends_while_written {
  upcxx::intrank_t to = -1;
  long value = 0;
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, sends_while_written const& s) {
      w.write(s.value);
      if (s.to < 0) return;
      upcxx::rpc_ff(
          s.to,
          [](long v) {
            sum += v;
            ++runs;
          },
          100L);
      w.write(std::vector<long>(s.value % 40, 1));
    }
    template <class Reader>
    static sends_while_written* deserialize(Reader& r, void* at) {
      long const value = r.template read<long>();
      auto const more = r.template read<std::vector<long>>();
      return ::new (at) sends_while_written{static_cast<upcxx::intrank_t>(more.size()), value};
    }
  };
};

TEST_F(bundles_test, messages_of_unknown_length_that_send_others) {
  long expected = 0;
  for (long i = 0; i < 300; ++i) {
    upcxx::rpc_ff(
        right,
        [](sends_while_written const& s) {
          EXPECT_EQ(s.to, s.value % 40);
          sum += s.value;
          ++runs;
        },
        sends_while_written{right, i});
    expected += i + 100;
  }
  check(600, expected);
}

TEST_F(bundles_test, puts_gets_and_answers) {
  constexpr int count = 3000;
  multirank::shared_array<long> cells(count);
  upcxx::future<> all = upcxx::make_future();
  for (int i = 0; i < count; ++i) all = upcxx::when_all(all, upcxx::rput(me + 7L * i, cells.at(right) + i));
  all.wait();
  upcxx::barrier();
  for (int i = 0; i < count; ++i) EXPECT_EQ(cells.at(me).local()[i], left + 7L * i);
  std::vector<upcxx::future<long>> got;
  for (int i = 0; i < count; ++i) got.push_back(upcxx::rget(cells.at(right) + i));
  for (int i = 0; i < count; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)].wait(), me + 7L * i);
  std::vector<upcxx::future<int>> answers;
  for (int i = 0; i < count; ++i)
    answers.push_back(upcxx::rpc(
        right, [](int x) { return 2 * x; }, i));
  for (int i = 0; i < count; ++i) EXPECT_EQ(answers[static_cast<std::size_t>(i)].wait(), 2 * i);
  upcxx::barrier();
}

}  // namespace
