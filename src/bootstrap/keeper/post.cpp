#include "bootstrap/keeper/post.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/beside_library.hpp"
#include "base/error.hpp"
#include "base/os/interfaces.hpp"
#include "base/os/link_local.hpp"
#include "base/os/memfd.hpp"

namespace atl::keeping {
namespace {

/// Calls that the system keeps for a keeper. Beyond them it is a second before the neighbour's is made again, whoever has made the others.
constexpr int most_waiting = 64;

struct candidate {
  sockaddr_storage where{};
  int rank = 0;  ///< lower is better
};

bool is_named(std::string_view device, std::string_view list) {
  while (!list.empty()) {
    std::string_view const word = list.substr(0, list.find(','));
    // Behind a provider's name ("tcp;ofi_rxm/eth0") or a transport's; devices of networks may be followed by a port.
    std::string_view const name = word.substr(word.rfind('/') + 1);
    if (name.substr(0, name.find(':')) == device) return true;
    list.remove_prefix(std::min(list.size(), word.size() + 1));
  }
  return false;
}

/// Interfaces of containers and virtual machines have the same addresses on all hosts.
bool is_bridge(std::string_view device) {
  constexpr std::array<std::string_view, 6> beginnings{"docker", "br-", "virbr", "cni", "lxc", "podman"};
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view b) { return device.starts_with(b); });
}

std::vector<candidate> own_addresses(std::string_view devices) {
  auto const list = os::own_interfaces();
  std::vector<candidate> all;
  for (ifaddrs const* at = list.get(); at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0 || os::is_link_local(*at->ifa_addr))
      continue;
    candidate c;
    if (at->ifa_addr->sa_family == AF_INET) {
      std::memcpy(&c.where, at->ifa_addr, sizeof(sockaddr_in));
    } else if (at->ifa_addr->sa_family == AF_INET6) {
      std::memcpy(&c.where, at->ifa_addr, sizeof(sockaddr_in6));
      c.rank = 1;
    } else {
      continue;
    }
    if (is_bridge(at->ifa_name)) c.rank += 10;
    if ((at->ifa_flags & IFF_LOOPBACK) != 0) c.rank += 100;
    if (is_named(at->ifa_name, devices)) c.rank -= 1000;
    all.push_back(c);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](candidate const& a, candidate const& b) { return a.rank < b.rank; });
  // Loopback is for hosts that are one machine.
  while (!all.empty() && all.back().rank >= 100 && all.front().rank < 100) all.pop_back();
  if (all.size() > most_addresses) all.resize(most_addresses);
  return all;
}

/// A socket on a port that the system chooses; empty if it cannot be had.
os::unique_fd listen_on(sockaddr_storage const& where, address& told) {
  os::unique_fd socket(::socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_storage at = where;
  bool const v4 = where.ss_family == AF_INET;
  ::socklen_t bytes = v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  (v4 ? reinterpret_cast<sockaddr_in&>(at).sin_port : reinterpret_cast<sockaddr_in6&>(at).sin6_port) = 0;
  if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&at), bytes) != 0 ||
      ::listen(socket.get(), most_waiting) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &bytes) != 0)
    return {};
  told = {};
  if (v4) {
    auto const& in = reinterpret_cast<sockaddr_in const&>(at);
    told.family = 4;
    told.port = ntohs(in.sin_port);
    std::memcpy(told.bytes.data(), &in.sin_addr, sizeof in.sin_addr);
  } else {
    auto const& in = reinterpret_cast<sockaddr_in6 const&>(at);
    told.family = 6;
    told.port = ntohs(in.sin6_port);
    told.scope = in.sin6_scope_id;
    std::memcpy(told.bytes.data(), &in.sin6_addr, sizeof in.sin6_addr);
  }
  return socket;
}

void write_words(host_words& into, std::string_view words) {
  into = {};
  words.substr(0, into.size() - 1).copy(into.data(), into.size() - 1);
}

/// Where the keeper's program may lie.
std::vector<std::string> program_places() {
  return places_beside_library(std::string("atoll/") + program_name);
}

std::string program() {
  std::vector<std::string> const places = program_places();
  auto const there = std::find_if(places.begin(), places.end(),
                                  [](std::string const& each) { return ::access(each.c_str(), X_OK) == 0; });
  return there == places.end() ? "" : *there;
}

}  // namespace

post open_post(std::string_view host, std::string_view ranks, std::string_view devices) {
  post all{{}, {}};
  write_words(all.mine.name, host);
  write_words(all.mine.ranks, ranks);
  for (candidate const& each : own_addresses(devices)) {
    address told{};
    os::unique_fd socket = listen_on(each.where, told);
    if (!socket) continue;
    all.mine.addresses[all.listeners.size()] = told;
    all.listeners.push_back(std::move(socket));
  }
  return all;
}

bool is_installed() { return !program().empty(); }

std::string start_keeper(orders const& what, int board, std::vector<os::unique_fd> const& listeners) {
  std::string file = program();
  if (file.empty()) return "its program is not installed: there is no " + program_places().front();
  os::unique_fd const memory = os::make_sealed_memfd("atoll keeper's orders", sizeof what);
  if (::pwrite(memory.get(), &what, sizeof what, 0) != ::ssize_t{sizeof what})
    return std::string("its orders cannot be written: ") + std::strerror(errno);

  // Descriptors of the right numbers, of which none may be one that is still to be put in its place.
  std::vector<os::unique_fd> high;
  constexpr int above_all = first_listener + static_cast<int>(most_addresses);
  auto const raise = [&](int descriptor) {
    high.emplace_back(::fcntl(descriptor, F_DUPFD_CLOEXEC, above_all));
    return static_cast<bool>(high.back());
  };
  bool raised = raise(memory.get()) && raise(board);
  for (os::unique_fd const& each : listeners) raised = raised && raise(each.get());
  if (!raised) return std::string("its files cannot be handed on: ") + std::strerror(errno) + " (ulimit -n)";
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (std::size_t i = 0; i < high.size(); ++i)
    ::posix_spawn_file_actions_adddup2(&actions, high[i].get(), orders_descriptor + static_cast<int>(i));
  ::posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

  // Nothing of the environment is for it but where its libraries are, and by what others find it.
  std::vector<std::string> variables;
  for (char const* const name : {"LD_LIBRARY_PATH", job_variable}) {
    char const* const value = std::getenv(name);
    if (value != nullptr) variables.push_back(std::string(name) + "=" + value);
  }
  std::vector<char*> environment;
  for (std::string& each : variables) environment.push_back(each.data());
  environment.push_back(nullptr);
  std::array<char*, 2> arguments{file.data(), nullptr};
  ::pid_t child = -1;
  int const problem =
      ::posix_spawn(&child, file.c_str(), &actions, &attributes, arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (problem != 0) return file + ": " + std::strerror(problem);
  // It ends at once, and leaves an orphan behind.
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? "" : format("%s ended with status %d", file.c_str(), status);
}

std::string words_of_ranks(std::vector<std::int32_t> const& ranks) {
  if (ranks.size() == 1) return format("rank %d", static_cast<int>(ranks[0]));
  bool const consecutive = ranks.back() - ranks.front() + 1 == static_cast<std::int32_t>(ranks.size());
  if (consecutive)
    return format("ranks %d to %d", static_cast<int>(ranks.front()), static_cast<int>(ranks.back()));
  std::string all = "ranks";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i == 8) return all + ", ...";
    all += format("%s %d", i == 0 ? "" : ",", static_cast<int>(ranks[i]));
  }
  return all;
}

}  // namespace atl::keeping
