#pragma once

/// Collectives under way. Two families:
///
/// flat      teams whose members are exactly the ranks of this host, small payloads: each rank writes its
///           contribution with a sequence number into one line of its own region and reads everybody's. One
///           line of traffic per pair, no tree latency, no contended counter; best also when ranks outnumber
///           cores, since nobody depends on anybody being scheduled in between. Lines alternate by parity: a
///           rank starts collective k+2 only after k+1 is complete, for which everyone has started k+1, so
///           has left k.
/// messages  any team, any size: binomial trees and dissemination by active messages.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <atoll/engine/team.hpp>
#include <atoll/transport/message.hpp>

#include "engine/teams.hpp"

namespace atl::engine {

/// One collective in this process.
struct collective {
  team_data* team = nullptr;
  on_done done{};
  std::uint32_t number = 0;                  ///< by messages: order among those of the team
  std::vector<transport::message*> arrived;  ///< by messages: not yet consumed

  virtual ~collective() = default;
  /// Flat: publish the contribution. Messages: first sends.
  virtual void begin() = 0;
  /// Goes on as far as possible; true when complete.
  virtual bool advance() = 0;
};

/// Registers and starts a collective by messages.
void launch(collective* c);
/// Queues a flat collective on its team's channel.
void launch_flat(collective* c);
/// Goes on with all that is open; true if one completed.
bool advance_collectives();
/// Some collective is open.
bool collectives_open();
/// Drops everything (stop).
void drop_collectives();

/// Flat channel primitives (flat.cpp).
bool has_flat_channel(team_data const& team);
void flat_publish(team_data& team, void const* payload, std::size_t bytes);
/// True once all members' lines of the current sequence are there; `seen` remembers how far it looked.
bool flat_complete(team_data const& team, std::uint32_t& seen);
std::byte const* flat_payload_of(team_data const& team, std::uint32_t member);

/// Sends to `team_rank` a message of collective `c` with a step tag.
void send_step(collective const& c, std::int32_t team_rank, std::uint32_t tag, void const* data,
               std::size_t bytes);
/// Takes the arrived message with this tag, or null. The caller releases it.
transport::message* take_step(collective& c, std::uint32_t tag);
/// Data of a step message.
struct step_data {
  std::byte const* data;
  std::size_t bytes;
};
step_data data_of(transport::message const& m);

}  // namespace atl::engine
