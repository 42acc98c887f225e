// Connections: an agreement of two sides, each with a number, by messages over libucp's endpoints.
//
//   connect ──hello──>            the other side accepts: its number comes with the ack, or with the first message
//   close ────bye────> <───bye──  each says it once all of its own has come to an end; and waits for all that was sent
//
// Messages carry the number that their receiver has given the connection: those of an earlier one are dropped. Both sides
// may say hello at once; each then answers with an ack, and the first that comes is enough. A hello while a connection
// stands says that the peer has given the old one up.
//
// The endpoint outlives the agreement, and goes by force when it is lost.

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "transport/ucx/ucx_network.hpp"

namespace atl::transport::ucx {
namespace {

/// Messages of a lane to a peer under way: more would only wait in libucp.
constexpr std::size_t most_in_lane = 64;
/// Where no interface leads to a peer: a cable may be out. libucp writes a line about each attempt, so that each pause is twice as long as the one before.
constexpr std::uint64_t first_pause_ns = 1'000'000'000;
constexpr std::uint64_t longest_pause_ns = 4 * first_pause_ns;

}  // namespace

// ---- begin ---------------------------------------------------------------------------------------

void ucx_network::begin_connection(peer& p) {
  module_network::begin_connection(p);
  p.mine = ++last_number_;
  p.theirs = 0;
  p.got = p.sent_by_peer = 0;
  p.room[0] = p.room[1] = most_in_lane;
  p.given_up = false;
}

bool ucx_network::open_endpoint(peer& p, std::span<std::byte const> worker_address) {
  if (p.endpoint != nullptr) return true;
  p.owner = this;
  ucp_ep_params_t how{};
  // Without user data, which the handler would get instead of its own argument.
  how.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                   UCP_EP_PARAM_FIELD_ERR_HANDLER;
  how.address = reinterpret_cast<ucp_address_t const*>(worker_address.data());
  how.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  how.err_handler.arg = &p;
  how.err_handler.cb = [](void* of, ucp_ep_h endpoint, ucs_status_t status) {
    auto& whom = *static_cast<peer*>(of);
    if (whom.endpoint != endpoint && whom.endpoint != nullptr) return;  // of an earlier one
    whom.owner->lose(whom, words_of(status));
  };
  ucs_status_t const s = ucp.ep_create(context_->worker(), &how, &p.endpoint);
  if (s == UCS_OK) {
    p.pause_ns = 0;
    return true;
  }
  p.endpoint = nullptr;
  error_ = "UCX makes no endpoint: " + words_of(s);
  if (s == UCS_ERR_UNREACHABLE) {
    p.pause_ns = std::clamp(2 * p.pause_ns, first_pause_ns, longest_pause_ns);
    p.not_before_ns = now_ns() + p.pause_ns;
  }
  return false;
}

started ucx_network::connect(std::int32_t rank, std::span<std::byte const> peer_address) {
  std::uint32_t mark = 0;
  if (peer_address.size() > sizeof mark) std::memcpy(&mark, peer_address.data(), sizeof mark);
  if (mark != address_mark) {
    error_ = "that is no address of a network over UCX";
    return started::unsupported;
  }
  peer* whom = nullptr;
  if (std::optional<started> const s = connect_as_it_stands(rank, whom)) return *s;
  peer& p = *whom;
  if (p.not_before_ns != 0 && now_ns() < p.not_before_ns) return started::no_room;
  begin_connection(p);
  p.asked = true;
  if (open_endpoint(p, peer_address.subspan(sizeof mark))) {
    say_word(p, wire::hello, introduction_);
  } else {
    lose(p, error_);
  }
  return started::under_way;
}

/// Of another job, whose calls are for who had this port before, nothing is taken.
void ucx_network::take_hello(wire const& w, std::span<std::byte const> introduction) {
  if (introduction.size() <= before_address || !is_of_this_job(introduction) || !may_be_peer(w.from)) return;
  peer& p = make(w.from);
  // Its attempts have growing numbers: an older one has been given up there, however late it is heard of.
  bool const newer = w.from_number > p.last_theirs && !(p.wishes && w.from_number <= p.wish_number);
  if (!newer) return;
  p.wishes = true;
  p.wish_number = w.from_number;
  p.wish_address.assign(introduction.begin() + before_address, introduction.end());
  if (p.now == peer::link::connected || (p.now == peer::link::closing && !p.agreed())) {
    lose(p, "the other side has begun anew");
  }
  touch(p);
}

/// From here on it is connected: by an ack, a message, or the peer's hello.
void ucx_network::stands(peer& p, std::uint32_t theirs) {
  if (p.wishes && p.wish_number == theirs) p.wishes = false;
  p.theirs = p.last_theirs = theirs;
  set_link(p, peer::link::connected);
  tell_connected(p);
}

/// Answers a hello.
void ucx_network::accept(peer& p) {
  p.wishes = false;
  if (p.now == peer::link::none) begin_connection(p);
  if (!open_endpoint(p, p.wish_address)) {
    lose(p, error_);
    return;
  }
  p.theirs = p.wish_number;
  say_word(p, wire::ack, {});
  stands(p, p.wish_number);
}

// ---- end -----------------------------------------------------------------------------------------

void ucx_network::give_up(std::int32_t rank) {
  peer* const p = find(rank);
  if (p == nullptr || p->now == peer::link::none || p->lost) return;
  p->given_up = true;
  lose(*p, "it was given up");
}

void ucx_network::tend(peer& p) {
  if (p.lost && !p.agreed()) {
    tend_lost(p);
    return;
  }
  if (p.now == peer::link::closing) tend_closing(p);
  if (p.now == peer::link::none && p.lost) tend_lost(p);
  if (p.wishes && !p.lost && (p.now == peer::link::none || p.now == peer::link::connecting)) accept(p);
}

void ucx_network::tend_closing(peer& p) {
  if (p.lost && !release_endpoint(p)) return;  // agreed, so nobody misses it
  if (p.out != 0 || p.events != 0) return;
  if (!p.said_bye) {
    if (p.memory_started != p.memory_flushed) {
      // Puts of which nobody wanted to hear have to be there, too.
      flush_for_waiting(p);
      return;
    }
    p.said_bye = true;
    say_word(p, wire::bye, std::as_bytes(std::span(&p.sent.sent(), 1)));
  }
  if (p.agreed() && p.out == 0) end_connection(p);
}

/// Waits for libucp to let go of everything, and for events to be told.
void ucx_network::tend_lost(peer& p) {
  tell_lost(p);
  if (!release_endpoint(p)) return;
  if (!p.flushing) fail_waiting(p);
  if (p.now == peer::link::none) {  // a wire that had stayed
    p.lost = false;
    if (p.wishes) touch(p);
    return;
  }
  if (p.out == 0 && p.events == 0) end_connection(p);
}

/// True when the endpoint is away.
bool ucx_network::release_endpoint(peer& p) {
  if (p.endpoint != nullptr && !p.endpoint_closes) {
    // A word to one who lives; the wire breaks behind it.
    if (p.given_up && p.now != peer::link::connecting) say_word(p, wire::gone, {});
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    how.flags = UCP_EP_CLOSE_FLAG_FORCE;
    p.endpoint_closes = true;
    ucs_status_ptr_t const closing = ucp.ep_close_nbx(p.endpoint, &how);
    p.closing_endpoint = UCS_PTR_IS_PTR(closing) ? closing : nullptr;
  }
  if (p.closing_endpoint != nullptr) {
    if (ucp.request_check_status(p.closing_endpoint) == UCS_INPROGRESS) {
      touch(p);
      return false;
    }
    ucp.request_free(p.closing_endpoint);
    p.closing_endpoint = nullptr;
  }
  p.endpoint = nullptr;
  p.endpoint_closes = false;
  return true;
}

}  // namespace atl::transport::ucx
