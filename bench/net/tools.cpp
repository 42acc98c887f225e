// `ucx_perftest` and `fi_pingpong` between the same two hosts: each rank starts its half. Both ranks sleep meanwhile.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "child.hpp"
#include "harness/record.hpp"
#include "rows.hpp"

namespace atl::bench {
namespace {

constexpr int limit_ms = 20'000;
constexpr auto moment = std::chrono::milliseconds(5);

/// The row that a figure stands beside, and how often the figure counts there: a request and its answer are two messages.
struct place {
  char const* column;
  char const* key;
  double times = 1;
};

void print(place const& p, std::size_t bytes, double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", ns * p.times);
  record const out{
      "row",
      {{"suite", p.column}, {"key", p.key}, {"bytes", std::to_string(bytes)}, {"ranks", "2"}, {"ns", text}}};
  std::fputs(encode(out).c_str(), stdout);
  std::fflush(stdout);
}

/// What one message of 8 bytes says of the rows that need one or two.
void print_messages(char const* column, double ns) {
  print({column, "put.seen"}, 8, ns);
  for (char const* const key : {"put.waited", "get.waited", "fetch_add.waited", "rpc.empty"})
    print({column, key, 2}, 8, ns);
}

std::uint16_t free_port() {
  int const socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  socklen_t bytes = sizeof at;
  bool const good = ::bind(socket, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0 &&
                    ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &bytes) == 0;
  ::close(socket);
  return good ? ntohs(at.sin_port) : 0;
}

/// Does anybody listen on this port here?
bool is_open(std::uint16_t port) {
  char wanted[16];
  std::snprintf(wanted, sizeof wanted, ":%04X ", port);
  for (char const* const list : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream in(list);
    for (std::string line; std::getline(in, line);) {
      auto const at = line.find(wanted);
      // Local address, remote address, state: 0A listens.
      if (at != std::string::npos && line.find(" 0A ", at) != std::string::npos && at < 20) return true;
    }
  }
  return false;
}

using words = std::vector<std::string>;

/// Runs one half here and one there. `take` gets the client's output, where `first`. False if there were none, or it took too long.
class pair_of_halves {
 public:
  pair_of_halves(wire& between, bool first) : between_(between), first_(first) {}

  bool run(std::function<words(std::uint16_t port)> const& server,
           std::function<words(std::uint16_t port)> const& client,
           std::function<void(std::string const&)> const& take) {
    return first_ ? run_client(client, take) : run_server(server);
  }

 private:
  bool run_server(std::function<words(std::uint16_t)> const& command) {
    std::uint16_t const port = free_port();
    child half(command(port));
    for (int i = 0; i < 2000 && half.running() && !is_open(port); ++i) std::this_thread::sleep_for(moment);
    bool const open = half.running();
    between_.tell(open ? port : 0);
    std::uint32_t word = 0;
    return between_.hear(word) && word != 0;
  }

  bool run_client(std::function<words(std::uint16_t)> const& command,
                  std::function<void(std::string const&)> const& take) {
    std::uint32_t port = 0;
    bool any = false;
    if (between_.hear(port) && port != 0) {
      child half(command(static_cast<std::uint16_t>(port)));
      bool const ended = half.started() && half.listen(limit_ms, [&](std::string const& line) {
        any = true;
        take(line);
      });
      any = any && ended;
    }
    between_.tell(any ? 1 : 0);
    return any;
  }

