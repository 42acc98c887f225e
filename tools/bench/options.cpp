#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace atl::tools {
namespace {

constexpr char const* description =
    "Measures latency, rate and bandwidth between ranks on this machine, beside "
    "the machine's own limits and,\n"
    "where it is installed, message passing.";

constexpr char const* footer =
    "Examples:\n"
    "  atoll bench                         everything, under a minute\n"
    "  atoll bench put rpc --sizes 8,1M    two suites\n"
    "  atoll bench barrier --ranks 2,8,16 --json results.json\n"
    "  atoll bench gpu --csv gpu.csv       on a machine with a GPU or more\n"
    "  atoll bench net --hosts a,b         between two hosts; without --hosts between two simulated ones\n"
    "\n"
    "The ranks of a pair are bound to a core each. `~` before a figure says that the cores were never quiet\n"
    "while it was measured. Exit status: 0 when everything ran and all data were right, whatever the speed; "
    "1 when nothing was measured.";

std::vector<std::string> words_of(std::string const& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

constexpr std::size_t largest_size = std::size_t{64} << 20;

/// "8", "4K", "1M", "1MiB"; 0 if it is none of these.
std::size_t bytes_of(std::string const& word) {
  char* rest = nullptr;
  unsigned long long const count = std::strtoull(word.c_str(), &rest, 10);
  std::string_view unit = rest;
  unsigned shift = 0;
  if (!unit.empty() && unit != "B") {
    auto const at = std::string_view("kKmM").find(unit.front());
    if (at == std::string_view::npos) return 0;
    shift = at < 2 ? 10 : 20;
    unit.remove_prefix(1);
    if (!unit.empty() && unit != "B" && unit != "iB") return 0;
  }
  return count > largest_size ? 0 : static_cast<std::size_t>(count) << shift;
}

}  // namespace

std::vector<suite_description> const& all_suites() {
  static std::vector<suite_description> const suites{
      {"put", "rput, waited for: 8 bytes and arrays of all sizes"},
      {"get", "rget, waited for: 8 bytes and arrays of all sizes"},
      {"atomics", "atomic operations, waited for, on own and the neighbour's memory"},
      {"strided", "faces of a block by rput_strided and rget_strided; rput_irregular of small pieces"},
      {"rpc", "calls: round trips, floods, calls after a put, arguments of all sizes; the engine's messages"},
      {"serialization", "calls with vectors, maps and strings of 1 KiB and 1 MiB"},
      {"futures", "futures ready and pending, conjoined; idle progress; local calls to oneself"},
      {"threads", "local calls between two threads of a process"},
      {"barrier", "barrier of all ranks"},
      {"allreduce", "reduce_all of a value and of arrays of all sizes"},
      {"broadcast", "broadcast of a value and of arrays of all sizes"},
      {"alltoall", "calls from every rank to all others"},
      {"neighbors", "synchronisation with the neighbours in a ring; ghost exchange of boxes"},
      {"memory", "allocations of transfers; memory taken by a flood of large calls from both sides"},
      {"gpu",
       "copies to, from and between GPUs of two ranks, beside the driver's own, MPI, NVSHMEM, NCCL and UCX; "
       "only when it is named",
       false},
      {"net",
       "between two hosts (--hosts, or simulated ones), beside bare TCP, UCX's and libfabric's own tools and MPI; "
       "only when it is named",
       false},
  };
  return suites;
}

std::optional<bench_options> parse_bench_options(int argc, char** argv, int& status) {
  bench_options o;
  std::vector<std::string> named;
  std::string listed;
  std::string sizes;
  std::string ranks;
  bool list = false;
  bool no_mpi = false;

  CLI::App app(description, "atoll bench");
  app.footer(footer);
  app.add_option("suites", named, "names of suites (--list); all but gpu and net without");
  app.add_option("--suite", listed, "the same, separated by commas")->type_name("NAMES");
  app.add_option("--sizes", sizes,
                 "message sizes, as in 8,4K,1M [8,64,512,4K,32K,256K,1M,4M; gpu: 8,4K,64K,1M,16M,64M; net: "
                 "8,4K,64K,1M,16M]")
      ->type_name("SIZES");
  app.add_option(
         "--ranks", ranks,
         "numbers of ranks; barrier, allreduce, broadcast, alltoall and neighbors take any, other suites 2 [2,8,16]; gpu: "
         "2, and for collectives as many as there are devices [2,4]")
      ->type_name("COUNTS");
  app.add_option("--blocks", o.blocks, "undisturbed blocks that a figure is the median of")
      ->capture_default_str()
      ->check(CLI::Range(3, 1000));
  app.add_option("--only", o.only, "the only row to measure, by its key in JSON and CSV, as in rpc.vector")
      ->type_name("KEY");
  app.add_option("--hosts", o.hosts,
                 "two hosts for suite net, as in a,b: started as `atoll run --hosts` does")
      ->type_name("HOSTS");
  app.add_option("--launcher", o.launcher, "by which launcher, as with `atoll run`")->type_name("NAME");
  app.add_flag("--quick", o.quick, "only check that everything works: few blocks, two sizes, fewer ranks");
  app.add_flag("--no-mpi", no_mpi, "leave message passing out");
  app.add_option("--json", o.json,
                 "write configuration, rows and all samples to this file (-: standard output)")
      ->type_name("FILE");
  app.add_option("--csv", o.csv, "write the rows to this file (-: standard output)")->type_name("FILE");
  app.add_flag("--list", list, "list the suites and stop");
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    std::fputs(app.help().c_str(), stdout);
    status = 0;
    return std::nullopt;
  } catch (CLI::ParseError const& error) {
    std::fprintf(stderr, "atoll bench: %s; `atoll bench --help` lists the options\n", error.what());
    status = 2;
    return std::nullopt;
  }
  if (list) {
    for (auto const& s : all_suites()) {
      std::printf("%-13.*s %.*s\n", static_cast<int>(s.name.size()), s.name.data(),
                  static_cast<int>(s.help.size()), s.help.data());
    }
    status = 0;
    return std::nullopt;
  }

