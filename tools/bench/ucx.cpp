#include "ucx.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "child.hpp"

namespace atl::tools {
namespace {

struct test {
  char const* options;
  char const* key;
};

// One outstanding at a time, so each is waited for; and as many as UCX likes.
constexpr std::array tests{
    test{"-t ucp_put_bw -O 1", "gpu.put.time"},
    test{"-t ucp_put_bw", "gpu.put.flood"},
    test{"-t ucp_get -O 1", "gpu.get.time"},
    test{"-t ucp_get -O 32", "gpu.get.flood"},
};

/// One line a test; the first word comes back in front of its figures.
std::string batch_of(std::vector<std::size_t> const& sizes, bool quick) {
  std::string text;
  for (std::size_t const bytes : sizes) {
    int const count = quick ? 20 : bytes < (std::size_t{1} << 20) ? 2000 : 200;
    for (test const& t : tests) {
      text += std::string(t.key) + "/" + std::to_string(bytes) + " " + t.options + " -m cuda -s " +
              std::to_string(bytes) + " -n " + std::to_string(count) + " -w " + std::to_string(count / 10) +
              "\n";
    }
  }
  return text;
}

// The figures have columns: iterations, median and mean of the last interval, mean of all, and more.
constexpr char const* script = R"(
batch=$(mktemp) || exit 1
printf %s "$2" > "$batch"
"$0" -p "$1" -b "$batch" > /dev/null 2>&1 & server=$!
for try in 1 2 3 4 5; do
  sleep 0.2
  timeout 50 "$0" 127.0.0.1 -p "$1" -b "$batch" -f -v 2> /dev/null
  status=$?
  # 124: it hung. Else nobody listened yet.
  [ $status = 0 ] || [ $status = 124 ] && break
  kill -0 $server 2> /dev/null || break
done
kill $server 2> /dev/null
wait
rm -f "$batch"
)";

}  // namespace

bool measure_ucx(std::string const& ucx_perftest, std::vector<std::size_t> const& sizes, bool quick,
                 std::function<void(std::string const& key, std::size_t bytes, double ns)> const& take) {
  std::string const port = std::to_string(20000 + getpid() % 20000);
  bool any = false;
  listen({{"/bin/sh", "-c", script, ucx_perftest, port, batch_of(sizes, quick)}, {}},
         [&](std::string const& line) {
           auto const slash = line.find('/');
           auto const comma = line.find(',');
           if (slash == std::string::npos || comma == std::string::npos || comma < slash) return;
           std::string const key = line.substr(0, slash);
           double count = 0;
           double middle = 0;
           double recent = 0;
           double all = 0;
           if (std::sscanf(line.c_str() + comma, ",%lf,%lf,%lf,%lf", &count, &middle, &recent, &all) != 4)
             return;
           double const us = key.ends_with(".time") && middle > 0 ? middle : all;
           if (us <= 0) return;
           any = true;
           take(key, std::strtoull(line.c_str() + slash + 1, nullptr, 10), us * 1e3);
         });
  return any;
}

}  // namespace atl::tools
