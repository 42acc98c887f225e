#pragma once

/// Collectives under way. Two families:
///
/// flat      teams whose members are all on this host and that have a channel; barriers and reductions to
/// all.
///           Each rank publishes its contribution with a sequence number in one line of its own region and
///           reads everybody's. One line of traffic per pair, no tree latency, no contended counter; best
///           also when ranks outnumber cores, since nobody depends on anybody being scheduled in between.
///           Lines alternate by parity: a rank publishes k+2 only after k+1 is complete, for which everyone
///           has published k+1, so has left k.
/// messages  any team, any size: binomial trees and dissemination by active messages.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <atoll/engine/team.hpp>
#include <atoll/transport/message.hpp>

#include "base/collective_signature.hpp"
#include "engine/teams.hpp"

namespace atl::engine {

/// One collective in this process.
struct collective {
  team_data* team = nullptr;   ///< who takes part
  team_data* route = nullptr;  ///< whose number it has and through which its messages are found: `team`, but
                               ///< while a team is created, its parent
  on_done done{};
  collective_signature signature = 0;
  std::uint32_t number = 0;                  ///< order among those of `route`
  std::vector<transport::message*> arrived;  ///< by messages: not yet consumed

  virtual ~collective() = default;
  /// Flat: publish the contribution. Messages: first sends.
  virtual void begin() = 0;
  /// Goes on as far as possible; true when complete.
  virtual bool advance() = 0;
};

/// Makes a collective of type `Collective` on `team`.
template <class Collective, class... Args>
Collective* make(team_view& team, collective_signature signature, on_done done, Args... args) {
  auto* const c = new Collective(args...);
  c->team = c->route = static_cast<team_data*>(&team);
  c->signature = signature;
  c->done = done;
  return c;
}

/// Registers and starts a collective by messages.
void launch(collective* c);
/// The same for one that goes on with the number that it has.
void launch_numbered(collective* c);
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

/// Numbers a collective that starts now and notes it for comparisons; the guard is held.
std::uint32_t note_collective(team_data& team, collective_signature signature) noexcept;
/// Ends the job: ranks called different things, or in different orders.
[[noreturn]] void mismatch(team_data const& team, std::uint32_t number, collective_signature mine,
                           std::int32_t other, collective_signature theirs);
/// Looks what peers of this host started last, and ends the job if it does not match. For waits that have
/// become long.
void look_for_mismatch() noexcept;
/// Shows the launcher what this rank started last.
void show_last_collective() noexcept;

/// A team that was just registered gets the messages that came for it before.
void adopt_orphans(team_data& team);

/// Flat channel primitives (flat.cpp).
inline bool has_flat_channel(team_data const& team) { return team.channel >= 0; }
void flat_publish(team_data& team, std::uint32_t number, collective_signature signature, void const* payload,
                  std::size_t bytes);
/// True once all members' lines of the current sequence are there; `seen` remembers how far it looked.
bool flat_complete(team_data const& team, std::uint32_t& seen);
std::byte const* flat_payload_of(team_data const& team, std::int32_t team_rank);
/// Local rank of a member of a team that has a channel.
std::uint32_t local_rank_of(team_data const& team, std::int32_t team_rank);

/// The collectives of team_creation.cpp need these of collective_algorithms.cpp.
collective* make_dissemination(team_view& team, collective_signature signature, on_done done);
collective* make_tree_reduce(team_view& team, collective_signature signature, on_done done, void* target,
                             std::size_t count, std::size_t element_bytes, combine_function combine,
                             void const* operation, std::int32_t root);
collective* make_gather(team_view& team, collective_signature signature, on_done done, void const* mine,
                        std::size_t bytes, void* all);
/// flat_reduce.cpp. Null where the tree by messages must be used: no channel, or elements of odd alignment.
collective* make_flat_reduce(team_view& team, collective_signature signature, on_done done, void* target,
                             std::size_t count, std::size_t element_bytes, combine_function combine,
                             void const* operation);

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
