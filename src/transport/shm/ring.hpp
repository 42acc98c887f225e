#pragma once

/// Bounded queue of messages in shared memory: many producers (the ranks of a host), one consumer.
///
/// The ring is an array of 64-byte cells; a message takes 1 to `max_cells` consecutive ones. The first word
/// of a message's first cell says that it is there: a producer writes it last (release), the consumer reads
/// it first (acquire). That word carries the number of the lap around the ring, so what an earlier lap left
/// behind does not count, and the consumer need not write into cells that it has read: a store there would
/// take the line back from the producer, and the reply sent next would wait for it. Only first words that
/// payload has overwritten (of a longer message's further cells) are zeroed. The consumer publishes
/// `consumed` (release) an eighth of the ring at a time; a producer reads it (acquire) before it reuses
/// cells. One atomic operation reserves a message's cells; a message that would wrap is preceded by a padding
/// message.
///
/// A reservation is a locked instruction, which waits for all earlier stores. In a flood the previous
/// message's lines are still on their way from the consumer's cache then; producers therefore ask for the
/// lines of later messages ahead of time (`prefetch_distance`).

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/pause.hpp"

namespace atl::shm {

inline constexpr std::size_t cell_bytes = 64;
inline constexpr unsigned max_cells = 32;
inline constexpr std::uint64_t prefetch_distance = 3;
/// Fewest cells of a ring in which every message finds room in the end: it may need as much again for
/// padding, and up to an eighth of the ring is read but not yet announced as free.
inline constexpr std::uint64_t fewest_cells = 4 * max_cells;

struct alignas(cell_bytes) cell {
  std::atomic<std::uint64_t> head;  ///< 0: nothing here yet; else encoded ring_header
  std::uint64_t token;
  std::byte data[cell_bytes - 16];
};
static_assert(sizeof(cell) == cell_bytes);

/// What the first word of a message says.
struct ring_header {
  std::uint16_t bytes;   ///< of the message, cell header (16 bytes) included
  std::uint16_t source;  ///< local rank of the producer
  std::uint8_t kind;
  std::uint8_t cells;  ///< never 0
  std::uint8_t alignment_log2;

  std::uint64_t encode(std::uint8_t lap) const {
    return std::uint64_t{bytes} | std::uint64_t{source} << 16 | std::uint64_t{kind} << 32 |
           std::uint64_t{cells} << 40 | std::uint64_t{alignment_log2} << 48 | std::uint64_t{lap} << 56;
  }
  static ring_header decode(std::uint64_t word) {
    return {static_cast<std::uint16_t>(word), static_cast<std::uint16_t>(word >> 16),
            static_cast<std::uint8_t>(word >> 32), static_cast<std::uint8_t>(word >> 40),
            static_cast<std::uint8_t>(word >> 48)};
  }
};

/// Number of cells of a ring, which is a power of two.
class ring_size {
 public:
  constexpr ring_size() = default;
  constexpr explicit ring_size(std::uint64_t count)
      : mask_(count - 1), shift_(static_cast<std::uint8_t>(std::countr_zero(count))) {}

  std::uint64_t count() const { return mask_ + 1; }
  std::uint64_t cell_of(std::uint64_t position) const { return position & mask_; }
  /// Tag of the lap in which a position lies; never 0, so that fresh and zeroed cells are empty. Laps repeat
  /// after 128, long after a stale word was overwritten: each lap leaves in every cell a word of its own, or
  /// zero. A shift: a division would take longer than all else that a look at an empty ring does.
  std::uint8_t lap_of(std::uint64_t position) const {
    return static_cast<std::uint8_t>((position >> shift_) | 0x80U);
  }

 private:
  std::uint64_t mask_ = 0;
  std::uint8_t shift_ = 0;
};

/// The shared part. Zero-filled memory is a valid empty ring.
struct ring_counters {
  alignas(64) std::atomic<std::uint64_t> reserved;  ///< cells handed to producers, ever
  alignas(64) std::atomic<std::uint64_t> consumed;  ///< cells free again, ever; written by the consumer
};

/// A producer's handle on one ring. Several threads of a process may share it.
class ring_producer {
 public:
  ring_producer() = default;
  ring_producer(ring_counters* counters, cell* cells, std::uint64_t count)
      : counters_(counters), cells_(cells), size_(count) {}
  ring_producer(ring_producer const& other)
      : counters_(other.counters_), cells_(other.cells_), size_(other.size_) {}
  ring_producer& operator=(ring_producer const&) = delete;

  static constexpr std::uint64_t no_room = ~std::uint64_t{0};

