#include "bootstrap/host_identity.hpp"

#include <fstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/os/host_name.hpp"
#include "base/os/own_namespace.hpp"
#include "base/settings.hpp"

namespace atl::bootstrap {
namespace {

// The two highest bits tell what the others are made of, so that names of users never equal numbers of nodes.
constexpr host_identity by_name = std::uint64_t{1} << 63;
constexpr host_identity by_system = std::uint64_t{1} << 62;
constexpr host_identity rest = by_system - 1;
constexpr host_identity network_bits = 0xffff;  // numbers of namespaces are given one after the other

/// The same in all containers of a running system; empty where it cannot be read.
std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  file >> text;
  return text;
}

/// Without the network: what tells hosts apart.
host_identity host_part(std::int64_t node) {
  if (std::string const name = settings::host(); !name.empty()) return by_name | (hash_of(name) & rest);
  if (node < 0) return by_system | (hash_of(boot_id(), hash_of(os::host_name())) & rest);
  std::uint64_t const boot = hash_of(boot_id());
  return (static_cast<std::uint64_t>(node) << 32 | ((boot >> 32 ^ boot) & 0xffffffff)) & rest;
}

}  // namespace

std::uint64_t hash_of(std::string_view text, std::uint64_t start) noexcept {
  for (char const c : text) start = (start ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return start;
}

host_identity own_host_identity(std::int64_t node) {
  return (host_part(node) & ~network_bits) | (os::own_namespace("net") & network_bits);
}

std::uint64_t own_network_stack() {
  return hash_of(std::to_string(os::own_namespace("net")), hash_of(boot_id()));
}

bool share_network(host_identity one, host_identity other) noexcept {
  return (one & network_bits) == (other & network_bits) && (one & network_bits) != 0;
}

placement place_by_identity(std::int32_t rank, std::span<host_identity const> of_ranks) {
  std::unordered_map<host_identity, std::int32_t> numbers;
  std::vector<std::int32_t> host_of;
  host_of.reserve(of_ranks.size());
  for (host_identity const identity : of_ranks) {
    auto const next = static_cast<std::int32_t>(numbers.size());
    host_of.push_back(numbers.try_emplace(identity & ~network_bits, next).first->second);
  }
  return place(rank, host_of);
}

}  // namespace atl::bootstrap
