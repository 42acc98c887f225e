// Collectives in streams that a kernel of each rank does, and reductions.

#include <array>
#include <span>

#include <atoll/engine/streams.hpp>

#include "engine/copies/copies.hpp"
#include "engine/progress/guard.hpp"
#include "memory/program_streams.hpp"

namespace atl::engine {

using memory::rank_exchange;

static_assert(stream_exchange::most_ranks == rank_exchange::most_ranks);

std::size_t stream_exchange::words_for(std::size_t ranks) noexcept { return rank_exchange::words_for(ranks); }

std::size_t stream_exchange::landing_bytes() noexcept { return rank_exchange::landing_bytes; }
bool stream_exchange::is_little(std::size_t bytes, std::int32_t ranks, std::int32_t root) noexcept {
  return rank_exchange::is_few(bytes, ranks, root);
}

bool device_copies::can_exchange(memory::kind& kind, int device, memory_place place, std::size_t bytes) {
  if (kind.streams() == nullptr) return false;
  copy_place const found = segments_.resolve(place, bytes);
  return found.device != nullptr && !found.out_of_reach() && found.device->kind == &kind &&
         kind.streams()->can_exchange(device, found.end());
}

void device_copies::exchange_in(stream_name s, stream_exchange const& what, exchange_part part) {
  memory::kind& kind = kind_of_stream(s);
  rank_exchange how{};
  how.bytes = what.bytes;
  how.me = what.me;
  how.ranks = what.ranks;
  how.root = what.root;
  how.in_parts = what.in_parts;
  how.steps = part == exchange_part::all     ? rank_exchange::all_steps
              : part == exchange_part::begin ? rank_exchange::opens
                                             : rank_exchange::closes;
  if (what.landing != nullptr) how.landing[0] = what.landing[0].address;
  how.choose();
  auto const ranks = static_cast<std::size_t>(what.ranks);
  std::size_t const received = (what.root < 0 ? ranks : 1) * what.bytes;
  constexpr std::size_t most = 3 * stream_exchange::most_ranks + 1;
  memory::exchange_ends ends;
  std::array<copy_place, most> places;
  std::array<copy_place const*, most> used{};
  std::size_t count = 0;
  auto const find = [&](memory_place place, std::size_t bytes) {
    places[count] = segments_.resolve(place, bytes);
    used[count] = &places[count];
    return places[count++].end();
  };
  for (std::size_t r = 0; r < ranks; ++r) {
    ends.to[r] = find(what.to[r], received);
    ends.words[r] = find(what.words[r], rank_exchange::words_for(ranks) * sizeof(std::uint64_t));
    if (how.few) ends.landing[r] = find(what.landing[r], rank_exchange::landing_bytes);
  }
  if (part == exchange_part::all && what.from.address != 0)
    ends.from = find(what.from, (what.in_parts ? ranks : 1) * what.bytes);
  kind.streams()->exchange(s.handle, how, ends);
  note_uses(kind, s, std::span(used).first(count));
  note_operation(kind, s);
}

void device_copies::reduce_in(stream_name s, stream_reduction_call const& what) {
  memory::kind& kind = kind_of_stream(s);
  memory::array_reduction how{0,
                              0,
                              what.stride,
                              what.count,
                              what.arrays,
                              static_cast<memory::array_reduction::operation>(what.what),
                              static_cast<memory::array_reduction::element>(what.of)};
  std::size_t const bytes = what.count * how.bytes_of_element();
  copy_place const to = segments_.resolve(what.to, bytes);
  copy_place const from = segments_.resolve(what.from, (what.arrays - 1) * what.stride + bytes);
  kind.streams()->reduce(s.handle, how, to.end(), from.end());
  note_uses(kind, s, {&to, &from});
  note_operation(kind, s);
}

bool can_reduce_in_stream(unsigned kind, int device) {
  guard const held;
  memory::kind* const found = device_copies::here().segments().find_kind(static_cast<memory::kind_id>(kind));
  return found != nullptr && found->streams() != nullptr && found->streams()->can_reduce(device);
}

void start_reduction(stream_name s, stream_reduction_call const& what) {
  guard const held;
  device_copies::here().reduce_in(s, what);
}

bool can_exchange(unsigned kind, int device, memory_place place, std::size_t bytes) {
  guard const held;
  device_copies& all = device_copies::here();
  memory::kind* const found = all.segments().find_kind(static_cast<memory::kind_id>(kind));
  return found != nullptr && all.can_exchange(*found, device, place, bytes);
}

void start_exchange(stream_name s, stream_exchange const& what, exchange_part part) {
  guard const held;
  device_copies::here().exchange_in(s, what, part);
}

}  // namespace atl::engine
