#pragma once

/// The steps of ranks that exchange messages inside a host. One step moves one message by one place.

#include <utility>

#include "checker.hpp"
#include "shm_rules.hpp"

namespace flow {

class shm_model : public shm_rules {
 public:
  using shm_rules::shm_rules;

  template <class Emit>
  void steps(state const& s, Emit const& emit) const {
    for (std::size_t r = 0; r < c.ranks; ++r) {
      bool moved = false;
      auto const by = [&](state const& to, std::size_t m, char const* what) {
        moved = true;
        emit(to, step{static_cast<std::uint8_t>(r), static_cast<std::uint8_t>(m % most_calls), what});
      };
      bool const user = s.phase[r] == serving;
      receive(s, r, user, false, by);
      flush(s, r, by);
      if (user) run_held(s, r, by);
      if (user) let_go(s, r, by);
      if (s.phase[r] == injecting) inject(s, r, moved, by);
      if (s.phase[r] == pausing) {
        // A rank that cannot get rid of what it has accepted takes in what arrives, whatever the limit.
        if (!moved && unsent(s, r) && may_admit_all(s, r)) receive(s, r, false, true, by);
        if (!unsent(s, r) || c.then[r] == between::internal_for_a_while) {
          state to = s;
          to.phase[r] = serving;
          by(to, 0, "makes user-level progress from here on");
        }
      }
    }
  }

 private:
  // ---- sending ----

  /// Into ring or transit memory, if there is room.
  bool place(state& s, std::size_t m) const {
    std::size_t const r = sender(m);
    bool const room = has_room(s, target(m), lane_of(m));
    if (large(m)) {
      if (!block_for(s, r, target(m))) return false;
      s.where[m] = room ? ring_block : parked_block;
    } else {
      if (!room) return false;
      s.where[m] = in_ring;
    }
    if (room) {
      push(s.ring[target(m)][lane_of(m)], m + 1);
    } else {
      push(s.parked_in[r][lane_of(m)], m + 1);
    }
    return true;
  }
  void park(state& s, std::size_t m) const {
    s.where[m] = parked;
    push(s.parked_in[sender(m)][lane_of(m)], m + 1);
  }

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
    if (place(to, m)) return by(to, m, "injects");
    bool const may = may_keep(s, r, units(m));
    if (may) {
      state kept_here = to;
      park(kept_here, m);
      by(kept_here, m, "injects, and keeps it");
    }
    if (!may || (!moved && starved(s, r))) {
      to.where[m] = refused;
      by(to, m, "is refused an injection");
    }
  }

  /// Has it left a request behind because its memory is used up?
  bool starved(state const& s, std::size_t r) const {
    std::uint8_t const front = s.ring[r][0][0];
    return front != 0 && (front & told) == 0 && !admits(s, r, units(front - 1U));
  }

