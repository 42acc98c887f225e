#pragma once

/// What a kernel knows of its team, and the ways it has: to memory that its device reaches, and to its host
/// for the rest.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <atoll/base/config.hpp>
#include <atoll/engine/kernel_mailbox.hpp>
#include <atoll/extensions/device/scopes.hpp>
#include <atoll/extensions/device/words.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::device {

/// What a word is waited for: to equal a value, or to be at least that; the signed difference counts.
ATOLL_ANYWHERE inline bool is_reached(std::uint64_t found, std::uint64_t value, bool equal) {
  return equal ? found == value : static_cast<std::int64_t>(found - value) >= 0;
}

/// A place as global pointers name it.
struct place {
  std::uint64_t owner = 0;
  std::uint64_t address = 0;
};

/// Memory that the device reaches.
struct alignas(16) range {
  std::uint64_t owner = 0;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::uint64_t here = 0;  ///< where kernels find it; 0: they do not

  /// All is loaded at once and tested without branches, since each warp of a block does it.
  ATOLL_ANYWHERE char* find(place p, std::size_t size) const {
    range const all = *this;
    std::uint64_t const offset = p.address - all.begin;
    auto const is = [](bool x) { return static_cast<unsigned>(x); };
    unsigned const inside = is(p.owner == all.owner) & is(all.here != 0) & is(offset <= all.bytes) &
                            is(size <= all.bytes - offset);
    return reinterpret_cast<char*>(inside != 0 ? all.here + offset : 0);
  }
};

/// Rounds of barriers and reductions of as many ranks as there may be.
inline constexpr std::size_t most_rounds = 32;

/// What a rank's kernels and those of its partners write to, in its device's memory. Zero at first.
struct team_words {
  alignas(16) stamped reduced[2][most_rounds];  ///< by parity of the number of reductions, and round
  stamped folded_in;                            ///< from a rank that has no partner
  stamped folded_out;                           ///< what becomes of it
  stamped result;                               ///< for the other threads; its stamp is 0 if given up
  std::uint64_t barrier_in[most_rounds];        ///< by round
  std::uint64_t barriers;                       ///< so many
  std::uint64_t reductions;
  std::uint64_t commands;  ///< that the host was asked for
  std::uint64_t stores;    ///< number of the last one that is no notice
  std::uint64_t in_trouble;
};

/// The words of a rank with which this one exchanges.
struct partner {
  std::uint64_t here = 0;  ///< 0: its kernels are not reached
  place words;
};

/// Indices of call names in reports.
enum class call : std::uint64_t { wait, wait_any, wait_all, barrier, all_reduce, command, quiet, put, get };

/// What kernels get by value. What is looked up most is in it: a device has that at hand, while tables in its
/// memory are far away after every acquire.
struct team_view {
  /// Members of this host whose ranges are in the handle, and rounds whose partners are.
  static constexpr std::uint32_t most_near = 8;
  static constexpr std::size_t near_rounds = 3;

  range near[2 * most_near];              ///< the same as `ranges` if that are no more
  std::uint64_t near_ahead[near_rounds];  ///< words of the first of `ahead` and `across` as kernels see them
  std::uint64_t near_across[near_rounds];
  range const* ranges = nullptr;    ///< two for each member on this host, by rank: its segment, its heap
  partner const* ahead = nullptr;   ///< 1, 2, 4, ... ranks further on
  partner const* across = nullptr;  ///< the rank that differs in bit 0, 1, 2, ...
  team_words* own = nullptr;
  engine::kernel_mailbox* box = nullptr;
  std::uint64_t* end = nullptr;   ///< see end_word_for_kernels()
  std::uint64_t patience_ns = 0;  ///< 0: without end
  std::uint32_t local_n = 0;
  std::uint32_t first = 0;      ///< world rank of the first of those
  std::uint32_t own_index = 0;  ///< of this rank among them
  bool consecutive = true;      ///< are their ranks
  std::int32_t rank_me = 0;
  std::int32_t rank_n = 0;
  bool atomic_devices = false;  ///< operations of kernels on device memory are atomic for all of the team
  bool atomic_heaps = false;    ///< the same of shared heaps, and for processors

  ATOLL_ANYWHERE char* find(place p, std::size_t bytes) const {
    return local_n <= most_near ? find_in(near, p, bytes) : find_in(ranges, p, bytes);
  }
  ATOLL_ANYWHERE char* find_in(range const* all, place p, std::size_t bytes) const {
    auto const rank = static_cast<std::uint32_t>(p.owner);
    std::uint32_t i = rank - first;
    if (!consecutive) {
      std::uint32_t high = local_n;
      for (i = 0; i < high;) {
        std::uint32_t const middle = (i + high) / 2;
        if (static_cast<std::uint32_t>(all[2 * middle].owner) < rank) {
          i = middle + 1;
        } else {
          high = middle;
        }
      }
    }
    // A range of somebody else's finds nothing.
    if (i >= local_n) i = 0;
    return all[2 * i + (is_heap(p) ? 1 : 0)].find(p, bytes);
  }
  /// Whether operations there are atomic if the device does them.
  ATOLL_ANYWHERE bool is_atomic(place p) const { return is_heap(p) ? atomic_heaps : atomic_devices; }
  ATOLL_ANYWHERE static bool is_heap(place p) { return (p.owner >> 48 & 0xff) == 1; }

