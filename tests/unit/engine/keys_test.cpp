// Keys of blocks, over networks of which several ranks are in this process. Questions and answers are handed over by the
// test.

#include "engine/network/keys.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <set>

#include "transport/network_fabric.hpp"

namespace atl::transport {
namespace {

using engine::key_answer;
using engine::key_block_bytes;
using engine::key_question;
using engine::own_blocks;
using engine::peer_keys;

/// Rank 0 asks rank 1, whose heap begins and ends within blocks.
class keys_test : public network_test {
 protected:
  static constexpr std::uint64_t heap_begin = 12345 * 8;
  static constexpr std::uint64_t heap_end = 5 * key_block_bytes + 4096;

  void SetUp() override {
    open(2);
    connect(0, 1);
    region.resize(heap_end);
    own_blocks::shape heap;
    heap.region = region.data();
    heap.heap_begin = heap_begin;
    heap.heap_end = heap_end;
    heap.backed = [this](std::uint64_t offset, std::uint64_t n) {
      EXPECT_GE(offset, heap_begin);
      EXPECT_LE(offset + n, heap_end);
      return without_memory.count(offset / key_block_bytes) == 0;
    };
    owner = std::make_unique<own_blocks>(*at(1).net, std::move(heap));
    make_keys(peer_keys::most);
  }
  void TearDown() override {
    keys.reset();
    owner.reset();
  }
  void make_keys(std::size_t room) {
    keys = std::make_unique<peer_keys>(
        *at(0).net,
        [this](std::int32_t rank, key_question const& what) {
          EXPECT_EQ(rank, 1);
          questions.push_back(what);
          ++asked;
        },
        room);
  }

  void answer_one() {
    bytes room(at(1).net->limits().key_bytes);
    key_answer const answer = owner->answer(questions.front(), room);
    questions.pop_front();
    keys->answered(1, answer, {room.data(), answer.bytes});
  }
  /// Looks until it is known whether there is a key.
  peer_keys::entry* settle(std::uint64_t block) {
    peer_keys::entry* e = nullptr;
    EXPECT_TRUE(until([&] {
      e = keys->look(1, block);
      while (!questions.empty()) answer_one();
      keys->import_arrived();
      return e == nullptr || !e->is_pending();
    }));
    return e;
  }
  /// A usable key: again if the network says by chance that it does not know it.
  peer_keys::entry* key_of(std::uint64_t block) {
    peer_keys::entry* e = nullptr;
    for (int tries = 0; tries < 1000; ++tries) {
      e = settle(block);
      if (e == nullptr || e->now == peer_keys::state::ready) break;
    }
    return e;
  }
  /// Puts a byte there, and looks whether it has come.
  void expect_usable(peer_keys::entry* e, std::uint64_t offset) {
    ASSERT_NE(e, nullptr);
    ASSERT_EQ(e->now, peer_keys::state::ready);
    std::byte const sent{static_cast<unsigned char>(++salt)};
    std::byte from = sent;
    keys->use(e);
    complete([&](operation* op) {
      return at(0).net->put(1, {e->key, offset - e->begin}, {&from, nullptr}, 1, op);
    });
    keys->leave(e);
    EXPECT_EQ(region[offset], sent) << offset;
  }

  bytes region;
  std::set<std::uint64_t> without_memory;
  std::unique_ptr<own_blocks> owner;
  std::unique_ptr<peer_keys> keys;
  std::deque<key_question> questions;
  int asked = 0;
  int salt = 0;
};

TEST_P(keys_test, a_key_is_good_for_its_block_of_the_heap) {
  for (std::uint64_t block = 0; block <= 5; ++block) {
    peer_keys::entry* const e = key_of(block);
    ASSERT_NE(e, nullptr);
    EXPECT_EQ(e->begin, std::max(block * key_block_bytes, heap_begin));
    EXPECT_EQ(e->end, std::min((block + 1) * key_block_bytes, heap_end));
    expect_usable(e, e->begin);
    expect_usable(e, e->end - 1);
  }
  EXPECT_EQ(owner->registered(), 6U);
  int const before = asked;
  for (std::uint64_t block = 0; block <= 5; ++block)
    EXPECT_EQ(keys->look(1, block)->now, peer_keys::state::ready);
  EXPECT_EQ(asked, before);
  // Outside of the heap there is none.
  for (std::uint64_t const block : {std::uint64_t{6}, std::uint64_t{1} << 40}) {
    EXPECT_EQ(settle(block)->now, peer_keys::state::none);
  }
  EXPECT_EQ(owner->registered(), 6U);
}

TEST_P(keys_test, a_key_belongs_to_a_segment) {
  ASSERT_NE(key_of(1), nullptr);
  constexpr unsigned segment_shift = engine::segment_bits - engine::key_block_log;
  for (std::uint64_t const segment : {std::uint64_t{1}, std::uint64_t{2}, engine::most_segments - 1}) {
    peer_keys::entry const* const other = settle((segment << segment_shift) + 1);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->now, peer_keys::state::none) << segment;
    EXPECT_NE(other, keys->find(1, 1));
  }
  EXPECT_EQ(keys->find(1, 1)->now, peer_keys::state::ready);
}

TEST_P(keys_test, while_a_question_is_open_no_second_one_is_asked) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(keys->look(1, 2)->now, peer_keys::state::asked);
  EXPECT_EQ(asked, 1);
}

