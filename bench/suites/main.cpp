// The ranks of `atoll bench`. Options are name=value, written by that program.

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <upcxx/upcxx.hpp>

#include "harness/options.hpp"
#include "pair_lines.hpp"
#include "suites.hpp"

namespace atl::bench {
namespace {

struct suite {
  std::string_view name;
  void (*run)(group&, suite_options const&);
  bool any_ranks;
};

constexpr std::array suites{
    suite{"put", run_put, false},
    suite{"get", run_get, false},
    suite{"atomics", run_atomics, false},
    suite{"strided", run_strided, false},
    suite{"rpc", run_rpc, false},
    suite{"serialization", run_serialization, false},
    suite{"futures", run_futures, false},
    suite{"barrier", run_barrier, true},
    suite{"allreduce", run_allreduce, true},
    suite{"broadcast", run_broadcast, true},
    suite{"alltoall", run_alltoall, true},
    suite{"neighbors", run_neighbors, true},
    suite{"memory", run_memory, false},
    suite{"gpu", run_gpu, true},
};

struct options : suite_options {
  std::vector<std::string> chosen;
  group_config config;
};

options parse(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    auto const given = option_of(argv[i]);
    auto const& [name, value] = given;
    if (take_measuring(o.config, given)) continue;
    if (name == "suites") {
      o.chosen = split(value);
    } else if (name == "sizes") {
      o.sizes = sizes_of(value);
    } else if (name == "device_sizes") {
      o.device_sizes = sizes_of(value);
    } else if (name == "crowded") {
      o.config.crowded = true;
    } else if (name == "only") {
      o.config.only = value;
    } else if (name == "quick") {
      o.quick = true;
    } else {
      std::fprintf(stderr, "atoll-bench-ranks: unknown option %s; start it as `atoll bench`\n", argv[i]);
      std::exit(2);
    }
  }
  return o;
}

void print_facts(group& g) {
  std::string cores;
  for (int rank = 0; rank < upcxx::rank_n(); ++rank) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    sched_getaffinity(0, sizeof mask, &mask);
    int const mine = CPU_COUNT(&mask) == 1 ? sched_getcpu() : -1;
    int const core = upcxx::broadcast(mine, rank).wait();
    if (rank != 0) cores += ',';
    cores += core < 0 ? "-" : std::to_string(core).c_str();
  }
  g.print_fact("binding", cores);
  g.print_fact("transport", on_one_host() ? "shm" : "network between hosts");
}

void run(options& o) {
  auto& c = o.config;
  c.rank = upcxx::rank_me();
  c.ranks = upcxx::rank_n();
  c.idle = [] { upcxx::progress(); };
  c.barrier = [] { upcxx::barrier(); };
  c.share = [](std::uint64_t& value) { value = upcxx::broadcast(value, 0).wait(); };
  if (c.ranks == 2) c.shared = map_pair_lines();
  if (!on_one_host()) c.prefix = "hosts.";
  group g(c);
  print_facts(g);
  if (c.ranks == 2 && c.shared == nullptr) {
    if (g.first()) {
      std::fprintf(
          stderr,
          "atoll bench: the two ranks are on different machines and share no memory through which their "
          "blocks could be kept in step: nothing was measured\n");
    }
    return;
  }
  for (auto const& s : suites) {
    bool const chosen = std::find(o.chosen.begin(), o.chosen.end(), s.name) != o.chosen.end();
    if (chosen && (s.any_ranks || c.ranks == 2)) s.run(g, o);
  }
  upcxx::barrier();
}

}  // namespace
}  // namespace atl::bench

int main(int argc, char** argv) {
  auto options = atl::bench::parse(argc, argv);
  upcxx::init();
  atl::bench::run(options);
  upcxx::finalize();
}
