#pragma once

/// Do all members of a team start the same collectives in the same order? What a rank called travels with its
/// steps and publications, which finds most mistakes at once. What is left are ranks that wait for something
/// that nobody sends: each rank notes in its page what it started last, and who has waited long looks there.

#include <cstdint>
#include <span>
#include <vector>

#include "base/collective_signature.hpp"
#include "base/single.hpp"
#include "engine/collectives/collective.hpp"
#include "engine/host/host_domain.hpp"
#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

/// What this rank has started, on any team, for its peers to see.
class call_log final : public single<call_log> {
 public:
  /// Looks for mismatches from now on whenever a thread has waited for long.
  explicit call_log(progress_engine& engine);
  ~call_log();

  /// Under the engine's lock.
  void note(std::uint64_t team, noted_call const& call) noexcept;
  /// Shows the launcher what this rank started last.
  void show_last() const noexcept;

 private:
  progress_engine& engine_;
  std::uint32_t started_ = 0;  ///< collectives, ever
};

/// A collective that a rank has started.
struct started_call {
  std::uint64_t team;
  noted_call call;
};
/// What a rank shows of what it has started last, in no order.
std::vector<started_call> started_calls(rank_page const& of);

/// A peer's call with the number of one of ours that does not match, the first that both remember.
struct difference {
  bool found = false;
  std::uint64_t team = 0;
  noted_call mine;
  collective_signature theirs = 0;
};
difference find_difference(std::span<started_call const> own, std::span<started_call const> peer);
inline difference find_difference(rank_page const& own, rank_page const& peer) {
  return find_difference(started_calls(own), started_calls(peer));
}

/// Writes down what a rank has started; `started` counts all that it has started before.
void note_started(rank_page& own, std::uint32_t started, std::uint64_t team, noted_call const& call) noexcept;

/// Numbers a collective that starts now; under the engine's lock.
inline noted_call number_collective(team_data& team, collective_signature signature) noexcept {
  // The operation is left out: one of the program's own may stand for a predefined one.
  team.history = (team.history ^ without_operation(without_list(signature))) * 0x9e3779b97f4a7c15U + 1;
  team.history ^= team.history >> 29U;  // products carry differences upwards only
  return {signature, team.next_number++, static_cast<std::uint32_t>(team.history >> 32U)};
}
/// Writes it down, for comparisons; under the lock.
void note_collective(team_data& team, noted_call const& call) noexcept;
/// Both.
inline noted_call note_collective(team_data& team, collective_signature signature) noexcept {
  noted_call const call = number_collective(team, signature);
  note_collective(team, call);
  return call;
}

/// Ends the job: ranks called different things, or in different orders. Returns if the other rank is on another host
/// and is asked where it is: the job ends when it has answered, and what it sent is to be dropped.
void mismatch(team_data const& team, noted_call const& mine, std::int32_t other, collective_signature theirs);

struct told;
/// The same, with what the other rank has told.
[[noreturn]] void stop_over(team_data const& team, std::int32_t other, told const& what);

/// Compares a peer's call of the same number with ours; false as mismatch() returns.
inline bool compare(team_data const& team, noted_call const& mine, std::int32_t other,
                    collective_signature theirs, std::uint32_t their_history) {
  bool const same = mine.signature == theirs || matches(mine.signature, theirs);
  if (same && mine.history == their_history) [[likely]]
    return true;
  mismatch(team, mine, other, theirs);
  return false;
}

}  // namespace atl::engine