  wire& between_;
  bool first_;
};

struct ucx_test {
  char const* options;
  place where;
  bool latency;  ///< median of single ones; else mean of all
};

constexpr ucx_test ucx_messages{"-t ucp_am_lat", {"ucx", "am.oneway"}, true};
constexpr ucx_test ucx_words[] = {
    {"-t ucp_put_lat", {"ucx", "put.seen"}, true},
    {"-t ucp_get -O 1", {"ucx", "get.waited"}, true},
    {"-t ucp_fadd -O 1", {"ucx", "fetch_add.waited"}, true},
    {"-t ucp_am_bw", {"ucx", "rpc_ff.flood"}, false},
    {"-t ucp_put_bw", {"ucx", "put.flood"}, false},
    {"-t ucp_fadd -O 64", {"ucx", "fetch_add.flood"}, false},
};
constexpr ucx_test ucx_transfers[] = {
    {"-t ucp_put_bw", {"ucx", "put.bandwidth"}, false},
    {"-t ucp_get -O 16", {"ucx", "get.bandwidth"}, false},
    {"-t ucp_am_bw", {"ucx_am", "put.bandwidth"}, false},
};

struct ucx_run {
  ucx_test const* test;
  std::size_t bytes;
};

std::vector<ucx_run> ucx_runs(net_options const& o) {
  std::vector<ucx_run> all;
  for (std::size_t const bytes : o.sizes) {
    if (bytes <= long_from) all.push_back({&ucx_messages, bytes});
  }
  for (auto const& test : ucx_words) all.push_back({&test, 8});
  for (std::size_t const bytes : o.sizes) {
    for (auto const& test : ucx_transfers) {
      if (bytes > long_from) all.push_back({&test, bytes});
    }
  }
  return all;
}

/// So that each takes some hundredths of a second. UCX's get of a word over TCP takes a millisecond.
std::size_t count_of(net_options const& o, std::size_t bytes, bool latency) {
  if (o.quick) return 20;
  return bytes <= long_from ? (latency ? 1000 : 5000)
                            : std::max<std::size_t>(4, (std::size_t{48} << 20) / bytes);
}

/// One line a test; the first word comes back in front of its figures.
std::string batch_of(net_options const& o, std::vector<ucx_run> const& runs) {
  std::string text;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::size_t const count = count_of(o, runs[i].bytes, runs[i].test->latency);
    text += "row" + std::to_string(i) + " " + runs[i].test->options + " -s " + std::to_string(runs[i].bytes) +
            " -n " + std::to_string(count) + " -w " + std::to_string(count / 10 + 1) + "\n";
  }
  return text;
}

bool run_ucx(net_options const& o, pair_of_halves& halves, std::string const& address) {
  auto const runs = ucx_runs(o);
  char name[] = "/tmp/atoll-bench-XXXXXX";
  int const file = ::mkstemp(name);
  if (file < 0) return false;
  std::string const batch = batch_of(o, runs);
  bool good = ::write(file, batch.data(), batch.size()) == static_cast<ssize_t>(batch.size());
  ::close(file);
  auto const take = [&](std::string const& line) {
    // Iterations, median, mean of the last interval, mean of all, and more.
    std::size_t i = 0;
    double middle = 0;
    double all = 0;
    if (std::sscanf(line.c_str(), "row%zu,%*f,%lf,%*f,%lf", &i, &middle, &all) != 3 || i >= runs.size())
      return;
    double const ns = 1e3 * (runs[i].test->latency ? middle : all);
    print(runs[i].test->where, runs[i].bytes, ns);
    if (runs[i].test == &ucx_messages && runs[i].bytes == 8) print_messages("ucx_am", ns);
  };
  good = halves.run(
             [&](std::uint16_t port) {
               return words{"ucx_perftest", "-p", std::to_string(port), "-b", name};
             },
             [&](std::uint16_t port) {
               return words{"ucx_perftest", address, "-p", std::to_string(port), "-b", name, "-f", "-v"};
             },
             take) &&
         good;
  ::unlink(name);
  return good;
}

bool run_fabric(net_options const& o, pair_of_halves& halves, std::string const& address, words const& how,
                char const* column) {
  bool good = true;
  for (std::size_t const bytes : o.sizes) {
    words const common = {"-I", std::to_string(count_of(o, bytes, true)), "-S", std::to_string(bytes)};
    auto const half = [&](char const* option, std::uint16_t port) {
      words all{"fi_pingpong"};
      all.insert(all.end(), how.begin(), how.end());
      all.insert(all.end(), common.begin(), common.end());
      all.insert(all.end(), {option, std::to_string(port)});
      return all;
    };
    bool any = false;
    auto const take = [&](std::string const& line) {
      // Bytes, sent, acknowledged, total, time, MB/s, microseconds each way.
      double us = 0;
      if (std::sscanf(line.c_str(), "%*s %*s %*s %*s %*s %*s %lf", &us) != 1 || us <= 0) return;
      any = true;
      if (bytes > long_from) {
        for (char const* const key : {"put.bandwidth", "get.bandwidth"})
          print({column, key}, bytes, us * 1e3);
      } else {
        print({column, "am.oneway"}, bytes, us * 1e3);
        if (bytes == 8) print_messages(column, us * 1e3);
      }
    };
    good = halves.run([&](std::uint16_t port) { return half("-B", port); },
                      [&](std::uint16_t port) {
                        words all = half("-P", port);
                        all.push_back(address);
                        return all;
                      },
                      take) &&
           good;
  }
  return good;
}

void print_fact(std::string const& name, std::string const& value) {
  std::fputs(encode({"fact", {{"name", name}, {"value", value}}}).c_str(), stdout);
}

}  // namespace

void run_tools(net_options const& o, wire& between, bool first) {
  if (o.loop_back) {
    ::setenv("UCX_TLS", "tcp", 1);
    ::setenv("UCX_NET_DEVICES", "lo", 1);
    ::setenv("FI_TCP_IFACE", "lo", 1);
  } else if (char const* const devices = std::getenv("ATOLL_NET_DEVICES");
             devices != nullptr && *devices != '\0') {
    ::setenv("UCX_NET_DEVICES", devices, 0);
  }
  pair_of_halves halves(between, first);
  for (std::string const& tool : o.tools) {
    bool good = false;
    if (tool == "ucx_perftest") good = run_ucx(o, halves, between.address());
    if (tool == "fi_rxm")
      good = run_fabric(o, halves, between.address(), {"-p", "tcp;ofi_rxm", "-e", "rdm"}, "ofi_rxm");
    if (tool == "fi_msg")
      good = run_fabric(o, halves, between.address(), {"-p", "tcp", "-e", "msg"}, "ofi_msg");
    if (first) print_fact(tool, good ? "measured" : "not measured: absent or failed on one of the hosts");
  }
}

}  // namespace atl::bench
