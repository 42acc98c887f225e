#pragma once

/// An exchange of ranks as hosts play it that have streams without kernels: in steps, each of which may be begun when it is ready.
/// Addresses are those that the host reads and writes.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/copy_watched.hpp"
#include "memory/rank_exchange.hpp"

namespace atl::memory {

class played_exchange {
 public:
  static constexpr int steps = 5;

  static bool is_ready(rank_exchange const& x, int step) {
    switch (step) {
      case wait_for_offers:
        return (x.steps & rank_exchange::opens) == 0 || all(x, [&](std::int32_t r, std::uint32_t b) {
                 return !x.sends(x.me, r) ||
                        rank_exchange::has_come(load(x.offer(x.me, r, b)), number(x, b) - (x.few ? 1 : 0));
               });
      case relay:
        return !moves_relays(x) ||
               all(x, [&](std::int32_t r, std::uint32_t b) { return r != x.root || has_news(x, r, b); });
      case hear:
        return (x.steps & rank_exchange::closes) == 0 || all(x, [&](std::int32_t r, std::uint32_t b) {
                 return !x.sends(r, x.me) || (x.few ? have_packets_come(x, r, b) : has_news(x, r, b));
               });
      default:
        return true;
    }
  }

  static void take(rank_exchange const& x, int step) {
    switch (step) {
      case offer:
        if ((x.steps & rank_exchange::opens) == 0) return;
        all(x, [&](std::int32_t r, std::uint32_t b) {
          if (x.sends(r, x.me)) store(x.offer(r, x.me, b), number(x, b));
          return true;
        });
        return;
      case wait_for_offers:
        if ((x.steps & rank_exchange::moves) == 0 || x.relays()) return;
        x.few ? send_packets(x) : move(x);
        return;
      case relay:
        if (moves_relays(x)) move(x);
        return;
      case tell:
        if ((x.steps & rank_exchange::closes) == 0 || x.few) return;
        all(x, [&](std::int32_t r, std::uint32_t b) {
          if (x.sends(x.me, r)) store(x.news(r, x.me, b), rank_exchange::told(number(x, b)));
          return true;
        });
        return;
      case hear:
        if ((x.steps & rank_exchange::closes) == 0) return;
        if (x.few) take_packets(x);
        for (std::uint32_t b = 0; b < x.blocks; ++b) store(x.number(b), number(x, b));
        return;
      default:
        return;
    }
  }

 private:
  enum step { offer, wait_for_offers, relay, tell, hear };

  static bool moves_relays(rank_exchange const& x) {
    return (x.steps & rank_exchange::moves) != 0 && x.relays();
  }
  static void move(rank_exchange const& x) {
    all(x, [&](std::int32_t r, std::uint32_t b) {
      if (!x.gives_to(r)) return true;
      rank_exchange::piece const part = x.share(r, b);
      copy_watched(reinterpret_cast<std::byte*>(part.to), reinterpret_cast<std::byte const*>(part.from),
                   part.bytes);
      return true;
    });
  }
  /// Calls with each packet that a rank sends to another one: what it carries behind the beginning, and how many bytes.
  template <class Call>
  static void for_packets(rank_exchange const& x, std::uint32_t block, Call const& call) {
    for (std::uint32_t i = 0; i < x.packets() && x.carried(block, i) < x.bytes; ++i) {
      std::uint64_t const offset = x.carried(block, i);
      call(i, offset, std::min(rank_exchange::bytes_of_packet, x.bytes - offset));
    }
  }
  static void send_packets(rank_exchange const& x) {
    all(x, [&](std::int32_t r, std::uint32_t b) {
      if (!x.gives_to(r)) return true;
      rank_exchange::piece const part = x.for_rank(r);
      for_packets(x, b, [&](std::uint32_t i, std::uint64_t offset, std::uint64_t bytes) {
        std::uint64_t value = 0;
        std::memcpy(&value, reinterpret_cast<std::byte const*>(part.from + offset), bytes);
        if (r == x.me) {
          copy_watched(reinterpret_cast<std::byte*>(part.to + offset), &value, bytes);
          return;
        }
        std::uint64_t const place = x.packet_at(r, x.me, number(x, b), b, i);
        word(place).store(value, std::memory_order_relaxed);
        store(place + sizeof value, number(x, b));
      });
      return true;
    });
  }
  static bool have_packets_come(rank_exchange const& x, std::int32_t by, std::uint32_t block) {
    bool come = true;
    for_packets(x, block, [&](std::uint32_t i, std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {
      std::uint64_t const place = x.packet_at(x.me, by, number(x, block), block, i);
      come = come && load(place + sizeof place) == number(x, block);
    });
    return come;
  }
  static void take_packets(rank_exchange const& x) {
    all(x, [&](std::int32_t r, std::uint32_t b) {
      if (!x.sends(r, x.me)) return true;
      for_packets(x, b, [&](std::uint32_t i, std::uint64_t offset, std::uint64_t bytes) {
        std::uint64_t const value =
            word(x.packet_at(x.me, r, number(x, b), b, i)).load(std::memory_order_relaxed);
        copy_watched(reinterpret_cast<std::byte*>(x.received(r) + offset), &value, bytes);
      });
      return true;
    });
  }
  /// Whether it is so for all ranks and blocks.
  template <class Is>
  static bool all(rank_exchange const& x, Is const& is) {
    for (std::int32_t r = 0; r < x.ranks; ++r) {
      for (std::uint32_t b = 0; b < x.blocks; ++b) {
        if (!is(r, b)) return false;
      }
    }
    return true;
  }
  static bool has_news(rank_exchange const& x, std::int32_t by, std::uint32_t block) {
    return rank_exchange::has_come(load(x.news(x.me, by, block)), rank_exchange::told(number(x, block)));
  }
  /// Of this call.
  static std::uint64_t number(rank_exchange const& x, std::uint32_t block) {
    return load(x.number(block)) + 1;
  }
  static std::atomic_ref<std::uint64_t> word(std::uint64_t at) {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at));
  }
  static std::uint64_t load(std::uint64_t at) { return word(at).load(std::memory_order_acquire); }
  static void store(std::uint64_t at, std::uint64_t value) {
    word(at).store(value, std::memory_order_release);
  }
};

}  // namespace atl::memory
