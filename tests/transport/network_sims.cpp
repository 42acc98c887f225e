// The simulated network in many configurations, for the suite network_*.

#include <cstdlib>

#include "base/bell_events.hpp"
#include "base/os/event.hpp"
#include "network_fabric.hpp"
#include "transport/sim/sim_network.hpp"

namespace atl::transport {
namespace {

class sim_job final : public network_job {
 public:
  sim_job(std::int32_t ranks, std::string const& text) : ranks_(ranks), how_(sim::parse_options(text)) {
    std::size_t const size = sim::region_bytes(ranks, how_);
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, size)));
    std::memset(memory_.get(), 0, size);
    std::vector<os::unique_fd> events(static_cast<std::size_t>(ranks));
    for (os::unique_fd& event : events) event = os::make_event();
    add_bell_events(std::move(events));
  }
  ~sim_job() override { clear_bell_events(); }
  std::unique_ptr<network> open(std::int32_t rank) override {
    sim::config config;
    config.base = memory_.get();
    config.ranks = ranks_;
    config.me = rank;
    config.how = how_;
    config.event = rank;
    return std::make_unique<sim::sim_network>(config);
  }
  bool break_connection(network& of, std::int32_t peer) override {
    static_cast<sim::sim_network&>(of).break_connection(peer);
    return true;
  }

 private:
  struct free_memory {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::int32_t ranks_;
  sim::options how_;
  std::unique_ptr<std::byte, free_memory> memory_;
};

std::unique_ptr<network_job> make_sim(std::int32_t ranks, std::string const& options) {
  return std::make_unique<sim_job>(ranks, options);
}

}  // namespace

std::vector<network_kind> network_kinds() {
  return {{"sim_at_rest", make_sim, ""},
          {"sim_bad", make_sim, "bad=yes"},
          {"sim_bad_active", make_sim, "bad=yes,passive=no,seed=2"},
          {"sim_bad_ordered", make_sim, "bad=yes,ordered=yes,seed=3"},
          {"sim_active", make_sim, "passive=no"},
          {"sim_slow", make_sim, "latency=20us,bandwidth=1GB/s"},
          {"sim_slow_ordered", make_sim, "latency=5us,ordered=yes,ring=128"},
          {"sim_poor", make_sim, "atomics=no,notified=no,vectors=no,late=no,gpu=no,packets=2,losses=none"},
          {"sim_fragile", make_sim, "stale=breaks,losses=traffic,eager=1000"},
          {"sim_incoherent", make_sim, "coherent=no,loopback=no,delay=20"},
          {"sim_bad_incoherent", make_sim, "bad=yes,coherent=no,seed=4"}};
}

std::string why_no_network() { return {}; }

}  // namespace atl::transport
