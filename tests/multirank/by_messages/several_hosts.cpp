#include "several_hosts.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>

#include <atoll/engine/job.hpp>

#include "engine/collectives/hierarchy.hpp"
#include "engine/collectives/steps.hpp"

namespace several_hosts {

namespace {

std::int32_t hosts = 1;
char placement = 'b';
bool told = false;
int crossed = 0;
int steps = 0;
std::map<int, std::size_t> bytes_to;  ///< other hosts

/// Before the library begins.
[[maybe_unused]] bool const tell = [] {
  char const* const text = std::getenv("PRETENDED_HOSTS");
  if (text == nullptr) return false;
  placement = text[0];
  hosts = std::atoi(std::strchr(text, ':') + 1);
  told = true;
  atl::engine::pretend_hosts(&place, hosts);
  return true;
}();

void count(std::int32_t to, atl::engine::step const& what) {
  ++steps;
  if (place(to) == place(upcxx::rank_me())) return;
  ++crossed;
  bytes_to[place(to)] += what.bytes;
}

}  // namespace

bool pretended() { return told; }

int place(int rank) {
  if (!told) return atl::engine::host_of(rank);
  if (placement == 'c') return rank % hosts;
  // The first host has one rank.
  if (placement == 'u') return rank == 0 ? 0 : 1;
  return rank / ((atl::engine::job.rank_n + hosts - 1) / hosts);
}

void fixture::SetUp() {
  multirank::fixture::SetUp();
  used_ = 0;
  all_.resize(static_cast<std::size_t>(n));
  std::iota(all_.begin(), all_.end(), 0);
  for (int const r : all_) used_ = std::max(used_, place(r) + 1);
}

int fixture::between_hosts() { return crossed; }
int const& fixture::in_all() { return steps; }
std::size_t fixture::bytes_between_hosts() {
  std::size_t all = 0;
  for (auto const& [host, bytes] : bytes_to) all += bytes;
  return all;
}
std::size_t fixture::bytes_to_host(int host) { return bytes_to[host]; }

void fixture::watch(bool on) {
  if (on) {
    crossed = steps = 0;
    bytes_to.clear();
  }
  atl::engine::step_watcher = on ? &count : nullptr;
}

int fixture::rounds() const { return std::bit_width(static_cast<unsigned>(used_ - 1)); }

bool fixture::leads() const {
  return std::none_of(all_.begin(), all_.begin() + me, [&](int r) { return place(r) == place(me); });
}

}  // namespace several_hosts
