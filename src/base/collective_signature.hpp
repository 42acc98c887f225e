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
  atomic_domain,
  device_allocator,
};

/// Kind in the upper 5 bits, root + 1 (0: none) in the next 19, the operation of a reduction in 8, bytes (of
/// team::create: a hash of the list) in the lower 32; what does not fit is cut off.
using collective_signature = std::uint64_t;

constexpr unsigned signature_kind_shift = 59;
constexpr unsigned signature_root_shift = 40;
constexpr std::uint64_t signature_root_mask =
    (std::uint64_t{1} << (signature_kind_shift - signature_root_shift)) - 1;
constexpr unsigned signature_operation_shift = 32;

constexpr collective_signature sign(collective_kind kind, std::int32_t root = -1, std::size_t bytes = 0,
                                    std::uint8_t operation = 0) {
  return std::uint64_t{static_cast<std::uint8_t>(kind)} << signature_kind_shift |
         (static_cast<std::uint64_t>(root + 1) & signature_root_mask) << signature_root_shift |
         std::uint64_t{operation} << signature_operation_shift | (bytes & 0xffffffffU);
}

/// Without the operation.
constexpr collective_signature without_operation(collective_signature what) {
  return what & ~(std::uint64_t{0xff} << signature_operation_shift);
}

constexpr collective_kind kind_of(collective_signature what) {
  return static_cast<collective_kind>(what >> signature_kind_shift);
}

/// Without the list of team::create, which differs between the members of a parent: each list is a new team.
constexpr collective_signature without_list(collective_signature what) {
  return kind_of(what) == collective_kind::create ? sign(collective_kind::create) : what;
}

constexpr unsigned operation_of(collective_signature what) {
  return static_cast<unsigned>(what >> signature_operation_shift & 0xffU);
}

// Codes of operations. 0: nothing is known. Those up to `predefined_operations`: see operation_code() in
// upcxx/collectives.hpp. Above: one of the program's own, on elements of a size up to `largest_told`, or larger ones.
constexpr unsigned predefined_operations = 140;
constexpr unsigned largest_told = 96;

constexpr std::uint8_t own_operation(std::size_t element_bytes) {
  constexpr std::size_t codes_left = 255 - predefined_operations - largest_told;
  bool const told = element_bytes <= largest_told;
  std::size_t const size = told ? element_bytes : largest_told + 1 + element_bytes / 8 % codes_left;
  return static_cast<std::uint8_t>(predefined_operations + size);
}
constexpr bool is_own_operation(unsigned code) { return code > predefined_operations; }

/// May two ranks mean the same? One of the program's own may stand for any on elements of the same size.
constexpr bool operations_match(unsigned a, unsigned b) {
  if (a == b || a == 0 || b == 0) return true;
  // Types larger than 8 bytes have sizes that differ between machines.
  auto const as_own = [](unsigned code) -> unsigned {
    unsigned const size = (code - 1) % 5;
    return is_own_operation(code) ? code : size == 4 ? 0 : own_operation(std::size_t{1} << size);
  };
  return is_own_operation(a) != is_own_operation(b) &&
         (as_own(a) == as_own(b) || as_own(a) == 0 || as_own(b) == 0);
}

/// Do two ranks mean the same?
constexpr bool matches(collective_signature a, collective_signature b) {
  return a == b ||
         (without_operation(a) == without_operation(b) && operations_match(operation_of(a), operation_of(b)));
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
