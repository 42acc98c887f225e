#include "bootstrap/keeper/neighbour.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/os/memfd.hpp"

namespace atl::keeping {
namespace {

nonce fresh_nonce() {
  nonce bytes;
  os::random_bytes(bytes.data(), bytes.size());
  return bytes;
}

/// A dead peer is noticed by our own clock; the system's ends what that leaves behind.
void set_options(int socket, std::int64_t patience_ms) {
  int const yes = 1;
  auto const timeout = static_cast<unsigned>(patience_ms);
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
}

::socklen_t write_address(address const& where, sockaddr_storage& into) {
  if (where.family == 4) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(into);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(where.port);
    std::memcpy(&v4.sin_addr, where.bytes.data(), sizeof v4.sin_addr);
    return sizeof v4;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(into);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(where.port);
  v6.sin6_scope_id = where.scope;
  std::memcpy(&v6.sin6_addr, where.bytes.data(), sizeof v6.sin6_addr);
  return sizeof v6;
}

}  // namespace

std::int64_t now_ms() noexcept {
  static std::int64_t seen = static_cast<std::int64_t>(now_ns() / 1'000'000);
  static std::int64_t left_out = 0;
  // Keepers read it ten times a second.
  constexpr std::int64_t longest_pause = 200;
  std::int64_t const before = std::exchange(seen, static_cast<std::int64_t>(now_ns() / 1'000'000));
  left_out += std::max<std::int64_t>(0, seen - before - longest_pause);
  return seen - left_out;
}

void neighbour::set(state now) {
  state_ = now;
  since_ = now_ms();
}

void neighbour::finish(state how) {
  socket_.reset();
  if (talk_ != nullptr)
    ended_talk_ = std::move(talk_);  // what it tells may be the reason: it is still at work
  connecting_ = false;
  set(how);
}

void neighbour::break_off(std::string why) {
  why_ = std::move(why);
  finish(state_ == state::up ? state::broken : state::none);
}

void neighbour::call(address const& where, std::span<std::byte const> secret, std::uint32_t me,
                     std::int64_t patience_ms, role as) {
  sockaddr_storage to{};
  ::socklen_t const bytes = write_address(where, to);
  socket_.reset(::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  set(state::greeting);
  if (!socket_) return break_off(std::string("socket: ") + std::strerror(errno));
  set_options(socket_.get(), patience_ms);
  talk_ = std::make_unique<conversation>(as, secret, me, host_, fresh_nonce());
  connecting_ = ::connect(socket_.get(), reinterpret_cast<sockaddr const*>(&to), bytes) != 0;
  if (connecting_ && errno != EINPROGRESS) return break_off(std::strerror(errno));
  if (!connecting_) push();
}

void neighbour::accept(os::unique_fd socket, std::span<std::byte const> secret, std::uint32_t me,
                       std::int64_t patience_ms) {
  set_options(socket.get(), patience_ms);
  socket_ = std::move(socket);
  talk_ = std::make_unique<conversation>(role::listener, secret, me, host_, fresh_nonce());
  set(state::greeting);
}

short neighbour::events() const noexcept {
  if (!socket_) return 0;
  return static_cast<short>(connecting_ || !talk_->leaving().empty() ? POLLIN | POLLOUT : POLLIN);
}

void neighbour::work(short found, std::function<void(frame const&)> const& tell) {
  ended_talk_.reset();
  if (!socket_ || found == 0) return;
  if (connecting_) {
    int problem = 0;
    ::socklen_t bytes = sizeof problem;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &problem, &bytes);
    if (problem != 0) return break_off(std::strerror(problem));
    if ((found & POLLOUT) == 0) return;
    connecting_ = false;
  }
  push();
  std::array<std::byte, 4096> bytes;
  while (socket_) {
    ::ssize_t const got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got == 0 && halts()) {
      unfit_ = true;
      return break_off(stops_in_the_middle);
    }
    if (got <= 0) return break_off(got == 0 ? "its end of the connection is closed" : std::strerror(errno));
    heard_ = now_ms();
    // What is told may end this.
    bool const fine = talk_->take({bytes.data(), static_cast<std::size_t>(got)}, [&](frame const& f) {
      if (socket_) tell(f);
    });
    if (!socket_) return;
    if (!fine) {
      unfit_ = true;
      return break_off(std::string(talk_->why()));
    }
    if (state_ == state::greeting && talk_->stands()) set(state::up);
    push();
  }
}

void neighbour::push() {
  if (!socket_ || connecting_) return;
  std::vector<std::byte>& bytes = talk_->leaving();
  while (!bytes.empty()) {
    ::ssize_t const sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent < 0) return break_off(std::strerror(errno));
    bytes.erase(bytes.begin(), bytes.begin() + sent);
  }
}

void neighbour::say(news what, std::uint32_t host, std::int32_t rank, bool said, std::string_view words) {
  if (state_ != state::up) return;
  said_ = now_ms();
  talk_->say(what, host, rank, said, words);
  push();
}

}  // namespace atl::keeping
