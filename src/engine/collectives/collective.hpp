#pragma once

/// Collectives under way. Two families:
///
/// flat      teams whose members are all on this host and that have a channel (flat.hpp): by lines and blocks
///           of shared memory that everybody reads.
/// messages  any team, any size: binomial trees and dissemination by active messages.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <atoll/engine/collectives.hpp>
#include <atoll/transport/message.hpp>

#include "base/collective_signature.hpp"
#include "engine/collectives/teams.hpp"

namespace atl::engine {

/// One call as its team counts it.
struct noted_call {
  collective_signature signature = 0;
  std::uint32_t number = 0;   ///< order among those of the team
  std::uint32_t history = 0;  ///< hash of all that was called up to this one
};

/// One collective in this process.
struct collective {
  team_data* team = nullptr;   ///< who takes part
  team_data* route = nullptr;  ///< whose number it has and through which its messages are found: `team`, but
                               ///< while a team is created, its parent
  on_done done{};
  noted_call call;
  std::vector<transport::message*> arrived;  ///< by messages: not yet consumed

  virtual ~collective() = default;
  /// First sends or publication, as far as there is room.
  virtual void begin() = 0;
  /// Goes on as far as possible; true when complete.
  virtual bool advance() = 0;
};

/// Makes a collective of type `Collective` on `team`.
template <class Collective, class... Args>
Collective* make(team_view& team, collective_signature signature, on_done done, Args const&... args) {
  auto* const c = new Collective(args...);
  c->team = c->route = static_cast<team_data*>(&team);
  c->call.signature = signature;
  c->done = done;
  return c;
}

/// What is reduced, and how.
struct reduction {
  void const* source;
  void* target;  ///< may be the source; null where nobody wants the result
  std::size_t count;
  std::size_t element_bytes;
  combine_function combine;
  void const* operation;
  std::int32_t root;  ///< negative: all

  std::size_t bytes() const { return count * element_bytes; }
  std::byte const* from() const { return static_cast<std::byte const*>(source); }
  std::byte* to() const { return static_cast<std::byte*>(target); }
  /// Its elements from `begin` on.
  reduction rest(std::size_t begin) const {
    reduction r = *this;
    r.source = from() + begin * element_bytes;
    if (target != nullptr) r.target = to() + begin * element_bytes;
    r.count -= begin;
    return r;
  }
};

/// Private memory for partial results, aligned for elements of any type of this size.
class scratch {
 public:
  scratch() = default;
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  ~scratch();
  std::byte* get(std::size_t count, std::size_t element_bytes);

 private:
  void* memory_ = nullptr;
  std::size_t alignment_ = 0;
};

/// Registers and starts a collective by messages.
void launch(collective* c);
/// Goes on by messages with what a flat collective could not do.
void launch_rest(collective& flat, collective* rest);
/// Queues a flat collective on its team's channel.
void launch_flat(collective* c);
/// Goes on with all that is open; true if one completed.
bool advance_collectives();
/// How many are open; written under the engine's lock.
extern std::atomic<std::size_t> open_collectives;
/// Some collective is open.
inline bool collectives_open() { return open_collectives.load(std::memory_order_relaxed) != 0; }
/// Drops everything (stop).
void drop_collectives();

/// Flags that somebody watches (flags.cpp) are progressed with the collectives and count as open ones.
bool advance_watches();
void count_watches(std::size_t watched);
void drop_watches();

/// Numbers a collective that starts now and notes it for comparisons; the guard is held.
noted_call note_collective(team_data& team, collective_signature signature) noexcept;
/// Ends the job: ranks called different things, or in different orders.
[[noreturn]] void mismatch(team_data const& team, noted_call const& mine, std::int32_t other,
                           collective_signature theirs);
/// Compares a peer's call of the same number with ours.
inline void compare(team_data const& team, noted_call const& mine, std::int32_t other,
                    collective_signature theirs, std::uint32_t their_history) {
  if ((mine.signature != theirs && !matches(mine.signature, theirs)) || mine.history != their_history)
      [[unlikely]]
    mismatch(team, mine, other, theirs);
}
/// Looks what peers of this host started last, and ends the job if it does not match. For waits that have
/// become long.
void look_for_mismatch() noexcept;
/// Shows the launcher what this rank started last.
void show_last_collective() noexcept;

/// A team that was just registered gets the messages that came for it before.
void adopt_orphans(team_data& team);

inline bool has_flat_channel(team_data const& team) { return team.channel >= 0; }
/// Local rank of a member of a team that has a channel.
std::uint32_t local_rank_of(team_data const& team, std::int32_t team_rank);

/// Like wait_barrier(), with another name.
void meet(team_view& team, collective_signature signature, bool (*progress)());

/// The others need these of collective_algorithms.cpp.
collective* make_dissemination(team_view& team, collective_signature signature, on_done done);
collective* make_tree_broadcast(team_view& team, collective_signature signature, on_done done, void* buffer,
                                std::size_t bytes, std::int32_t root);
collective* make_tree_reduce(team_view& team, collective_signature signature, on_done done,
                             reduction const& what);
collective* make_gather(team_view& team, collective_signature signature, on_done done, void const* mine,
                        std::size_t bytes, void* all);
/// flat_broadcast.cpp, flat_reduce.cpp: for teams with a channel.
collective* make_flat_broadcast(team_view& team, collective_signature signature, on_done done, void* buffer,
                                std::size_t bytes, std::int32_t root);
collective* make_flat_reduce(team_view& team, collective_signature signature, on_done done,
                             reduction const& what);

/// Sends to `team_rank` a message of collective `c` with a step tag.
void send_step(collective const& c, std::int32_t team_rank, std::uint32_t tag, void const* data,
               std::size_t bytes, std::size_t alignment = transport::buffer_alignment);
/// Takes the arrived message with this tag, or null. The caller releases it.
transport::message* take_step(collective& c, std::uint32_t tag);
/// Data of a step message.
struct step_data {
  std::byte const* data;
  std::size_t bytes;
  std::size_t alignment;
};
step_data data_of(transport::message const& m);

constexpr std::uint32_t broadcast_tag = 1U << 16;
constexpr std::uint32_t gather_tag = 1U << 17;

/// A rank's place in the binomial tree over ranks relative to the root: the parent of v is v without its
/// lowest set bit.
struct tree_place {
  std::int32_t n;
  std::int32_t root;
  std::int32_t v;  ///< this rank, relative to the root

  tree_place(collective const& c, std::int32_t tree_root)
      : n(c.team->rank_n), root(tree_root), v((c.team->rank_me - tree_root + n) % n) {}
  std::int32_t rank_of(std::int32_t relative) const { return (relative + root) % n; }
};
void send_to_children(collective const& c, std::int32_t root, void const* data, std::size_t bytes,
                      std::size_t alignment = transport::buffer_alignment);

}  // namespace atl::engine
