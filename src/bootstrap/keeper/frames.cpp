#include "bootstrap/keeper/frames.hpp"

#include <cstddef>

namespace atl::keeping {
namespace {

struct signed_words {
  std::uint64_t protocol;
  std::uint32_t purpose;
  std::uint32_t caller;
  std::uint32_t listener;
  std::uint32_t unused;
  nonce of_caller;
  nonce of_listener;
};

enum purpose : std::uint32_t { to_meet = 0x100, to_send = 0x200 };

digest sign_words(std::span<std::byte const> secret, std::uint32_t purpose, std::uint32_t caller,
                  std::uint32_t listener, nonce const& of_caller, nonce const& of_listener) noexcept {
  signed_words const all{protocol, purpose, caller, listener, 0, of_caller, of_listener};
  return hmac(secret, std::as_bytes(std::span(&all, 1)));
}

digest signature_of(frame const& what, digest const& key) noexcept {
  return hmac(std::as_bytes(std::span(key)),
              std::as_bytes(std::span(&what, 1)).first(offsetof(frame, signature)));
}

}  // namespace

digest sign_meeting(std::span<std::byte const> secret, role who, std::uint32_t caller, std::uint32_t listener,
                    nonce const& of_caller, nonce const& of_listener) noexcept {
  return sign_words(secret, to_meet | static_cast<std::uint32_t>(who), caller, listener, of_caller,
                    of_listener);
}

digest key_of(std::span<std::byte const> secret, role who, nonce const& of_caller,
              nonce const& of_listener) noexcept {
  return sign_words(secret, to_send | static_cast<std::uint32_t>(who), 0, 0, of_caller, of_listener);
}

void sign(frame& what, digest const& key) noexcept { what.signature = signature_of(what, key); }

bool is_signed(frame const& what, digest const& key) noexcept {
  return equal(what.signature, signature_of(what, key));
}

}  // namespace atl::keeping
