#pragma once

/// Barrier and reduction of kernels. One thread of a scope does what concerns other ranks.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <atoll/base/config.hpp>
#include <atoll/extensions/device/view.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::device {

/// Whom a rank exchanges with, in which round. `all`: those `ahead`, then those `across`, as many as there
/// may be rounds each. `find(rank)` gives a partner.
template <class Find>
void find_partners(team_view& t, partner* all, Find&& find) {
  partner* const across = all + most_rounds;
  std::int32_t power = 1;
  std::size_t round = 0;
  for (std::int32_t reach = 1; reach < t.rank_n; reach *= 2, ++round) {
    all[round] = find((t.rank_me + reach) % t.rank_n);
    if ((t.rank_me ^ reach) < t.rank_n) across[round] = find(t.rank_me ^ reach);
    if (reach * 2 <= t.rank_n) power = reach * 2;
  }
  std::int32_t const other = t.rank_me >= power ? t.rank_me - power : t.rank_me + power;
  if (other < t.rank_n) across[most_rounds - 1] = find(other);
  for (std::size_t i = 0; i < team_view::near_rounds; ++i) {
    t.near_ahead[i] = all[i].here;
    t.near_across[i] = across[i].here;
  }
}

/// Rounds of signals to ranks 1, 2, 4, ... further on (dissemination). Growing numbers: nothing is reset.
template <class Scope>
ATOLL_ANYWHERE bool enter_barrier(team_view const& t, Scope s) {
  s.sync();
  bool come = true;
  if (s.rank() == 0) {
    std::uint64_t const number = words::load_relaxed(&t.own->barriers) + 1;
    come = t.wait_for_host();  // or others would be told of what is not in place
    words::store_relaxed(&t.own->barriers, number);
    std::size_t round = 0;
    for (std::int32_t reach = 1; come && reach < t.rank_n; reach *= 2, ++round) {
      // Release: for what other threads of the scope have done, too.
      t.tell_ahead(round, offsetof(team_words, barrier_in) + round * sizeof(std::uint64_t), number);
      come = t.look_for(call::barrier, &t.own->barrier_in[round], number);
    }
  }
  return s.sync_and(come);
}

/// By recursive doubling: both of a pair compute the same, in the order of their ranks, so all have the same
/// bits. Ranks beyond the largest power of two give to, and hear from, one of the others. `combine` of two
/// values as 64 bits. `given_up`, if not null, is set for all threads of the scope if one has not been heard of.
template <class Scope, class Combine>
ATOLL_ANYWHERE std::uint64_t reduce_words(team_view const& t, Scope s, std::uint64_t value, Combine&& combine,
                                          bool* given_up) {
  s.sync();
  team_words& own = *t.own;
  bool come = true;
  if (s.rank() == 0) {
    std::uint64_t const number = words::load_relaxed(&own.reductions) + 1;
    words::store_relaxed(&own.reductions, number);
    auto const hear = [&](stamped const& from) {
      std::uint64_t heard = 0;
      come = come && t.look_until(call::all_reduce, &from, number, [&](std::uint64_t& found) {
        stamped const x = words::load_stamped(&from);
        heard = x.value;
        found = x.stamp;
        return x.stamp == number;
      });
      return heard;
    };
    std::int32_t power = 1;
    std::size_t rounds = 0;
    for (; power * 2 <= t.rank_n; power *= 2) ++rounds;
    std::int32_t const me = t.rank_me;
    // The last entry is the partner of who has none, or has two.
    constexpr std::size_t other = most_rounds - 1;
    if (me >= power) {
      t.tell_across(other, offsetof(team_words, folded_in), value, number);
      value = hear(own.folded_out);
    } else {
      bool const two = me + power < t.rank_n;
      if (two) value = combine(value, hear(own.folded_in));
      auto& in = own.reduced[number % 2];
      // Who has given up tells nobody what it does not know.
      for (std::size_t round = 0; come && round < rounds; ++round) {
        t.tell_across(round,
                      offsetof(team_words, reduced) + ((number % 2) * most_rounds + round) * sizeof(stamped),
                      value, number);
        std::uint64_t const theirs = hear(in[round]);
        value = (me >> round & 1) == 0 ? combine(value, theirs) : combine(theirs, value);
      }
      if (come && two) t.tell_across(other, offsetof(team_words, folded_out), value, number);
    }
    if (!std::is_same_v<Scope, thread>) {
      words::store_relaxed(&own.result.value, value);
      words::store_relaxed(&own.result.stamp, come ? 1 : 0);
    }
  }
  if (!std::is_same_v<Scope, thread>) {
    s.sync();
    value = words::load_relaxed(&own.result.value);
    come = words::load_relaxed(&own.result.stamp) != 0;
    s.sync();
  }
  if (!come && given_up != nullptr) *given_up = true;
  return value;
}

}  // namespace atl::inline UPCXX_MODE::device