  /// What a kernel's own address is called elsewhere; owner 0 if it has no name.
  ATOLL_ANYWHERE place name_of(void const* memory, std::size_t bytes) const {
    auto const at = reinterpret_cast<std::uint64_t>(memory);
    for (std::uint32_t i = 2 * own_index; i < 2 * own_index + 2; ++i) {
      range const r = ranges[i];
      std::uint64_t const offset = at - r.here;
      if (r.here != 0 && offset < r.bytes && bytes <= r.bytes - offset) return {r.owner, r.begin + offset};
    }
    return {};
  }

  // Waiting

  /// The first trouble is the one that is reported; all waits of the rank end.
  ATOLL_ANYWHERE void report(engine::kernel_trouble const& t, engine::kernel_trouble::sort what) const {
    if (words::exchange(&own->in_trouble, 1) != 0) return;
    engine::kernel_trouble& to = box->trouble;
    words::store_relaxed(&to.call, t.call);
    words::store_relaxed(&to.block, block::index());
    words::store_relaxed(&to.address, t.address);
    words::store_relaxed(&to.expected, t.expected);
    words::store_relaxed(&to.found, t.found);
    words::store_relaxed(&to.waited_ns, t.waited_ns);
    words::store_release(&to.what, static_cast<std::uint64_t>(what));
    words::store_release(end, 1);
  }

  /// Looks until `ready`; false if nobody will come any more. `now`: what was found, for reports.
  template <class Ready>
  ATOLL_ANYWHERE bool look_until(call in, void const* at, std::uint64_t expected, Ready&& ready) const {
    // Of the host's memory, which is far away, and of the clock.
    constexpr std::uint32_t looks_per_look_around = 1024;
    std::uint64_t begun = 0;
    for (std::uint32_t looks = 1;; ++looks) {
      std::uint64_t found = 0;
      if (ready(found)) return true;
      if (looks % looks_per_look_around == 0) {
        if (words::load_relaxed(end) != 0) return false;
        if (patience_ns != 0) {
          std::uint64_t const now = words::now_ns();
          if (begun == 0) begun = now;
          if (now - begun > patience_ns) {
            report({0, static_cast<std::uint64_t>(in), 0, reinterpret_cast<std::uint64_t>(at), expected,
                    found, now - begun},
                   engine::kernel_trouble::sort::timed_out);
            return false;
          }
        }
      }
      words::between_looks();
    }
  }
  /// The word is at least the value; the signed difference counts.
  ATOLL_ANYWHERE bool look_for(call in, std::uint64_t const* word, std::uint64_t value) const {
    return look_until(in, word, value, [=](std::uint64_t& found) {
      found = words::load_acquire(word);
      return is_reached(found, value, false);
    });
  }

  // The host

