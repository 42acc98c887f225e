#pragma once

/// Messages between the members of a team that belong to one step of a collective.

#include <cstddef>
#include <cstdint>

#include "engine/collectives/block_row.hpp"
#include "engine/collectives/collective.hpp"

namespace atl::engine {

/// Front of a step message's payload.
struct step_header {
  std::uint64_t team;
  collective_signature signature;
  std::uint32_t number;
  std::uint32_t history;
  std::uint32_t tag;
  std::uint32_t data;  ///< where the data begin, from the start of the message: they are used where they are
  std::uint64_t at;    ///< place of the data in what they are part of; grants: how many segments
  std::uint64_t more;  ///< of objects: the alignment of what follows
};
static_assert((transport::header_bytes + sizeof(step_header)) % transport::buffer_alignment == 0);

step_header header_of(transport::message const& m);

/// What a step message says, and brings along.
struct step {
  std::uint32_t tag;
  std::uint64_t at = 0;
  std::uint64_t more = 0;
  void const* data = nullptr;
  std::size_t bytes = 0;
  std::size_t alignment = transport::buffer_alignment;
  row_view const* row = nullptr;  ///< where the data are if not in one piece: there from `at` on
};

/// Sends a step of collective `c`. Never waits and never throws: false if there is no memory for it now, so
/// that the caller keeps what it has to send and tries again in a later advance().
[[nodiscard]] bool send_step(collective const& c, std::int32_t world_rank, step const& what);
/// The same of one without data, which always goes. Counted in `kept_back` until its receiver gets it without this rank's progress.
void send_counted_step(collective const& c, std::int32_t world_rank, step const& what,
                       std::uint32_t& kept_back);
/// For tests: told of each step that is sent. Null otherwise.
extern void (*step_watcher)(std::int32_t world_rank, step const& what);
/// Takes the arrived message with this tag, from this rank of the job (-1: any), or null. The caller releases it.
transport::message* take_step(collective& c, std::uint32_t tag, std::int32_t world_rank = -1);
/// The same of one place.
transport::message* take_step_at(collective& c, std::uint32_t tag, std::int32_t world_rank, std::uint64_t at);

/// Data of a step message.
struct step_data {
  std::byte const* data;
  std::size_t bytes;
  std::size_t alignment;
};
step_data data_of(transport::message const& m);

// What a step is for. Numbers of rounds are added to the ones that have rounds.
constexpr std::uint32_t round_tag = 0;
constexpr std::uint32_t up_tag = 1U << 15;
constexpr std::uint32_t down_tag = 1U << 16;
constexpr std::uint32_t gather_tag = 1U << 17;
constexpr std::uint32_t flat_tag = 1U << 22;   ///< ranks are added
constexpr std::uint32_t body_tag = 1U << 30;   ///< added: what follows the head of an object
constexpr std::uint32_t grant_tag = 1U << 31;  ///< added: the receiver of such steps lets their sender go on

/// Up to so much goes ahead unasked: with the headers, a message that travels in a ring.
constexpr std::size_t eager_bytes = std::size_t{2048} - transport::header_bytes - sizeof(step_header);

}  // namespace atl::engine
