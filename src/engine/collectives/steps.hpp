#pragma once

/// Messages between the members of a team that belong to one step of a collective.

#include <cstddef>
#include <cstdint>

#include "engine/collectives/collective.hpp"

namespace atl::engine {

/// Front of a step message's payload.
struct step_header {
  std::uint64_t team;
  collective_signature signature;
  std::uint32_t number;
  std::uint32_t history;
  std::uint32_t tag;
  std::uint32_t data;     ///< where the data begin, from the start of the message
  std::byte padding[16];  ///< the data behind are aligned like the message: they are used where they are
};
static_assert((transport::header_bytes + sizeof(step_header)) % transport::buffer_alignment == 0);

step_header header_of(transport::message const& m);

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

// Tags below are numbers of rounds.
constexpr std::uint32_t broadcast_tag = 1U << 16;
constexpr std::uint32_t gather_tag = 1U << 17;

}  // namespace atl::engine