  bool unsent(state const& s, std::size_t r) const {
    if (s.parked_in[r][0][0] != 0 || s.parked_in[r][1][0] != 0) return true;
    if (!c.told_behind_requests) return false;
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (exists(m) && sender(m) == r && (s.where[m] == ring_read || s.lent[m] != 0)) return true;
    }
    return false;
  }

  template <class By>
  void flush(state const& s, std::size_t r, By const& by) const {
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (!exists(m) || sender(m) != r || s.lent[m] == 0 || c.told_behind_requests) continue;
      state to = s;
      to.lent[m] = 0;
      by(to, m, "notices that it was read");
    }
    for (std::size_t lane = 0; lane < 2; ++lane) {
      std::uint8_t const(&queue)[8] = s.parked_in[r][lane];
      bool tried[most_ranks] = {};
      for (std::size_t at = 0; at < length(queue); ++at) {
        std::size_t const m = (queue[at] & ~told) - 1U;
        std::size_t const to_rank = (queue[at] & told) != 0 ? sender(m) : target(m);
        // The front one of each target.
        if (std::exchange(tried[to_rank], true) || !has_room(s, to_rank, lane)) continue;
        send_parked(s, r, lane, at, by);
      }
    }
  }

  template <class By>
  void send_parked(state const& s, std::size_t r, std::size_t lane, std::size_t at, By const& by) const {
    state to = s;
    std::uint8_t const entry = s.parked_in[r][lane][at];
    std::size_t const m = (entry & ~told) - 1U;
    if ((entry & told) != 0) {
      remove(to.parked_in[r][lane], at);
      push(to.ring[sender(m)][lane], entry);
      return by(to, m, "says that it was read");
    }
    std::size_t const reader = target(m);
    if (s.where[m] == parked_block) {
      to.where[m] = ring_block;
    } else if (s.where[m] == parked && !large(m)) {
      to.where[m] = in_ring;
    } else if (s.where[m] == parked && block_for(s, r, reader)) {
      to.where[m] = ring_block;
    } else if (c.read_peers) {
      if (slots_used(s, r, lane) >= c.slots) return;
      to.where[m] = ring_read;
    } else {
      return send_piece(s, r, lane, at, by);
    }
    remove(to.parked_in[r][lane], at);
    push(to.ring[reader][lane], m + 1);
    by(to, m, to.where[m] == ring_read ? "offers what it kept" : "sends what it kept");
  }

  std::size_t slots_used(state const& s, std::size_t r, std::size_t lane) const {
    std::size_t n = 0;
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (!exists(m) || sender(m) != r || (!c.shared_slots && lane_of(m) != lane)) continue;
      n += s.where[m] == ring_read || s.where[m] == deferred_read || s.lent[m] != 0 ? 1 : 0;
    }
    return n;
  }

  /// One piece of each lane is on its way at a time.
  template <class By>
  void send_piece(state const& s, std::size_t r, std::size_t lane, std::size_t at, By const& by) const {
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (exists(m) && sender(m) == r && lane_of(m) == lane && s.where[m] == in_pieces &&
          (s.pieces[m] & 3) != s.pieces[m] >> 2) {
        return;
      }
    }
    state to = s;
    std::size_t const m = s.parked_in[r][lane][at] - 1U;
    to.where[m] = in_pieces;
    if ((++to.pieces[m] & 3) == 2) remove(to.parked_in[r][lane], at);
    push(to.ring[target(m)][lane], m + 1);
    by(to, m, "sends a piece");
  }

  // ---- receiving ----

  template <class By>
  void receive(state const& s, std::size_t r, bool user, bool all, By const& by) const {
    for (std::size_t lane = 0; lane < 2; ++lane) {
      std::uint8_t const entry = s.ring[r][lane][0];
      if (entry == 0 || (lane == 0 && user && full(s, r))) continue;
      state to = s;
      remove(to.ring[r][lane], 0);
      std::size_t const m = (entry & ~told) - 1U;
      if ((entry & told) != 0) {
        to.lent[m] = 0;
        by(to, m, "hears that it was read");
      } else if (take(to, r, m, user, all)) {
        by(to, m, is_answer(m) ? "takes an answer" : "takes a request");
      } else if (is_answer(m) && !c.one_lane) {
        to.where[m] = s.where[m] == ring_block ? deferred_block : deferred_read;
        push(to.later[r], m + 1);
        by(to, m, "leaves an answer for later");
      }
    }
    bool const rings_are_empty = s.ring[r][0][0] == 0 && s.ring[r][1][0] == 0;
    if (s.later[r][0] == 0 || (c.looks_only_at_rings && rings_are_empty)) return;
    state to = s;
    std::size_t const m = s.later[r][0] - 1U;
    remove(to.later[r], 0);
    if (take(to, r, m, user, all)) by(to, m, "takes an answer that was left");
  }

  /// False: there is no memory for it. In `s` it has left its queue already; its place says where it lies.
  bool take(state& s, std::size_t r, std::size_t m, bool user, bool all) const {
    bool const reply = is_answer(m);
    bool const credit = all || admits(s, r, units(m));
    bool const waits = !user || (!reply && must_wait(s, r, sender(m)));
    // The program has it next: what it keeps of it is its own affair.
    bool const may_come = credit || (user && reply) || (!waits && !c.program_keeps_limit);
    switch (s.where[m]) {
      case in_ring:
        if (waits && !credit && !user && (!reply || c.one_lane)) return false;
        if (!waits) return use(s, m, done, kept);
        s.where[m] = held_small;
        return true;
      case ring_block:
      case deferred_block:
        if (!waits) return use(s, m, done, kept_block);
        if (!user && !credit) return false;
        s.where[m] = user ? held_block : held;
        return true;
      case ring_read:
      case deferred_read:
        if (!may_come) return false;
        s.where[m] = held;
        s.lent[m] = 1;
        if (c.told_behind_requests) push(s.parked_in[r][0], told | (m + 1));
        return waits || use(s, m, done, kept);
      case in_pieces: {
        bool const first = s.pieces[m] < 4;
        if (first && !may_come && !reply && !others_in_pieces(s, r)) return false;
        s.pieces[m] = static_cast<std::uint8_t>(s.pieces[m] + 4);
        if (s.pieces[m] >> 2 < 2) return true;
        s.where[m] = held;
        s.pieces[m] = 0;
        return waits || use(s, m, done, kept);
      }
      default:
        s.where[m] = twice;
        return true;
    }
  }
  /// Is another request's first piece here already?
  bool others_in_pieces(state const& s, std::size_t r) const {
    for (std::size_t m = 0; m < most_calls; ++m) {
      if (exists(m) && target(m) == r && s.where[m] == in_pieces && s.pieces[m] >= 4) return true;
    }
    return false;
  }
  /// Calls that were held back fill the memory.
  bool full(state const& s, std::size_t r) const {
    if (admits(s, r, 0)) return false;
    for (std::size_t m = 0; m < most_calls; ++m) {
      if (exists(m) && target(m) == r && s.where[m] == held_small && must_wait(s, r, sender(m))) return true;
    }
    return false;
  }

  // ---- running ----

  /// Runs a request, or the callback of an answer.
  bool use(state& s, std::size_t m, std::uint8_t after, std::uint8_t if_kept) const {
    if (is_answer(m)) {
      s.where[m] = after;
      return true;
    }
    call const& what = c.calls[m];
    std::size_t const r = what.to;
    if (what.answered) {
      std::size_t const a = m + answer;
      if (s.where[a] != unborn) s.where[a] = twice;
      if (!place(s, a)) {
        if (c.answers_need_credit && !may_keep(s, r, units(a))) {
          s.where[a] = refused;
        } else {
          park(s, a);
        }
      }
    }
    if (what.sends >= 0) {
      auto const next = static_cast<std::size_t>(what.sends);
      if (!place(s, next)) {
        if (may_keep(s, r, units(next))) {
          park(s, next);
        } else {
          s.where[next] = refused;
        }
      }
    }
    s.where[m] = what.kept && s.free == 0 ? if_kept : after;
    if (what.tells) s.free = 1;
    return true;
  }

  template <class By>
  void run_held(state const& s, std::size_t r, By const& by) const {
    for (std::size_t m = 0; m < most_messages; ++m) {
      if (!exists(m) || target(m) != r) continue;
      std::uint8_t const w = s.where[m];
      if (w != held && w != held_block && w != held_small) continue;
      if (!is_answer(m) && must_wait(s, r, sender(m))) continue;
      state to = s;
      use(to, m, done, w == held_block ? kept_block : kept);
      by(to, m, is_answer(m) ? "runs a kept answer's callback" : "runs a kept request");
    }
  }

  template <class By>
  void let_go(state const& s, std::size_t r, By const& by) const {
    for (std::size_t m = 0; m < most_calls; ++m) {
      if (!exists(m) || target(m) != r || s.free == 0 || (s.where[m] != kept && s.where[m] != kept_block))
        continue;
      state to = s;
      to.where[m] = done;
      by(to, m, "gives its arguments up");
    }
  }
};

}  // namespace flow
