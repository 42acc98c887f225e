// How connections begin. Each is an endpoint of its own, and ends with it.
//
//   connect ──request──> listener of the peer ──accepts──> both hear that it stands
//
// Both sides may ask at once: then the request of the lower rank counts. The higher one drops its own, which the lower one
// has kept meanwhile, in case its own one fails. Requests are numbered, and an answer says which was the last one of its
// sender: so one that is older than the connection is known for what it is, and a newer one says that the peer has given the
// old connection up.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "transport/ofi/ofi_network.hpp"
#include "transport/ofi/windows.hpp"

namespace atl::transport::ofi {
namespace {

constexpr std::uint32_t introduction_mark = 0x3349464f;  // "OFI3"
constexpr std::size_t longest_event = sizeof(fi_eq_cm_entry) + 256;

/// " (198.18.0.2 port 4711)", where it is an address by IP.
std::string called_in_words(std::span<std::byte const> address) {
  sockaddr_storage at{};
  std::memcpy(&at, address.data(), std::min(address.size(), sizeof at));
  std::array<char, INET6_ADDRSTRLEN> text{};
  auto const& v4 = reinterpret_cast<sockaddr_in const&>(at);
  auto const& v6 = reinterpret_cast<sockaddr_in6 const&>(at);
  bool const is_v4 = at.ss_family == AF_INET && address.size() >= sizeof v4;
  bool const is_v6 = at.ss_family == AF_INET6 && address.size() >= sizeof v6;
  if (!is_v4 && !is_v6) return {};
  void const* const host = is_v4 ? static_cast<void const*>(&v4.sin_addr) : &v6.sin6_addr;
  ::inet_ntop(at.ss_family, host, text.data(), text.size());
  return std::string(" (") + text.data() + " port " +
         std::to_string(ntohs(is_v4 ? v4.sin_port : v6.sin6_port)) + ")";
}

}  // namespace

/// Nothing overtakes what waits for room, so that the order stays.
started ofi_network::ready(std::int32_t rank, peer*& out) {
  started const s = module_network::ready(rank, out);
  return s == started::complete && !out->waiting.empty() ? started::no_room : s;
}

void ofi_network::begin_connection(peer& p) {
  module_network::begin_connection(p);
  p.begun = p.hung_up = p.said_over = p.got_over = false;
  for (std::size_t& each : p.room) each = window;
  for (std::size_t& each : p.taken) each = 0;
}

void ofi_network::own_endpoint(peer& p, fid_ep* made) {
  p.endpoint = made;
  if (context_->connectionless()) return;
  endpoints_[&made->fid] = &p;
  if (context_->shared_receives() != nullptr) return;
  post_receives(&p);
  if (p.receives.empty()) lose(p, "there is no memory for messages");
}

started ofi_network::connect(std::int32_t rank, std::span<std::byte const> peer_address) {
  std::span<std::byte const> to;
  if (!context_->reads_address(peer_address, to)) {
    error_ = "that is no address of a network over libfabric's provider " +
             std::string(context_->info().fabric_attr->prov_name) +
             "; all ranks have to use the same one (ATOLL_NET_DEVICES)";
    return started::unsupported;
  }
  peer* whom = nullptr;
  if (std::optional<started> const s = connect_as_it_stands(rank, whom)) return *s;
  peer& p = *whom;
  begin_connection(p);
  p.asked = p.begun = true;
  p.number = ++last_number_ * 2 + static_cast<std::uint32_t>(me_ > rank);
  if (context_->connectionless()) {
    say_hello(p, to);
    return started::under_way;
  }
  fid_ep* const made = context_->make_endpoint(to, &p, error_);
  if (made == nullptr) {
    lose(p, error_);
    return started::under_way;
  }
  own_endpoint(p, made);
  if (p.lost) return started::under_way;
  introduction const own{introduction_mark, me_, p.number, 0, job_};
  p.called = called_in_words(to);
  if (int const e = fi_connect(made, to.data(), &own, sizeof own); e != 0) lose(p, words_of(e) + p.called);
  return started::under_way;
}

// ---- events --------------------------------------------------------------------------------------

unsigned ofi_network::read_events() {
  if (context_->events() == nullptr) return 0;
  unsigned n = read_events(*context_, 0);
  for (std::size_t i = 0; i < rails_.size(); ++i) n += read_events(*rails_[i].opened, i + 1);
  return n;
}

/// `rail`: 0 of the first device.
unsigned ofi_network::read_events(context const& of, std::size_t rail) {
  for (unsigned n = 0;; ++n) {
    alignas(fi_eq_cm_entry) std::array<std::byte, longest_event> room{};
    std::uint32_t what = 0;
    ssize_t const bytes = fi_eq_read(of.events(), &what, room.data(), room.size(), 0);
    if (bytes == -FI_EAVAIL) {
      take_failure(of, rail);
      continue;
    }
    if (bytes < static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) return n;
    auto const& entry = *reinterpret_cast<fi_eq_cm_entry const*>(room.data());
    auto const length = static_cast<std::size_t>(bytes);
    if (rail == 0) {
      take_event(what, entry, length);
    } else if (what == FI_CONNREQ) {
      take_rail_request(rail - 1, info_ptr(entry.info),
                        std::span(room).subspan(sizeof entry, length - sizeof entry));
    } else {
      take_rail_event(what, entry.fid);
    }
  }
}

void ofi_network::take_event(std::uint32_t what, fi_eq_cm_entry const& entry, std::size_t bytes) {
  introduction said{};
  if (bytes >= sizeof entry + sizeof said) std::memcpy(&said, entry.data, sizeof said);
  bool const introduced = said.mark == introduction_mark && said.job == job_;
  if (what == FI_CONNREQ) {
    info_ptr request(entry.info);
    if (introduced && may_be_peer(said.rank)) {
      take_request(make(said.rank), said.number, std::move(request));
    } else {
      context_->reject(*request);
    }
    return;
  }
  auto const found = endpoints_.find(entry.fid);
  if (found == endpoints_.end()) return;  // of an endpoint that is closed
  peer& p = *found->second;
  if (what == FI_CONNECTED) {
    if (p.now == peer::link::connecting && !p.lost) stands(p, introduced ? &said : nullptr);
  } else if (what == FI_SHUTDOWN) {
    p.hung_up = true;
    touch(p);
  }
}

void ofi_network::take_failure(context const& of, std::size_t rail) {
  fi_eq_err_entry error{};
  if (fi_eq_readerr(of.events(), &error, 0) < 0) return;
  if (rail != 0) {
    take_rail_failure(error.fid, error.err);
    return;
  }
  auto const found = endpoints_.find(error.fid);
  if (found == endpoints_.end()) return;
  peer& p = *found->second;
  lose(p, words_of(error.err) + (p.now == peer::link::connecting && p.begun ? p.called : std::string()));
}

/// `request`: null where one endpoint serves all peers.
void ofi_network::take_request(peer& p, std::uint32_t number, info_ptr request) {
  if (number <= p.last_seen) {
    if (request != nullptr) context_->reject(*request);
    return;
  }
  p.last_seen = number;
  drop_wish(p);
  p.wishes = true;
  p.request = std::move(request);
  p.wish_number = number;
  bool const stood =
      p.now == peer::link::connected || (p.now == peer::link::closing && !(p.said_bye && p.got_bye));
  if (stood || (p.now == peer::link::connecting && !p.begun)) lose(p, "the other side has begun anew");
  touch(p);
}

void ofi_network::drop_wish(peer& p) {
  p.wishes = false;
  if (p.request != nullptr) context_->reject(*p.request);
  p.request.reset();
}

/// Answers the wish of a peer; what this side has asked for by itself is dropped.
void ofi_network::accept(peer& p) {
  info_ptr const request = std::move(p.request);
  p.wishes = false;
  if (p.now == peer::link::none) begin_connection(p);
  release_endpoint(p);
  p.lost = p.begun = p.hung_up = false;
  p.number = p.wish_number;
  if (context_->connectionless()) {
    own_endpoint(p, context_->endpoint());
    say_word(p, wire::ack, {});
    stands(p, nullptr);
    return;
  }
  // Who calls hears of a refusal, and tries again; a connection that stands and is lost would end its job.
  bool const can_receive = context_->shared_receives() != nullptr || receives_.has_one();
  if (!can_receive) error_ = "there is no memory for messages";
  fid_ep* const made = can_receive ? context_->make_endpoint(*request, &p, error_) : nullptr;
  if (made == nullptr) {
    context_->reject(*request);
    lose(p, error_);
    return;
  }
  own_endpoint(p, made);
  introduction const own{introduction_mark, me_, last_number_ * 2 + 1, 0, job_};
  if (int const e = fi_accept(made, &own, sizeof own); e != 0) lose(p, words_of(e));
}

/// From here on it is connected.
void ofi_network::stands(peer& p, introduction const* answer) {
  set_link(p, peer::link::connected);
  if (p.begun && answer != nullptr && answer->number > p.last_seen) p.last_seen = answer->number;
  if (p.wishes) {
    if (answer != nullptr && p.wish_number > answer->number) {
      lose(p, "the other side has begun anew");
    } else {
      drop_wish(p);  // of the time when both asked
    }
  }
  tell_connected(p);
}

}  // namespace atl::transport::ofi