  /// Reserves `n` consecutive cells; no_room if the ring has none now.
  std::uint64_t reserve(unsigned n) {
    std::uint64_t at = counters_->reserved.load(std::memory_order_relaxed);
    for (;;) {
      std::uint64_t const until_end = size_.count() - size_.cell_of(at);
      std::uint64_t const padding = n > until_end ? until_end : 0;
      // Acquire: another thread of this process may have read `consumed` for us.
      if (at + padding + n - seen_.load(std::memory_order_acquire) > size_.count()) {
        // Pairs with the consumer's release: its zeroes are visible before we write into the cells.
        std::uint64_t const consumed = counters_->consumed.load(std::memory_order_acquire);
        seen_.store(consumed, std::memory_order_release);
        if (at + padding + n - consumed > size_.count()) {
          // Others may have gone round the ring since we looked; then `at` is what is out of date.
          std::uint64_t const now = counters_->reserved.load(std::memory_order_relaxed);
          if (now == at) return no_room;
          at = now;
          continue;
        }
      }
      if (counters_->reserved.compare_exchange_weak(at, at + padding + n, std::memory_order_acquire,
                                                    std::memory_order_relaxed)) {
        if (padding != 0) pad(at, padding);
        prefetch_for_write(&cells_[size_.cell_of(at + padding + prefetch_distance)]);
        return at + padding;
      }
    }
  }

  cell* at(std::uint64_t position) const { return &cells_[size_.cell_of(position)]; }

  /// Makes a reserved message visible. The payload and the token have been written.
  void publish(std::uint64_t position, ring_header header) { publish(at(position), position, header); }
  /// The same with the first cell at hand.
  void publish(cell* first, std::uint64_t position, ring_header header) {
    first->head.store(header.encode(size_.lap_of(position)), std::memory_order_release);
  }

 private:
  void pad(std::uint64_t position, std::uint64_t n) {
    // A padding message may be longer than a real one but not than a byte can say.
    while (n != 0) {
      auto const piece = static_cast<std::uint8_t>(n < 255 ? n : 255);
      publish(position, {16, 0, 1, piece, 0});
      position += piece;
      n -= piece;
    }
  }

  ring_counters* counters_ = nullptr;
  cell* cells_ = nullptr;
  ring_size size_;
  std::atomic<std::uint64_t> seen_{0};  ///< last value of `consumed` seen: saves reading a remote line
};

/// The consumer's handle. One thread at a time.
class ring_consumer {
 public:
  ring_consumer(ring_counters* counters, cell* cells, std::uint64_t count)
      : counters_(counters), cells_(cells), size_(count) {
    look_at(0);
  }

  /// First unread message, or null. Its header goes to `header`.
  cell const* front(ring_header& header) {
    std::uint64_t const next = next_.load(std::memory_order_relaxed);
    cell const* const first = cell_in(next);
    if (first == nullptr) __builtin_unreachable();  // callers need not look again
    std::uint64_t const word = first->head.load(std::memory_order_acquire);
    if (!is_of_lap(word, next)) return nullptr;
    header = ring_header::decode(word);
    return first;
  }

  /// Frees the message that front() returned.
  void pop(ring_header const& header) {
    for (unsigned i = 1; i < header.cells; ++i) {
      cells_[size_.cell_of(read_ + i)].head.store(0, std::memory_order_relaxed);
    }
    read_ += header.cells;
    look_at(read_);
    if (read_ - published_ >= size_.count() / 8) {
      counters_->consumed.store(read_, std::memory_order_release);
      published_ = read_;
    }
  }

  /// How far producers have reserved cells, in a line that they write. Sees at least what a producer had
  /// reserved before anything of its that the caller has acquired.
  std::uint64_t reserved() const { return counters_->reserved.load(std::memory_order_relaxed); }
  /// How far they have been read.
  std::uint64_t read() const { return read_; }

  /// A hint; from any thread of the consumer's process. One that is interrupted between the two loads may find the
  /// payload of a later message in the place of the head, and answers wrong once: not worth an error of ThreadSanitizer.
  __attribute__((no_sanitize("thread"))) bool empty() const {
    std::uint64_t const next = next_.load(std::memory_order_relaxed);
    return !is_of_lap(cell_in(next)->head.load(std::memory_order_relaxed), next);
  }

 private:
  static constexpr std::uint64_t address_bits = (std::uint64_t{1} << 56) - 1;

  /// A comparison, which processors fuse with its branch; they do not a shift.
  static bool is_of_lap(std::uint64_t head, std::uint64_t next) { return (head ^ next) <= address_bits; }
  static cell const* cell_in(std::uint64_t next) {
    return reinterpret_cast<cell const*>(static_cast<std::uintptr_t>(next & address_bits));
  }
  void look_at(std::uint64_t position) {
    auto const address = reinterpret_cast<std::uintptr_t>(&cells_[size_.cell_of(position)]);
    next_.store(std::uint64_t{size_.lap_of(position)} << 56 | address, std::memory_order_relaxed);
  }

  /// Address of the next cell, and above it the tag of the lap that its head must have: one word, so that other
  /// threads which ask whether the ring is empty see what belongs together. (Programs' addresses have 56 bits at
  /// most, where the kernel is not asked for others.)
  std::atomic<std::uint64_t> next_{0};
  ring_counters* counters_ = nullptr;
  cell* cells_ = nullptr;
  ring_size size_;
  std::uint64_t read_ = 0;
  std::uint64_t published_ = 0;
};

}  // namespace atl::shm
