// Local calls between two threads of one process, as `atoll bench` starts it: the threads take the part that
// the ranks of a pair have in the other programs, each on a core of its own.

#include <sched.h>

#include <cstdio>
#include <string>
#include <thread>
#include <upcxx/upcxx.hpp>
#include <vector>

#include "harness/group.hpp"
#include "harness/options.hpp"

namespace atl::bench {
namespace {

shared_lines shared;
upcxx::persona* callee = nullptr;

std::vector<int> usable_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  return cores;
}

void bind_to(int core) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(core, &mask);
  sched_setaffinity(0, sizeof mask, &mask);
}

void measure(group& g) {
  if (!g.first()) callee = &upcxx::current_persona();
  g.meet();
  g.once([] {
    if (callee->lpc([] { return 7; }).wait() != 7) wrong_data("result of a local call");
  });
  row const r{.suite = "threads", .key = "lpc.threads", .name = "lpc to another thread, waited for"};
  g.served(r, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) callee->lpc([] {}).wait();
  });
  g.meet();
}

}  // namespace
}  // namespace atl::bench

int main(int argc, char** argv) {
  atl::bench::group_config config;
  for (int i = 1; i < argc; ++i) {
    auto const given = atl::bench::option_of(argv[i]);
    if (!atl::bench::take_measuring(config, given) && given.name == "only") config.only = given.value;
  }
  auto const cores = atl::bench::usable_cores();
  if (cores.size() < 2) return 0;
  config.ranks = 2;
  config.shared = &atl::bench::shared;
  config.idle = [] { upcxx::progress(); };
  upcxx::init();
  std::thread other([&] {
    atl::bench::bind_to(cores[1]);
    auto mine = config;
    mine.rank = 1;
    atl::bench::group g(mine);
    atl::bench::measure(g);
  });
  atl::bench::bind_to(cores[0]);
  atl::bench::group g(config);
  atl::bench::measure(g);
  other.join();
  upcxx::finalize();
}
