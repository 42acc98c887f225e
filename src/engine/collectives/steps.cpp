#include "engine/collectives/steps.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <atoll/base/exceptions.hpp>
#include <atoll/engine/am.hpp>

#include "engine/collectives/under_way.hpp"
#include "engine/progress/messages.hpp"
#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

void (*step_watcher)(std::int32_t, step const&) = nullptr;

namespace {

/// Bytes from the start of a step message to its data.
std::size_t data_offset(std::size_t alignment) {
  return std::max(alignment, header_bytes + sizeof(step_header));
}

/// A value takes the words of the header that it does not need, so that it travels in one line.
constexpr std::size_t inline_offset = header_bytes + offsetof(step_header, at);
constexpr std::size_t inline_bytes = sizeof(step_header::at) + sizeof(step_header::more);
static_assert(inline_offset % inline_bytes == 0, "values are used where they are");

bool fits_header(step const& what) { return what.bytes - 1 < inline_bytes && what.at == 0 && what.more == 0; }

void step_arrived(message* m) { collectives_under_way::here().take_in(m); }

/// The one place where "no memory now" is heard of. What is small is sent in any case: there is little of it, and
/// others may need it before they can use what takes the memory.
bool begin_step(outgoing& out, std::int32_t target, std::size_t bytes, std::size_t alignment, bool small) {
  try {
    am_begin(out, target, bytes, small ? pressure::always : pressure::park, alignment);
  } catch (bad_shared_alloc const&) {
    // Nothing leaves that would make room for one that is longer than the limit.
    if (progress_engine::here().shm.memory().outgoing() != 0) return false;
    am_begin(out, target, bytes, pressure::always, alignment);
  }
  return true;
}

/// Takes out of what has arrived the first message that `wanted` is true for.
template <class Wanted>
message* take_if(collective& c, Wanted wanted) {
  for (auto it = c.arrived.begin(); it != c.arrived.end(); ++it) {
    if (!wanted(**it)) continue;
    message* const m = *it;
    c.arrived.erase(it);
    return m;
  }
  return nullptr;
}

}  // namespace

step_header header_of(message const& m) {
  step_header h;
  std::memcpy(&h, m.payload(), offsetof(step_header, at));
  h.at = h.more = 0;
  if (h.data != inline_offset) std::memcpy(&h.at, m.payload() + offsetof(step_header, at), inline_bytes);
  return h;
}

bool send_step(collective const& c, std::int32_t world_rank, step const& what) {
  outgoing out;
  std::size_t const offset = fits_header(what) ? inline_offset : data_offset(what.alignment);
  std::size_t const total = offset + what.bytes;
  if (!begin_step(out, world_rank, std::max(total, header_bytes + sizeof(step_header)), what.alignment,
                  what.bytes <= eager_bytes))
    return false;
  step_header const h{c.route->id,    c.call.signature, c.call.number,
                      c.call.history, what.tag,         static_cast<std::uint32_t>(offset),
                      what.at,        what.more};
  std::memcpy(out.begin + header_bytes, &h, sizeof h);
  if (what.row != nullptr) {
    what.row->copy_out(what.at, out.begin + offset, what.bytes);
  } else if (out.where == transport::storage::arena) {
    progress_engine::here().shm.copy_for(world_rank, out.begin + offset,
                                         static_cast<std::byte const*>(what.data), what.bytes);
  } else if (what.bytes != 0) {
    std::memcpy(out.begin + offset, what.data, what.bytes);
  }
  am_commit(out, message_kind::active, token_cache<&step_arrived>::get(), total);
  if (step_watcher != nullptr) [[unlikely]]
    step_watcher(world_rank, what);
  return true;
}

void send_counted_step(collective const& c, std::int32_t world_rank, step const& what,
                       std::uint32_t& kept_back) {
  constexpr auto data = static_cast<std::uint32_t>(header_bytes + sizeof(step_header));
  step_header const h{c.route->id, c.call.signature, c.call.number, c.call.history, what.tag,
                      data,        what.at,          what.more};
  am_counted(world_rank, token_cache<&step_arrived>::get(), &h, sizeof h, kept_back);
  if (step_watcher != nullptr) [[unlikely]]
    step_watcher(world_rank, what);
}

message* take_step(collective& c, std::uint32_t tag, std::int32_t world_rank) {
  return take_if(c, [&](message const& m) {
    return (world_rank < 0 || m.source == world_rank) && header_of(m).tag == tag;
  });
}

message* take_step_at(collective& c, std::uint32_t tag, std::int32_t world_rank, std::uint64_t at) {
  return take_if(c, [&](message const& m) {
    if (m.source != world_rank) return false;
    step_header const h = header_of(m);
    return h.tag == tag && h.at == at;
  });
}

step_data data_of(message const& m) {
  // send_step() put the data at a multiple of their alignment, as near as the header allows.
  std::size_t const offset = header_of(m).data;
  return {m.base + offset, m.bytes - offset, offset};
}

}  // namespace atl::engine
