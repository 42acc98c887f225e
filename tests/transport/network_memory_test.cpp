// Put, get, their lists, notified puts, flush, atomics and keys of a network.

#include <algorithm>
#include <atomic>
#include <cmath>

#include "network_fabric.hpp"

namespace atl::transport {
namespace {

class network_memory : public network_pair {
 protected:
  static constexpr std::size_t size = 700'000;
  network_memory() : network_pair(size) {}
};

std::vector<std::size_t> const lengths{0,    1,    8,    40,    41,    100,     1000,   2000,
                                       2016, 2032, 4096, 16384, 16385, 150'000, 300'000};

TEST_P(network_memory, PutsAndGetsOfAllLengths) {
  begin();
  std::uint64_t seed = 0;
  for (std::size_t const n : lengths) {
    for (std::size_t const offset : {std::size_t{0}, std::size_t{13}, size - n}) {
      bytes const source = pattern(n, ++seed);
      std::fill(target.begin(), target.end(), std::byte{0x55});
      bytes copy = source;
      complete([&](operation* op) { return net().put(1, {key, offset}, {copy.data()}, n, op); });
      EXPECT_TRUE(
          std::equal(source.begin(), source.end(), target.begin() + static_cast<std::ptrdiff_t>(offset)))
          << n;
      EXPECT_EQ(std::count(target.begin(), target.end(), std::byte{0x55}) -
                    std::count(source.begin(), source.end(), std::byte{0x55}),
                static_cast<std::ptrdiff_t>(size - n));
      bytes into(n + 1);
      complete([&](operation* op) { return net().get(1, {into.data()}, {key, offset}, n, op); });
      EXPECT_TRUE(std::equal(source.begin(), source.end(), into.begin()));
      EXPECT_EQ(into[n], std::byte{0});
    }
  }
}

TEST_P(network_memory, SourceAndRemoteCompletionAreApart) {
  begin();
  for (std::size_t const n : lengths) {
    bytes const source = pattern(n, n);
    bytes copy = source;
    counted op(ask_source);
    started const s = persist([&] { return net().put(1, {key, 0}, {copy.data()}, n, &op); });
    if (s != started::complete) {
      ASSERT_EQ(s, started::under_way);
      ASSERT_TRUE(until([&] { return op.source == 1; }));
    }
    std::fill(copy.begin(), copy.end(), std::byte{0xee});
    counted flushed(ask_finished);
    if (persist([&] { return net().flush(1, &flushed); }) == started::under_way) {
      ASSERT_TRUE(until([&] { return flushed.finished == 1; }));
    }
    EXPECT_EQ(flushed.how, outcome::ok);
    EXPECT_TRUE(std::equal(source.begin(), source.end(), target.begin())) << n;

    counted both;
    started const b = persist([&] { return net().put(1, {key, 0}, {copy.data()}, n, &both); });
    if (b == started::complete) continue;
    ASSERT_TRUE(until([&] { return both.finished == 1; }));
    EXPECT_EQ(both.source, b == started::source_free ? 0 : 1);
  }
}

TEST_P(network_memory, NothingIsFinishedBeforeTheTargetHasPolled) {
  begin();
  if (!net().abilities().put.needs_target) GTEST_SKIP() << "the target need not poll";
  bytes const source = pattern(64, 1);
  bytes copy = source;
  counted op;
  (void)persist([&] { return net().put(1, {key, 0}, {copy.data()}, 64, &op); });
  for (int i = 0; i < 300; ++i) at(0).poll();
  EXPECT_EQ(op.finished, 0);
  ASSERT_TRUE(until([&] { return op.finished == 1; }));
}

TEST_P(network_memory, FlushCoversWhatAsksForNothing) {
  begin();
  for (int round = 0; round < 20; ++round) {
    std::vector<bytes> sources;
    for (std::uint64_t i = 0; i < 20; ++i)
      sources.push_back(pattern(i * 400, i + static_cast<std::uint64_t>(round)));
    for (std::size_t i = 0; i < 20; ++i) {
      ASSERT_NE(persist([&] {
                  return net().put(1, {key, i * 8000}, {sources[i].data()}, sources[i].size(), nullptr);
                }),
                started::unsupported);
    }
    // And something long.
    constexpr std::size_t behind = 200'000;
    bytes long_one = pattern(300'000, static_cast<std::uint64_t>(round));
    ASSERT_NE(persist([&] {
                return net().put(1, {key, behind}, {long_one.data()}, long_one.size(), nullptr);
              }),
              started::unsupported);
    counted flushed(ask_finished);
    started const s = round % 2 ? persist([&] { return net().flush_all(&flushed); })
                                : persist([&] { return net().flush(1, &flushed); });
    ASSERT_TRUE(s == started::under_way || s == started::complete);
    ASSERT_TRUE(until([&] { return s == started::complete || flushed.finished == 1; }));
    for (std::size_t i = 0; i < 20; ++i) {
      EXPECT_TRUE(std::equal(sources[i].begin(), sources[i].end(),
                             target.begin() + static_cast<std::ptrdiff_t>(i * 8000)));
    }
    EXPECT_TRUE(std::equal(long_one.begin(), long_one.end(), target.begin() + behind));
  }
}

TEST_P(network_memory, ListsOfPieces) {
  begin();
  std::size_t const most = net().limits().pieces;
  if (!net().abilities().put_pieces) {
    EXPECT_EQ(persist([&] { return net().put_pieces(1, {}, {}, nullptr); }), started::unsupported);
    GTEST_SKIP() << "has none";
  }
  for (std::size_t n = 1; n <= std::min<std::size_t>(most, 16); ++n) {
    // Cut differently on both sides.
    bytes const source = pattern(n * 1500, n);
    bytes copy = source;
    std::vector<local_piece> local;
    std::vector<remote_piece> remote;
    std::size_t left_local = source.size(), left_remote = source.size();
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t const a = i + 1 == n ? left_local : 1000 + 70 * i,
                        b = i + 1 == n ? left_remote : 1490 - 50 * i;
      local.push_back({{copy.data() + source.size() - left_local}, a});
      remote.push_back({{key, 100 + i * 9000}, b});
      left_local -= a;
      left_remote -= b;
    }
    std::fill(target.begin(), target.end(), std::byte{0});
    complete([&](operation* op) { return net().put_pieces(1, remote, local, op); });
    std::size_t at = 0;
    for (remote_piece const& p : remote) {
      EXPECT_TRUE(std::equal(source.begin() + static_cast<std::ptrdiff_t>(at),
                             source.begin() + static_cast<std::ptrdiff_t>(at + p.bytes),
                             target.begin() + static_cast<std::ptrdiff_t>(p.place.offset)));
      at += p.bytes;
    }
    std::fill(copy.begin(), copy.end(), std::byte{0});
    complete([&](operation* op) { return net().get_pieces(1, local, remote, op); });
    EXPECT_EQ(copy, source);
  }
  std::vector<local_piece> const many(most + 1);
  std::vector<remote_piece> const far(most + 1, remote_piece{{key, 0}, 0});
  EXPECT_EQ(persist([&] { return net().put_pieces(1, far, many, nullptr); }), started::unsupported);
}

TEST_P(network_memory, NotifiedPutsComeAfterTheirData) {
  begin();
  bytes source = pattern(300'000, 9);
  if (!net().abilities().put_notified) {
    EXPECT_EQ(persist([&] {
                return net().put_notified(1, {key, 0}, {source.data()}, 8, 1, nullptr);
              }),
              started::unsupported);
    GTEST_SKIP() << "has none";
  }
  std::uint64_t tag = std::uint64_t{1} << (net().limits().notification_bits - 1);
  for (std::size_t n : {std::size_t{0}, std::size_t{8}, std::size_t{1500}, std::size_t{2040},
                        std::size_t{30'000}, source.size()}) {
    std::fill(target.begin(), target.end(), std::byte{0});
    at(1).notes.clear();
    ++tag;
    started const s = persist([&] {
      return net().put_notified(1, {key, 64}, {source.data()}, n, tag, nullptr);
    });
    ASSERT_TRUE(s == started::complete || s == started::under_way);
    ASSERT_TRUE(until([&] { return !at(1).notes.empty(); }));
    EXPECT_TRUE(
        std::equal(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(n), target.begin() + 64))
        << n;
    rounds(50);
    ASSERT_EQ(at(1).notes.size(), 1U);
    EXPECT_EQ(at(1).notes[0], (std::pair{0, tag}));
  }
}

TEST_P(network_memory, LaterPutsDoNotStandInForThoseThatAreAnnounced) {
  begin();
  if (!net().abilities().put_notified) GTEST_SKIP() << "has none";
  constexpr std::size_t many = 8;
  constexpr std::size_t length = 24'000;
  for (std::uint64_t round = 0; round < 20; ++round) {
    std::vector<bytes> sources;
    for (std::uint64_t i = 0; i < many; ++i) sources.push_back(pattern(length, round * many + i));
    at(1).notes.clear();
    std::size_t seen = 0;
    auto const look = [&] {
      for (; seen < at(1).notes.size(); ++seen) {
        std::size_t const which = at(1).notes[seen].second;
        auto const place = target.begin() + static_cast<std::ptrdiff_t>(which * length);
        EXPECT_TRUE(std::equal(sources[which].begin(), sources[which].end(), place))
            << which << " of " << round;
      }
      return seen == many;
    };
    for (std::size_t i = 0; i < many; ++i) {
      started const s = persist([&] {
        look();
        return net().put_notified(1, {key, i * length}, {sources[i].data()}, length, i, nullptr);
      });
      ASSERT_TRUE(s == started::complete || s == started::under_way);
    }
    ASSERT_TRUE(until(look));
  }
}

TEST_P(network_memory, PutsComeBeforeMessagesWhereThatIsPromised) {
  begin();
  if (!net().abilities().put_before_message) GTEST_SKIP() << "not promised";
  bytes source(20'000);
  std::uint32_t told = 0;
  at(1).on_message = [&](arrival const& what) {
    std::uint32_t number = 0;
    std::memcpy(&number, what.payload, 4);
    EXPECT_EQ(number, ++told);
    EXPECT_TRUE(std::all_of(target.begin(), target.begin() + 20'000, [&](std::byte b) {
      return b == static_cast<std::byte>(number);
    })) << number;
    return taken::consumed;
  };
  for (std::uint32_t number = 1; number < 50; ++number) {
    std::fill(source.begin(), source.end(), static_cast<std::byte>(number));
    counted op(ask_source);
    bool const large = number % 3 == 0;
    for (std::size_t at_byte = 0; at_byte < source.size(); at_byte += large ? source.size() : 1000) {
      started const s = persist([&] {
        return net().put(1, {key, at_byte}, {source.data() + at_byte}, large ? source.size() : 1000,
                         large ? &op : nullptr);
      });
      ASSERT_TRUE(s == started::complete || s == started::under_way);
    }
    bytes payload(4);
    std::memcpy(payload.data(), &number, 4);
    ASSERT_EQ(persist([&] { return send_on(net(), 1, lane::request, {}, payload, nullptr); }),
              started::complete);
    ASSERT_TRUE(until([&] { return told == number; }));
  }
}

TEST_P(network_memory, WhatIsNotInTheKeyIsRefused) {
  begin();
  bytes local(64);
  EXPECT_EQ(persist([&] {
              return net().put(1, {key, size - 63}, {local.data()}, 64, nullptr);
            }),
            started::unsupported);
  EXPECT_EQ(persist([&] {
              return net().get(1, {local.data()}, {key, size + 1}, 1, nullptr);
            }),
            started::unsupported);
  EXPECT_EQ(persist([&] {
              return net().get(1, {local.data()}, {nullptr, 0}, 1, nullptr);
            }),
            started::unsupported);
  EXPECT_EQ(persist([&] { return net().import_key(1, local).status; }), started::unsupported);
}

TEST_P(network_memory, ForgottenMemoryIsABadKey) {
  begin();
  if (net().abilities().stale_keys != stale_key::misses) GTEST_SKIP() << "they do not miss";
  at(1).net->forget(entered);
  bytes other(size);
  entered = enter(1, other);  // takes the place of the first
  bytes local(64), large(50'000);
  for (bool const big : {false, true}) {
    bytes& data = big ? large : local;
    counted put, get, flushed(ask_finished);
    ASSERT_NE(persist([&] {
                return net().put(1, {key, 0}, {data.data()}, data.size(), &put);
              }),
              started::complete);
    ASSERT_EQ(persist([&] {
                return net().get(1, {data.data()}, {key, 0}, data.size(), &get);
              }),
              started::under_way);
    ASSERT_TRUE(until([&] { return put.finished == 1 && get.finished == 1; }));
    EXPECT_EQ(put.how, outcome::bad_key);
    EXPECT_EQ(get.how, outcome::bad_key);
    (void)persist([&] { return net().put(1, {key, 0}, {data.data()}, data.size(), nullptr); });
    ASSERT_EQ(persist([&] { return net().flush(1, &flushed); }), started::under_way);
    ASSERT_TRUE(until([&] { return flushed.finished == 1; }));
    EXPECT_EQ(flushed.how, outcome::bad_key);
  }
  EXPECT_TRUE(std::all_of(other.begin(), other.end(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST_P(network_memory, ForgottenMemoryBreaksTheConnection) {
  begin();
  if (net().abilities().stale_keys != stale_key::breaks) GTEST_SKIP() << "it does not";
  at(1).net->forget(entered);
  bytes other(size), data(64);
  entered = enter(1, other);  // takes the place of the first
  counted put;
  ASSERT_NE(persist([&] {
              return net().put(1, {key, 0}, {data.data()}, data.size(), &put);
            }),
            started::complete);
  ASSERT_TRUE(until([&] { return put.finished == 1 && !at(0).connected(1) && !at(1).connected(0); }));
  EXPECT_NE(put.how, outcome::ok);
  EXPECT_EQ(at(0).count(connection_change::lost, 1), 1);
  EXPECT_TRUE(std::all_of(other.begin(), other.end(), [](std::byte b) { return b == std::byte{0}; }));
}

/// What an operation leaves behind.
template <class T>
T expected(atomic_op op, T now, T a, T b) {
  using bits = std::make_unsigned_t<std::conditional_t<std::is_integral_v<T>, T, std::int64_t>>;
  auto const whole = [](T v) { return static_cast<bits>(v); };
  switch (op) {
    case atomic_op::load:
      return now;
    case atomic_op::store:
    case atomic_op::exchange:
      return a;
    case atomic_op::compare_exchange:
      return now == a ? b : now;
    case atomic_op::add:
      return now + a;
    case atomic_op::multiply:
      return now * a;
    case atomic_op::minimum:
      return std::min(now, a);
    case atomic_op::maximum:
      return std::max(now, a);
    case atomic_op::bit_and:
      return static_cast<T>(whole(now) & whole(a));
    case atomic_op::bit_or:
      return static_cast<T>(whole(now) | whole(a));
    case atomic_op::bit_xor:
      return static_cast<T>(whole(now) ^ whole(a));
  }
  return now;
}

template <class T, class Fixture, class Complete>
int try_atomics(Fixture& net, atomic_type type, remote_key* key, std::byte* word, Complete const& complete) {
  int offered = 0;
  for (int i = 0; i <= static_cast<int>(atomic_op::bit_xor); ++i) {
    auto const op = static_cast<atomic_op>(i);
    T operands[2]{static_cast<T>(-3), static_cast<T>(11)}, result{};
    if (!net.atomic_support(op, type)) {
      EXPECT_EQ(net.atomic(1, {key, 8}, op, type, operands, {&result}, nullptr), started::unsupported);
      continue;
    }
    ++offered;
    for (T const now : {static_cast<T>(7), static_cast<T>(-3), static_cast<T>(-100)}) {
      std::memcpy(word, &now, sizeof now);
      complete([&](operation* events) {
        return net.atomic(1, {key, 8}, op, type, operands, {&result}, events);
      });
      T after{};
      std::memcpy(&after, word, sizeof after);
      EXPECT_EQ(after, expected(op, now, operands[0], operands[1])) << i;
      if (op != atomic_op::store) {
        EXPECT_EQ(result, now) << i;
      }
    }
  }
  return offered;
}

TEST_P(network_memory, Atomics) {
  begin();
  std::byte* const word = target.data() + 8;
  auto const run = [&](auto const& start) { complete(start); };
  int offered = try_atomics<std::int32_t>(net(), atomic_type::int32, key, word, run);
  offered += try_atomics<std::uint32_t>(net(), atomic_type::uint32, key, word, run);
  offered += try_atomics<std::int64_t>(net(), atomic_type::int64, key, word, run);
  offered += try_atomics<std::uint64_t>(net(), atomic_type::uint64, key, word, run);
  offered += try_atomics<float>(net(), atomic_type::float32, key, word, run);
  offered += try_atomics<double>(net(), atomic_type::float64, key, word, run);
  if (offered == 0) GTEST_SKIP() << "has none";
  // Without events and result: flush covers them.
  std::uint64_t sum = 0, one = 1;
  std::memcpy(word, &sum, 8);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(persist([&] {
                return net().atomic(1, {key, 8}, atomic_op::add, atomic_type::uint64, &one, {}, nullptr);
              }),
              started::complete);
  }
  complete([&](operation* op) { return net().flush(1, op); });
  std::memcpy(&sum, word, 8);
  EXPECT_EQ(sum, 100U);
  EXPECT_EQ(persist([&] {
              return net().atomic(1, {key, 9}, atomic_op::add, atomic_type::uint64, &one, {}, nullptr);
            }),
            started::unsupported);
}

/// All ranks add to one word: atomics of the network are atomic with each other, whoever starts them.
TEST_P(network_memory, AtomicsOfAllRanksAddUp) {
  begin();
  if (!net().atomic_support(atomic_op::add, atomic_type::uint64)) GTEST_SKIP() << "has none";
  bool const own = net().abilities().loopback;
  if (own) connect(1, 1);
  remote_key* const own_key = own ? share(1, entered, 1) : nullptr;
  std::uint64_t sum = 0, one = 1, counted_on = 0;
  std::memcpy(target.data() + 8, &sum, 8);
  auto const add = [&](std::int32_t rank, remote_key* with) {
    complete([&](operation* op) {
      return at(rank).net->atomic(1, {with, 8}, atomic_op::add, atomic_type::uint64, &one, {}, op);
    });
    ++counted_on;
  };
  auto const add_unseen = [&](std::int32_t rank, remote_key* with) {
    ASSERT_EQ(
        persist([&] {
          return at(rank).net->atomic(1, {with, 8}, atomic_op::add, atomic_type::uint64, &one, {}, nullptr);
        }),
        started::complete);
    ++counted_on;
  };
  for (int i = 0; i < 100; ++i) {
    add_unseen(0, key);
    if (own) add_unseen(1, own_key);
    add(0, key);
    if (own) add(1, own_key);
  }
  complete([&](operation* op) { return net().flush(1, op); });
  if (own) complete([&](operation* op) { return at(1).net->flush(1, op); });
  std::memcpy(&sum, target.data() + 8, 8);
  EXPECT_EQ(sum, counted_on);
}

/// A processor adds in between.
TEST_P(network_memory, AtomicsMeetThoseOfProcessors) {
  begin();
  if (!net().atomic_support(atomic_op::add, atomic_type::uint64)) GTEST_SKIP() << "has none";
  constexpr int times = 200;
  std::uint64_t one = 1;
  auto& word = *reinterpret_cast<std::uint64_t*>(target.data() + 8);
  word = 0;
  for (int i = 0; i < times; ++i) {
    complete([&](operation* op) {
      started const s = net().atomic(1, {key, 8}, atomic_op::add, atomic_type::uint64, &one, {}, op);
      at(1).poll();
      std::atomic_ref(word).fetch_add(1);
      return s;
    });
  }
  if (net().abilities().atomics_with_processor) {
    EXPECT_GE(word, 2U * times);  // and once more for each start that found no room, or missed
  } else if (net().name() == "sim") {
    EXPECT_LT(word, 2U * times) << "nothing was lost: what is it simulated for?";
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, network_memory, testing::ValuesIn(network_kinds()), name_of_network);

}  // namespace
}  // namespace atl::transport
