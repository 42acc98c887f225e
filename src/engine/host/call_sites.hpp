#pragma once

/// Where in the program peers of this host are: asked by a rank that has found a mistake,
/// answered by ranks that wait.

#include <cstdint>
#include <string>

#include "engine/host/host_domain.hpp"

namespace atl::engine {

/// Where this rank is, cut off if it is long.
void write_call_site(char (&to)[call_site_bytes]) noexcept;

/// Asks a peer; empty if it does not answer within 1.5 s, as it computes or is gone.
std::string ask_call_site(host_domain const& host, std::uint32_t peer);

/// Answers a peer that wants to know where this rank is. Called from time to time by whoever waits.
void answer_call_site(host_domain const& host) noexcept;

}  // namespace atl::engine
