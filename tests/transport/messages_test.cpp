// What every transport does with messages, one thread playing all ranks: sizes and alignments, back-pressure,
// what is kept, what is cancelled, limits of private memory.

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "fabric.hpp"

namespace atl::transport {
namespace {

/// Takes everything out of `receiver` and checks it; number of messages.
int drain(fabric& ranks, std::uint32_t receiver, shm::taking how = in_place) {
  int count = 0;
  while (message* const m = ranks.rank(receiver).receive(how)) {
    EXPECT_EQ(difference(*m, m->bytes - header_bytes), "");
    ranks.rank(receiver).release(m);
    ++count;
  }
  return count;
}

TEST_P(transport_test, payloads_of_all_sizes_arrive_whole) {
  auto ranks = open();
  std::vector<std::size_t> sizes;
  // Around one cell, around the largest eager message, around what fits the arena, and beyond.
  for (std::size_t const edge : {std::size_t{0}, std::size_t{48}, ranks->rank(0).eager_bytes() - header_bytes,
                                 ranks->in_place_bytes() - header_bytes, 3 * ranks->in_place_bytes(),
                                 8 * ranks->in_place_bytes() + 77}) {
    for (std::size_t const size : {edge - 17, edge - 1, edge, edge + 1, edge + 16, edge + 63}) {
      if (size < (std::size_t{1} << 40)) sizes.push_back(size);
    }
  }
  for (shm::taking const how : {in_place, for_later}) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      for (std::uint32_t const target : {1U, 0U}) {  // the peer and the sender itself
        SCOPED_TRACE("payload " + std::to_string(sizes[i]) + " to rank " + std::to_string(target));
        ASSERT_EQ(try_send(ranks->rank(0), target, i + 1, sizes[i], spill::never), status::ok);
        message* const m = receive_soon(*ranks, target, how);
        ASSERT_NE(m, nullptr);
        EXPECT_EQ(m->source, 0);
        EXPECT_EQ(m->token, i + 1);
        EXPECT_EQ(m->kind, message_kind::request);
        EXPECT_EQ(difference(*m, sizes[i]), "");
        ranks->rank(target).release(m);
        ranks->rank(0).flush();  // sees that the message has been read
        EXPECT_EQ(ranks->rank(0).unsent(), 0U);
        EXPECT_EQ(ranks->private_bytes(0), 0U);
        EXPECT_EQ(ranks->private_bytes(target), 0U);
      }
    }
  }
}

TEST_P(transport_test, alignment_holds_on_both_sides) {
  auto ranks = open();
  std::uint64_t token = 1;
  for (std::size_t alignment = 64; alignment <= 4096; alignment *= 2) {
    for (std::size_t const size :
         {std::size_t{1}, std::size_t{200}, std::size_t{5000}, 2 * ranks->in_place_bytes()}) {
      for (shm::taking const how : {in_place, for_later}) {
        SCOPED_TRACE("alignment " + std::to_string(alignment) + ", payload " + std::to_string(size));
        ASSERT_EQ(try_send(ranks->rank(0), 1, ++token, size, spill::never, alignment), status::ok);
        message* const m = receive_soon(*ranks, 1, how);
        ASSERT_NE(m, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(m->base) % alignment, 0U);
        EXPECT_EQ(difference(*m, size), "");
        ranks->rank(1).release(m);
        ranks->rank(0).flush();
      }
    }
  }
}

TEST_P(transport_test, fewer_bytes_than_negotiated_may_be_sent) {
  auto ranks = open();
  std::uint64_t token = 0;
  for (std::size_t const capacity :
       {std::size_t{48}, std::size_t{2032}, std::size_t{20000}, 2 * ranks->in_place_bytes()}) {
    for (std::size_t const used : {std::size_t{0}, std::size_t{1}, capacity / 2, capacity}) {
      outgoing out;
      out.target = 1;
      ASSERT_EQ(ranks->rank(0).begin(out, header_bytes + capacity, 64, spill::never), status::ok);
      fill_and_commit(ranks->rank(0), out, message_kind::reply, ++token, used);
      message* const m = receive_soon(*ranks, 1);
      ASSERT_NE(m, nullptr);
      EXPECT_EQ(m->kind, message_kind::reply);
      EXPECT_EQ(difference(*m, used), "");
      ranks->rank(1).release(m);
      ranks->rank(0).flush();
      EXPECT_EQ(ranks->private_bytes(0), 0U);
    }
  }
}

