#include "transport/shm/ring.hpp"

#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

namespace atl::shm {
namespace {

/// A ring in private memory: zero-filled memory is a valid empty one.
struct ring_memory {
  explicit ring_memory(std::uint64_t count) : cells(new cell[count]{}), size(count) {}
  ring_producer producer() { return {&counters, cells.get(), size}; }
  ring_consumer consumer() { return {&counters, cells.get(), size}; }

  ring_counters counters{};
  std::unique_ptr<cell[]> cells;
  std::uint64_t size;
};

/// Sends `words` words behind the header, the first of which is `value`, the others follow from it.
bool send(ring_producer& to, std::uint16_t source, std::uint64_t value, unsigned cells,
          std::uint8_t kind = 2) {
  auto const at = to.reserve(cells);
  if (at == ring_producer::no_room) return false;
  cell* const first = to.at(at);
  first->token = value;
  // Everything behind the first header, further cells' first words included, is payload.
  auto* const payload = reinterpret_cast<std::byte*>(first) + 16;
  for (std::size_t i = 0; i < cells * cell_bytes - 16; i += 8) {
    std::uint64_t const word = ~value - i;
    std::memcpy(payload + i, &word, sizeof word);
  }
  to.publish(at, {static_cast<std::uint16_t>(cells * cell_bytes), source, kind,
                  static_cast<std::uint8_t>(cells), 6});
  return true;
}

struct received {
  std::uint16_t source;
  std::uint64_t value;
  unsigned cells;
};

/// Takes the next message that is no padding.
std::optional<received> take(ring_consumer& from) {
  ring_header header;
  while (cell const* const first = from.front(header)) {
    received const got{header.source, first->token, header.cells};
    bool const padding = header.kind == 1;
    if (!padding) {
      EXPECT_EQ(header.bytes, header.cells * cell_bytes);
      auto const* const payload = reinterpret_cast<std::byte const*>(first) + 16;
      for (std::size_t i = 0; i < header.cells * cell_bytes - 16; i += 8) {
        std::uint64_t word;
        std::memcpy(&word, payload + i, sizeof word);
        if (word != ~got.value - i) {
          ADD_FAILURE() << "message " << got.value << " differs at byte " << i;
          break;
        }
      }
    }
    from.pop(header);
    if (!padding) return got;
  }
  return std::nullopt;
}

TEST(ring, fresh_memory_is_empty) {
  ring_memory ring(fewest_cells);
  ring_consumer const consumer = ring.consumer();
  EXPECT_TRUE(consumer.empty());
}

TEST(ring, reserved_but_unpublished_messages_hold_back_later_ones) {
  ring_memory ring(fewest_cells);
  ring_producer producer = ring.producer();
  ring_consumer consumer = ring.consumer();
  auto const first = producer.reserve(2);
  ASSERT_NE(first, ring_producer::no_room);
  ASSERT_TRUE(send(producer, 0, 8, 1));
  EXPECT_TRUE(consumer.empty());
  EXPECT_FALSE(take(consumer));
  std::memset(reinterpret_cast<std::byte*>(producer.at(first)) + 16, 0, 2 * cell_bytes - 16);
  producer.publish(first, {16, 0, 1, 2, 6});  // cancelled: padding
  auto const got = take(consumer);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->value, 8U);
  EXPECT_TRUE(consumer.empty());
}

TEST(ring, header_survives_encoding) {
  ring_header const h{2048, 0xabcd, 7, 32, 12};
  for (unsigned lap = 0; lap < 256; ++lap) {
    std::uint64_t const word = h.encode(static_cast<std::uint8_t>(lap));
    EXPECT_EQ(word >> 56, lap);
    ring_header const back = ring_header::decode(word);
    EXPECT_EQ(back.bytes, 2048);
    EXPECT_EQ(back.source, 0xabcd);
    EXPECT_EQ(back.kind, 7);
    EXPECT_EQ(back.cells, 32);
    EXPECT_EQ(back.alignment_log2, 12);
  }
}

TEST(ring, every_length_at_every_position_through_a_thousand_laps) {
  ring_memory ring(fewest_cells);
  ring_producer producer = ring.producer();
  ring_consumer consumer = ring.consumer();
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  std::uint64_t cells = 0;
  unsigned lengths[64] = {};
  while (cells < 1000 * ring.size) {
    // Payload looks like headers of all laps and kinds: what is left of it must never be taken for one.
    unsigned const length = 1 + static_cast<unsigned>(sent * 2654435761U >> 7) % max_cells;
    std::uint64_t const value = sent * 0x0101'0101'0101'0101U;
    while (!send(producer, 3, value, length)) {
      auto const got = take(consumer);
      ASSERT_TRUE(got) << "neither room nor a message after " << sent;
      ASSERT_EQ(got->value, taken * 0x0101'0101'0101'0101U);
      ASSERT_EQ(got->cells, lengths[taken % 64]);
      ++taken;
    }
    if (sent - taken == 63) {
      auto const got = take(consumer);
      ASSERT_TRUE(got);
      ASSERT_EQ(got->cells, lengths[taken % 64]);
      ++taken;
    }
    lengths[sent % 64] = length;
    ++sent;
    cells += length;
  }
  while (take(consumer)) ++taken;
  EXPECT_EQ(taken, sent);
  EXPECT_TRUE(consumer.empty());
}

TEST(ring, lap_tags_repeat_after_256_laps_without_showing_stale_messages) {
  ring_memory ring(fewest_cells);
  ring_producer producer = ring.producer();
  ring_consumer consumer = ring.consumer();
  for (std::uint64_t i = 0; i < 600 * ring.size; ++i) {
    ASSERT_TRUE(consumer.empty()) << "message " << i << ", lap " << i / ring.size;
    ASSERT_FALSE(take(consumer));
    ASSERT_TRUE(send(producer, 1, i, 1));
    auto const got = take(consumer);
    ASSERT_TRUE(got);
    ASSERT_EQ(got->value, i);
  }
}

TEST(ring, is_full_after_all_cells_and_recovers) {
  ring_memory ring(fewest_cells);
  ring_producer producer = ring.producer();
  ring_consumer consumer = ring.consumer();
  for (int lap = 0; lap < 300; ++lap) {
    std::uint64_t sent = 0;
    while (send(producer, 0, sent, 1)) ++sent;
    EXPECT_GT(sent, ring.size - ring.size / 8);  // up to an eighth is read but not announced
    EXPECT_LE(sent, ring.size);
    std::uint64_t taken = 0;
    while (take(consumer)) ++taken;
    ASSERT_EQ(taken, sent);
    ASSERT_TRUE(send(producer, 0, 1, max_cells)) << "the longest message finds no room in an empty ring";
    ASSERT_TRUE(take(consumer));
  }
}

TEST(ring, producers_on_many_threads_and_handles) {
  constexpr std::uint64_t count = 30'000;
  constexpr std::uint16_t threads = 4;
  ring_memory ring(fewest_cells);
  ring_producer shared = ring.producer();  // two threads use one handle, two have their own
  std::vector<std::thread> producers;
  for (std::uint16_t t = 0; t < threads; ++t) {
    producers.emplace_back([&, t] {
      ring_producer own = ring.producer();
      ring_producer& mine = t < 2 ? shared : own;
      for (std::uint64_t i = 0; i < count;) {
        if (send(mine, t, i, 1 + static_cast<unsigned>((i + t) % 5))) {
          ++i;
        } else {
          sched_yield();
        }
      }
    });
  }
  ring_consumer consumer = ring.consumer();
  std::uint64_t next[threads] = {};
  for (std::uint64_t taken = 0; taken < threads * count;) {
    auto const got = take(consumer);
    if (!got) {
      sched_yield();
      continue;
    }
    ASSERT_LT(got->source, threads);
    ASSERT_EQ(got->value, next[got->source]) << "from producer " << got->source;
    ASSERT_EQ(got->cells, 1 + (got->value + got->source) % 5);
    ++next[got->source];
    ++taken;
  }
  for (std::thread& t : producers) t.join();
  EXPECT_TRUE(consumer.empty());
}

}  // namespace
}  // namespace atl::shm
