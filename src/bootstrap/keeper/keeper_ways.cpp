// What a keeper makes of the ways by which it hears its neighbours, and of those by which it does not.

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "base/os/tcp_table.hpp"
#include "bootstrap/keeper/connections.hpp"
#include "bootstrap/keeper/keeper.hpp"
#include "bootstrap/keeper/own_link.hpp"

namespace atl::keeping {
namespace {

constexpr std::int64_t between_looks_ms = 200;
/// Beside half the patience: for ranks to find what a keeper has found, and to be ended over it.
constexpr std::int64_t ranks_turn_ms = 3000;

}  // namespace

std::string words_with_addresses(card const& of) {
  std::string all = words_of(of);
  for (address const& each : of.addresses) {
    if (each.family == 0) continue;
    all += (&each == of.addresses.data() ? " at " : ", ") + os::text_of_address(each.family, each.bytes);
  }
  return all;
}

std::size_t keeper::addresses_of_next() const {
  auto const& all = orders_.next.addresses;
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](address const& a) { return a.family != 0; }));
}

/// That the next one could not be reached. Ranks that want to talk to each other mostly find the same, and end the job in words, which are all
/// that is wanted then. And where nobody has called, the host before this one has said so already, unless this is the first.
void keeper::tell_of_unreached() {
  std::int64_t const now = now_ms();
  if (unreached_why_.empty() || now - next_.since() < patience_ / 2 + std::min(ranks_turn_ms, patience_))
    return;
  std::string const why = std::exchange(unreached_why_, {});
  bool const told_by_previous = orders_.host != 0 && previous_.now() == neighbour::state::none;
  if (told_by_previous || !has_survivors() || fell_ >= 0 || ending_) return;
  print(format("cannot reach the keeper of host %s: %s. The loss of a host may go unnoticed (a firewall?)",
               words_with_addresses(orders_.next).c_str(), why.c_str()));
}

/// A way that the ranks' network uses, and by which nothing comes any more, although its host is heard of by the first one. Where
/// that is silent as well, it is the host that is missed.
void keeper::watch_further_ways() {
  if (next_.now() == neighbour::state::up) ways_.call(address_ % addresses_of_next());
  ways_.beat();
  std::int64_t const now = now_ms();
  if (ending_ || !has_survivors() || now - looked_at_ways_ < between_looks_ms) return;
  looked_at_ways_ = now;
  auto const is_up = [&](neighbour const& n) {
    return n.now() == neighbour::state::up && now - n.heard() < silence_ / 2;
  };
  auto const* const lost = ways_.find([&](further_ways::way const& w) {
    bool const host_is_up = (w.now.host() == next_.host() && is_up(next_)) ||
                            (w.now.host() == previous_.host() && is_up(previous_));
    return now - w.now.heard() >= silence_ && host_is_up && is_used(w.interface);
  });
  if (lost != nullptr)
    end_job(orders_.host, words_of_silence(lost->now, lost->interface, true), false, nullptr);
}

/// By connections of ranks; by TCP, which is all that is cut with an interface of the system's. Looking costs a read of two tables and of the
/// ranks' descriptors, and happens only where something is silent.
bool keeper::is_used(std::uint32_t interface) const {
  std::unordered_set<std::uint64_t> const sockets = connections_over(interface);
  for (std::size_t i = 0; i < wards_.size(); ++i) {
    bool const runs = !wards_[i].ended && board_[i].how.load(std::memory_order_acquire) == standing::runs;
    if (runs && has_one_of(wards_[i].number, sockets)) return true;
  }
  return false;
}

bool keeper::is_heard_further(neighbour const& whom) const {
  return ways_.find([&](further_ways::way const& w) {
    return w.now.host() == whom.host() && now_ms() - w.now.heard() < silence_ / 2;
  }) != nullptr;
}

/// Of a host; or of a link, where the host is heard of by another one.
std::string keeper::words_of_silence(neighbour const& whom, std::uint32_t interface,
                                     bool heard_by_another) const {
  auto const seconds = [](std::int64_t ms) { return static_cast<double>(ms) / 1000; };
  std::string const what =
      heard_by_another
          ? format(
                "the link %s between hosts %s and %s is lost: nothing has come over it for %.1f s, while "
                "they hear each other over another; the job ends. Is a cable out?",
                name_of_interface(interface).c_str(), words_of(orders_.mine).c_str(), whom.words().c_str(),
                seconds(silence_))
          : format(
                "host %s is lost: nothing has been heard of it for %.1f s; the job ends. Has it crashed, or its "
                "network?",
                whom.words().c_str(), seconds(silence_));
  return what + format(" A larger ATOLL_HOST_TIMEOUT (now %g s) waits longer", seconds(patience_));
}

}  // namespace atl::keeping