TEST_P(keys_test, a_block_that_gets_memory_later_has_a_key_then) {
  without_memory = {3};
  EXPECT_EQ(settle(3)->now, peer_keys::state::none);
  without_memory.clear();
  int const before = asked;
  for (unsigned i = 0; i < peer_keys::looks_before_asking_again; ++i) {
    EXPECT_EQ(keys->look(1, 3)->now, peer_keys::state::none);
  }
  EXPECT_EQ(asked, before);
  expect_usable(key_of(3), 3 * key_block_bytes + 1);
  EXPECT_GT(asked, before);
}

TEST_P(keys_test, the_one_not_used_for_longest_makes_room) {
  keys.reset();
  make_keys(3);
  peer_keys::entry* const used = key_of(0);
  ASSERT_NE(used, nullptr);
  keys->use(used);
  key_of(1);
  key_of(2);
  EXPECT_EQ(keys->size(), 3U);
  keys->look(1, 1);
  key_of(3);  // instead of 2
  EXPECT_EQ(keys->size(), 3U);
  int const before = asked;
  EXPECT_EQ(keys->look(1, 1)->now, peer_keys::state::ready);
  EXPECT_EQ(keys->look(1, 0), used);
  EXPECT_EQ(asked, before);
  EXPECT_TRUE(keys->look(1, 2)->is_pending());  // instead of 3
  EXPECT_TRUE(keys->look(1, 4)->is_pending());  // instead of 1
  EXPECT_EQ(keys->look(1, 5), nullptr) << "one is used, and two questions are open";
  expect_usable(used, heap_begin);
  keys->leave(used);
  EXPECT_NE(keys->look(1, 5), nullptr);
}

TEST_P(keys_test, a_key_that_has_missed_goes_when_nothing_uses_it) {
  peer_keys::entry* const e = key_of(1);
  ASSERT_NE(e, nullptr);
  keys->use(e);
  keys->use(e);
  keys->drop(e);
  EXPECT_EQ(keys->size(), 0U);
  keys->drop(e);  // the other one has missed, too
  keys->leave(e);
  expect_usable(key_of(1), key_block_bytes);
  keys->leave(e);
}

TEST_P(keys_test, keys_end_with_the_heap) {
  expect_usable(key_of(1), key_block_bytes);
  peer_keys::entry* const used = key_of(2);
  keys->use(used);
  remote_place const old{used->key, 0};
  keys->look(1, 4);  // is on its way when the heaps end
  keys->end_of_heaps();
  EXPECT_EQ(keys->size(), 0U);
  bytes room(at(1).net->limits().key_bytes);
  EXPECT_EQ(owner->answer({4, 1}, room).bytes, 0U) << "the owner's heap has not ended yet";
  owner->end_of_heap();
  EXPECT_EQ(owner->registered(), 0U);
  answer_one();
  EXPECT_EQ(keys->size(), 0U);
  if (at(0).net->abilities().stale_keys == stale_key::misses) {
    std::byte from{0x5a};
    counted op(ask_finished);
    started const s = persist([&] { return at(0).net->put(1, old, {&from, nullptr}, 1, &op); });
    ASSERT_TRUE(s == started::under_way || s == started::source_free);
    ASSERT_TRUE(until([&] { return op.finished == 1; }));
    EXPECT_EQ(op.how, outcome::bad_key);
  }
  keys->leave(used);
  expect_usable(key_of(2), 2 * key_block_bytes);
}

TEST_P(keys_test, keys_end_with_the_connection) {
  key_of(1);
  key_of(2);
  keys->look(1, 3);
  at(0).on_connection = [&](connection_event const& event) {
    if (event.what == connection_change::closed) keys->closed(event.peer);
  };
  at(0).net->close(1);
  ASSERT_TRUE(until([&] { return at(0).count(connection_change::closed, 1) == 1; }));
  EXPECT_EQ(keys->size(), 0U);
  ASSERT_TRUE(until([&] { return at(1).count(connection_change::closed, 0) == 1; }));
  at(0).on_connection = nullptr;
  connect(0, 1);
  answer_one();  // of the question that was open
  expect_usable(key_of(1), key_block_bytes);
  expect_usable(key_of(3), 3 * key_block_bytes);
}

INSTANTIATE_TEST_SUITE_P(, keys_test, testing::ValuesIn(network_kinds()), name_of_network);

}  // namespace
}  // namespace atl::transport
