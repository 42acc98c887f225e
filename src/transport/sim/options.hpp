#pragma once

/// What kind of network the simulated one is: one text, such as `latency=20us,bandwidth=10GB/s,ordered=yes`.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "transport/network_types.hpp"

namespace atl::transport::sim {

enum class atomics_offered : std::uint8_t {
  no,
  integers,  ///< no minimum, maximum, multiplication or floating point, as over libucp
  yes,
};

/// At rest nothing bad happens, and what is off costs nothing. Percentages are chances.
struct options {
  std::uint64_t seed = 1;

  std::uint64_t latency_ns = 0;
  double bytes_per_ns = 0;  ///< what one rank may send; 0: unlimited

  std::uint32_t ring = 512;     ///< 64-byte cells of each queue of a rank; a power of two, at least 128
  std::size_t packet = 16384;   ///< bytes of data in a packet
  std::uint32_t packets = 16;   ///< of each queue of a rank; at most 64
  std::size_t eager = 0;        ///< longest message that does not go late; 0: one packet
  std::uint32_t window = 1024;  ///< operations under way to one peer, but for late messages
  std::uint32_t pieces = 16;    ///< of vector forms
  std::size_t longest = std::size_t{1} << 40;  ///< put or get

  unsigned delay = 8;        ///< most polls for which something that comes late is kept back
  unsigned reorder = 0;      ///< packets that are kept back, and so overtaken
  unsigned completions = 0;  ///< events that come late
  unsigned refuse = 0;       ///< starts that find no room
  unsigned connects = 0;     ///< connections that are refused, a few times
  unsigned misses = 0;       ///< keys that are not known, memory that is not reached; a few times
  unsigned errors = 0;       ///< operations that fail

  bool lockstep = false;                ///< one rank at a time
  std::uint64_t turn_ns = 500'000'000;  ///< longest that a rank may have to itself then
  bool passive = true;                  ///< no: nothing leaves but in poll()
  bool ordered = false;
  bool adapter = false;    ///< says that an adapter does remote memory without its owner's polls
  bool registers = false;  ///< local ends of puts and gets must be registered
  bool put = true;
  bool get = true;
  bool late = true;
  bool notified = true;
  bool vectors = true;
  bool gpu = true;
  atomics_offered atomics = atomics_offered::yes;
  bool coherent =
      true;  ///< no: what a processor does to a word while an atomic of the network is at it gets lost
  bool loopback = true;  ///< no: the own rank is no peer
  stale_key stale = stale_key::misses;
  loss_notice losses = loss_notice::always;
  std::size_t connections = 0;   ///< that are no burden; 0: any number
  std::uint64_t idle_ns = 0;     ///< what a fruitless poll costs at least
  std::uint64_t message_ns = 0;  ///< what a message is said to cost

  bool timed() const { return latency_ns != 0 || bytes_per_ns != 0; }
};

/// Reads `name=value,…`; `seed` is what it says without a name for it. `bad=yes` stands for a set of bad habits, which later names may change.
/// @throws startup_error with words.
options parse_options(std::string_view text, std::uint64_t seed = 1);

/// The same in words that parse_options() understands; empty if all is at rest.
std::string to_text(options const& what);

}  // namespace atl::transport::sim
