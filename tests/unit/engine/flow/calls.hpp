#pragma once

/// What the ranks of a model do: calls, their answers, and pauses of user-level progress. And queues of bytes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace flow {

inline constexpr std::size_t most_ranks = 3;
inline constexpr std::size_t most_calls = 6;

/// A request, and what its callback does.
struct call {
  std::uint8_t from = 0;
  std::uint8_t to = 1;
  bool large = false;  ///< of its arguments
  bool answered = false;
  bool large_answer = false;
  std::int8_t sends = -1;  ///< call that its callback injects
  bool kept = false;       ///< its arguments stay until the call that tells has run
  bool tells = false;
  bool may_be_refused = false;
};

/// What a rank does after its injections, until it makes user-level progress for good.
enum class between : std::uint8_t {
  none,
  discharges,
  internal_for_a_while,
  discharges_and_goes,  ///< and makes no progress any more
};

/// An answer has the number of its call, and this more.
inline constexpr std::size_t answer = most_calls;
inline constexpr std::size_t most_messages = 2 * most_calls;

/// What each rank injects itself, in order: all but what callbacks send.
inline std::vector<std::vector<std::uint8_t>> injections(std::vector<call> const& calls, std::size_t ranks) {
  std::vector<bool> nested(calls.size());
  for (call const& each : calls) {
    if (each.sends >= 0) nested[static_cast<std::size_t>(each.sends)] = true;
  }
  std::vector<std::vector<std::uint8_t>> of_rank(ranks);
  for (std::size_t m = 0; m < calls.size(); ++m) {
    if (!nested[m]) of_rank[calls[m].from].push_back(static_cast<std::uint8_t>(m));
  }
  return of_rank;
}

// Queues: entries are not zero, the front one comes first.

template <std::size_t N>
std::size_t length(std::uint8_t const (&queue)[N]) {
  std::size_t n = 0;
  while (n < N && queue[n] != 0) ++n;
  return n;
}
template <std::size_t N>
void push(std::uint8_t (&queue)[N], std::size_t entry) {
  std::size_t const at = length(queue);
  if (at == N) std::abort();  // the model is wrong
  queue[at] = static_cast<std::uint8_t>(entry);
}
template <std::size_t N>
void remove(std::uint8_t (&queue)[N], std::size_t at) {
  for (; at + 1 < N; ++at) queue[at] = queue[at + 1];
  queue[N - 1] = 0;
}
template <std::size_t N>
std::size_t count_in(std::uint8_t const (&queue)[N], std::size_t entry) {
  std::size_t n = 0;
  for (std::uint8_t const each : queue) n += each == entry ? 1 : 0;
  return n;
}

}  // namespace flow
