#pragma once

/// What all ranks do in one phase, and the model of what comes of it. Every rank draws the same plan from the
/// seed, so it knows what each of the others does, and what its own memory must hold at the end.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace soak {

/// splitmix64.
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) { return bits() % n; }
  int rank(int n) { return static_cast<int>(below(static_cast<std::uint64_t>(n))); }

 private:
  std::uint64_t state_;
};

/// A value that follows from where it comes from.
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return random_numbers(a * 0x100000001b3U ^ b).bits();
}

/// Words in the shared memory of each rank. Half of them are written in a phase, the others are read. The
/// last few of each half belong to atomic operations.
inline constexpr std::uint32_t half_words = 4096;
inline constexpr std::uint32_t atomic_words = 4;
inline constexpr std::uint32_t plain_words = half_words - atomic_words;
/// Largest run of words of one operation.
inline constexpr std::uint32_t longest_run = 600;

enum class kind : std::uint8_t {
  put,            ///< one word, by value
  put_many,       ///< a run of words
  put_and_tell,   ///< a run, and a call at the target when it is there
  get,            ///< one word
  get_many,       ///< a run
  copy_between,   ///< a run from one rank to another, started by a third
  copy_and_tell,  ///< the same, and a call at the destination
  call,           ///< values there and back
  tell,           ///< no answer
  pass_on,        ///< a call that goes on through other ranks before it is answered
  relay,          ///< messages without answer through other ranks
  fetch,          ///< a distributed object's value
  view,           ///< a view of strings
  call_later,     ///< the target answers with the value of a get that it starts
  local_call,     ///< an lpc
  lend,           ///< memory that the target writes to and that is freed then
  put_strided,    ///< a rectangle of words
  get_irregular,  ///< two runs of words
  atomic_add,     ///< on a word that others add to as well
  atomic_load,    ///< of a word that was added to in the phase before
  count_,         ///< number of the kinds above
  // Collective: in the same order on all ranks.
  barrier_now,
  barrier_later,
  broadcast_word,
  broadcast_many,
  reduce_to_all,
  reduce_to_one,
  collective_end_
};
inline constexpr int point_to_point_kinds = static_cast<int>(kind::count_);
inline constexpr int collective_kinds =
    static_cast<int>(kind::collective_end_) - static_cast<int>(kind::barrier_now);

struct operation {
  kind what;
  bool subteam = false;  ///< of collectives: over the phase's smaller teams
  std::uint32_t number = 0;
  int initiator = 0;
  int target = 0;
  int other = 0;
  std::uint32_t from = 0;   ///< word that is read
  std::uint32_t to = 0;     ///< word that is written
  std::uint32_t count = 0;  ///< words
  std::uint64_t value = 0;
};

/// All shared words of all ranks, and what was told to each rank.
class model {
 public:
  explicit model(int ranks)
      : ranks_(ranks),
        words_(static_cast<std::size_t>(ranks) * 2 * half_words),
        told_(ranks),
        tales_(ranks) {}

  std::uint64_t& word(int rank, std::uint32_t index) {
    return words_[static_cast<std::size_t>(rank) * 2 * half_words + index];
  }
  /// Sum and number of the values that were told to a rank.
  std::uint64_t& told(int rank) { return told_[static_cast<std::size_t>(rank)]; }
  std::uint64_t& tales(int rank) { return tales_[static_cast<std::size_t>(rank)]; }
  void tell(int rank, std::uint64_t value) {
    told(rank) += value;
    ++tales(rank);
  }
  int ranks() const { return ranks_; }

 private:
  int ranks_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> told_;
  std::vector<std::uint64_t> tales_;
};

/// The word that a run of `value` writes at its place `i`.
inline std::uint64_t nth(std::uint64_t value, std::uint32_t i) { return value + i * 0x9e3779b97f4a7c15U; }

/// The teams that a phase's ranks are split into: members are ordered by key, then by rank.
struct splitting {
  std::vector<int> color;  ///< by rank; negative: in none. Empty: nothing is split in this phase
  std::vector<int> key;
  /// Members of the team that `rank` is in.
  std::vector<int> members_with(int rank) const;
};
splitting draw_teams(random_numbers& r, int ranks);

/// Draws a phase of `operations` and carries them out in the model. Words that are written are written once,
/// and not read: within a phase, order does not matter.
std::vector<operation> draw(random_numbers& r, model& m, std::uint32_t phase, std::uint32_t operations);

}  // namespace soak
