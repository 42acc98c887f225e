#pragma once

/// The protocol of messages inside a host, in small: what a state is, what it must keep, who pays for what. Ranks have
/// two rings each, blocks of transit memory, private memory in units. It follows docs/design/flow-control.md, and shares
/// no code with the library. The steps are in shm_model.hpp.

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "calls.hpp"

namespace flow {

struct shm_shape {
  std::size_t ranks = 2;
  std::vector<call> calls;
  std::array<between, most_ranks> then{};
  // Limits.
  std::size_t ring = 1;     ///< messages
  std::size_t blocks = 1;   ///< of each rank's transit memory
  std::size_t memory = 4;   ///< units; a small message takes one, a large one two
  std::size_t reserve = 1;  ///< of that, what arrivals leave
  std::size_t slots = 1;    ///< messages of a rank and lane that others read at one time
  bool read_peers = true;   ///< else by fragments, two of them for each large message
  // Mutations.
  bool one_lane = false;
  bool shared_slots = false;  ///< one for both lanes
  bool answers_need_credit = false;
  bool told_behind_requests = false;   ///< a rendezvous ends by a message on the lane of requests
  bool discharge_keeps_limit = false;  ///< also where nothing else moves
  bool looks_only_at_rings = false;    ///< for arrivals: not at answers that were left for later
  bool program_keeps_limit = false;    ///< requests wait for memory that only the program can free
};

class shm_rules {
 public:
  enum : std::uint8_t {
    unborn,
    refused,
    parked,
    parked_block,  // at the sender, in private memory or transit memory
    in_ring,
    ring_block,
    ring_read,  // in the ring itself; a descriptor of a block, of private memory
    in_pieces,
    deferred_block,
    deferred_read,  // descriptors of answers, out of the ring
    held,
    held_block,
    held_small,  // arrived: in private memory, in a block
    kept,
    kept_block,  // run, and its arguments still used
    done,
    twice,
  };
  enum : std::uint8_t { injecting, pausing, serving };
  static constexpr std::uint8_t told = 0x80;  ///< marks an entry that says that a message was read
  static constexpr std::size_t units_of[] = {1, 2};

  struct state {
    std::uint8_t where[most_messages];
    std::uint8_t pieces[most_messages];  ///< sent, plus 4 for each that arrived
    std::uint8_t lent[most_messages];    ///< read, and its sender has not noticed
    std::uint8_t ring[most_ranks][2][2];
    std::uint8_t parked_in[most_ranks][2][8];
    std::uint8_t later[most_ranks][most_calls];
    std::uint8_t phase[most_ranks];
    std::uint8_t next[most_ranks];
    std::uint8_t free;  ///< has the call that tells run?
  };

  explicit shm_rules(shm_shape shape) : c(std::move(shape)), injects_(injections(c.calls, c.ranks)) {}

  state start() const { return {}; }

  bool is_end(state const& s) const {
    for (std::size_t r = 0; r < c.ranks; ++r) {
      if (s.phase[r] != serving) return false;
    }
    for (std::size_t m = 0; m < c.calls.size(); ++m) {
      if (s.lent[m] != 0 || s.lent[m + answer] != 0) return false;
      if (s.where[m] == refused || (s.where[m] == unborn && is_orphan(s, m))) continue;
      if (s.where[m] != done || (c.calls[m].answered && s.where[m + answer] != done)) return false;
    }
    return true;
  }

  char const* broken(state const& s) const {
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (s.where[m] == twice) return "a message ran twice";
      if (s.where[m] == refused && (m >= answer || !c.calls[m].may_be_refused)) return "refused";
      if (places_of(s, m) != expected_places(s, m)) return "a message is lost, or in two places";
    }
    for (std::size_t r = 0; r < c.ranks; ++r) {
      // One message alone, and of each peer one that comes in pieces, are admitted over the limit.
      std::size_t const others = c.read_peers ? 0 : 2 * (c.ranks - 1);
      if (c.then[r] == between::discharges && !c.discharge_keeps_limit) continue;
      // A call that is held back is counted when it is there.
      if (arrived(s, r, false) > c.memory - c.reserve + others + 1 && arrived(s, r, false) > 2)
        return "too much arrived";
    }
    for (std::size_t r = 0; r < c.ranks; ++r) {
      if (outgoing(s, r, 0) > c.memory) return "too many requests are kept";
      if (outgoing(s, r, 1) > c.memory / 2 + 2 * (c.ranks - 1)) return "too many answers are kept";
    }
    return nullptr;
  }

