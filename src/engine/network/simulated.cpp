#include "engine/network/simulated.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include <atoll/base/round_up.hpp>

#include "base/error.hpp"
#include "base/os/memfd.hpp"
#include "base/os/unique_fd.hpp"
#include "base/settings.hpp"
#include "transport/sim/sim_network.hpp"

namespace atl::engine {
namespace {

namespace sim = transport::sim;

sim::options simulated_options() {
  settings::simulated_network const set = settings::sim_network();
  sim::options how = sim::parse_options(set.options);
  how.seed = set.seed;
  how.lockstep = how.lockstep || set.lockstep;
  return how;
}

}  // namespace

simulated_machine::simulated_machine(bootstrap::channel& channel) : place_(channel.where()) {
  auto const ranks = static_cast<std::size_t>(place_.size);
  // Bells in the order of hosts, so that those of one host lie together.
  std::vector<std::uint32_t> begins(static_cast<std::size_t>(place_.hosts) + 1);
  for (std::int32_t r = 0; r < place_.size; ++r) ++begins[static_cast<std::size_t>(place_.host_of(r)) + 1];
  for (std::size_t h = 1; h < begins.size(); ++h) begins[h] += begins[h - 1];
  host_begin_ = begins[static_cast<std::size_t>(place_.host)];
  for (std::int32_t r = 0; r < place_.size; ++r) {
    bell_of_.push_back(begins[static_cast<std::size_t>(place_.host_of(r))]++);
  }

  std::size_t const bells = round_up(ranks * sizeof(doorbell), std::size_t{4096});
  bytes_ = bells + sim::region_bytes(place_.size, simulated_options());
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
  bells_ = reinterpret_cast<doorbell*>(base_);
}

simulated_machine::~simulated_machine() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

void simulated_machine::wake(void* machine, std::int32_t rank) {
  auto const* const self = static_cast<simulated_machine*>(machine);
  atl::wake(self->bells_[self->bell_of_[static_cast<std::size_t>(rank)]]);
}

std::unique_ptr<transport::network> simulated_machine::open() {
  sim::config how;
  how.base = base_ + round_up(static_cast<std::size_t>(place_.size) * sizeof(doorbell), std::size_t{4096});
  how.ranks = place_.size;
  how.me = place_.rank;
  how.how = simulated_options();
  how.wake = &wake;
  how.wake_context = this;
  return std::make_unique<sim::sim_network>(how);
}

}  // namespace atl::engine
