#pragma once

/// The steps of ranks that exchange messages between hosts. One step moves one message by one place.

#include <utility>

#include "checker.hpp"
#include "network_rules.hpp"

namespace flow {

class network_model : public network_rules {
 public:
  using network_rules::network_rules;

  template <class Emit>
  void steps(state const& s, Emit const& emit) const {
    for (std::size_t r = 0; r < c.ranks; ++r) {
      if (s.phase[r] == gone) continue;
      bool moved = false;
      auto const by = [&](state const& to, std::size_t m, char const* what) {
        moved = true;
        emit(to, step{static_cast<std::uint8_t>(r), static_cast<std::uint8_t>(m % most_calls), what});
      };
      listen(s, r, by);
      flush(s, r, by);
      take(s, r, false, by);
      ask(s, r, false, by);
      if (s.phase[r] == serving) run_held(s, r, by);
      if (s.phase[r] == injecting) inject(s, r, moved, by);
      if (s.phase[r] != pausing) continue;
      // A rank that cannot get rid of what it has accepted takes in what arrives, whatever the limit.
      if (!moved && unsent(s, r) && !c.discharge_keeps_limit) {
        take(s, r, true, by);
        ask(s, r, true, by);
      }
      if (!unsent(s, r) || c.then[r] == between::internal_for_a_while) {
        state to = s;
        to.phase[r] = c.then[r] == between::discharges_and_goes ? gone : serving;
        by(to, 0,
           to.phase[r] == gone ? "makes no progress any more" : "makes user-level progress from here on");
      }
    }
  }

 private:
  // ---- the network ----

  bool has_room(state const& s, std::size_t from, std::size_t to, std::size_t lane) const {
    return length(s.on_way[from][to][lane]) < c.window;
  }
  /// With all the credit that is owed to that rank, unless it is a piece.
  void send(state& s, std::size_t from, std::size_t to, std::size_t lane, std::size_t entry) const {
    std::size_t const at = length(s.on_way[from][to][lane]);
    push(s.on_way[from][to][lane], entry);
    if ((entry & what_bits) != is_piece)
      s.with_credit[from][to][lane][at] = std::exchange(s.owed[from][to], std::uint8_t{0});
  }

  /// Empties one lane by one message.
  template <class By>
  void listen(state const& s, std::size_t r, By const& by) const {
    for (std::size_t from = 0; from < c.ranks; ++from) {
      for (std::size_t lane = 0; lane < 2; ++lane) {
        std::uint8_t const entry = s.on_way[from][r][lane][0];
        if (entry == 0) continue;
        state to = s;
        to.in_use[r][from] = static_cast<std::uint8_t>(to.in_use[r][from] - s.with_credit[from][r][lane][0]);
        remove(to.on_way[from][r][lane], 0);
        auto& credits = to.with_credit[from][r][lane];
        credits[0] = credits[1];
        credits[1] = 0;
        std::size_t const m = (entry & ~what_bits) - 1U;
        switch (entry & what_bits) {
          case is_whole:
            arrive(to, m);
            by(to, m, "has a message");
            break;
          case is_offer:
            to.where[m] = announced;
            push(to.offers[r], m + 1);
            by(to, m, "has an announcement");
            break;
          case is_wanted:
            to.where[m] = in_pieces;
            by(to, m, "is asked for it");
            break;
          case is_piece:
            to.pieces[m] = static_cast<std::uint8_t>(to.pieces[m] + 4);
            if (to.pieces[m] >> 2 == 2) {
              to.pieces[m] = 0;
              arrive(to, m);
            }
            by(to, m, "has a piece");
            break;
          default:
            by(to, 0, "gets credit back");
        }
      }
    }
  }
  void arrive(state& s, std::size_t m) const {
    if (s.where[m] == done || s.where[m] == arrived) {
      s.where[m] = twice;
      return;
    }
    s.where[m] = arrived;
    if (!needs_credit(m)) return;
    // While there is memory the sender may go on; else when the program has this one.
    s.owes[m] = admits(s, target(m), 0) ? 0 : 1;
    if (s.owes[m] == 0) ++s.owed[target(m)][sender(m)];
  }

  // ---- sending ----

  template <class By>
  void inject(state const& s, std::size_t r, bool moved, By const& by) const {
    state to = s;
    if (s.next[r] == injects_[r].size()) {
      to.phase[r] = c.then[r] == between::none ? serving : pausing;
      by(to, 0, "has injected all");
      return;
    }
    std::size_t const m = injects_[r][s.next[r]];
    ++to.next[r];
    std::size_t const kept_for_it = outgoing(s, r, 0, target(m));
    bool const waits = kept_for_it != 0 && kept_for_it + units(m) > c.spill;
    bool const starved = s.offers[r][0] != 0 || !admits(s, r, 0);
    if (waits && may_keep(s, r, units(m)) && (moved || !starved || c.waits_for_ever)) return;
    if (!waits && may_keep(s, r, units(m))) {
      wait(to, m);
      by(to, m, "injects");
    } else {
      to.where[m] = refused;
      if (c.calls[m].tells) to.free = 1;  // the program finds another way
      by(to, m, "is refused an injection");
    }
  }
  void wait(state& s, std::size_t m) const {
    s.where[m] = waiting;
    push(s.queue[sender(m)][target(m)][lane_of(m)], m + 1);
  }

