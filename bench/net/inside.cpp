// Two ranks of one host, in a job of that host or of several: what the network costs those who do not need it.

#include <upcxx/upcxx.hpp>

#include "rows.hpp"

namespace atl::bench {

void run_inside(net_options const& options) {
  using word = std::uint64_t;
  group_config c = options.config;
  c.ranks = 2;
  c.idle = [] { upcxx::progress(); };
  auto const& neighbours = upcxx::local_team();
  upcxx::global_ptr<shared_lines> lines;
  if (c.rank == 0) lines = upcxx::new_<shared_lines>();
  c.shared = upcxx::broadcast(lines, 0, neighbours).wait().local();
  auto const own = upcxx::new_<word>(0);
  auto const there = upcxx::broadcast(own, 1, neighbours).wait();

  group g(c);
  row r{.suite = "net",
        .key = "inside.put",
        .name = "inside a host: rput().wait()",
        .bytes = sizeof(word),
        .limit = "none"};
  g.served(r, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) upcxx::rput(i, there).wait();
  });
  r.key = "inside.get";
  r.name = "inside a host: rget().wait()";
  g.served(r, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) keep(upcxx::rget(there).wait());
  });
  r.key = "inside.rpc";
  r.name = "inside a host: rpc of an empty function";
  g.served(r, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) upcxx::rpc(1, [] {}).wait();
  });
  g.meet();
}

}  // namespace atl::bench
