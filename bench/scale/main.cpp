// A table of what collectives take in jobs of many ranks, by the model of docs/design/scale.md.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <atoll/engine/collectives.hpp>

#include "scale/bursts.hpp"
#include "scale/csv.hpp"
#include "scale/model.hpp"
#include "scale/start.hpp"
#include "scale/start_table.hpp"

namespace {

using atl::engine::on_done;
using atl::engine::team_view;
using atl::scale::bundling;
using atl::scale::burst;
using atl::scale::costs;
using atl::scale::model;
using atl::scale::tally;

/// What counts is who sends what to whom: all ranks share their arrays.
struct arrays {
  std::vector<std::byte> source;
  std::vector<std::byte> target;
};

struct operation {
  std::string_view name;
  std::size_t (*array_bytes)(std::size_t ranks, std::size_t bytes);
  void (*start)(team_view& world, arrays& with, std::size_t bytes, on_done done);
};

void leave(void*, void const*, std::size_t, void const*) {}

constexpr auto one = [](std::size_t, std::size_t bytes) { return bytes; };
constexpr auto one_a_rank = [](std::size_t ranks, std::size_t bytes) { return ranks * bytes; };

constexpr operation operations[] = {
    {"barrier", one, [](team_view& t, arrays&, std::size_t, on_done d) { start_barrier(t, d); }},
    {"broadcast", one,
     [](team_view& t, arrays& a, std::size_t n, on_done d) { start_broadcast(t, a.target.data(), n, 0, d); }},
    {"reduce_all", one,
     [](team_view& t, arrays& a, std::size_t n, on_done d) {
       start_reduce(t, a.source.data(), a.target.data(), n / 8, 8, &leave, nullptr, -1, d);
     }},
    {"reduce_one", one,
     [](team_view& t, arrays& a, std::size_t n, on_done d) {
       start_reduce(t, a.source.data(), a.target.data(), n / 8, 8, &leave, nullptr, 0, d);
     }},
    {"scan", one,
     [](team_view& t, arrays& a, std::size_t n, on_done d) {
       start_scan(t, a.source.data(), a.target.data(), n / 8, 8, &leave, nullptr, d);
     }},
    {"gather", one_a_rank,
     [](team_view& t, arrays& a, std::size_t n, on_done d) {
       start_gather(t, a.source.data(), n, a.target.data(), 0, d);
     }},
    {"scatter", one_a_rank,
     [](team_view& t, arrays& a, std::size_t n, on_done d) {
       start_scatter(t, a.source.data(), n, a.target.data(), 0, d);
     }},
    {"gather_all", one_a_rank,
     [](team_view& t, arrays& a, std::size_t n, on_done d) {
       start_gather_all(t, a.source.data(), n, a.target.data(), d);
     }},
    {"all_to_all", one_a_rank,
     [](team_view& t, arrays& a, std::size_t n, on_done d) {
       start_all_to_all(t, a.source.data(), n, a.target.data(), d);
     }},
    {"burst", [](std::size_t, std::size_t) { return std::size_t{0}; }, nullptr},  // no collective
};

struct bundles {
  std::string_view name;
  bundling how;
};
constexpr bundles known_bundles[] = {
    {"none", bundling::none}, {"rank", bundling::by_rank}, {"host", bundling::by_host}};

/// Not of ranks that are there: play_starts().
constexpr std::string_view start_name = "start";

operation const* find_operation(std::string_view name) {
  for (operation const& o : operations) {
    if (o.name == name) return &o;
  }
  return nullptr;
}

struct wishes {
  std::vector<std::int32_t> ranks{100, 1000, 10000};
  std::vector<std::int32_t> per_host{1, 16, 128};
  std::vector<std::string> names{"barrier", "broadcast", "reduce_all", "gather_all"};
  std::size_t bytes = 8;
  std::size_t connections = 0;
  std::int32_t calls = 16;
  std::vector<std::string> bundled{"none"};
  std::vector<std::string> networks{"slingshot", "ndr"};
  std::string csv;
};

class report {
 public:
  explicit report(wishes const& of)
      : wishes_(of),
        file_(atl::scale::open_csv(
            of.csv,
            "network,ranks,per_host,limit,operation,bytes,between,between_bytes,most_sent,steps,inside,"
            "inside_bytes,lines,connects,most_connections,most_peers,time_us,heap_per_rank,took_s")) {
    std::printf("%8s %5s %-9s %-11s %8s %9s %7s %5s %12s %10s %9s %7s %7s %10s %9s %7s\n", "ranks", "host",
                "network", "operation", "bytes", "messages", "a rank", "steps", "MB between", "inside",
                "lines", "connect", "at once", "time us", "heap B", "took s");
  }

  void line(model const& of, std::string const& network, std::string const& what, std::size_t bytes,
            tally const& t, std::size_t heap, double took) {
    auto const ranks = of.shape().ranks;
    double const us = 1e-6 * static_cast<double>(t.time);
    std::size_t const heap_each = heap / static_cast<std::size_t>(ranks);
    std::printf("%8d %5d %-9s %-11s %8zu %9llu %7llu %5d %12.3f %10llu %9llu %7llu %7zu %10.2f %9zu %7.1f\n",
                ranks, of.shape().per_host, network.c_str(), what.c_str(), bytes, ull(t.between),
                ull(t.most_sent), t.depth, 1e-6 * static_cast<double>(t.between_bytes), ull(t.inside),
                ull(t.lines), ull(t.connects), t.most_connections, us, heap_each, took);
    std::fflush(stdout);
    if (!file_.is_open()) return;
    file_ << network << ',' << ranks << ',' << of.shape().per_host << ',' << wishes_.connections << ','
          << what << ',' << bytes << ',' << t.between << ',' << t.between_bytes << ',' << t.most_sent << ','
          << t.depth << ',' << t.inside << ',' << t.inside_bytes << ',' << t.lines << ',' << t.connects << ','
          << t.most_connections << ',' << t.most_peers << ',' << us << ',' << heap_each << ',' << took
          << '\n';
    file_.flush();
  }

