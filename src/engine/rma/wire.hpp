#pragma once

/// What travels for transfers of remote memory, as bytes.
///
///   put       head, description, data             answered by an acknowledgement
///   put with  [the call] head, description,       the same; the call stands where that of a request does, so
///   notice    data, trailer                       that the message becomes the request
///   get       head, description                   answered by the data
///   atomic    its order                           answered by the value before

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
  std::uint64_t value;  ///< of the flag; token of the call
};

struct answer_head {
  std::uint64_t cookie;
  std::uint64_t slot;
};

/// The owner cannot do it: nothing of the places may be touched.
struct refusal {
  answer_head to;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t heap_begin;
  std::uint64_t heap_end;
  enum class why : std::uint64_t { outside, no_memory, misaligned } reason;
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
