// Messages over a network: all lengths, both lanes, both forms, late payloads, kept buffers, no room.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <span>

#include <poll.h>

#include "network_fabric.hpp"

namespace atl::transport {
namespace {

class network_messages : public network_test {
 protected:
  std::vector<std::size_t> lengths() {
    message_sizes const s = at(0).net->sizes(1, lane::request);
    std::vector<std::size_t> result{0,    1,    7,    8,    39,   40,   41,   48,          100,
                                    1000, 1900, 2000, 2031, 2032, 2048, 4096, s.eager - 1, s.eager};
    std::erase_if(result, [&](std::size_t n) { return n > s.eager; });
    if (s.late > s.eager) {
      for (std::size_t n : {s.eager + 1, s.eager * 3 + 17, std::size_t{300'000}}) result.push_back(n);
    }
    return result;
  }
};

TEST_P(network_messages, OfAllLengthsInBothLanes) {
  open(2);
  connect(0, 1);
  ASSERT_GE(at(0).net->sizes(1, lane::control).header, 64U);
  std::uint64_t seed = 0;
  for (std::size_t const n : lengths()) {
    for (std::size_t const header : {0, 1, 8, 24, 64}) {
      for (lane const where : {lane::request, lane::control}) {
        ++seed;
        at(1).messages.clear();
        send(0, 1, where, pattern(header, seed), pattern(n, seed));
        ASSERT_TRUE(until([&] { return at(1).messages.size() == 1; })) << n;
        EXPECT_EQ(at(1).messages[0].peer, 0);
        EXPECT_EQ(at(1).messages[0].lane, where);
        EXPECT_EQ(at(1).messages[0].header, pattern(header, seed));
        EXPECT_EQ(at(1).messages[0].payload, pattern(n, seed)) << n;
      }
    }
  }
  rounds(50);
  EXPECT_EQ(at(1).messages.size(), 1U);
  EXPECT_EQ(at(0).net->under_way(), 0U);
  EXPECT_EQ(at(1).net->under_way(), 0U);
}

// Of which no events are wanted, the engine's with a header of two words: they may take shorter ways.
TEST_P(network_messages, ShortOnesInOneStep) {
  open(2);
  connect(0, 1);
  std::uint64_t seed = 0;
  std::size_t const most = std::min<std::size_t>(100, at(0).net->limits().inline_bytes);
  for (std::size_t n = 0; n <= most; ++n) {
    for (std::size_t const header : {8, 16, 24}) {
      lane const where = ++seed % 2 == 0 ? lane::request : lane::control;
      bytes const words = pattern(header, seed);
      bytes const payload = pattern(n, seed);
      at(1).messages.clear();
      ASSERT_EQ(persist([&] { return send_on(*at(0).net, 1, where, words, payload, nullptr); }),
                started::complete)
          << n;
      ASSERT_TRUE(until([&] { return at(1).messages.size() == 1; })) << n;
      EXPECT_EQ(at(1).messages[0].lane, where);
      EXPECT_EQ(at(1).messages[0].header, words);
      EXPECT_EQ(at(1).messages[0].payload, payload) << n;
    }
  }
}

TEST_P(network_messages, TooLongOnesAreRefused) {
  open(2);
  connect(0, 1);
  message_sizes const s = at(0).net->sizes(1, lane::request);
  counted op(ask_source);
  bytes const header(s.header + 1), empty;
  EXPECT_EQ(persist([&] { return send_on(*at(0).net, 1, lane::request, header, empty, &op); }),
            started::unsupported);
  if (s.late == s.eager) {
    bytes const payload(s.eager + 1);
    EXPECT_EQ(persist([&] { return send_on(*at(0).net, 1, lane::request, empty, payload, &op); }),
              started::unsupported);
  }
  network_buffer buffer;
  EXPECT_EQ(
      persist([&] { return at(0).net->begin(1, lane::request, 8, s.in_place + 1, s.in_place + 1, buffer); }),
      started::unsupported);
}

TEST_P(network_messages, WrittenInPlace) {
  open(2);
  connect(0, 1);
  std::size_t const most = at(0).net->sizes(1, lane::request).in_place;
  if (most == 0) GTEST_SKIP() << "has no such form";
  std::uint64_t seed = 0;
  for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{40}, std::size_t{700}, most / 2, most}) {
    n = std::min(n, most);
    for (std::size_t const header : {16, 24}) {
      for (int const how : {0, 1, 2, 3}) {
        bool const shorter = (how & 1) != 0;
        bool const cancelled = (how & 2) == 0;
        network_buffer buffer;
        ASSERT_EQ(persist([&] { return at(0).net->begin(1, lane::control, header, n, 2 * n, buffer); }),
                  started::complete);
        ASSERT_GE(buffer.capacity, n);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.payload) % at(0).net->limits().payload_alignment,
                  0U);
        if (cancelled) {
          at(0).net->cancel(buffer);
          continue;
        }
        std::size_t const used = shorter ? n / 2 : n;
        bytes const data = pattern(used, ++seed);
        std::copy(data.begin(), data.end(), buffer.payload);
        at(1).messages.clear();
        at(0).net->commit(buffer, pattern(header, seed), used);
        ASSERT_TRUE(until([&] { return at(1).messages.size() == 1; }));
        EXPECT_EQ(at(1).messages[0].header, pattern(header, seed));
        EXPECT_EQ(at(1).messages[0].payload, data);
      }
    }
  }
}

// More than there are receives for, where the network has those.
TEST_P(network_messages, LongOnesInPlaceWaitForTheirReceiver) {
  constexpr std::size_t senders = 3;
  constexpr std::size_t most_sent = 40;
  open(senders + 1);
  for (std::size_t from = 0; from < senders; ++from) connect(from, senders);
  std::size_t const length = at(0).net->sizes(senders, lane::control).in_place;
  if (length == 0) GTEST_SKIP() << "has no such form";
  std::size_t sent[senders]{};
  auto const send_one = [&](std::size_t from) {
    network_buffer buffer;
    if (at(from).net->begin(senders, lane::control, sizeof sent[from], length, length, buffer) !=
        started::complete)
      return;
    bytes const data = pattern(length, sent[from]);
    std::copy(data.begin(), data.end(), buffer.payload);
    at(from).net->commit(buffer, std::as_bytes(std::span(&sent[from], 1)), length);
    ++sent[from];
  };
  for (std::size_t turn = 0; turn < most_sent; ++turn) {  // their receiver does not poll
    for (std::size_t from = 0; from < senders; ++from) {
      send_one(from);
      at(from).poll();
    }
  }
  std::size_t came[senders]{};
  at(senders).on_message = [&](arrival const& what) {
    auto const from = static_cast<std::size_t>(what.peer);
    std::size_t number = 0;
    std::memcpy(&number, what.header.data(), sizeof number);
    EXPECT_TRUE(number == came[from] || !at(from).net->abilities().ordered_messages);
    EXPECT_TRUE(bytes(what.payload, what.payload + what.bytes) == pattern(length, number)) << from;
    ++came[from];
    return taken::consumed;
  };
  for (std::size_t from = 0; from < senders; ++from) {
    EXPECT_TRUE(until([&] {
      if (sent[from] < most_sent) send_one(from);
      return came[from] == most_sent;
    })) << came[from]
        << " of " << sent[from];
  }
}

TEST_P(network_messages, AFullLaneSaysSoAndLeavesTheOtherOne) {
  open(3);
  connect(0, 1);
  connect(0, 2);
  bytes const payload = pattern(900, 1);
  std::size_t sent = 0;
  int refused = 0;
  while (sent < 100'000 && refused < 100) {
    started const s = send_on(*at(0).net, 1, lane::request, pattern(8, 1), payload, nullptr);
    ASSERT_TRUE(s == started::complete || s == started::no_room || s == started::under_way);
    refused = s == started::no_room ? refused + 1 : 0;
    sent += s != started::no_room;
  }
  ASSERT_LT(sent, 100'000U) << "nothing bounds what a peer that does not poll is sent";
  // Rank 1 polls no more; the others and the other lane go on.
  auto const alone = [&](lane where, std::int32_t to) {
    for (int i = 0; i < 1000; ++i) {
      if (send_on(*at(0).net, to, where, pattern(8, 2), pattern(8, 3), nullptr) == started::complete)
        return true;
      at(0).poll();
      at(2).poll();
    }
    return false;
  };
  EXPECT_TRUE(alone(lane::control, 1));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(alone(lane::request, 2));
  ASSERT_TRUE(until([&] { return at(1).messages.size() == sent + 1 && at(2).messages.size() == 100; }));
}

/// Polls one rank only.
template <class Condition>
bool alone_until(node& one, Condition const& condition) {
  auto const end = std::chrono::steady_clock::now() + too_long;
  while (!condition()) {
    one.poll();
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

TEST_P(network_messages, WhatHasLeftArrivesThoughItsSenderPollsNoMore) {
  open(2);
  connect(0, 1);
  for (std::uint64_t round = 0; round < 20; ++round) {
    at(1).messages.clear();
    // Something in the way of it, which nobody waits for.
    std::size_t before = 0;
    for (std::size_t const n : {900, 1800, 60, 900}) {
      started const s = send_on(*at(0).net, 1, lane::control, pattern(8, 1), pattern(n, 2), nullptr);
      before += s == started::complete || s == started::source_free || s == started::under_way;
    }
    counted op(ask_left);
    bytes const header = pattern(16, round);
    bytes const payload = pattern(100, round);
    started s = started::no_room;
    ASSERT_TRUE(until([&] {
      s = send_on(*at(0).net, 1, lane::control, header, payload, &op);
      return s != started::no_room;
    }));
    ASSERT_TRUE(s == started::complete || s == started::under_way);
    ASSERT_TRUE(s == started::complete || until([&] { return op.finished == 1; }));
    ASSERT_TRUE(alone_until(at(1), [&] {
      return std::any_of(at(1).messages.begin(), at(1).messages.end(),
                         [&](arrived_message const& m) { return m.header == header; });
    }));
    ASSERT_TRUE(until([&] { return at(1).messages.size() == before + 1; }));
    EXPECT_EQ(op.finished, s == started::under_way ? 1 : 0);
    EXPECT_EQ(op.source, 0);
    EXPECT_EQ(op.how, outcome::ok);
  }
}

TEST_P(network_messages, ThatOneHasLeftNeedsNoPeerThatHasIt) {
  open(2);
  connect(0, 1);
  for (std::uint64_t round = 0; round < 20; ++round) {
    at(1).messages.clear();
    counted op(ask_left);
    started const s = persist(
        [&] { return send_on(*at(0).net, 1, lane::control, pattern(16, round), pattern(100, round), &op); });
    ASSERT_TRUE(s == started::complete || s == started::under_way);
    ASSERT_TRUE(until([&] { return at(1).messages.size() == 1; }));
    ASSERT_TRUE(s == started::complete || alone_until(at(0), [&] { return op.finished == 1; }));
  }
}

TEST_P(network_messages, KeptBuffersStayAndDoNotStopOthers) {
  open(2);
  connect(0, 1);
  std::size_t const length = std::min<std::size_t>(at(0).net->sizes(1, lane::request).eager, 2500);
  struct kept {
    arrival what;
    bytes copy;
  };
  std::vector<kept> held;
  std::size_t seen = 0;
  at(1).on_message = [&](arrival const& what) {
    ++seen;
    if (!what.may_keep || what.late) return taken::consumed;
    held.push_back({what, bytes(what.payload, what.payload + what.bytes)});
    return taken::kept;
  };
  for (std::uint64_t i = 0; i < 100; ++i) send(0, 1, lane::request, pattern(16, i), pattern(length, i));
  ASSERT_TRUE(until([&] { return seen == 100; }));
  for (kept const& k : held) {
    EXPECT_EQ(bytes(k.what.payload, k.what.payload + k.what.bytes), k.copy);
    at(1).net->release(k.what.handle);
  }
}

TEST_P(network_messages, LatePayloadsAreFetchedWhenTheReceiverWants) {
  open(2);
  connect(0, 1);
  message_sizes const s = at(0).net->sizes(1, lane::request);
  if (s.late == s.eager) GTEST_SKIP() << "has none";
  std::size_t const length = s.eager * 2 + 1;
  std::vector<arrival_handle> handles;
  int arrivals = 0, started_sends = 0;
  at(1).on_message = [&](arrival const& what) {
    ++arrivals;
    EXPECT_TRUE(what.late);
    EXPECT_EQ(what.bytes, length);
    EXPECT_EQ(what.payload, nullptr);
    EXPECT_EQ(bytes(what.header.begin(), what.header.end()), pattern(20, 7));
    if (handles.size() == 2) return taken::consumed;  // gives the third up
    handles.push_back(what.handle);
    return taken::kept;
  };
  bytes const payload = pattern(length, 5);
  counted sends[3]{counted(ask_source), counted(ask_source), counted(ask_source)};
  for (counted& op : sends) {
    ASSERT_EQ(persist([&] { return send_on(*at(0).net, 1, lane::request, pattern(20, 7), payload, &op); }),
              started::under_way);
    ++started_sends;
    ASSERT_TRUE(until([&] { return arrivals == started_sends; }));
  }
  ASSERT_TRUE(until([&] { return sends[2].source == 1; }));
  rounds(100);
  EXPECT_EQ(sends[0].source, 0);
  bytes into(length);
  counted fetched(ask_finished);
  ASSERT_EQ(persist([&] { return at(1).net->fetch(handles[0], {into.data()}, &fetched); }),
            started::under_way);
  ASSERT_TRUE(until([&] { return fetched.finished == 1 && sends[0].source == 1; }));
  EXPECT_EQ(into, payload);
  EXPECT_EQ(sends[1].source, 0);
  // A close waits for it.
  at(0).net->close(1);
  rounds(100);
  EXPECT_TRUE(at(0).connected(1));
  at(1).net->release(handles[1]);
  ASSERT_TRUE(until([&] { return sends[1].source == 1 && !at(0).connected(1) && !at(1).connected(0); }));
}

TEST_P(network_messages, AnswersFromTheReceiver) {
  open(2);
  connect(0, 1);
  std::deque<bytes> answers;
  at(1).on_message = [&](arrival const& what) {
    answers.emplace_back(what.payload, what.payload + what.bytes);
    return taken::consumed;
  };
  std::size_t sent = 0, answered = 0;
  ASSERT_TRUE(until([&] {
    if (sent < 1000)
      sent += send_on(*at(0).net, 1, lane::request, bytes(8), pattern(sent % 60, sent), nullptr) ==
              started::complete;
    if (!answers.empty() &&
        send_on(*at(1).net, 0, lane::control, bytes(8), answers.front(), nullptr) == started::complete) {
      answers.pop_front();
      ++answered;
    }
    return at(0).messages.size() == 1000;
  }));
  if (at(0).net->abilities().ordered_messages) {
    for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(at(0).messages[i].payload, pattern(i % 60, i));
  } else {
    std::map<bytes, int> expected;
    for (std::size_t i = 0; i < 1000; ++i) ++expected[pattern(i % 60, i)];
    for (arrived_message const& m : at(0).messages) --expected[m.payload];
    for (auto const& [payload, n] : expected) EXPECT_EQ(n, 0);
  }
}

TEST_P(network_messages, AnArmedDescriptorTellsOfWhatComes) {
  open(2);
  connect(0, 1);
  int const descriptor = at(0).net->descriptor();
  if (descriptor < 0) GTEST_SKIP() << "there is none";
  auto const readable = [&] {
    pollfd one{descriptor, POLLIN, 0};
    return ::poll(&one, 1, 0) > 0;
  };
  for (std::size_t round = 0; round < 20; ++round) {
    at(0).messages.clear();
    ASSERT_TRUE(until([&] { return at(0).net->arm(); }));
    at(0).poll();
    ASSERT_TRUE(until([&] { return at(0).net->arm() && !readable(); }));
    // From here on it does not poll before it is told to.
    bytes const payload = pattern(round * 100, round);
    counted op(ask_source);
    auto const begin = std::chrono::steady_clock::now();
    bool sent = false;
    while (!sent || !readable()) {
      if (!sent) {
        started const s = send_on(*at(1).net, 0, lane::request, pattern(8, 1), payload, &op);
        sent = s != started::no_room;
      }
      at(1).poll();
      ASSERT_LT(std::chrono::steady_clock::now() - begin, too_long);
    }
    EXPECT_TRUE(!at(0).net->arm() || readable()) << "something has come since the last poll";
    ASSERT_TRUE(until([&] { return at(0).messages.size() == 1; }));
    EXPECT_EQ(at(0).messages[0].payload, payload);
    ASSERT_TRUE(until([&] { return op.source == 1 || at(1).net->under_way() == 0; }));
  }
}

INSTANTIATE_TEST_SUITE_P(Messages, network_messages, testing::ValuesIn(network_kinds()), name_of_network);

}  // namespace
}  // namespace atl::transport
