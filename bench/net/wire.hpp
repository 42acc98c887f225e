#pragma once

/// A TCP connection between two processes that measure: what the kernel itself can do between two hosts, and how
/// their programs that measure something else keep in step. Both sides spin on it while they measure.

#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace atl::bench {

/// What the side that connects has to know. Trivial, for broadcasting.
struct wire_card {
  std::uint64_t secret = 0;  ///< sent first, so that no stranger is taken for the peer
  std::uint16_t port = 0;
  std::uint16_t count = 0;
  std::array<std::uint32_t, 16> addresses{};  ///< IPv4, network order, to be tried in this order
};

class wire {
 public:
  wire() = default;
  wire(wire const&) = delete;
  wire& operator=(wire const&) = delete;
  ~wire();

  /// Opens a port on the addresses of this host, or on loop-back only.
  wire_card listen(bool loop_back);
  /// One side accepts, the other connects; by an address of the card that answers. The program ends with words if none does in
  /// ten seconds. `idle` runs meanwhile: the other side may not have the card yet.
  void accept(wire_card const& own, std::function<void()> const& idle);
  void connect(wire_card const& card);

  /// The address by which this side has reached the peer, or the peer this side.
  std::string const& address() const { return address_; }

  /// Sends as many bytes and waits for as many, or the other way round.
  void round_trip(void* data, std::size_t bytes, bool begins);
  /// `count` times as many bytes one way, and a word back when all have come.
  void stream(void* data, std::size_t bytes, std::uint64_t count, bool sends);

  /// For what does not hurry: the receiver sleeps. False if the peer is gone.
  void tell(std::uint32_t word);
  bool hear(std::uint32_t& word) const;

 private:
  void send_all(void const* data, std::size_t bytes) const;
  void receive_all(void* data, std::size_t bytes) const;
  bool begin(int socket, std::uint64_t secret, bool accepted);

  int listener_ = -1;
  int socket_ = -1;
  std::string address_;
};

}  // namespace atl::bench
