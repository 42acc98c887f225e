#pragma once

/// Further devices, over which parts of long transfers go beside the first one. rails.cpp says how they are connected.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "transport/ofi/context.hpp"

namespace atl::transport::ofi {

struct peer;

inline constexpr std::size_t most_further = most_rails - 1;

struct rail {
  std::unique_ptr<context> opened;
  fid_mr* confirmed = nullptr;  ///< where bytes go that are read for their order only
  std::size_t ends = 0;         ///< endpoints on it
};

/// What a peer has of them.
struct rail_ends {
  struct end {
    fid_ep* endpoint = nullptr;
    bool stands = false;
  };
  std::array<end, most_further> mine{};          ///< by which this side puts and gets
  std::array<end, most_further> theirs{};        ///< by which the peer does
  std::array<std::uint8_t, most_further> far{};  ///< which one of the peer's is at the other end of mine
  bool asked = false;                            ///< the peer where it listens

  [[nodiscard]] end& at(std::size_t which, bool my_own) { return (my_own ? mine : theirs)[which]; }
};

/// Whose an endpoint is.
struct rail_owner {
  peer* whom = nullptr;
  std::size_t which = 0;
  bool mine = false;
};

}  // namespace atl::transport::ofi
