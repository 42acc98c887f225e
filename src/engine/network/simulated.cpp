#include "engine/network/simulated.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/os/membarrier.hpp"
#include "base/os/memfd.hpp"
#include "base/os/unique_fd.hpp"
#include "base/settings.hpp"
#include "bootstrap/bells.hpp"
#include "engine/network/decision_clock.hpp"
#include "memory/sim/sim_segment.hpp"
#include "transport/sim/sim_network.hpp"

namespace atl::engine {
namespace {

namespace sim = transport::sim;

sim::options simulated_options() {
  settings::simulated_network const set = settings::sim_network();
  sim::options how = sim::parse_options(set.options, set.seed);
  how.lockstep = how.lockstep || set.lockstep;
  return how;
}

}  // namespace

simulated_machine::simulated_machine(bootstrap::channel& channel)
    : place_(channel.where()), how_(simulated_options()) {
  map(channel);
  event_ = bootstrap::share_bell_events(channel, bootstrap::sharers::machine);
  for (std::string const& joined : channel.exchange_machine(os::join_remote_fences() ? "y" : "n")) {
    remote_fences_ = remote_fences_ && joined == "y";
  }
}

void simulated_machine::map(bootstrap::channel& channel) {
  bytes_ = sim::region_bytes(place_.size, how_);
  os::unique_fd made;
  if (channel.machine().local_rank == 0) made = os::make_sealed_memfd("atoll-network", bytes_);
  int const mine = made.get();
  os::unique_fd shared(bootstrap::share_descriptor_on_machine(channel, mine));
  if (shared.get() == mine) made.release();
  void* const mapped =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, shared.get(), 0);
  if (mapped == MAP_FAILED) {
    throw startup_error(
        format("cannot map %zu bytes of memory for the simulated network: %s", bytes_, std::strerror(errno)));
  }
  base_ = static_cast<std::byte*>(mapped);
}

simulated_machine::~simulated_machine() {
  decision_clock::count_looks(false);
  if (base_ != nullptr) munmap(base_, bytes_);
}

std::unique_ptr<transport::network> simulated_machine::open() {
  sim::config config;
  config.base = base_;
  config.ranks = place_.size;
  config.me = place_.rank;
  config.how = how_;
  config.event = event_;
  config.remote_fences = remote_fences_;
  config.tell = settings::verbosity() > 0;
  decision_clock::count_looks(how_.lockstep);
  config.reach = [](memory::kind_id, void* begin, std::size_t bytes) {
    return memory::sim::sim_segment::reach(begin, bytes);
  };
  return std::make_unique<sim::sim_network>(config);
}

}  // namespace atl::engine
