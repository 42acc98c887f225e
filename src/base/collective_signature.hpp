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
  finalize,
  scatter,
  all_to_all,
  scan,
};

/// Kind in the upper 4 bits, root + 1 (0: none) in the next 20, the operation of a reduction in 8, bytes (of
/// team::create: a hash of the list) in the lower 32; what does not fit is cut off.
using collective_signature = std::uint64_t;

constexpr unsigned signature_root_shift = 40;
constexpr unsigned signature_operation_shift = 32;

constexpr collective_signature sign(collective_kind kind, std::int32_t root = -1, std::size_t bytes = 0,
                                    std::uint8_t operation = 0) {
  return std::uint64_t{static_cast<std::uint8_t>(kind)} << 60U |
         (static_cast<std::uint64_t>(root + 1) & 0xfffffU) << signature_root_shift |
         std::uint64_t{operation} << signature_operation_shift | (bytes & 0xffffffffU);
}

/// Without the operation.
constexpr collective_signature without_operation(collective_signature what) {
  return what & ~(std::uint64_t{0xff} << signature_operation_shift);
}

constexpr collective_kind kind_of(collective_signature what) {
  return static_cast<collective_kind>(what >> 60U);
}

/// Without the list of team::create, which differs between the members of a parent: each list is a new team.
constexpr collective_signature without_list(collective_signature what) {
  return kind_of(what) == collective_kind::create ? sign(collective_kind::create) : what;
}

/// Do two ranks mean the same? An operation of the program's own may stand for any.
constexpr bool matches(collective_signature a, collective_signature b) {
  auto const operation = [](collective_signature s) { return s >> signature_operation_shift & 0xffU; };
  return a == b || (without_operation(a) == without_operation(b) && (operation(a) == 0 || operation(b) == 0));
}

/// For example "broadcast of 8 bytes from rank 3".
std::string describe(collective_signature what);

/// Ids of what belongs to a team inside a host have one of these bits beside the team's.
constexpr std::uint64_t team_inside_up = std::uint64_t{1} << 63U;
constexpr std::uint64_t team_inside_down = std::uint64_t{1} << 62U;

/// Id of the team that this belongs to, or is.
constexpr std::uint64_t whole_team(std::uint64_t id) { return id & ~(team_inside_up | team_inside_down); }

/// Name of a team for people, from its id.
std::string describe_team(std::uint64_t id);

}  // namespace atl
