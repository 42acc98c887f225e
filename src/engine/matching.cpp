// Do all members of a team start the same collectives in the same order? What a rank called travels with its
// steps and publications, which finds most mistakes at once. What is left are ranks that wait for something
// that nobody sends: each rank notes in its region what it started last, and who has waited long looks there.

#include "base/error.hpp"
#include "engine/collective.hpp"
#include "engine/world.hpp"

namespace atl::engine {

namespace {

struct started {
  std::uint64_t team;
  collective_signature signature;
  std::uint32_t number;
};

/// The words are stored one by one, while others may read: only together with this do they mean anything.
std::uint64_t check_of(started const& s) {
  return (s.team * 0x9e3779b97f4a7c15U ^ s.signature) * 0xc2b2ae3d27d4eb4fU + s.number;
}

/// False if the words do not belong together.
bool read(shm::last_collective const& last, started& s) {
  s.team = last.team.load(std::memory_order_relaxed);
  s.signature = last.signature.load(std::memory_order_relaxed);
  s.number = last.number.load(std::memory_order_relaxed);
  return last.check.load(std::memory_order_relaxed) == check_of(s);
}

}  // namespace

std::uint32_t note_collective(team_data& team, collective_signature signature) noexcept {
  std::uint32_t const number = team.next_number++;
  team.called[number & (team_data::history_size - 1)] = signature;
  shm::last_collective& last = world->shm->own_control().last;
  last.team.store(team.id, std::memory_order_relaxed);
  last.number.store(number, std::memory_order_relaxed);
  last.signature.store(signature, std::memory_order_relaxed);
  last.check.store(check_of({team.id, signature, number}), std::memory_order_relaxed);
  return number;
}

void mismatch(team_data const& team, std::uint32_t number, collective_signature mine, std::int32_t other,
              collective_signature theirs) {
  fatal(
      "collectives",
      "ranks do not match: collective no. %u on %s is %s here (rank %d) but %s on rank %d. All members must "
      "start a team's collectives in the same order, with the same root, count and type.",
      number + 1, describe_team(team.id).c_str(), describe(mine).c_str(), job.rank_me,
      describe(theirs).c_str(), other);
}

void look_for_mismatch() noexcept {
  shm::endpoint const& shm = *world->shm;
  started mine{};
  if (!read(shm.own_control().last, mine)) return;
  auto const* const team = static_cast<team_data const*>(find_team(mine.team));
  if (team == nullptr) return;
  for (std::uint32_t r = 0; r < shm.config().count; ++r) {
    started theirs{};
    if (read(shm.control(r).last, theirs) && theirs.team == mine.team && theirs.number == mine.number &&
        theirs.signature != mine.signature)
      mismatch(*team, mine.number, mine.signature, shm.config().first + static_cast<std::int32_t>(r),
               theirs.signature);
  }
}

void show_last_collective() noexcept {
  started mine{};
  if (!read(world->shm->own_control().last, mine)) return;
  diagnostics->collective_number.store(mine.number, std::memory_order_relaxed);
  diagnostics->collective_signature.store(mine.signature, std::memory_order_relaxed);
  diagnostics->collective_team.store(mine.team, std::memory_order_relaxed);
}

}  // namespace atl::engine