 private:
  static unsigned long long ull(std::uint64_t n) { return n; }

  wishes const& wishes_;
  std::ofstream file_;
};

class stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void play(wishes const& w, std::int32_t ranks, std::int32_t per_host, bundles const& bundled, report& to) {
  stopwatch const start;
  std::size_t const before = model::heap_in_use();
  model m({ranks, per_host, w.connections, true, bundled.how});
  to.line(m, "-", "made", 0, {}, m.heap_at_start(), start.seconds());
  for (std::string const& name : w.names) {
    operation const& o = *find_operation(name);
    std::size_t const bytes = name == "barrier" ? 0 : w.bytes;
    arrays with;
    with.source.resize(o.array_bytes(static_cast<std::size_t>(ranks), bytes));
    with.target.resize(with.source.size());
    auto const play_once = [&](std::string const& network) {
      m.reprice(*atl::scale::find_network(network));
      if (o.start == nullptr) {
        burst what{w.calls, bytes};
        return play_burst(m, what);
      }
      return m.run([&](team_view& world, std::int32_t, on_done done) { o.start(world, with, bytes, done); });
    };
    // The first time connects. Where that is bounded, every time does.
    bool const bounded = w.connections != 0;
    std::uint64_t const connects = bounded ? 0 : play_once(w.networks.front()).connects;
    for (std::string const& network : w.networks) {
      stopwatch const watch;
      tally t = play_once(network);
      if (!bounded) t.connects = connects;
      std::size_t const of_arrays = 2 * with.source.size();
      std::string const said = bundled.how == bundling::none ? name : name + '_' + std::string(bundled.name);
      to.line(m, network, said, bytes, t, model::heap_in_use() - before - of_arrays, watch.seconds());
    }
  }
}

/// Each job is made of processes, so before there is a model.
void play_starts(wishes const& w) {
  atl::scale::start_table to(w.networks, w.csv);
  for (std::int32_t const ranks : w.ranks) {
    for (std::int32_t const per_host : w.per_host) {
      if (per_host > ranks) continue;
      stopwatch const watch;
      atl::scale::job_shape const shape{ranks, per_host};
      to.line(shape, atl::scale::play_start(shape), watch.seconds());
    }
  }
}

std::string known_names() {
  std::string all(start_name);
  for (operation const& o : operations) all += ", " + std::string(o.name);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  wishes w;
  CLI::App app{
      "Plays collectives of many ranks in virtual time, with the engine's own code over a network that only counts, and prints "
      "what they take: messages to other hosts (of all ranks, and of the one that sends most), how many of them follow each other "
      "on the longest way, bytes, messages and published lines inside hosts, connections made and most of one rank at once, time "
      "under a LogGP model, and private memory of a rank. Operation start has a table of its own: what the library sends to other hosts (nothing), "
      "meetings of the job by its launcher, exchanges over a host, messages between the launcher's servers, in all and in a row, and their bytes; "
      "of a rank, requests to its server, things and bytes that it reads, bytes that the first of its host reads; private memory of both."};
  app.add_option("--ranks", w.ranks, "Sizes of jobs")
      ->delimiter(',')
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--per-host", w.per_host, "Ranks of a host")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--operations", w.names, "Which: " + known_names())
      ->delimiter(',')
      ->check([](std::string const& name) {
        return name == start_name || find_operation(name) != nullptr
                   ? std::string()
                   : "no operation " + name + "; there are " + known_names();
      })
      ->capture_default_str();
  app.add_option("--bytes", w.bytes, "Bytes of each rank's value or block, a multiple of 8")
      ->capture_default_str();
  app.add_option("--connections", w.connections,
                 "Connections of a rank at once that the network bears well; 0: any number")
      ->capture_default_str();
  app.add_option("--calls", w.calls,
                 "Of a burst: from each rank to random ranks of other hosts, before it makes progress")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option(
         "--bundles", w.bundled,
         "Small messages leave together, as where messages are dear: none, for each rank, for each host")
      ->delimiter(',')
      ->check(CLI::IsMember({"none", "rank", "host"}))
      ->capture_default_str();
  app.add_option("--network", w.networks, "What messages cost: slingshot, ndr, tcp")
      ->delimiter(',')
      ->check(CLI::IsMember({"slingshot", "ndr", "tcp"}))
      ->capture_default_str();
  app.add_option("--csv", w.csv, "Adds the lines to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    if (std::find(w.names.begin(), w.names.end(), start_name) != w.names.end()) {
      if (w.names.size() > 1)
        throw std::runtime_error("start has a table of its own: let it be the only operation");
      play_starts(w);
      return EXIT_SUCCESS;
    }
    report to(w);
    for (std::int32_t const ranks : w.ranks) {
      for (std::int32_t const per_host : w.per_host) {
        if (per_host > ranks) continue;
        for (bundles const& each : known_bundles) {
          if (std::find(w.bundled.begin(), w.bundled.end(), each.name) != w.bundled.end())
            play(w, ranks, per_host, each, to);
        }
      }
    }
  } catch (std::exception const& failure) {
    std::fprintf(stderr, "atoll-scale-model: %s\n", failure.what());
    return EXIT_FAILURE;
  }
}
