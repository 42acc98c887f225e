// `atoll bench`: starts the measuring programs, evaluates what they report, prints it.
//
// Message passing runs first, so that its figures can stand beside ours while the rows come in.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/os/cores.hpp"
#include "child.hpp"
#include "files.hpp"
#include "gpu_peers.hpp"
#include "machine.hpp"
#include "net.hpp"
#include "options.hpp"
#include "programs.hpp"
#include "result.hpp"
#include "table.hpp"

namespace atl::tools {
namespace {

bool wants(bench_options const& o, std::string const& suite) {
  return std::find(o.suites.begin(), o.suites.end(), suite) != o.suites.end();
}

/// Is there anything to measure with so many ranks?
bool worthwhile(bench_options const& o, int ranks) {
  if (ranks == 2) return true;
  for (char const* const suite : {"barrier", "allreduce", "broadcast", "alltoall", "neighbors", "gpu"}) {
    if (wants(o, suite)) return true;
  }
  return false;
}

/// Does any other suite run than those with peers of their own?
bool has_common_ones(bench_options const& o) {
  return std::any_of(o.suites.begin(), o.suites.end(),
                     [](auto const& name) { return name != "gpu" && name != "net"; });
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
      pairs_left_out_ = true;
    }
    if (options_.mpi && has_common_ones(options_)) measure_message_passing();
    if (wants(options_, "gpu")) measure_gpu_peers();
    int status = 0;
    for (int const ranks : options_.ranks) {
      bool const any = wants(options_, "gpu") || has_common_ones(options_);
      if (any && worthwhile(options_, ranks) && status == 0) status = measure(ranks);
    }
    if (wants(options_, "net") && status == 0) status = measure_net();
    if (wants(options_, "threads") && status == 0) status = measure_threads();
    if (status != 0) {
      std::fprintf(stderr, "atoll bench: the measurement ended with status %d\n", status);
    } else if (results_.empty()) {
      status = tell_nothing_measured();
    } else {
      print_summary();
    }
    if (!options_.json.empty()) write_json(options_.json, configuration_, results_);
    if (!options_.csv.empty()) write_csv(options_.csv, results_);
    return status;
  }

