#pragma once

/// The protocol of messages between hosts, in small: what a state is, what it must keep, who pays for what. Between two
/// ranks each lane is a short queue that its receiver empties whenever it makes progress. A small message travels whole,
/// a large one is announced, asked for, and comes in two pieces. It follows docs/design/flow-control.md, and shares no
/// code with the library. The steps are in network_model.hpp.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "calls.hpp"

namespace flow {

/// Ranks, each on a host of its own.
inline constexpr std::size_t hosts = 2;

struct network_shape {
  static constexpr std::size_t ranks = hosts;
  std::vector<call> calls;
  std::array<between, hosts> then{};
  // Limits.
  std::size_t window = 1;     ///< messages of one lane on their way between two ranks
  std::size_t credit = 2;     ///< requests of a rank at a peer
  std::size_t return_at = 1;  ///< credit is given back when so much has come together
  std::size_t memory = 4;     ///< units; a small message takes one, a large one two
  std::size_t reserve = 1;    ///< of that, what arrivals leave
  std::size_t spill = 8;      ///< units kept for one target, beyond which whoever injects waits
  // Mutations.
  bool answers_need_credit = false;
  bool takes_in_all = false;    ///< internal progress: whatever the limit
  bool forgets_offers = false;  ///< what was announced counts as sent
  bool discharge_keeps_limit = false;
  bool waits_for_ever = false;       ///< for room to inject, also where nothing moves
  bool asks_for_all = false;         ///< the program, whatever the limit, while what it has asked for comes
  bool program_keeps_limit = false;  ///< what is announced waits for memory that only the program can free
};

class network_rules {
 public:
  enum : std::uint8_t {
    unborn,
    refused,
    waiting,  // at the sender, for room or credit
    whole,    // on its way
    offered,
    announced,  // the announcement is on its way, is there
    asked,
    in_pieces,
    arrived,
    held,  // not yet taken from the transport; taken by internal progress, or held back
    kept,
    done,
    twice,
  };
  enum : std::uint8_t { injecting, pausing, serving, gone };
  /// What an entry of a lane is, beside the message's number plus one.
  enum : std::uint8_t {
    is_whole = 0,
    is_offer = 0x20,
    is_wanted = 0x40,
    is_piece = 0x60,
    is_credit = 0x80,
    what_bits = 0xe0
  };

  struct state {
    std::uint8_t where[most_messages];
    std::uint8_t pieces[most_messages];               ///< sent, plus 4 for each that arrived
    std::uint8_t owes[most_messages];                 ///< its sender gets the credit back when it is taken
    std::uint8_t on_way[hosts][hosts][2][2];          ///< from, to, lane
    std::uint8_t with_credit[hosts][hosts][2][2];     ///< what each of these gives back
    std::uint8_t queue[hosts][hosts][2][most_calls];  ///< waiting; from, to, lane
    std::uint8_t offers[hosts][most_calls];           ///< announced, in order
    std::uint8_t in_use[hosts][hosts];                ///< of whose credit at whom
    std::uint8_t owed[hosts][hosts];                  ///< by whom to whom
    std::uint8_t phase[hosts];
    std::uint8_t next[hosts];
    std::uint8_t free;  ///< has the call that tells run?
  };

  explicit network_rules(network_shape shape) : c(std::move(shape)), injects_(injections(c.calls, hosts)) {}

  state start() const { return {}; }

