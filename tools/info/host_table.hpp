#pragma once

/// Networks of several hosts, and what a job would use between them: as `atoll info --hosts` prints it, readable for two hosts and for a
/// thousand.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atl::tools {

/// A network on one host.
struct network_fact {
  std::string name;
  bool usable = false;
  std::string words;            ///< what it is there; or why it cannot be used
  std::string device_memory{};  ///< who copies it; not part of cards

  bool operator==(network_fact const&) const = default;
};

/// What a host has, in the order of choice, which is the same on all.
struct host_facts {
  std::string host;
  std::vector<network_fact> networks;
};

/// At most 1 KiB (what is too long is cut), and back; none if it is no such text.
std::string to_card(host_facts const& facts);
std::optional<host_facts> from_card(std::string_view card);

/// "n[1-3,7]" of n1, n2, n3 and n7; "a, b" of names without numbers.
std::string short_names(std::vector<std::string> const& names);

/// Hosts that have the same are in one line; then what is used inside a host, between each pair, and by a job on all of them, and why nothing better is. Not empty.
std::string table_of(std::vector<host_facts> const& hosts);

}  // namespace atl::tools