 private:
  using peer_key = std::tuple<peer, std::string, std::size_t, int>;

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
      auto const command = mpi_command(programs_, options_, ranks);
      int const status = listen(command, [this](std::string const& line) {
        auto const record = ::atl::bench::decode(line);
        if (!record) {
          std::fprintf(stderr, "%s\n", line.c_str());
        } else if (record->kind == "row") {
          result const r = evaluate(*record);
          others_[{peer::mpi, r.key, r.bytes, r.ranks}] = r.median_ns;
        } else if (record->get("name") == "mpi" && mpi_version_.empty()) {
          mpi_version_ = record->get("value");
        }
      });
      if (status != 0)
        std::fprintf(stderr, "atoll bench: mpirun with %d ranks ended with status %d\n", ranks, status);
    }
    add_fact("mpi", mpi_version_.empty() ? "failed" : mpi_version_);
  }

  void measure_gpu_peers() {
    tools::measure_gpu_peers(
        programs_, options_,
        [this](peer_figure const& f) {
          others_[{f.whose, f.key, f.bytes, f.ranks}] = f.ns;
        },
        [this](std::string const& name, std::string const& value) { add_fact(name, value); });
  }

  int measure_net() {
    return tools::measure_net(
        programs_, options_,
        {[this](peer_figure const& f) {
           others_[{f.whose, f.key, f.bytes, f.ranks}] = f.ns;
         },
         [this](::atl::bench::record const& r) { take_row(r); },
         [this](std::string const& name, std::string const& value) { add_new_fact(name, value); }});
  }

  int measure(int ranks) { return measure(ranks, "core", programs_.ranks); }
  int measure_threads() {
    if (os::usable_cores() < 2 || programs_.threads.empty()) return 0;
    return measure(1, "none", programs_.threads);  // its threads bind themselves
  }
  int measure(int ranks, char const* binding, std::string const& program) {
    command_line command{{programs_.atoll, "run", "--localhost", "-n", std::to_string(ranks), "--bind",
                          binding, "--timeout", "600", "--stdin", "none", program},
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
      add_new_fact(record->get("name"), record->get("value"));
    } else {
      take_row(*record);
    }
  }

  void add_new_fact(std::string const& name, std::string const& value) {
    auto const known = [&](auto const& item) { return item.first == name; };
    if (std::none_of(configuration_.begin(), configuration_.end(), known)) add_fact(name, value);
  }

  void take_row(::atl::bench::record const& record) {
    result r = evaluate(record);
    find_peers(r);
    r.goals = find_goals(r);
    if (r.suite != suite_ || results_.back().ranks != r.ranks) {
      std::fprintf(table_, "\n");
      print_heading(table_, r.suite);
      suite_ = r.suite;
    }
    print_row(table_, r);
    results_.push_back(std::move(r));
  }

  /// Key of the peers' figure beside a row.
  static std::string key_of(peer whose, result const& r) {
    // "net.ucx.put.bandwidth", over which transport ever.
    if (r.suite == "net") return r.key.substr(r.key.find('.', r.key.find('.') + 1) + 1);
    if (r.suite != "gpu") return r.mpi_key;
    // They have no other way to start many than one by one.
    if (r.key == "gpu.put.batch") return "gpu.put.flood";
    // A message that has come is known to have come, as a copy that has been notified of.
    constexpr std::string_view notified = "gpu.notified.";
    if (whose == peer::mpi && r.key.starts_with(notified)) return "gpu.put." + r.key.substr(notified.size());
    return r.key;
  }

  /// What others need for the same.
  void find_peers(result& r) const {
    for (std::size_t i = 0; i < peers.size(); ++i) {
      auto const whose = static_cast<peer>(i);
      auto const found = others_.find({whose, key_of(whose, r), r.bytes, r.ranks});
      if (found != others_.end()) r.peer_ns[i] = found->second;
    }
  }

  /// The exit status: an error, unless what the machine lacks has been told already.
  int tell_nothing_measured() const {
    std::string text = "atoll bench: nothing was measured";
    bool const told = pairs_left_out_ || (options_.only.empty() && !has_common_ones(options_));
    if (!told) {
      text += options_.only.empty() ? ": no row" : ": no row with the key " + options_.only;
      text += " in " + joined(options_.suites) + " for " + joined(options_.ranks) + " ranks. ";
      text +=
          options_.only.empty() ? "Most suites are for 2 ranks" : "Keys of rows stand in --json and --csv";
    }
    std::fprintf(stderr, "%s\n", text.c_str());
    return told ? 0 : 1;
  }

  void print_summary() {
    std::size_t goals = 0;
    std::size_t reached = 0;
    std::size_t disturbed = 0;
    for (result const& r : results_) {
      goals += r.goals.size();
      for (goal const& g : r.goals) reached += g.reached(r) ? 1 : 0;
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
  bool pairs_left_out_ = false;
  configuration configuration_;
  std::map<peer_key, double> others_;
  std::vector<result> results_;
  std::string suite_;
  std::string mpi_version_;
};

int bench_main(int argc, char** argv) {
  int status = 0;
  auto options = parse_bench_options(argc, argv, status);
  if (!options) return status;
  programs found = find_programs();
  auto const asks_for = [&](char const* suite) {
    return std::find(options->suites.begin(), options->suites.end(), suite) != options->suites.end();
  };
  char const* const missing = found.atoll.empty()                    ? "atoll"
                              : found.ranks.empty()                  ? "../libexec/atoll/atoll-bench-ranks"
                              : asks_for("net") && found.net.empty() ? "../libexec/atoll/atoll-bench-net"
                                                                     : nullptr;
  if (missing != nullptr) {
    std::fprintf(stderr, "atoll bench: not part of this installation (no %s beside %s)\n", missing, argv[0]);
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
