#pragma once

/// What keepers say to each other. Both ends prove that they know the job's secret before anything else; from then on each
/// frame is signed with a key of that connection and that direction and with its number, so that none can be forged,
/// replayed, left out or turned around.
///
///   caller: hello ->      <- challenge :listener      caller: proof ->      then frames, both ways
///
/// A watcher is a caller by a further way between two hosts that know each other (further_ways.hpp).

#include <array>
#include <cstdint>
#include <span>

#include "bootstrap/keeper/orders.hpp"
#include "bootstrap/keeper/sha256.hpp"

namespace atl::keeping {

using nonce = std::array<std::uint8_t, 32>;

inline constexpr std::uint64_t protocol = 0x31'7065'656b'6c74'61;  // "atlkeep1"

struct hello {
  std::uint64_t protocol;
  std::uint32_t host;
  std::uint32_t as;  ///< the role in which it calls
  keeping::nonce nonce;
};
struct challenge {
  keeping::nonce nonce;
  digest signature;
};
struct proof {
  digest signature;
};

enum class news : std::uint32_t {
  alive,
  fallen,      ///< a rank has ended without leave: what its launcher does about it will be seen
  ending,      ///< the job ends, for the reason in the words
  bye,         ///< all ranks of the host have ended as they should
  emptied,     ///< none of the host's ranks is left, after one of the job has fallen
  explaining,  ///< a rank of the host says what mistake ends the job
  picture,     ///< somebody asks: what do ranks do?
};

struct frame {
  std::uint64_t number;  ///< of this direction, from 1
  news what;
  std::uint32_t host;  ///< where it happened
  std::int32_t rank;   ///< whom it happened to, or -1; of a picture its number
  std::uint32_t said;  ///< somebody has told the user
  std::array<char, 256> words;
  digest signature;
};
static_assert(sizeof(frame) == 24 + 256 + 32);

/// What a side signs in the beginning.
enum class role : std::uint8_t { caller = 1, listener = 2, watcher = 3 };

/// Proves that the signer, in that role, knows the secret and means this meeting.
digest sign_meeting(std::span<std::byte const> secret, role who, std::uint32_t caller, std::uint32_t listener,
                    nonce const& of_caller, nonce const& of_listener) noexcept;
/// Key of what the side in that role sends.
digest key_of(std::span<std::byte const> secret, role who, nonce const& of_caller,
              nonce const& of_listener) noexcept;
void sign(frame& what, digest const& key) noexcept;
bool is_signed(frame const& what, digest const& key) noexcept;

}  // namespace atl::keeping
