// Connections to ranks of other hosts: begun at first use, from either side or both, and closed when there are too many.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>

#include "base/error.hpp"
#include "base/os/descriptor_limit.hpp"
#include "base/os/unanswered_call.hpp"
#include "base/settings.hpp"
#include "bootstrap/bootstrap.hpp"
#include "engine/network/decision_clock.hpp"
#include "engine/network/frames.hpp"
#include "engine/network/network_messages.hpp"

namespace atl::engine {

using transport::connection_change;
using transport::index_of;
using transport::lane;
using transport::started;

namespace {

constexpr std::uint32_t most_refusals = 60;          ///< where hosts may be unheard of for any time
constexpr std::uint64_t shortest_pause_ns = 50'000;  ///< after a refusal
constexpr std::uint64_t longest_pause_ns = 1'000'000'000;
/// Where connections that are too many were all in use when they were made.
constexpr std::uint64_t between_closes_ns = 1'000'000;
constexpr std::uint64_t between_looks_ns = 500'000'000;

/// Where a rank is never reached.
std::string what_to_try() {
  if (os::descriptors_are_used_up()) {
    return format(
        "This rank has as many files open as it may have, %llu: raise that limit (ulimit -n; -Hn where the hard one is as low)",
        static_cast<unsigned long long>(os::descriptor_limit()));
  }
  return "Is a cable out, a firewall between the hosts, or has one IPv4 addresses and the other IPv6 alone? ATOLL_NET_DEVICES names the interfaces that are to be used, and "
         "ATOLL_HOST_TIMEOUT how long is tried";
}

/// 0: without end.
std::uint64_t patience_ns() { return std::uint64_t{settings::host_timeout_ms()} * 1'000'000; }

bool is_open(network_peer const& p) { return p.link == link_state::open || p.link == link_state::closing; }

}  // namespace

bool network_messages::connect(network_peer& p) {
  if (p.link == link_state::open) [[likely]] {
    p.last_use = ++uses_;
    return true;
  }
  if (p.link != link_state::none) return false;
  if (p.refusals != 0) {
    std::uint64_t const now = decision_clock::now_ns();
    if (now < p.try_again_ns) return false;
    // Nobody has tried for long: that time is no failure.
    if (now - p.try_again_ns > 4 * longest_pause_ns) p.refusals = 0;
  }
  std::string const address = shape_.card_of(p.rank).address;
  if (p.refusals == 0) p.connecting_since_ns = decision_clock::now_ns();
  switch (network_->connect(p.rank, std::as_bytes(std::span(address)))) {
    case started::complete:
    case started::source_free:
      opened(p);
      return true;
    case started::under_way:
      become(p, link_state::connecting);
      return false;
    case started::no_room:
      return false;
    default:
      check_failed(
          "network: %s cannot be reached over the network %s: %s. ATOLL_NET_DEVICES names the interfaces that are to be used; `atoll "
          "info` shows which there are",
          name_of(p.rank).c_str(), std::string(network_->name()).c_str(), network_->last_error().c_str());
  }
}

void network_messages::opened(network_peer& p) {
  if (p.link == link_state::open) return;
  if (std::exchange(p.wanted, false)) --waiting_;
  become(p, link_state::open);
  p.connecting_since_ns = 0;
  p.refusals = 0;
  for (lane const way : {lane::request, lane::control}) p.sizes[index_of(way)] = network_->sizes(p.rank, way);
  p.last_use = ++uses_;
  connected_.push_back(&p);
  if (too_many_open()) close_least_used();
}

/// One that is not needed now, if there is any. Limits are soft: what is wanted is always connected.
void network_messages::close_least_used() {
  next_close_ns_ = decision_clock::now_ns() + between_closes_ns;
  network_peer* least = nullptr;
  for (network_peer* const p : connected_) {
    // To be closed it would wait until late payloads are fetched, for which there may be no memory; and nothing passes meanwhile.
    bool const late = p->late[0] != 0 || p->late[1] != 0 || p->unfetched != 0;
    bool const idle =
        p->pieces.empty() && p->waiting[0].empty() && p->waiting[1].empty() && !p->bundling && !late;
    if (idle && (least == nullptr || p->last_use < least->last_use)) least = p;
  }
  if (least == nullptr || least->last_use == uses_) return;  // that is the one that has just been opened
  // Later it could not be brought back, and neither side would forget the other.
  if (least->owed != 0) static_cast<void>(send_note(*least, form::credit, 0));
  closes(*least);
  network_->close(least->rank);
}

/// Networks differ in how long an attempt takes: until a packet is back, or until nobody has answered for seconds. Time counts
/// from the first refusal, as nobody may have looked for one before; of what that took, some.
void network_messages::refused(network_peer& p, std::string_view words) {
  std::uint64_t const now = decision_clock::now_ns();
  std::uint64_t const patience = patience_ns();
  std::uint64_t const took = p.connecting_since_ns != 0 ? now - p.connecting_since_ns : 0;
  if (++p.refusals == 1) p.first_refusal_ns = now - std::min(took, patience / 3);
  if (patience != 0 ? now - p.first_refusal_ns > patience : p.refusals > most_refusals) {
    // Others find that, too, and one rank says so.
    check_failed(
        "network: %s cannot be reached over the network %s: %.*s. It was tried %u times, and for %.1f s after the "
        "first one. %s",
        name_of(p.rank).c_str(), std::string(network_->name()).c_str(), static_cast<int>(words.size()),
        words.data(), p.refusals, static_cast<double>(now - p.first_refusal_ns) / 1e9, what_to_try().c_str());
  }
  // Networks have words of their own for each attempt. What took long so far need not be tried often.
  p.try_again_ns = now + std::clamp((now - p.first_refusal_ns) / 4, shortest_pause_ns, longest_pause_ns);
}

std::string network_messages::name_of(std::int32_t rank) const {
  std::string host;
  try {
    host = shape_.card_of(rank).host;
  } catch (bootstrap::bootstrap_error const&) {  // the job is being ended
  }
  return host.empty() ? format("rank %d", rank) : format("rank %d (%s)", rank, host.c_str());
}

void network_messages::become(network_peer& p, link_state now) noexcept {
  if (p.link == link_state::connecting) --connecting_;
  if (now == link_state::connecting) ++connecting_;
  p.link = now;
}

/// Networks wait for as long as the system does when nobody answers, which is two minutes by TCP. A peer that computes has a system
/// that answers, and is waited for; over networks without such connections nothing is found.
void network_messages::look_for_silence() {
  std::uint64_t const now = decision_clock::now_ns();
  if (now < look_for_silence_ns_) return;
  look_for_silence_ns_ = now + between_looks_ns;
  std::uint64_t const patience = patience_ns();
  if (patience == 0) return;
  std::vector<std::int32_t> ranks;
  for (auto const& [rank, p] : peers_) {
    if (p->link == link_state::connecting && now - p->connecting_since_ns >= patience) ranks.push_back(rank);
  }
  if (ranks.empty()) return;
  std::vector<os::unanswered_call> const calls = os::unanswered_calls();
  if (calls.empty()) return;
  for (std::int32_t const rank : ranks) {
    std::string const addresses = shape_.card_of(rank).address;
    // The program may call others, who do not answer either.
    auto const call = std::find_if(calls.begin(), calls.end(),
                                   [&](os::unanswered_call const& c) { return c.is_to_one_of(addresses); });
    if (call == calls.end()) continue;
    check_failed(
        "network: %s cannot be reached over the network %s: for %.1f s nobody has answered the call %s, which was not refused "
        "either. Does a firewall between the hosts drop it, or do these interfaces not reach each other? ATOLL_NET_DEVICES names "
        "the interfaces that are to be used, and ATOLL_HOST_TIMEOUT how long is waited",
        name_of(rank).c_str(), std::string(network_->name()).c_str(),
        static_cast<double>(now - peer(rank).connecting_since_ns) / 1e9, call->words.c_str());
  }
}

/// Who has no descriptor for those that call lets them wait, and would wait for them.
void network_messages::look_for_untaken(std::uint64_t now) {
  look_for_untaken_ns_ = now + between_looks_ns;
  std::uint64_t const patience = patience_ns();
  bool const all_are_connected = connected_.size() + 1 >= static_cast<std::size_t>(shape_.ranks);
  if (patience == 0 || all_are_connected || !os::descriptors_are_used_up() || !os::has_untaken_calls()) {
    untaken_since_ns_ = 0;
    return;
  }
  if (untaken_since_ns_ == 0) untaken_since_ns_ = now;
  if (now - untaken_since_ns_ < patience) return;
  check_failed(
      "network: this rank cannot be reached over the network %s: for %.1f s it has not taken the calls of others. %s",
      std::string(network_->name()).c_str(), static_cast<double>(now - untaken_since_ns_) / 1e9,
      what_to_try().c_str());
}

void network_messages::connection(transport::connection_event const& event) {
  network_peer& p = peer(event.peer);
  switch (event.what) {
    case connection_change::connected:
      opened(p);
      break;
    case connection_change::wanted:
      if (p.link != link_state::open && !std::exchange(p.wanted, true)) ++waiting_;
      [[fallthrough]];
    case connection_change::refused:
      if (p.link == link_state::open) break;  // the peer's own attempt was quicker
      become(p, link_state::none);
      refused(p, event.words);
      break;
    case connection_change::closing:
      closes(p);
      break;
    case connection_change::lost:
      if (!ending_) lost(p.rank, event.words);
      closes(p);
      break;
    case connection_change::closed:
      closes(p);
      become(p, link_state::none);
      for (auto const& tell : on_close) tell(p.rank);
      break;
  }
  list(p);
}

void network_messages::close_some() {
  if (decision_clock::now_ns() >= next_close_ns_) close_least_used();
}

void network_messages::closes(network_peer& p) noexcept {
  if (p.link == link_state::open) std::erase(connected_, &p);
  become(p, link_state::closing);
}

void network_messages::close_all() {
  ending_ = true;
  static_cast<void>(close_bundles());
  for (auto const& [rank, p] : peers_) {
    if (is_open(*p)) network_->close(rank);
  }
}

bool network_messages::any_open() const noexcept {
  return std::any_of(peers_.begin(), peers_.end(), [](auto const& each) { return is_open(*each.second); });
}

void network_messages::lost(std::int32_t rank, std::string_view words) const {
  // Ranks that are ended one after the other leave such words of each behind.
  bootstrap::await_explanation();
  // Those at the other end find the same where it is the connection that has broken; one of them says so.
  check_failed(
      "network: %s cannot be reached over the network %s any more: %.*s. The rank or its host has ended, the "
      "network between the hosts is down, or a firewall there has ended the connection.",
      name_of(rank).c_str(), std::string(network_->name()).c_str(), static_cast<int>(words.size()),
      words.data());
}

}  // namespace atl::engine