TEST_P(transport_test, full_queue_says_so_and_recovers) {
  auto ranks = open();
  for (int lap = 0; lap < 3; ++lap) {
    int sent = 0;
    while (try_send(ranks->rank(0), 1, static_cast<std::uint64_t>(sent), 40, spill::never) == status::ok) {
      ASSERT_LT(++sent, 100'000) << "a queue without bound";
    }
    EXPECT_GT(sent, 0);
    EXPECT_EQ(drain(*ranks, 1), sent);
    EXPECT_EQ(try_send(ranks->rank(0), 1, 0, 40, spill::never), status::ok);
    EXPECT_EQ(drain(*ranks, 1), 1);
  }
}

TEST_P(transport_test, messages_of_many_lengths_fit_around_the_end_of_the_queue) {
  auto ranks = open();
  std::uint64_t token = 0;
  std::deque<std::size_t> expected;
  for (int i = 0; i < 20'000; ++i) {
    std::size_t const size =
        static_cast<std::size_t>(i) * 37 % (ranks->rank(0).eager_bytes() - header_bytes + 1);
    while (try_send(ranks->rank(0), 1, token, size, spill::never) == status::no_room) {
      message* const m = ranks->rank(1).receive(i % 2 == 0 ? in_place : for_later);
      ASSERT_NE(m, nullptr) << "no room although everything has been read, message " << i << " of " << size
                            << " bytes";
      ASSERT_EQ(difference(*m, expected.front()), "");
      expected.pop_front();
      ranks->rank(1).release(m);
    }
    expected.push_back(size);
    ++token;
  }
  EXPECT_EQ(drain(*ranks, 1), static_cast<int>(expected.size()));
}

TEST_P(transport_test, cancelled_messages_leave_no_trace) {
  auto ranks = open();
  std::size_t const sizes[] = {10, 500, 2032, 10'000, 2 * ranks->in_place_bytes()};
  for (int i = 0; i < 2000; ++i) {
    outgoing out;
    out.target = 1;
    std::size_t const size = sizes[i % 5];
    ASSERT_EQ(ranks->rank(0).begin(out, header_bytes + size, 64, spill::never), status::ok) << "round " << i;
    std::memset(out.begin + header_bytes, 0xff, size);
    ranks->rank(0).cancel(out);
    EXPECT_EQ(ranks->rank(1).receive(in_place), nullptr);  // also frees the cells
    if (i % 100 == 0) {
      ASSERT_EQ(try_send(ranks->rank(0), 1, 7, 300, spill::never), status::ok);
      EXPECT_EQ(drain(*ranks, 1), 1);
    }
  }
  EXPECT_EQ(ranks->private_bytes(0), 0U);
  EXPECT_EQ(ranks->rank(0).unsent(), 0U);
}

TEST_P(transport_test, spilled_messages_are_kept_until_there_is_room) {
  auto ranks = open();
  int sent = 0;
  std::vector<std::size_t> const sizes{0, 1, 48, 49, 2000, 2033, 30'000, ranks->in_place_bytes() + 1};
  for (; sent < 600; ++sent) {
    ASSERT_EQ(try_send(ranks->rank(0), 1, static_cast<std::uint64_t>(sent),
                       sizes[static_cast<std::size_t>(sent) % sizes.size()], spill::limited),
              status::ok);
  }
  EXPECT_GT(ranks->rank(0).unsent(), 0U);
  EXPECT_GT(ranks->private_bytes(0), 0U);
  std::vector<bool> seen(static_cast<std::size_t>(sent));
  for (int i = 0; i < sent; ++i) {
    message* m = receive_soon(*ranks, 1, i % 3 != 0 ? in_place : for_later);
    ASSERT_NE(m, nullptr) << "after " << i << " messages";
    ASSERT_LT(m->token, seen.size());
    EXPECT_FALSE(seen[m->token]);
    seen[m->token] = true;
    EXPECT_EQ(difference(*m, sizes[m->token % sizes.size()]), "");
    ranks->rank(1).release(m);
    ranks->rank(0).flush();
  }
  EXPECT_EQ(ranks->rank(1).receive(in_place), nullptr);
  ranks->rank(0).flush();
  EXPECT_EQ(ranks->rank(0).unsent(), 0U);
  EXPECT_EQ(ranks->private_bytes(0), 0U);
  EXPECT_EQ(ranks->private_bytes(1), 0U);
}

TEST_P(transport_test, transit_memory_ends_and_comes_back_in_any_order) {
  auto ranks = open();
  constexpr std::size_t size = 20'000;
  std::vector<message*> held;
  std::uint64_t token = 0;
  for (int round = 0; round < 50; ++round) {
    while (try_send(ranks->rank(0), 1, token, size, spill::never) == status::ok) {
      ++token;
      message* const m = ranks->rank(1).receive(in_place);
      ASSERT_NE(m, nullptr);
      held.push_back(m);
    }
    ASSERT_GE(held.size(), 2U);
    for (message* const m : held) EXPECT_EQ(difference(*m, size), "");
    // Give back some, never in the order of arrival.
    std::size_t const back = 1 + static_cast<std::size_t>(round) % held.size();
    for (std::size_t i = 0; i < back; ++i) {
      std::size_t const which = (i * 7 + static_cast<std::size_t>(round)) % held.size();
      ranks->rank(1).release(held[which]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
    EXPECT_EQ(try_send(ranks->rank(0), 1, token, size, spill::never), status::ok) << "room did not come back";
    ++token;
    message* const m = ranks->rank(1).receive(in_place);
    ASSERT_NE(m, nullptr);
    held.push_back(m);
  }
  for (message* const m : held) ranks->rank(1).release(m);
}

TEST_P(transport_test, small_messages_pass_when_transit_memory_is_used_up) {
  auto ranks = open();
  std::vector<message*> held;
  while (try_send(ranks->rank(0), 1, 1, 30'000, spill::never) == status::ok) {
    held.push_back(ranks->rank(1).receive(in_place));
    ASSERT_NE(held.back(), nullptr);
  }
  EXPECT_EQ(try_send(ranks->rank(0), 1, 2, 100, spill::never), status::ok);
  EXPECT_EQ(drain(*ranks, 1), 1);
  // And so do large ones, through private memory, although the target holds on to all transit memory.
  ASSERT_EQ(try_send(ranks->rank(0), 1, 3, 30'000, spill::limited), status::ok);
  ASSERT_EQ(try_send(ranks->rank(0), 1, 4, 3 * ranks->in_place_bytes(), spill::limited), status::ok);
  for (int i = 0; i < 2; ++i) {
    message* const m = receive_soon(*ranks, 1);
    ASSERT_NE(m, nullptr);
    EXPECT_EQ(difference(*m, m->token == 3 ? 30'000 : 3 * ranks->in_place_bytes()), "");
    ranks->rank(1).release(m);
  }
  for (message* const m : held) ranks->rank(1).release(m);
}

TEST_P(transport_test, messages_taken_in_are_charged_and_stop_at_the_limit) {
  auto ranks = open({.private_limit = std::size_t{300} << 10});
  std::deque<message*> held;
  std::uint64_t token = 0;
  for (int i = 0; i < 10'000 && !ranks->starved(1); ++i) {
    (void)try_send(ranks->rank(0), 1, token++, i % 2 == 0 ? 1500 : 20'000, spill::never);
    if (message* const m = ranks->rank(1).receive(for_later)) held.push_back(m);
  }
  ASSERT_TRUE(ranks->starved(1)) << "nothing stops what arrives";
  EXPECT_LE(ranks->private_bytes(1), std::size_t{300} << 10);
  EXPECT_GT(ranks->private_bytes(1), std::size_t{250} << 10);
  // Nothing is lost, and in-place messages need no private memory.
  EXPECT_EQ(ranks->rank(1).receive(for_later), nullptr);
  message* const m = ranks->rank(1).receive(in_place);
  ASSERT_NE(m, nullptr);
  ranks->rank(1).release(m);
  for (message* const one : held) {
    EXPECT_EQ(difference(*one, one->bytes - header_bytes), "");
    ranks->rank(1).release(one);
  }
  EXPECT_EQ(ranks->private_bytes(1), 0U);
  while (drain(*ranks, 1, for_later) != 0) {
  }
  EXPECT_FALSE(ranks->starved(1));
}

TEST_P(transport_test, senders_are_told_when_private_memory_ends) {
  auto ranks = open({.private_limit = std::size_t{1} << 20});
  int sent = 0;
  status last = status::ok;
  while ((last = try_send(ranks->rank(0), 1, static_cast<std::uint64_t>(sent), 50'000, spill::limited)) ==
         status::ok) {
    ASSERT_LT(++sent, 1000);
  }
  EXPECT_EQ(last, status::no_memory);
  EXPECT_EQ(try_send(ranks->rank(0), 1, 0, 2 << 20, spill::limited), status::no_memory);
  int arrived = 0;
  while (message* const m = receive_soon(*ranks, 1)) {
    EXPECT_EQ(difference(*m, 50'000), "");
    ranks->rank(1).release(m);
    ranks->rank(0).flush();
    ++arrived;
  }
  EXPECT_EQ(arrived, sent);
  EXPECT_EQ(ranks->private_bytes(0), 0U);
  EXPECT_EQ(try_send(ranks->rank(0), 1, 0, 500'000, spill::limited), status::ok);
}

TEST_P(transport_test, ranks_that_send_each_other_the_most_that_fits_both_receive) {
  std::size_t const limit = std::size_t{1} << 20;
  auto ranks = open({.private_limit = limit});
  std::size_t const size = limit / 4 * 3;
  ASSERT_EQ(try_send(ranks->rank(0), 1, 1, size, spill::never), status::ok);
  ASSERT_EQ(try_send(ranks->rank(1), 0, 2, size, spill::never), status::ok);
  for (std::uint32_t const r : {0U, 1U}) {
    message* const m = receive_soon(*ranks, r);
    ASSERT_NE(m, nullptr) << "rank " << r;
    EXPECT_EQ(difference(*m, size), "");
    ranks->rank(r).release(m);
  }
  ranks->rank(0).flush();
  ASSERT_EQ(try_send(ranks->rank(0), 0, 3, size, spill::never), status::ok);
  message* const m = receive_soon(*ranks, 0);
  ASSERT_NE(m, nullptr) << "a rank to itself";
  EXPECT_EQ(difference(*m, size), "");
  ranks->rank(0).release(m);
}

TEST_P(transport_test, two_large_messages_at_once_do_not_block_each_other) {
  std::size_t const limit = std::size_t{1} << 20;
  auto ranks = open({.ranks = 3, .private_limit = limit});
  std::size_t const size = limit / 4 * 3;
  ASSERT_EQ(try_send(ranks->rank(0), 2, 1, size, spill::never), status::ok);
  ASSERT_EQ(try_send(ranks->rank(1), 2, 2, size, spill::never), status::ok);
  int arrived = 0;
  for (int round = 0; round < 1000 && arrived < 2; ++round) {
    ranks->rank(0).flush();
    ranks->rank(1).flush();
    if (message* const m = ranks->rank(2).receive(for_later)) {
      EXPECT_EQ(difference(*m, size), "");
      ranks->rank(2).release(m);
      ++arrived;
    }
  }
  EXPECT_EQ(arrived, 2);
}

TEST_P(transport_test, answers_pass_requests_that_find_no_memory) {
  auto ranks = open({.private_limit = std::size_t{300} << 10});
  int requests = 0;
  std::vector<message*> held;
  while (!ranks->starved(1)) {
    if (try_send(ranks->rank(0), 1, 1, requests % 2 == 0 ? 1500 : 20'000, spill::limited) == status::ok) {
      ++requests;
    }
    ranks->rank(0).flush();
    if (message* const m = ranks->rank(1).receive(for_later)) held.push_back(m);
    ASSERT_LT(requests, 10'000);
  }
  // More than the limit in all, by every way.
  std::vector<std::size_t> const sizes{0, 48, 49, 2000, 2033, 30'000, ranks->in_place_bytes() + 1, 700'000};
  int answers = 0;
  for (; answers < 40; ++answers) {
    ASSERT_EQ(try_send(ranks->rank(0), 1, 2, sizes[static_cast<std::size_t>(answers) % sizes.size()],
                       spill::unlimited, buffer_alignment, message_kind::reply),
              status::ok);
  }
  // Some are taken in for later while there is credit; the others wait, and not in the way of what follows.
  for (int i = 0; i < 100; ++i) {
    if (message* const m = ranks->rank(1).receive(for_later)) held.push_back(m);
    ranks->rank(0).flush();
  }
  for (int i = 0; i < 1000 && answers > 0; ++i) {
    while (message* const m = ranks->rank(1).receive({.requests = false, .control_in_place = true})) {
      EXPECT_EQ(m->kind, message_kind::reply);
      EXPECT_EQ(difference(*m, m->bytes - header_bytes), "");
      ranks->rank(1).release(m);
      --answers;
    }
    for (message* const m : held) {
      if (m->kind == message_kind::reply) --answers;
      if (m->kind == message_kind::request) --requests;
      EXPECT_EQ(difference(*m, m->bytes - header_bytes), "");
      ranks->rank(1).release(m);
    }
    held.clear();
    ranks->rank(0).flush();
  }
  EXPECT_EQ(answers, 0);
  while (message* const m = receive_soon(*ranks, 1)) {
    EXPECT_EQ(m->kind, message_kind::request);
    ranks->rank(1).release(m);
    --requests;
  }
  EXPECT_EQ(requests, 0);
  ranks->rank(0).flush();
  EXPECT_EQ(ranks->rank(0).busy(), 0U);
  EXPECT_EQ(ranks->private_bytes(0), 0U);
  EXPECT_EQ(ranks->private_bytes(1), 0U);
}

TEST_P(transport_test, answers_are_never_refused) {
  std::size_t const limit = std::size_t{1} << 20;
  auto ranks = open({.private_limit = limit});
  int sent = 0;
  for (; sent < 100; ++sent) {
    ASSERT_EQ(try_send(ranks->rank(0), 1, 1, 50'000, spill::unlimited, buffer_alignment, message_kind::reply),
              status::ok);
  }
  EXPECT_GT(ranks->private_bytes(0), limit);
  EXPECT_EQ(ranks->rank(0).private_bytes_for(1, lane::control),
            ranks->rank(0).private_bytes_on(lane::control));
  EXPECT_EQ(ranks->rank(0).private_bytes_for(0, lane::control), 0U);
  while (message* const m = receive_soon(*ranks, 1, for_later)) {
    EXPECT_EQ(difference(*m, 50'000), "");
    EXPECT_LE(ranks->private_bytes(1), limit);
    ranks->rank(1).release(m);
    --sent;
  }
  EXPECT_EQ(sent, 0);
  ranks->rank(0).flush();
  EXPECT_EQ(ranks->rank(0).private_bytes_on(lane::control), 0U);
}

TEST_P(transport_test, a_rank_that_gives_nothing_back_leaves_room_for_others) {
  auto ranks = open({.ranks = 4});
  std::vector<message*> held;
  for (std::uint32_t const slow : {1U, 2U}) {
    while (try_send(ranks->rank(0), slow, 1, 5'000, spill::never) == status::ok) {
      held.push_back(ranks->rank(slow).receive(in_place));
      ASSERT_NE(held.back(), nullptr);
    }
  }
  EXPECT_GE(held.size(), 10U);
  ASSERT_EQ(try_send(ranks->rank(0), 3, 2, 5'000, spill::never), status::ok);
  EXPECT_EQ(drain(*ranks, 3), 1);
  for (message* const m : held) ranks->rank(1).release(m);
}

TEST_P(transport_test, messages_in_flight_are_freed_with_the_endpoints) {
  auto ranks = open();
  for (std::uint64_t i = 0; i < 300; ++i) {
    (void)try_send(ranks->rank(0), 1, i, i % 3 == 0 ? 10 : i % 3 == 1 ? 10'000 : 400'000, spill::limited);
    if (i % 10 == 0) {
      if (message* const m = ranks->rank(1).receive(for_later)) ranks->rank(1).release(m);
      ranks->rank(0).flush();
    }
  }
  EXPECT_GT(ranks->rank(0).unsent(), 0U);
  // LeakSanitizer looks at what the destructors leave.
}

INSTANTIATE_TEST_SUITE_P(all, transport_test, testing::ValuesIn(fabric_kinds()), name_of);

}  // namespace
}  // namespace atl::transport