  /// Number of the command, for which the host may be waited for.
  ATOLL_ANYWHERE std::uint64_t ask(engine::kernel_request const& what) const {
    constexpr std::uint64_t capacity = engine::kernel_mailbox::capacity;
    std::uint64_t const number = words::fetch_add(&own->commands, 1) + 1;
    if (what.call != engine::kernel_call::notify) words::raise(&own->stores, number);
    // Where nobody comes any more the place may be in use.
    if (number > capacity && !look_for(call::command, &box->completed, number - capacity)) return number;
    engine::kernel_command& to = box->commands[(number - 1) % capacity];
    to.asked = what;
    to.answered = 0;
    words::store_release(&to.number, number);
    return number;
  }
  /// Of a word, or of one behind data.
  ATOLL_ANYWHERE static engine::kernel_request request(engine::kernel_call call, place word,
                                                       engine::word_operation operation,
                                                       std::uint64_t operand) {
    engine::kernel_request r{};
    r.call = call;
    r.operation = operation;
    r.word_owner = word.owner;
    r.word = word.address;
    r.operand = operand;
    return r;
  }
  /// Rows from elsewhere, asked for at once, and waited for. False: given up.
  ATOLL_ANYWHERE bool get_by_host(place from, std::ptrdiff_t from_stride, void* to, std::ptrdiff_t to_stride,
                                  std::size_t bytes, std::size_t rows) const {
    std::uint64_t number = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      char* const here = static_cast<char*>(to) + static_cast<std::ptrdiff_t>(row) * to_stride;
      place const into = name_of(here, bytes);
      if (into.owner == 0) {
        report(
            {0, static_cast<std::uint64_t>(call::get), 0, reinterpret_cast<std::uint64_t>(here), bytes, 0, 0},
            engine::kernel_trouble::sort::not_nameable);
        return false;
      }
      engine::kernel_request r{};
      r.call = engine::kernel_call::get;
      r.to_owner = into.owner;
      r.to = into.address;
      r.from_owner = from.owner;
      r.from = from.address + static_cast<std::uint64_t>(static_cast<std::int64_t>(row) * from_stride);
      r.bytes = bytes;
      number = ask(r);
    }
    return look_for(call::get, &box->completed, number);
  }
  /// All commands so far have been done. False: given up.
  ATOLL_ANYWHERE bool wait_for_host() const { return wait_for_command(&own->commands); }
  /// All but the notices behind the last other one: of those many may be under way.
  ATOLL_ANYWHERE bool wait_for_stores() const { return wait_for_command(&own->stores); }
  ATOLL_ANYWHERE bool wait_for_command(std::uint64_t const* last) const {
    std::uint64_t const number = words::load_seen(last);
    return number == 0 || look_for(call::quiet, &box->completed, number);
  }
  /// The host changes a word, and says what was there. `given_up`, if not null, is set if it does not.
  ATOLL_ANYWHERE std::uint64_t ask_for_word(place word, engine::word_operation operation,
                                            std::uint64_t operand, std::uint64_t compare,
                                            bool* given_up) const {
    engine::kernel_request r = request(engine::kernel_call::atomic, word, operation, operand);
    r.compare = compare;
    return answer_to(ask(r), given_up);
  }
  /// The host fetches a value of at most 8 bytes. The same.
  ATOLL_ANYWHERE std::uint64_t ask_for_value(place from, std::size_t bytes, bool* given_up) const {
    engine::kernel_request r{};
    r.call = engine::kernel_call::get_value;
    r.from_owner = from.owner;
    r.from = from.address;
    r.bytes = bytes;
    return answer_to(ask(r), given_up);
  }
  ATOLL_ANYWHERE std::uint64_t answer_to(std::uint64_t number, bool* given_up) const {
    engine::kernel_command& there = box->commands[(number - 1) % engine::kernel_mailbox::capacity];
    bool const come =
        look_until(call::command, &there.answered, number, [&there, number](std::uint64_t& found) {
          found = words::load_acquire(&there.answered);
          return found == number;
        });
    if (!come) {
      if (given_up != nullptr) *given_up = true;
      return 0;
    }
    std::uint64_t const answer = words::load_relaxed(&there.answer);
    words::store_release(&there.answered, 0);
    return answer;
  }

  // Words of others

  /// After all that this thread has seen and done (release).
  ATOLL_ANYWHERE void change(place word, engine::word_operation operation, std::uint64_t operand) const {
    change_at(reinterpret_cast<std::uint64_t*>(find(word, sizeof(std::uint64_t))), word, operation, operand);
  }
  /// `here`: where the device finds it.
  ATOLL_ANYWHERE void change_at(std::uint64_t* here, place word, engine::word_operation operation,
                                std::uint64_t operand) const {
    if (operation == engine::word_operation::set ? here != nullptr : here != nullptr && is_atomic(word)) {
      if (operation == engine::word_operation::set) {
        words::store_release(here, operand);
      } else {
        words::add_release(here, operand);
      }
      return;
    }
    ask(request(engine::kernel_call::signal, word, operation, operand));
  }
  ATOLL_ANYWHERE std::uint64_t here_of(partner const* all, std::uint64_t const* near_ones,
                                       std::size_t round) const {
    return round < near_rounds ? near_ones[round] : all[round].here;
  }
  /// A word of the team_words of the partner in a round.
  ATOLL_ANYWHERE void tell_ahead(std::size_t round, std::size_t offset, std::uint64_t value) const {
    if (std::uint64_t const here = here_of(ahead, near_ahead, round)) {
      words::store_release(reinterpret_cast<std::uint64_t*>(here + offset), value);
    } else {
      place const p = ahead[round].words;
      change({p.owner, p.address + offset}, engine::word_operation::set, value);
    }
  }
  ATOLL_ANYWHERE void tell_across(std::size_t round, std::size_t offset, std::uint64_t value,
                                  std::uint64_t stamp) const {
    if (std::uint64_t const here = here_of(across, near_across, round)) {
      words::store_stamped(reinterpret_cast<stamped*>(here + offset), value, stamp);
      return;
    }
    place const p = across[round].words;
    put_by_host({p.owner, p.address + offset}, {0, value}, sizeof value,
                {p.owner, p.address + offset + sizeof value}, engine::word_operation::set, stamp);
  }
  /// The host copies `bytes` of `from`, or the first of its address if it has no owner, and then changes the
  /// word; unless that is an addition, to a word to which devices add by themselves.
  ATOLL_ANYWHERE void put_by_host(place to, place from, std::size_t bytes, place word,
                                  engine::word_operation operation, std::uint64_t operand) const {
    bool const apart = operation == engine::word_operation::add && is_atomic(word) &&
                       find(word, sizeof(std::uint64_t)) != nullptr;
    engine::kernel_request r =
        request(from.owner == 0 ? engine::kernel_call::put_value : engine::kernel_call::put, word,
                apart ? engine::word_operation::none : operation, operand);
    r.to_owner = to.owner;
    r.to = to.address;
    r.from_owner = from.owner;
    r.from = from.address;
    r.bytes = bytes;
    ask(r);
    if (apart && wait_for_host()) change(word, operation, operand);
  }
};

}  // namespace atl::inline UPCXX_MODE::device
