#include "bootstrap/bells.hpp"

#include <utility>
#include <vector>

#include "base/bell_events.hpp"
#include "base/os/event.hpp"

namespace atl::bootstrap {

std::int32_t share_bell_events(channel& with, sharers who) {
  placement const& among = who == sharers::host ? with.where() : with.machine();
  std::vector<os::unique_fd> events(static_cast<std::size_t>(among.local_size));
  bool made = true;
  for (os::unique_fd& event : events) {
    if (among.local_rank == 0) event = os::make_event();
    made = made && (event || among.local_rank != 0);
  }
  bool all = true;
  for (std::string const& each : with.exchange_machine(made ? "y" : "n")) all = all && each == "y";
  if (!all || !share_descriptors(with, who, events)) return -1;
  return static_cast<std::int32_t>(add_bell_events(std::move(events))) + among.local_rank;
}

}  // namespace atl::bootstrap
