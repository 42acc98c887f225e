#pragma once

/// Connections by TCP that do not come about. One that this process makes may be answered by nobody, as behind a firewall that drops what it forbids: the
/// system goes on for two minutes, and libraries of networks have no words meanwhile.

#include <string>
#include <string_view>
#include <vector>

#include "base/os/tcp_table.hpp"

namespace atl::os {

/// One whose first packet was sent at least twice and had no answer, not even a refusal.
struct unanswered_call {
  tcp_end to;
  std::string words;  ///< "from 10.0.0.1 to 10.0.0.2 port 4711"

  /// Is the host that is called, by its address in network order, named somewhere in these bytes?
  [[nodiscard]] bool is_to_one_of(std::string_view addresses) const noexcept;
};

/// All that the system shows. Reads /proc; takes some hundred microseconds.
std::vector<unanswered_call> unanswered_calls();

/// Does somebody wait by TCP for this process to take a connection? Where it has as many files open as it may have, libraries cannot, and say nothing.
/// Looks at all descriptors up to the limit, and needs none.
bool has_untaken_calls() noexcept;

}  // namespace atl::os
