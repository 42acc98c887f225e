// `atoll bench`: starts the measuring programs, evaluates what they report, prints it.
//
// Message passing runs first, so that its figures can stand beside ours while the rows come in.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/os/cores.hpp"
#include "child.hpp"
#include "files.hpp"
#include "machine.hpp"
#include "options.hpp"
#include "result.hpp"
#include "table.hpp"
#include "ucx.hpp"

namespace atl::tools {
namespace {

namespace fs = std::filesystem;

/// Programs of this installation or build tree.
struct programs {
  std::string atoll;
  std::string ranks;
  std::string threads;
  std::string mpi;     ///< empty: not built
  std::string mpirun;  ///< empty: not found
  bool open_mpi = false;
};

std::string existing(fs::path const& path) { return access(path.c_str(), X_OK) == 0 ? path.string() : ""; }

programs find_programs() {
  auto const bin = fs::read_symlink("/proc/self/exe").parent_path();
  auto const libexec = bin / ".." / "libexec" / "atoll";
  programs p;
  p.atoll = existing(bin / "atoll");
  p.ranks = existing(libexec / "atoll-bench-ranks");
  p.threads = existing(libexec / "atoll-bench-threads");
  p.mpi = existing(libexec / "atoll-bench-mpi");
  p.mpirun = find_in_path("mpirun");
  if (!p.mpi.empty() && !p.mpirun.empty()) {
    listen({{p.mpirun, "--version"}, {}}, [&p](std::string const& line) {
      if (line.find("Open MPI") != std::string::npos || line.find("OpenRTE") != std::string::npos)
        p.open_mpi = true;
    });
  }
  return p;
}

std::string joined(auto const& items) {
  std::string text;
  for (auto const& item : items) {
    if (!text.empty()) text += ',';
    if constexpr (std::is_same_v<std::decay_t<decltype(item)>, std::string>) {
      text += item;
    } else {
      text += std::to_string(item);
    }
  }
  return text;
}

std::vector<std::string> measuring_options(bench_options const& o, int ranks) {
  std::vector<std::string> words{"suites=" + joined(o.suites), "sizes=" + joined(o.sizes),
                                 "device_sizes=" + joined(o.device_sizes),
                                 "blocks=" + std::to_string(o.blocks)};
  if (ranks > os::usable_cores()) words.emplace_back("crowded=1");
  if (!o.only.empty()) words.push_back("only=" + o.only);
  if (o.quick) words.insert(words.end(), {"quick=1", "block_us=100", "give_up_us=100000"});
  return words;
}

bool wants(bench_options const& o, std::string const& suite) {
  return std::find(o.suites.begin(), o.suites.end(), suite) != o.suites.end();
}

/// Is there anything to measure with so many ranks?
bool worthwhile(bench_options const& o, int ranks) {
  if (ranks == 2) return true;
  for (char const* const suite : {"barrier", "allreduce", "broadcast", "alltoall"}) {
    if (wants(o, suite)) return true;
  }
  return false;
}

class bench {
 public:
  bench(bench_options options, programs found) : options_(std::move(options)), programs_(std::move(found)) {
    table_ = options_.json == "-" || options_.csv == "-" ? stderr : stdout;
  }

  int run() {
    configuration_ = describe_build();
    for (auto const& item : describe_machine()) configuration_.push_back(item);
    configuration_.emplace_back("ranks", joined(options_.ranks));
    for (auto const& [name, value] : configuration_) print_fact(name, value);
    if (os::usable_cores() < 2 && std::erase(options_.ranks, 2) > 0) {
      std::fprintf(table_, "Pairs of ranks are left out: they need two cores, and one is usable here.\n");
    }
    if (options_.mpi) measure_message_passing();
    int status = 0;
    for (int const ranks : options_.ranks) {
      if (worthwhile(options_, ranks) && status == 0) status = measure(ranks);
    }
    if (wants(options_, "gpu") && status == 0) measure_other_gpu_copies();
    if (wants(options_, "threads") && status == 0) status = measure_threads();
    if (status != 0) {
      std::fprintf(stderr, "atoll bench: the measurement ended with status %d\n", status);
    } else {
      print_summary();
    }
    if (!options_.json.empty()) write_json(options_.json, configuration_, results_);
    if (!options_.csv.empty()) write_csv(options_.csv, results_);
    return status;
  }

 private:
  using peer_key = std::tuple<std::string, std::size_t, int>;

  void print_fact(std::string const& name, std::string const& value) {
    std::fprintf(table_, "%-12s %s\n", name.c_str(), value.c_str());
  }

  void add_fact(std::string const& name, std::string const& value) {
    configuration_.emplace_back(name, value);
    print_fact(name, value);
  }

