// The ranks of `atoll bench net`. Options are name=value, written by that program.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <upcxx/upcxx.hpp>

#include "harness/cores.hpp"
#include "harness/options.hpp"
#include "harness/private_memory.hpp"
#include "rows.hpp"

namespace atl::bench {
namespace {

net_options parse(int argc, char** argv) {
  net_options o;
  for (int i = 1; i < argc; ++i) {
    auto const given = option_of(argv[i]);
    auto const& [name, value] = given;
    if (take_measuring(o.config, given)) continue;
    if (name == "rows") {
      o.rows = value;
    } else if (name == "prefix") {
      o.config.prefix = value;
    } else if (name == "sizes") {
      o.sizes = sizes_of(value);
    } else if (name == "tools") {
      o.tools = split(value);
    } else if (name == "only") {
      o.config.only = value;
    } else if (name == "quick") {
      o.quick = true;
    } else {
      std::fprintf(stderr, "atoll-bench-net: unknown option %s; start it as `atoll bench net`\n", argv[i]);
      std::exit(2);
    }
  }
  o.loop_back = std::getenv("ATOLL_SIM_HOSTS") != nullptr;
  return o;
}

/// Between rank 0 and the last one, which is on another host.
void join(wire& w, net_options const& o) {
  int const last = upcxx::rank_n() - 1;
  bool const accepts = upcxx::rank_me() == last;
  wire_card card;
  if (accepts) card = w.listen(o.loop_back);
  card = upcxx::broadcast(card, last).wait();
  if (accepts) w.accept(card, [] { upcxx::progress(); });
  if (upcxx::rank_me() == 0) w.connect(card);
}

/// Rank 2, on another host, sleeps until the others are done. They have both been connected to it.
void measure_inside(net_options const& o) {
  bool const alone = upcxx::local_team().rank_n() == upcxx::rank_n();
  wire w;
  if (!alone) {
    join(w, o);
    upcxx::rpc(2, [] {}).wait();
  }
  upcxx::barrier();
  std::uint32_t word = 0;
  if (upcxx::rank_me() < 2) run_inside(o);
  if (!alone && upcxx::rank_me() == 0) w.tell(word);
  if (upcxx::rank_me() == 2) w.hear(word);
  upcxx::barrier();
}

/// A job of any size, which `atoll bench` times from outside: all have met, and say what they hold.
void meet_once(net_options const& o) {
  upcxx::barrier();
  double const held = upcxx::reduce_one(private_memory(), upcxx::op_fast_add, 0).wait();
  group(o.config).print_value("net", "job.memory", "private memory of a rank", held / upcxx::rank_n(), "B");
}

void stop(char const* why) {
  if (upcxx::rank_me() == 0) std::fprintf(stderr, "atoll bench: %s\n", why);
  upcxx::finalize();
  std::exit(1);
}

void run(net_options& o) {
  o.config.rank = upcxx::rank_me();
  o.config.ranks = upcxx::rank_n();
  if (o.rows == "job") {
    meet_once(o);
    upcxx::finalize();
    return;
  }
  // Launchers bind each host's first rank to its first core, which hosts that are one machine share.
  if (o.config.rank < 2) bind_to_core(o.config.rank);
  bool const several = upcxx::local_team().rank_n() != upcxx::rank_n();
  if (o.rows == "inside") {
    if (upcxx::rank_n() != (several ? 3 : 2))
      stop("rows inside a host need two ranks there, and one elsewhere or none");
    measure_inside(o);
    upcxx::finalize();
    return;
  }
  if (upcxx::rank_n() != 2 || !several) stop("rows between hosts need two ranks, each on a host of its own");
  wire w;
  join(w, o);
  run_between(o, w);
  // Their connections, which nobody would look after, would take part otherwise.
  upcxx::finalize();
  run_tools(o, w, o.config.rank == 0);
}

}  // namespace
}  // namespace atl::bench

int main(int argc, char** argv) {
  auto options = atl::bench::parse(argc, argv);
  upcxx::init();
  atl::bench::run(options);
}
