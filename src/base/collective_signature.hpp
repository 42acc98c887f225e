#pragma once

/// What a rank called, in one word: compared among the members of a team, and shown to people.

#include <cstddef>
#include <cstdint>
#include <string>

namespace atl {

enum class collective_kind : std::uint8_t {
  none,
  barrier,
  broadcast,
  reduce_one,
  reduce_all,
  gather,
  split,
  create,
  destroy,
  broadcast_object,
  reduce_one_object,
  reduce_all_object,
};

/// Kind in the upper 4 bits, root + 1 (0: none) in the next 24, bytes in the lower 36; what does not fit is
/// cut off.
using collective_signature = std::uint64_t;

constexpr collective_signature sign(collective_kind kind, std::int32_t root = -1, std::size_t bytes = 0) {
  return std::uint64_t{static_cast<std::uint8_t>(kind)} << 60U |
         (static_cast<std::uint64_t>(root + 1) & 0xffffffU) << 36U | (bytes & 0xfffffffffU);
}

/// For example "broadcast of 8 bytes from rank 3".
std::string describe(collective_signature what);

/// Name of a team for people, from its id.
std::string describe_team(std::uint64_t id);

}  // namespace atl
