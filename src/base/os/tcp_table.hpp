#pragma once

/// The system's tables of connections by TCP, those of this process' network.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace atl::os {

struct tcp_end {
  std::uint16_t family = 0;  ///< 4, 6; 0: not understood
  std::uint16_t port = 0;    ///< in host order
  std::array<std::uint8_t, 16> bytes{};
};

struct tcp_socket {
  tcp_end local;
  tcp_end remote;
  unsigned state = 0;       ///< TCP_ESTABLISHED and the like (netinet/tcp.h)
  std::uint64_t inode = 0;  ///< 0: no process has it any more
};

/// Of both families. Reads /proc.
std::vector<tcp_socket> tcp_sockets();

/// Inodes of the sockets that a process has open, of any kind; nothing where its descriptors are not in sight.
std::optional<std::vector<std::uint64_t>> sockets_of(int process);

/// "10.0.0.1", for people. `family`: 4 or 6; "?" where it is neither.
std::string text_of_address(unsigned family, std::array<std::uint8_t, 16> const& bytes);

}  // namespace atl::os
