#pragma once

/// What the first rank of a host does for the keeper that it starts: opens its listeners, and its program.

#include <string>
#include <string_view>
#include <vector>

#include "base/os/unique_fd.hpp"
#include "bootstrap/keeper/orders.hpp"

namespace atl::keeping {

struct post {
  std::vector<os::unique_fd> listeners;
  card mine;
};

/// Listens on the addresses by which other hosts may reach this one: those of interfaces that are up, no loopback unless there is
/// nothing else, no link-local ones. `devices`: names of the interfaces to be used if they are among them, as in
/// ATOLL_NET_DEVICES. Where none can be had the card has no addresses.
post open_post(std::string_view host, std::string_view ranks, std::string_view devices);

/// Is its program there?
bool is_installed();

/// Starts the keeper. Empty, or why it could not be started.
std::string start_keeper(orders const& what, int board, std::vector<os::unique_fd> const& listeners);

/// "rank 4", "ranks 4 to 7", "ranks 1, 3, 5" of ascending ranks; long lists are cut.
std::string words_of_ranks(std::vector<std::int32_t> const& ranks);

}  // namespace atl::keeping