  auto const fail = [&status](std::string const& text) {
    std::fprintf(stderr, "atoll bench: %s\n", text.c_str());
    status = 2;
    return std::nullopt;
  };
  o.mpi = !no_mpi;
  if (!o.hosts.empty() && std::count(o.hosts.begin(), o.hosts.end(), ',') != 1)
    return fail("--hosts " + o.hosts + ": two hosts are needed, as in a,b");
  if (!o.json.empty() && o.json == o.csv)
    return fail("--json and --csv name one place, " + o.json + ": each needs its own");
  o.suites = named;
  for (auto const& word : words_of(listed)) o.suites.push_back(word);
  for (auto const& name : o.suites) {
    bool const known =
        std::any_of(all_suites().begin(), all_suites().end(), [&](auto const& s) { return s.name == name; });
    if (!known) return fail("no suite " + name + "; `atoll bench --list` lists them");
  }
  if (o.suites.empty()) {
    for (auto const& s : all_suites()) {
      if (s.by_default) o.suites.emplace_back(s.name);
    }
  }
  std::string net_sizes = !sizes.empty() ? sizes : o.quick ? "8,64K" : "8,4K,64K,1M,16M";
  std::string device_sizes = !sizes.empty() ? sizes : o.quick ? "8,1M" : "8,4K,64K,1M,16M,64M";
  if (sizes.empty()) sizes = o.quick ? "8,1M" : "8,64,512,4K,32K,256K,1M,4M";
  bool const gpu_alone = o.suites == std::vector<std::string>{"gpu"};
  if (ranks.empty()) ranks = o.quick || gpu_alone ? "2,4" : "2,8,16";
  for (auto const& [text, into] : {std::pair{&sizes, &o.sizes}, std::pair{&device_sizes, &o.device_sizes},
                                   std::pair{&net_sizes, &o.net_sizes}}) {
    for (auto const& word : words_of(*text)) {
      std::size_t const size = bytes_of(word);
      if (size < 1 || size > largest_size)
        return fail("--sizes " + word + ": a size from 1 to 64M is needed, as in 8,4K,1M");
      into->push_back(size);
    }
  }
  for (auto const& word : words_of(ranks)) {
    char* rest = nullptr;
    long const count = std::strtol(word.c_str(), &rest, 10);
    if (*rest != '\0' || count < 2 || count > 4096) return fail("--ranks " + word + ": from 2 to 4096");
    o.ranks.push_back(static_cast<int>(count));
  }
  if (o.quick) o.blocks = std::min(o.blocks, 3);
  return o;
}

}  // namespace atl::tools
