#include "engine/network/failure.hpp"

#include <atoll/base/check.hpp>

#include "bootstrap/bootstrap.hpp"
#include "engine/network/network_messages.hpp"

namespace atl::engine {

void operation_failed(network_messages& by, transport::outcome how, std::int32_t peer,
                      std::string const& what, char const* instead) {
  transport::network const& network = by.transport();
  std::string const words = network.last_error();
  if (how == transport::outcome::peer_lost) by.lost(peer, words);
  // Networks that hear of the end of a peer first by what is under way to it may call that a failure.
  bootstrap::await_explanation();
  check_failed(
      "network: %s has failed over the network %s: %s. The connection to rank %d stands, but how much of this was done is not known. "
      "%s; the system's log on both hosts (dmesg) may say more",
      what.c_str(), std::string(network.name()).c_str(), words.empty() ? "it gives no reason" : words.c_str(),
      peer, instead);
}

}  // namespace atl::engine
