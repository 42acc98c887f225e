#include "ucx.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "child.hpp"

namespace atl::tools {
namespace {

struct test {
  char const* options;
  char const* key;
  char const* name;
  bool flood;
};

constexpr std::array tests{
    test{"-t ucp_put_bw", "gpu.ucx.put.flood", "UCX ucx_perftest, put of GPU memory, many in flight", true},
    test{"-t ucp_get -O 1", "gpu.ucx.get.time", "UCX ucx_perftest, get of GPU memory, one by one", false},
};

/// Microseconds an operation, in the line of figures that ends a run; 0 without.
double time_in(std::string const& line) {
  double count = 0;
  double middle = 0;
  double recent = 0;
  double overall = 0;
  bool const read = std::sscanf(line.c_str(), "%lf,%lf,%lf,%lf,", &count, &middle, &recent, &overall) == 4;
  return read ? overall : 0;
}

double run(std::string const& program, char const* options, std::size_t bytes, std::size_t iterations) {
  // The server takes its options from the client, which tries again until the server listens.
  static int port = 20000 + static_cast<int>(getpid() % 20000);
  std::string const script =
      "\"$0\" -p $1 > /dev/null 2>&1 & server=$!; "
      "for try in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2; "
      "timeout 30 \"$0\" 127.0.0.1 -p $1 " +
      std::string(options) +
      " -m cuda -s $2 -n $3 -w 100 -f -v 2> /dev/null && break; done; "
      "kill $server 2> /dev/null; wait";
  double us = 0;
  listen({{"/bin/sh", "-c", script, program, std::to_string(++port), std::to_string(bytes),
           std::to_string(iterations)},
          {}},
         [&us](std::string const& line) { us = std::max(us, time_in(line)); });
  return us;
}

}  // namespace

bool measure_ucx(std::string const& ucx_perftest, std::vector<std::size_t> const& sizes,
                 std::function<void(result)> const& take) {
  for (test const& t : tests) {
    for (std::size_t const bytes : sizes) {
      if (bytes > std::size_t{16} << 20) continue;
      result r;
      r.suite = "gpu";
      r.key = t.key;
      r.name = t.name;
      r.show = !t.flood ? "time" : bytes < 1024 ? "rate" : "bandwidth";
      r.bytes = bytes;
      r.ranks = 2;
      r.iterations = bytes < (std::size_t{1} << 20) ? 2000 : 200;
      r.blocks = 1;
      r.median_ns = r.p10_ns = r.p90_ns = 1e3 * run(ucx_perftest, t.options, bytes, r.iterations);
      if (r.median_ns <= 0) return false;
      r.samples = {r.median_ns};
      take(std::move(r));
    }
  }
  return true;
}

}  // namespace atl::tools