  void measure_message_passing() {
    if (programs_.mpi.empty() || programs_.mpirun.empty()) {
      add_fact("mpi", programs_.mpi.empty() ? "not built" : "not measured: no mpirun in PATH");
      return;
    }
    for (int const ranks : options_.ranks) {
      if (!worthwhile(options_, ranks)) continue;
      command_line command{{programs_.mpirun, "-n", std::to_string(ranks)}, {}};
      if (programs_.open_mpi) {
        command.words.insert(command.words.end(), {"--oversubscribe", "--bind-to", "core:overload-allowed"});
        if (geteuid() == 0) {
          command.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
        }
      }
      command.words.push_back(programs_.mpi);
      for (auto const& word : measuring_options(options_, ranks)) command.words.push_back(word);
      int const status = listen(command, [this](std::string const& line) {
        auto const record = ::atl::bench::decode(line);
        if (!record) {
          std::fprintf(stderr, "%s\n", line.c_str());
        } else if (record->kind == "row") {
          result const r = evaluate(*record);
          peers_[{r.key, r.bytes, r.ranks}] = r.median_ns;
        } else if (record->get("name") == "mpi" && mpi_version_.empty()) {
          mpi_version_ = record->get("value");
        }
      });
      if (status != 0)
        std::fprintf(stderr, "atoll bench: mpirun with %d ranks ended with status %d\n", ranks, status);
    }
    add_fact("mpi", mpi_version_.empty() ? "failed" : mpi_version_);
  }

  int measure(int ranks) { return measure(ranks, "core", programs_.ranks); }
  /// UCX, where there are GPUs and it is installed.
  void measure_other_gpu_copies() {
    auto const of_hardware = [](result const& r) { return r.suite == "gpu" && r.limit_ns > 0; };
    if (std::none_of(results_.begin(), results_.end(), of_hardware)) return;
    std::string const program = find_in_path("ucx_perftest");
    if (program.empty()) {
      add_fact("ucx", "not measured: no ucx_perftest in PATH");
      return;
    }
    bool const good = measure_ucx(program, options_.device_sizes, [this](result r) {
      print_row(table_, r);
      results_.push_back(std::move(r));
    });
    add_fact("ucx", good ? program : program + " failed on GPU memory");
  }

  int measure_threads() {
    if (os::usable_cores() < 2 || programs_.threads.empty()) return 0;
    return measure(1, "none", programs_.threads);  // its threads bind themselves
  }
  int measure(int ranks, char const* binding, std::string const& program) {
    command_line command{{programs_.atoll, "run", "-n", std::to_string(ranks), "--bind", binding, "--timeout",
                          "600", "--stdin", "none", program},
                         {}};
    for (auto const& word : measuring_options(options_, ranks)) command.words.push_back(word);
    return listen(command, [this](std::string const& line) { take(line); });
  }

  void take(std::string const& line) {
    auto const record = ::atl::bench::decode(line);
    if (!record) {
      std::fprintf(stderr, "%s\n", line.c_str());
      return;
    }
    if (record->kind == "fact") {
      auto const known = [&](auto const& item) { return item.first == record->get("name"); };
      if (std::none_of(configuration_.begin(), configuration_.end(), known)) {
        add_fact(record->get("name"), record->get("value"));
      }
      return;
    }
    result r = evaluate(*record);
    if (auto const peer = peers_.find({r.peer, r.bytes, r.ranks}); peer != peers_.end())
      r.mpi_ns = peer->second;
    if (r.suite != suite_ || results_.back().ranks != r.ranks) {
      std::fprintf(table_, "\n");
      print_heading(table_);
      suite_ = r.suite;
    }
    print_row(table_, r);
    results_.push_back(std::move(r));
  }

  void print_summary() {
    std::size_t goals = 0;
    std::size_t reached = 0;
    std::size_t disturbed = 0;
    for (result const& r : results_) {
      goals += r.wanted ? 1 : 0;
      reached += r.wanted && r.reached() ? 1 : 0;
      disturbed += r.disturbed > 0 ? 1 : 0;
    }
    std::fprintf(table_, "\n%zu of %zu goals reached.", reached, goals);
    if (disturbed > 0) {
      std::fprintf(table_,
                   " %zu rows (~) were measured while the kernel gave the cores to others: repeat them.",
                   disturbed);
    }
    std::fprintf(table_, "\n");
  }

  bench_options options_;
  programs programs_;
  std::FILE* table_ = stdout;
  configuration configuration_;
  std::map<peer_key, double> peers_;
  std::vector<result> results_;
  std::string suite_;
  std::string mpi_version_;
};

int bench_main(int argc, char** argv) {
  int status = 0;
  auto options = parse_bench_options(argc, argv, status);
  if (!options) return status;
  programs found = find_programs();
  if (found.atoll.empty() || found.ranks.empty()) {
    std::fprintf(stderr, "atoll bench: not part of this installation (no %s beside %s)\n",
                 found.atoll.empty() ? "atoll" : "../libexec/atoll/atoll-bench-ranks", argv[0]);
    return 127;
  }
  check_writable(options->json);
  check_writable(options->csv);
  return bench(std::move(*options), std::move(found)).run();
}

}  // namespace
}  // namespace atl::tools

int main(int argc, char** argv) {
  try {
    return atl::tools::bench_main(argc, argv);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "atoll bench: %s\n", error.what());
    return 1;
  }
}
