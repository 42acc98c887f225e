#pragma once

/// What `atoll info` says of networks: on this host, and on several.

#include <string>

#include "run/command_line.hpp"

namespace atl::tools {

/// Networks of this host, in lines. Opening them takes some hundredths of a second.
std::string words_on_networks();

/// `atoll info` on several hosts: starts `atoll info --in-job` on each, as `atoll run` would start a program; the exit status.
int ask_hosts(command_line const& which);

/// In a process of that job: leaves what this host has; rank 0 prints the table. The exit status.
int answer_as_host();

}  // namespace atl::tools
