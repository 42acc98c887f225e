// The same with a thread for each rank, so that ThreadSanitizer sees all that ranks share.

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>
#include <atoll/transport/growing.hpp>

#include "fabric.hpp"

namespace atl::transport {
namespace {

class threads_test : public transport_test {};

constexpr std::uint64_t token_of(std::uint32_t source, std::uint64_t number) {
  return std::uint64_t{source} << 40 | number;
}

/// One rank's side of a traffic in which each rank sends `count` messages to each of `targets` and expects
/// `expected` in total. `size_of` gives the payload of a message by its number.
struct participant {
  fabric& ranks;
  std::uint32_t me;
  std::vector<std::uint32_t> targets;
  std::uint64_t count;
  std::uint64_t expected;
  std::size_t (*size_of)(std::uint64_t number);
  spill when_full = spill::never;
  bool in_order = false;  ///< small messages that never spill keep their order

  std::vector<std::vector<bool>> seen{};
  std::vector<std::uint64_t> next{};
  std::atomic<std::uint32_t>* done = nullptr;

  void run(std::uint32_t participants) {
    shm::endpoint& mine = ranks.rank(me);
    seen.resize(16);
    next.resize(16);
    std::uint64_t sent = 0;
    std::uint64_t arrived = 0;
    std::size_t turn = 0;
    bool announced = false;
    for (std::uint64_t round = 0;; ++round) {
      bool moved = mine.flush();
      if (sent < count) {
        std::uint32_t const target = targets[turn];
        status const s = try_send(mine, target, token_of(me, sent), size_of(sent), when_full);
        if (s == status::ok) {
          moved = true;
          if (++turn == targets.size()) {
            turn = 0;
            ++sent;
          }
        }
      }
      for (int k = 0; k < 4; ++k) {
        message* const m = mine.receive(round % 2 == 0 ? in_place : for_later);
        if (m == nullptr) break;
        moved = true;
        check(*m);
        mine.release(m);
        ++arrived;
      }
      if (!announced && sent == count && arrived == expected && mine.busy() == 0) {
        announced = true;
        done->fetch_add(1);
      }
      // Who is done goes on serving the others.
      if (announced && done->load() == participants) break;
      if (!moved) sched_yield();
    }
    EXPECT_EQ(arrived, expected);
  }

