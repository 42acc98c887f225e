#pragma once

/// What messages cost, after LogGP (Alexandrov and others, 1995): a message of n bytes takes a processor `overhead` to send
/// and as much to receive, occupies the adapter of its host for the larger of `gap` and n times `per_byte`, and is
/// `latency` on its way.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace atl::scale {

using picoseconds = std::int64_t;

struct costs {
  std::string_view name;
  std::string_view meaning;
  picoseconds latency;
  picoseconds overhead;
  picoseconds gap;
  picoseconds per_byte;
};

// Where the numbers come from: docs/design/scale.md.
inline constexpr costs networks[] = {
    {"slingshot", "HPE Slingshot, 200 Gbit/s", 1'300'000, 250'000, 10'000, 40},
    {"ndr", "InfiniBand NDR, 400 Gbit/s", 800'000, 200'000, 5'000, 20},
    {"tcp", "TCP over Ethernet, 25 Gbit/s", 15'000'000, 4'000'000, 100'000, 320},
};

/// Inside a host: until a line that was published is there at a reader, and what each line takes who reads several.
inline constexpr picoseconds line_latency = 100'000;
inline constexpr picoseconds line_gap = 20'000;
/// Messages inside a host: what one costs its sender and its receiver, and a byte of it.
inline constexpr picoseconds inside_overhead = 50'000;
inline constexpr picoseconds inside_per_byte = 100;

/// The launcher's service: a request to the server of the own host until its answer, and what each takes the server, which answers one after
/// the other. What has been collected for all is asked for within the process: the library's thread answers.
inline constexpr picoseconds server_answers = 30'000'000;
inline constexpr picoseconds server_busy = 10'000'000;
inline constexpr picoseconds collected_is_got = 9'000'000;
/// Beside name and bytes of what a rank leaves, when servers collect it.
inline constexpr std::size_t collected_header = 16;

/// Null if there is none of that name.
constexpr costs const* find_network(std::string_view name) {
  for (costs const& c : networks) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

}  // namespace atl::scale
