#include "bootstrap/keeper/sha256.hpp"

#include <bit>
#include <cstring>

namespace atl::keeping {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

void sha256::take_block(std::uint8_t const* block) noexcept {
  std::array<std::uint32_t, 64> words;
  for (std::size_t i = 0; i < 16; ++i) {
    words[i] = std::uint32_t{block[4 * i]} << 24 | std::uint32_t{block[4 * i + 1]} << 16 |
               std::uint32_t{block[4 * i + 2]} << 8 | block[4 * i + 3];
  }
  for (std::size_t i = 16; i < words.size(); ++i) {
    std::uint32_t const a = words[i - 15];
    std::uint32_t const b = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + words[i - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::uint32_t const one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                              ((e & f) ^ (~e & g)) + constants[i] + words[i];
    std::uint32_t const two =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + one;
    d = c;
    c = b;
    b = a;
    a = one + two;
  }
  std::array<std::uint32_t, 8> const more{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < more.size(); ++i) state_[i] += more[i];
}

sha256& sha256::add(std::span<std::byte const> bytes) noexcept {
  for (std::byte const each : bytes) {
    open_[bytes_++ % open_.size()] = std::to_integer<std::uint8_t>(each);
    if (bytes_ % open_.size() == 0) take_block(open_.data());
  }
  return *this;
}

digest sha256::result() noexcept {
  std::uint64_t const bits = bytes_ * 8;
  std::byte pad{0x80};
  do {
    add({&pad, 1});
    pad = std::byte{0};
  } while (bytes_ % open_.size() != open_.size() - sizeof bits);
  for (int shift = 56; shift >= 0; shift -= 8) {
    pad = static_cast<std::byte>(bits >> shift);
    add({&pad, 1});
  }
  digest all;
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return all;
}

digest hmac(std::span<std::byte const> key, std::span<std::byte const> message) noexcept {
  std::array<std::byte, 64> block{};
  if (key.size() > block.size()) {
    digest const shorter = sha256().add(key).result();
    std::memcpy(block.data(), shorter.data(), shorter.size());
  } else {
    for (std::size_t i = 0; i < key.size(); ++i) block[i] = key[i];
  }
  auto inner = block;
  auto outer = block;
  for (std::byte& each : inner) each ^= std::byte{0x36};
  for (std::byte& each : outer) each ^= std::byte{0x5c};
  digest const first = sha256().add(inner).add(message).result();
  return sha256().add(outer).add(std::as_bytes(std::span(first))).result();
}

bool equal(digest const& a, digest const& b) noexcept {
  unsigned differences = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differences |= static_cast<unsigned>(a[i] ^ b[i]);
  return differences == 0;
}

}  // namespace atl::keeping
