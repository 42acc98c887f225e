#include "wire.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace atl::bench {
namespace {

constexpr int patience_ms = 10'000;
constexpr int patience_of_an_address_ms = 2'000;

[[noreturn]] void give_up(std::string const& what, int error = 0) {
  std::fprintf(stderr, "atoll bench: the TCP connection between the two ranks: %s%s%s\n", what.c_str(),
               error != 0 ? ": " : "", error != 0 ? std::strerror(error) : "");
  std::exit(1);
}

std::vector<in_addr> own_addresses(bool loop_back) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> const owner(list, &::freeifaddrs);
  std::vector<in_addr> all;
  for (ifaddrs const* at = list; at != nullptr; at = at->ifa_next) {
    bool const wanted = ((at->ifa_flags & IFF_LOOPBACK) != 0) == loop_back;
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET || (at->ifa_flags & IFF_UP) == 0 ||
        !wanted)
      continue;
    sockaddr_in place{};
    std::memcpy(&place, at->ifa_addr, sizeof place);
    bool const link_local = ntohl(place.sin_addr.s_addr) >> 16 == 0xa9fe;
    if (!link_local) all.push_back(place.sin_addr);
  }
  return all;
}

std::string text_of(in_addr where) {
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &where, text.data(), text.size());
  return text.data();
}

/// Spins, but lets others have the core when the peer seems to have lost its own.
class patient {
 public:
  void look_again() {
    if (++looks_ > 5'000) ::sched_yield();
  }

 private:
  unsigned looks_ = 0;
};

bool is_ready(int descriptor, short what, int limit_ms) {
  pollfd one{descriptor, what, 0};
  int ready = 0;
  do ready = ::poll(&one, 1, limit_ms);
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace

wire::~wire() {
  if (listener_ >= 0) ::close(listener_);
  if (socket_ >= 0) ::close(socket_);
}

wire_card wire::listen(bool loop_back) {
  wire_card card;
  for (in_addr const where : own_addresses(loop_back)) {
    if (card.count < card.addresses.size()) card.addresses[card.count++] = where.s_addr;
  }
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(loop_back ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t bytes = sizeof place;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&place), sizeof place) != 0 ||
      ::listen(listener_, 4) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &bytes) != 0 ||
      ::getrandom(&card.secret, sizeof card.secret, 0) != sizeof card.secret)
    give_up("cannot listen", errno);
  card.port = ntohs(place.sin_port);
  return card;
}

bool wire::begin(int socket, std::uint64_t secret, bool accepted) {
  ::fcntl(socket, F_SETFL, 0);
  std::uint64_t theirs = 0;
  auto const send = [&] { return ::send(socket, &secret, sizeof secret, MSG_NOSIGNAL) == sizeof secret; };
  // Whoever connects says it first: it may have come to something else.
  bool const good = (accepted || send()) && is_ready(socket, POLLIN, patience_of_an_address_ms) &&
                    ::recv(socket, &theirs, sizeof theirs, MSG_WAITALL) == sizeof theirs &&
                    theirs == secret && (!accepted || send());
  if (!good) {
    ::close(socket);
    return false;
  }
  int const on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(socket, F_SETFL, O_NONBLOCK);
  socket_ = socket;
  return true;
}

void wire::accept(wire_card const& own, std::function<void()> const& idle) {
  for (int waited_ms = 0; socket_ < 0;) {
    idle();
    if (!is_ready(listener_, POLLIN, 1)) {
      if (++waited_ms == patience_ms) give_up("nobody has connected in 10 s");
      continue;
    }
    int const socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0 || !begin(socket, own.secret, true)) continue;
    sockaddr_in place{};
    socklen_t bytes = sizeof place;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&place), &bytes);
    address_ = text_of(place.sin_addr);
  }
  ::close(listener_);
  listener_ = -1;
}

void wire::connect(wire_card const& card) {
  std::string tried;
  for (std::size_t i = 0; i < card.count && socket_ < 0; ++i) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = card.addresses[i];
    place.sin_port = htons(card.port);
    address_ = text_of(place.sin_addr);
    int const socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0;
    socklen_t bytes = sizeof error;
    if (::connect(socket, reinterpret_cast<sockaddr*>(&place), sizeof place) != 0 && errno != EINPROGRESS)
      error = errno;
    if (error == 0 && !is_ready(socket, POLLOUT, patience_of_an_address_ms)) error = ETIMEDOUT;
    if (error == 0) ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) ::close(socket);
    if (error == 0 && begin(socket, card.secret, false)) return;
    tried +=
        (tried.empty() ? "" : "; ") + address_ + ": " + (error != 0 ? std::strerror(error) : "not the peer");
  }
  give_up("none of the other host's IPv4 addresses answers (" + (tried.empty() ? "it has none" : tried) +
          ")");
}

void wire::send_all(void const* data, std::size_t bytes) const {
  auto const* at = static_cast<char const*>(data);
  for (patient wait; bytes > 0; wait.look_again()) {
    ssize_t const sent = ::send(socket_, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) give_up("send", errno);
    if (sent <= 0) continue;
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

void wire::receive_all(void* data, std::size_t bytes) const {
  auto* at = static_cast<char*>(data);
  for (patient wait; bytes > 0; wait.look_again()) {
    ssize_t const got = ::recv(socket_, at, bytes, 0);
    if (got == 0) give_up("the other rank has ended");
    if (got < 0 && errno != EAGAIN && errno != EINTR) give_up("recv", errno);
    if (got < 0) continue;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

void wire::round_trip(void* data, std::size_t bytes, bool begins) {
  if (begins) send_all(data, bytes);
  receive_all(data, bytes);
  if (!begins) send_all(data, bytes);
}

void wire::stream(void* data, std::size_t bytes, std::uint64_t count, bool sends) {
  std::uint64_t word = count;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (sends) {
      send_all(data, bytes);
    } else {
      receive_all(data, bytes);
    }
  }
  if (sends) {
    receive_all(&word, sizeof word);
  } else {
    send_all(&word, sizeof word);
  }
}

void wire::tell(std::uint32_t word) { send_all(&word, sizeof word); }

bool wire::hear(std::uint32_t& word) const {
  auto* at = reinterpret_cast<char*>(&word);
  for (std::size_t got = 0; got < sizeof word;) {
    is_ready(socket_, POLLIN, -1);
    ssize_t const some = ::recv(socket_, at + got, sizeof word - got, 0);
    if (some == 0 || (some < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (some > 0) got += static_cast<std::size_t>(some);
  }
  return true;
}

}  // namespace atl::bench