  template <class By>
  void flush(state const& s, std::size_t r, By const& by) const {
    for (std::size_t peer = 0; peer < c.ranks; ++peer) {
      for (std::size_t lane = 0; lane < 2; ++lane) {
        if (!has_room(s, r, peer, lane)) continue;
        if (s.queue[r][peer][lane][0] != 0) send_first(s, r, peer, lane, by);
        send_piece(s, r, peer, lane, by);
        if (lane == 1 && s.owed[r][peer] >= c.return_at) {
          state to = s;
          send(to, r, peer, 1, is_credit);
          by(to, 0, "gives credit back");
        }
      }
    }
  }
  template <class By>
  void send_first(state const& s, std::size_t r, std::size_t peer, std::size_t lane, By const& by) const {
    std::size_t const m = s.queue[r][peer][lane][0] - 1U;
    if (needs_credit(m) && s.in_use[r][peer] == c.credit) return;
    state to = s;
    remove(to.queue[r][peer][lane], 0);
    if (needs_credit(m)) ++to.in_use[r][peer];
    to.where[m] = large(m) ? offered : whole;
    send(to, r, peer, lane, (large(m) ? is_offer : is_whole) + m + 1);
    by(to, m, large(m) ? "announces" : "sends");
  }
  template <class By>
  void send_piece(state const& s, std::size_t r, std::size_t peer, std::size_t lane, By const& by) const {
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (!exists(m) || sender(m) != r || target(m) != peer || lane_of(m) != lane) continue;
      if (s.where[m] != in_pieces || (s.pieces[m] & 3) == 2) continue;
      state to = s;
      ++to.pieces[m];
      send(to, r, peer, lane, is_piece + m + 1);
      by(to, m, "sends a piece");
    }
  }

  // ---- receiving ----

  /// Asks for the message that was announced first, if there is memory for it.
  template <class By>
  void ask(state const& s, std::size_t r, bool all, By const& by) const {
    if (s.offers[r][0] == 0) return;
    std::size_t const m = s.offers[r][0] - 1U;
    // The program would use it at once; and has nothing else to do.
    bool const soon = s.phase[r] == serving && !c.program_keeps_limit && nothing_arrived(s, r) &&
                      (c.asks_for_all || !one_comes(s, r, lane_of(m)));
    if (!all && !soon && !admits(s, r, units(m))) return;
    if (!has_room(s, r, sender(m), 1)) return;
    state to = s;
    remove(to.offers[r], 0);
    to.where[m] = asked;
    send(to, r, sender(m), 1, is_wanted + m + 1);
    by(to, m, "asks for what was announced");
  }
  /// Which was asked for.
  bool one_comes(state const& s, std::size_t r, std::size_t lane) const {
    for (std::size_t m = 0; m < most_messages; ++m) {
      bool const its = exists(m) && target(m) == r && lane_of(m) == lane;
      if (its && (s.where[m] == asked || s.where[m] == in_pieces)) return true;
    }
    return false;
  }
  bool nothing_arrived(state const& s, std::size_t r) const {
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (exists(m) && target(m) == r && s.where[m] == arrived && (is_answer(m) || !full(s, r))) return false;
    }
    return true;
  }

  /// Takes what has arrived: user-level progress runs it, internal keeps it for later.
  template <class By>
  void take(state const& s, std::size_t r, bool all, By const& by) const {
    bool const user = s.phase[r] == serving;
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (!exists(m) || target(m) != r || s.where[m] != arrived) continue;
      if (!is_answer(m) && (user ? full(s, r) : !(all || c.takes_in_all || admits(s, r, 0)))) continue;
      state to = s;
      if (std::exchange(to.owes[m], std::uint8_t{0}) != 0) ++to.owed[r][sender(m)];
      if (!user || (!is_answer(m) && must_wait(s, r, sender(m)))) {
        to.where[m] = held;
      } else {
        use(to, m);
      }
      by(to, m, is_answer(m) ? "takes an answer" : "takes a request");
    }
  }

  // ---- running ----

  void use(state& s, std::size_t m) const {
    if (!is_answer(m)) {
      call const& what = c.calls[m];
      if (what.answered) {
        if (s.where[m + answer] == unborn) {
          wait(s, m + answer);
        } else {
          s.where[m + answer] = twice;
        }
      }
      if (what.sends >= 0) {
        auto const next = static_cast<std::size_t>(what.sends);
        if (may_keep(s, what.to, units(next))) {
          wait(s, next);
        } else {
          s.where[next] = refused;
        }
      }
      if (what.tells) s.free = 1;
    }
    s.where[m] = !is_answer(m) && c.calls[m].kept && s.free == 0 ? kept : done;
  }

  template <class By>
  void run_held(state const& s, std::size_t r, By const& by) const {
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (!exists(m) || target(m) != r) continue;
      state to = s;
      if (s.where[m] == kept && s.free != 0) {
        to.where[m] = done;
        by(to, m, "gives its arguments up");
      } else if (s.where[m] == held && (is_answer(m) || !must_wait(s, r, sender(m)))) {
        use(to, m);
        by(to, m, is_answer(m) ? "runs a kept answer's callback" : "runs a kept request");
      }
    }
  }
};

}  // namespace flow
