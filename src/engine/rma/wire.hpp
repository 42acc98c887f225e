#pragma once

/// What travels for transfers of remote memory, as bytes.
///
///   put       head, description, data             answered by an acknowledgement
///   put with  [the call] head, description,       the same; the call stands where that of a request does, so
///   notice    data, trailer                       that the message becomes the request
///   get       head, description                   answered by the data
///   atomic    its order                           answered by the value before
///   series    what they have in common, then      answered by one acknowledgement, or the values before
///             each put or atomic operation
///   parts     puts with flags for ranks of one    not answered
///             host, each behind its head

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <atoll/engine/rma.hpp>

namespace atl::engine::remote {

/// How the places at the owner are described, behind the head.
enum class form : std::uint8_t {
  contiguous,  ///< not at all: they begin at the head's offset
  runs,        ///< transfer_run, `count` of them
  box,         ///< bytes of an element, box_dimension for each of `count` dimensions; index 0 at the offset
};

/// Instead of a completion: nothing is acknowledged.
inline constexpr std::uint64_t nobody_waits = 0;

struct piece_head {
  std::uint64_t cookie;  ///< the initiator's completion
  std::uint64_t offset;  ///< in the owner's region
  std::uint32_t bytes;   ///< of data
  std::uint16_t count;
  std::uint8_t slot;  ///< which piece of the operation
  form shape;
};
static_assert(sizeof(piece_head) == 24);
/// The last word of a head whose places are contiguous, of the only piece: nothing but the number of bytes, on the machines there are.
constexpr std::uint64_t contiguous_head_word(std::uint32_t bytes) noexcept {
  static_assert(std::endian::native == std::endian::little && form{} == form::contiguous);
  static_assert(offsetof(piece_head, bytes) == 16);
  return bytes;
}

struct box_dimension {
  std::int64_t stride;
  std::uint64_t extent;
};

inline std::size_t description_bytes(piece_head const& head) noexcept {
  switch (head.shape) {
    case form::runs:
      return head.count * sizeof(transfer_run);
    case form::box:
      return sizeof(std::uint64_t) + head.count * sizeof(box_dimension);
    default:
      return 0;
  }
}

/// At the end of a put with notice.
struct notice_trailer {
  std::uint64_t head;   ///< position of the head in the message
  std::uint64_t flag;   ///< 0: a call
  std::uint64_t value;  ///< by how much the flag is raised; token of the call
};

struct answer_head {
  std::uint64_t cookie;
  std::uint32_t slot;
  std::uint32_t count = 1;  ///< operations of a series that it answers
};
static_assert(sizeof(answer_head) == 16);

/// The owner cannot do it: nothing of the places may be touched.
struct refusal {
  answer_head to;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t heap_begin;
  std::uint64_t heap_end;
  enum class why : std::uint32_t { outside, no_memory, misaligned } reason;
  std::int32_t owner = -1;  ///< world rank
};

struct atomic_order {
  std::uint64_t cookie;
  std::uint64_t offset;
  atomic_request what;
};

struct atomic_answer {
  std::uint64_t cookie;
  std::uint64_t value;
};

/// Of puts of one completion that have equally many bytes: in front of `count` of them, each an offset with the data behind it, rounded up to
/// words.
struct put_series {
  std::uint64_t cookie;
  std::uint32_t count;
  std::uint32_t bytes;
};
constexpr std::size_t series_item_bytes(std::size_t data) noexcept {
  return sizeof(std::uint64_t) + (data + 7) / 8 * 8;
}

/// Of atomic operations of one completion that differ in their cells and operands only: in front of `count` of atomic_item.
struct atomic_series {
  std::uint64_t cookie;
  std::uint32_t count;
  std::uint32_t fetches;  ///< 1: the values before are wanted
  atomic_request what;    ///< without operands
};
struct atomic_item {
  std::uint64_t offset;
  std::uint64_t result;  ///< where the initiator wants the value before
  std::uint64_t operands[2];
};

/// In a series at most, so that its answer may leave together with others.
inline constexpr std::uint32_t most_atomics = 30;

/// In front of what goes to several ranks of a host: so many parts.
using part_count = std::uint64_t;
/// In front of each of them.
struct part_head {
  std::uint64_t offset;  ///< in the region of `rank`, as `flag`
  std::uint64_t flag;    ///< raised by one
  std::int32_t rank;
  std::uint32_t bytes;
};
static_assert(sizeof(part_head) == flagged_puts::room(0));

/// Answers a series that fetches: `count` of it are behind an answer_head whose slot is the bytes of a value.
struct fetched_item {
  std::uint64_t result;
  std::uint64_t value;
};

template <class T>
T read_at(std::byte const* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void write_at(std::byte* at, T const& value) noexcept {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace atl::engine::remote
