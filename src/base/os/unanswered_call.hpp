#pragma once

/// Connections that this process makes by TCP and that nobody answers, as behind a firewall that drops what it forbids: the system
/// goes on for two minutes, and libraries of networks have no words meanwhile.

#include <string>

namespace atl::os {

/// "from 10.0.0.1 to 10.0.0.2 port 4711" of one whose first packet was sent at least twice and had no answer, not even a refusal; empty: there is
/// none, or the system does not show it. Reads /proc; takes some hundred microseconds.
std::string unanswered_call();

}  // namespace atl::os