 protected:
  // ---- what a message is ----
  static bool is_answer(std::size_t m) { return m >= answer; }
  call const& call_of(std::size_t m) const { return c.calls[m % most_calls]; }
  std::size_t sender(std::size_t m) const { return is_answer(m) ? call_of(m).to : call_of(m).from; }
  std::size_t target(std::size_t m) const { return is_answer(m) ? call_of(m).from : call_of(m).to; }
  bool large(std::size_t m) const { return is_answer(m) ? call_of(m).large_answer : call_of(m).large; }
  std::size_t units(std::size_t m) const { return units_of[large(m) ? 1 : 0]; }
  std::size_t lane_of(std::size_t m) const { return is_answer(m) && !c.one_lane ? 1 : 0; }
  bool exists(std::size_t m) const { return m % most_calls < c.calls.size(); }
  /// Is it sent by a callback that will not run?
  bool is_orphan(state const& s, std::size_t m) const {
    for (std::size_t by = 0; by < c.calls.size(); ++by) {
      if (c.calls[by].sends == static_cast<int>(m))
        return s.where[by] == refused || (s.where[by] == unborn && is_orphan(s, by));
    }
    return false;
  }

  // ---- memory ----
  bool sender_pays(state const& s, std::size_t m) const {
    std::uint8_t const w = s.where[m];
    return w == parked || w == ring_read || w == deferred_read || s.lent[m] != 0 ||
           (w == in_pieces && (s.pieces[m] & 3) < 2);
  }
  bool target_pays(state const& s, std::size_t m) const {
    std::uint8_t const w = s.where[m];
    return w == held || w == held_small || w == kept || (w == in_pieces && s.pieces[m] >= 4);
  }
  /// Of requests (0), answers (1), or both (2).
  std::size_t outgoing(state const& s, std::size_t r, int which) const {
    std::size_t sum = 0;
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (exists(m) && sender(m) == r && (which == 2 || which == int{is_answer(m)}) && sender_pays(s, m))
        sum += units(m);
    }
    return sum;
  }
  std::size_t answers_for(state const& s, std::size_t r, std::size_t to) const {
    std::size_t sum = 0;
    for (std::size_t m = answer; m < most_messages; ++m) {
      if (exists(m) && sender(m) == r && target(m) == to && sender_pays(s, m)) sum += units(m);
    }
    return sum;
  }
  /// Without answers also without what the program keeps.
  std::size_t arrived(state const& s, std::size_t r, bool answers_too = true) const {
    std::size_t sum = 0;
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (exists(m) && target(m) == r && (answers_too || !is_answer(m)) && target_pays(s, m) &&
          (answers_too || s.where[m] != kept))
        sum += units(m);
    }
    return sum;
  }
  bool admits(state const& s, std::size_t r, std::size_t more) const {
    std::size_t const there = arrived(s, r);
    return there == 0 ||
           (there + more <= c.memory - c.reserve && there + outgoing(s, r, 2) + more <= c.memory);
  }
  bool may_keep(state const& s, std::size_t r, std::size_t more) const {
    return arrived(s, r) + outgoing(s, r, 2) + more <= c.memory;
  }
  bool may_admit_all(state const& s, std::size_t r) const {
    return !c.discharge_keeps_limit && s.phase[r] == pausing;
  }
  bool must_wait(state const& s, std::size_t r, std::size_t source) const {
    std::size_t const its = answers_for(s, r, source);
    std::size_t const all = outgoing(s, r, 1);
    return its != 0 && (all >= c.memory / 2 || its > c.memory / 2 - all);
  }
  bool holds_block(state const& s, std::size_t m) const {
    std::uint8_t const w = s.where[m];
    return w == parked_block || w == ring_block || w == deferred_block || w == held_block || w == kept_block;
  }
  /// Each reader may hold as much as is still free.
  bool block_for(state const& s, std::size_t r, std::size_t reader) const {
    std::size_t used = 0;
    std::size_t its = 0;
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (!exists(m) || sender(m) != r || !holds_block(s, m)) continue;
      ++used;
      its += target(m) == reader ? 1 : 0;
    }
    return used < c.blocks && (its == 0 || its + 1 <= c.blocks - used);
  }

  // ---- queues ----
  bool has_room(state const& s, std::size_t r, std::size_t lane) const {
    return length(s.ring[r][lane]) < c.ring;
  }
  std::size_t places_of(state const& s, std::size_t m) const {
    std::size_t n = 0;
    for (std::size_t r = 0; r < c.ranks; ++r) {
      for (std::size_t lane = 0; lane < 2; ++lane) {
        n += count_in(s.ring[r][lane], m + 1) + count_in(s.parked_in[r][lane], m + 1);
      }
      n += count_in(s.later[r], m + 1);
    }
    return n;
  }
  std::size_t expected_places(state const& s, std::size_t m) const {
    std::uint8_t const w = s.where[m];
    if (w == in_pieces) return ((s.pieces[m] & 3) < 2 ? 1U : 0U) + (s.pieces[m] & 3U) - (s.pieces[m] >> 2);
    return w >= parked && w <= deferred_read ? 1 : 0;
  }

  shm_shape c;
  std::vector<std::vector<std::uint8_t>> injects_;  ///< by rank
};

}  // namespace flow
