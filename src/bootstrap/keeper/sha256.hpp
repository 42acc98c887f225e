#pragma once

/// SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104), by which the keepers of a job know each other. A few hundred bytes at a time:
/// written for clarity, not for speed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace atl::keeping {

using digest = std::array<std::uint8_t, 32>;

class sha256 {
 public:
  sha256& add(std::span<std::byte const> bytes) noexcept;
  /// Ends the object's use.
  digest result() noexcept;

 private:
  void take_block(std::uint8_t const* block) noexcept;

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> open_{};  ///< bytes that do not fill a block yet
  std::uint64_t bytes_ = 0;
};

/// A key of any length.
digest hmac(std::span<std::byte const> key, std::span<std::byte const> message) noexcept;

/// In a time that does not depend on where they differ.
bool equal(digest const& a, digest const& b) noexcept;

}  // namespace atl::keeping