  void check(message const& m) {
    auto const source = static_cast<std::uint32_t>(m.token >> 40);
    std::uint64_t const number = m.token & ((std::uint64_t{1} << 40) - 1);
    ASSERT_EQ(m.source, static_cast<std::int32_t>(source));
    ASSERT_EQ(difference(m, size_of(number)), "");
    if (in_order) {
      ASSERT_EQ(number, next[source]) << "from rank " << source;
      ++next[source];
    } else {
      auto& numbers = seen[source];
      if (numbers.size() <= number) numbers.resize(number + 1);
      ASSERT_FALSE(numbers[number]) << "message " << number << " of rank " << source << " came twice";
      numbers[number] = true;
    }
  }
};

void run_all(std::vector<participant> all) {
  std::atomic<std::uint32_t> done{0};
  std::vector<std::thread> threads;
  for (participant& p : all) {
    p.done = &done;
    threads.emplace_back([&p, n = static_cast<std::uint32_t>(all.size())] { p.run(n); });
  }
  for (std::thread& t : threads) t.join();
}

TEST_P(threads_test, many_producers_keep_their_order_over_hundreds_of_laps) {
  // 4 x 30,000 messages of 1 to 3 cells through 128 cells: more than 1,500 laps,
  // so lap numbers wrap several times.
  auto ranks = open({.ranks = 5});
  auto const size = [](std::uint64_t number) -> std::size_t { return number * 13 % 150; };
  std::vector<participant> all;
  all.push_back({*ranks, 0, {}, 0, 4 * 30'000, size, spill::never, true});
  for (std::uint32_t r = 1; r < 5; ++r) all.push_back({*ranks, r, {0}, 30'000, 0, size, spill::never, true});
  run_all(std::move(all));
}

/// The payload of a message, as fill_and_commit() writes it.
std::vector<std::byte> payload_of(std::uint64_t token, std::size_t bytes) {
  std::vector<std::byte> payload((bytes + 7) / 8 * 8);
  for (std::size_t i = 0; i < payload.size(); i += 8) {
    std::uint64_t const word = pattern(token, i);
    std::memcpy(payload.data() + i, &word, 8);
  }
  payload.resize(bytes);
  return payload;
}

TEST_P(threads_test, payloads_are_read_while_they_are_written) {
  auto ranks = open({.arena_bytes = std::size_t{4} << 20});
  constexpr std::size_t head = 100;
  std::vector<std::size_t> sizes;
  for (std::size_t const edge :
       {std::size_t{1}, std::size_t{4000}, growth_bytes, 3 * growth_bytes, std::size_t{1} << 20}) {
    for (std::size_t const size : {edge - 1, edge, edge + 1}) {
      if (size != 0) sizes.push_back(size + head);
    }
  }
  constexpr int rounds = 8;
  std::uint64_t const count = sizes.size() * rounds;
  std::thread sender([&] {
    shm::endpoint& mine = ranks->rank(0);
    for (std::uint64_t token = 0; token < count; ++token) {
      std::size_t const bytes = header_bytes + sizes[token % sizes.size()];
      std::vector<std::byte> const payload = payload_of(token, bytes - header_bytes);
      outgoing out;
      out.target = 1;
      out.way = lane::request;
      bool sent = false;
      while (!sent) {
        if (mine.begin(out, bytes, 64, spill::never) != status::ok) {
          sched_yield();
          continue;
        }
        if (out.where != storage::arena) {  // small ones are written whole
          fill_and_commit(mine, out, message_kind::request, token, bytes - header_bytes);
          break;
        }
        std::memcpy(out.begin + header_bytes, payload.data(), head);
        sent = mine.commit_growing(out, message_kind::request, token, bytes, header_bytes + head);
        if (!sent) mine.cancel(out);
      }
      if (sent) mine.copy_tail(out, header_bytes + head, std::span(payload).subspan(head));
    }
  });
  shm::endpoint& mine = ranks->rank(1);
  bool grew = false;
  for (std::uint64_t token = 0; token < count; ++token) {
    message* m;
    // In place, and taken into private memory.
    while ((m = mine.receive(token % 3 == 2 ? for_later : in_place)) == nullptr) sched_yield();
    ASSERT_EQ(m->token, token);
    if (m->growing) {
      grew = true;
      EXPECT_EQ(difference(*m, 0).substr(0, 10), "payload of") << "the length is known from the start";
      // Not read at all: the sender's memory is not given back under its hands.
      if (token % 3 == 1) {
        mine.release(m);
        continue;
      }
      std::vector<std::byte> const expected = payload_of(token, m->bytes - header_bytes);
      for (std::size_t have = header_bytes; have < m->bytes;) {
        std::size_t const now = await_written(m->base, have);
        ASSERT_GT(now, have);
        ASSERT_LE(now, m->bytes);
        ASSERT_EQ(std::memcmp(m->base + have, expected.data() + have - header_bytes, now - have), 0)
            << "message " << token << ", bytes " << have << " to " << now;
        have = now;
      }
    }
    EXPECT_EQ(difference(*m, m->bytes - header_bytes), "");
    mine.release(m);
  }
  sender.join();
  EXPECT_TRUE(grew);
}

TEST_P(threads_test, what_is_not_written_is_neither_copied_nor_given_back) {
  auto ranks = open({.arena_bytes = std::size_t{1} << 20});
  shm::endpoint& mine = ranks->rank(0);
  std::size_t const bytes = header_bytes + 100'000;
  for (shm::taking const how : {in_place, for_later}) {
    std::vector<std::byte> const payload = payload_of(1, bytes - header_bytes);
    outgoing out;
    out.target = 1;
    out.way = lane::request;
    ASSERT_EQ(mine.begin(out, bytes, 64, spill::never), status::ok);
    ASSERT_TRUE(mine.commit_growing(out, message_kind::request, 1, bytes, header_bytes));
    std::atomic<bool> begun{false};
    std::atomic<bool> done{false};
    std::thread receiver([&] {
      begun = true;
      // Taken into private memory in the first call, given back unread in the second.
      message* const m = ranks->rank(1).receive(how);
      if (!how.requests_in_place) {
        EXPECT_EQ(difference(*m, bytes - header_bytes), "");
      }
      ranks->rank(1).release(m);
      done = true;
    });
    while (!begun) sched_yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(done) << "the sender has not written a byte";
    mine.copy_tail(out, header_bytes, payload);
    receiver.join();
  }
}

TEST_P(threads_test, all_to_all_with_every_protocol) {
  auto ranks = open({.ranks = 4});
  auto const size = [](std::uint64_t number) -> std::size_t {
    constexpr std::array<std::size_t, 8> sizes{0, 48, 49, 700, 2032, 2033, 40'000, 200'000};
    return sizes[number % sizes.size()] + number % 3;
  };
  for (spill const when_full : {spill::never, spill::limited}) {
    std::vector<participant> all;
    for (std::uint32_t r = 0; r < 4; ++r) all.push_back({*ranks, r, {0, 1, 2, 3}, 64, 256, size, when_full});
    run_all(std::move(all));
    for (std::uint32_t r = 0; r < 4; ++r) EXPECT_EQ(ranks->private_bytes(r), 0U) << "rank " << r;
  }
}

TEST_P(threads_test, floods_of_large_messages_from_both_sides_come_through_little_memory) {
  auto ranks = open({.arena_bytes = std::size_t{64} << 10, .private_limit = std::size_t{8} << 20});
  auto const size = [](std::uint64_t number) -> std::size_t { return 20'000 + number % 7 * 10'000; };
  std::vector<participant> all;
  for (std::uint32_t r = 0; r < 2; ++r) all.push_back({*ranks, r, {1 - r}, 200, 200, size, spill::limited});
  run_all(std::move(all));
}

TEST_P(threads_test, threads_of_one_rank_share_its_ring_to_a_peer) {
  // par thread mode: reserving and publishing in a ring needs no lock.
  auto ranks = open({.ranks = 2});
  constexpr std::uint64_t count = 10'000;
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < count;) {
        if (try_send(ranks->rank(0), 1, token_of(t, i), i % 200, spill::never) == status::ok) {
          ++i;
        } else {
          sched_yield();
        }
      }
    });
  }
  std::array<std::uint64_t, 3> next{};
  for (std::uint64_t arrived = 0; arrived < 3 * count;) {
    message* const m = ranks->rank(1).receive(for_later);
    if (m == nullptr) {
      sched_yield();
      continue;
    }
    auto const t = static_cast<std::size_t>(m->token >> 40);
    EXPECT_EQ(m->token, token_of(static_cast<std::uint32_t>(t), next[t]));
    EXPECT_EQ(difference(*m, next[t] % 200), "");
    ++next[t];
    ranks->rank(1).release(m);
    ++arrived;
  }
  for (std::thread& t : threads) t.join();
}

INSTANTIATE_TEST_SUITE_P(all, threads_test, testing::ValuesIn(fabric_kinds()), name_of);

}  // namespace
}  // namespace atl::transport
