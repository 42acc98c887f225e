#include "engine/collectives/steps.hpp"

#include <algorithm>
#include <cstring>

#include <atoll/engine/am.hpp>

#include "engine/collectives/under_way.hpp"

namespace atl::engine {
namespace {

/// Bytes from the start of a step message to its data.
std::size_t data_offset(std::size_t alignment) {
  return std::max(alignment, header_bytes + sizeof(step_header));
}

void step_arrived(message* m) { collectives_under_way::here().take_in(m); }

}  // namespace

step_header header_of(message const& m) {
  step_header h;
  std::memcpy(&h, m.payload(), sizeof h);
  return h;
}

void send_step(collective const& c, std::int32_t team_rank, std::uint32_t tag, void const* data,
               std::size_t bytes, std::size_t alignment) {
  outgoing out;
  std::size_t const offset = data_offset(alignment);
  std::size_t const total = offset + bytes;
  am_begin(out, c.team->to_world(team_rank), total, pressure::park, alignment);
  step_header const h{
      c.route->id, c.call.signature, c.call.number, c.call.history, tag, static_cast<std::uint32_t>(offset),
      {}};
  std::memcpy(out.begin + header_bytes, &h, sizeof h);
  if (bytes != 0) std::memcpy(out.begin + offset, data, bytes);
  am_commit(out, message_kind::active, token_cache<&step_arrived>::get(), total);
}

message* take_step(collective& c, std::uint32_t tag) {
  for (auto it = c.arrived.begin(); it != c.arrived.end(); ++it) {
    if (header_of(**it).tag != tag) continue;
    message* const m = *it;
    c.arrived.erase(it);
    return m;
  }
  return nullptr;
}

step_data data_of(message const& m) {
  // send_step() put the data at a multiple of their alignment, as near as the header allows.
  std::size_t const offset = header_of(m).data;
  return {m.base + offset, m.bytes - offset, offset};
}

}  // namespace atl::engine