  bool is_end(state const& s) const {
    for (std::size_t r = 0; r < c.ranks; ++r) {
      if (s.phase[r] < serving) return false;
    }
    for (std::size_t m = 0; m < c.calls.size(); ++m) {
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
    std::size_t const others = c.ranks - 1;
    bool const any_small =
        std::any_of(c.calls.begin(), c.calls.end(), [](call const& each) { return !each.large; });
    for (std::size_t r = 0; r < c.ranks; ++r) {
      if (outgoing(s, r, 0) > c.memory) return "too many requests are kept";
      if (outgoing(s, r, 1) > c.memory / 2 + 2 * others) return "too many answers are kept";
      for (std::size_t to = 0; to < c.ranks; ++to) {
        if (s.in_use[r][to] > c.credit) return "too much credit";
      }
      if (c.then[r] == between::discharges && !c.discharge_keeps_limit) continue;
      // What peers may send without asking, and one that the program would use at once, come beside the limit.
      std::size_t const unasked = any_small ? others * c.credit : 0;
      if (requests_at(s, r) > c.memory - c.reserve + unasked + 2) return "too much arrived";
    }
    return nullptr;
  }

 protected:
  // ---- what a message is ----
  static bool is_answer(std::size_t m) { return m >= answer; }
  static std::size_t lane_of(std::size_t m) { return is_answer(m) ? 1 : 0; }
  call const& call_of(std::size_t m) const { return c.calls[m % most_calls]; }
  std::size_t sender(std::size_t m) const { return is_answer(m) ? call_of(m).to : call_of(m).from; }
  std::size_t target(std::size_t m) const { return is_answer(m) ? call_of(m).from : call_of(m).to; }
  bool large(std::size_t m) const { return is_answer(m) ? call_of(m).large_answer : call_of(m).large; }
  std::size_t units(std::size_t m) const { return large(m) ? 2 : 1; }
  bool exists(std::size_t m) const { return m % most_calls < c.calls.size(); }
  bool needs_credit(std::size_t m) const { return !is_answer(m) || c.answers_need_credit; }
  /// Is it sent by a callback that will not run?
  bool is_orphan(state const& s, std::size_t m) const {
    for (std::size_t by = 0; by < c.calls.size(); ++by) {
      if (c.calls[by].sends != static_cast<int>(m)) continue;
      return s.where[by] == refused || (s.where[by] == unborn && is_orphan(s, by));
    }
    return false;
  }

  // ---- memory ----
  bool sender_pays(state const& s, std::size_t m) const {
    std::uint8_t const w = s.where[m];
    return (w == in_pieces && (s.pieces[m] & 3) < 2) || w == waiting || w == offered || w == announced ||
           w == asked;
  }
  bool target_pays(state const& s, std::size_t m) const { return s.where[m] >= asked && s.where[m] <= kept; }
  /// Of requests (0), answers (1), or both (2); for one target, or for all.
  std::size_t outgoing(state const& s, std::size_t r, int which, std::size_t to = hosts) const {
    std::size_t sum = 0;
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (!exists(m) || sender(m) != r || (to != hosts && target(m) != to)) continue;
      if ((which == 2 || which == int{is_answer(m)}) && sender_pays(s, m)) sum += units(m);
    }
    return sum;
  }
  std::size_t at_target(state const& s, std::size_t r) const {
    std::size_t sum = 0;
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (exists(m) && target(m) == r && target_pays(s, m)) sum += units(m);
    }
    return sum;
  }
  /// Without what the program keeps.
  std::size_t requests_at(state const& s, std::size_t r) const {
    std::size_t sum = 0;
    for (std::size_t m = 0; m < most_calls; ++m) {
      if (exists(m) && target(m) == r && target_pays(s, m) && s.where[m] != kept) sum += units(m);
    }
    return sum;
  }
  bool admits(state const& s, std::size_t r, std::size_t more) const {
    std::size_t const there = at_target(s, r);
    return there == 0 ||
           (there + more <= c.memory - c.reserve && there + outgoing(s, r, 2) + more <= c.memory);
  }
  bool may_keep(state const& s, std::size_t r, std::size_t more) const {
    return at_target(s, r) + outgoing(s, r, 2) + more <= c.memory;
  }
  bool must_wait(state const& s, std::size_t r, std::size_t source) const {
    std::size_t const its = outgoing(s, r, 1, source);
    std::size_t const all = outgoing(s, r, 1);
    return its != 0 && (all >= c.memory / 2 || its > c.memory / 2 - all);
  }
  /// Calls that were held back fill the memory.
  bool full(state const& s, std::size_t r) const {
    if (admits(s, r, 0)) return false;
    for (std::size_t m = 0; m < most_calls; ++m) {
      if (exists(m) && target(m) == r && s.where[m] == held && must_wait(s, r, sender(m))) return true;
    }
    return false;
  }
  bool unsent(state const& s, std::size_t r) const {
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (!exists(m) || sender(m) != r || !sender_pays(s, m)) continue;
      bool const is_offered = s.where[m] == offered || s.where[m] == announced;
      if (!is_offered || !c.forgets_offers) return true;
    }
    return false;
  }

  // ---- places ----
  std::size_t places_of(state const& s, std::size_t m) const {
    std::size_t n = 0;
    for (std::size_t a = 0; a < c.ranks; ++a) {
      n += count_in(s.offers[a], m + 1);
      for (std::size_t b = 0; b < c.ranks; ++b) {
        for (std::size_t lane = 0; lane < 2; ++lane) {
          n += count_in(s.queue[a][b][lane], m + 1);
          for (std::uint8_t const entry : s.on_way[a][b][lane]) n += (entry & ~what_bits) == m + 1 ? 1U : 0U;
        }
      }
    }
    return n;
  }
  std::size_t expected_places(state const& s, std::size_t m) const {
    std::uint8_t const w = s.where[m];
    if (w == in_pieces) return (s.pieces[m] & 3U) - (s.pieces[m] >> 2);
    return w >= waiting && w <= asked ? 1 : 0;
  }

  network_shape c;
  std::vector<std::vector<std::uint8_t>> injects_;  ///< by rank
};

}  // namespace flow
