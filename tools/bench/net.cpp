// Everything takes turns, in several rounds: a job of ours, in which bare TCP takes turns with each block and which then runs
// the networks' own tools; message passing; two jobs that measure inside a host; and some whose starts are measured.

#include "net.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "base/os/cores.hpp"
#include "base/settings.hpp"
#include "child.hpp"
#include "net_jobs.hpp"
#include "statistics.hpp"
#include "transport/plugins.hpp"

namespace atl::tools {
namespace {

using bench::record;

std::vector<std::string> networks(net_listener const& listener) {
  std::vector<std::string> found;
  if (char const* const chosen = std::getenv("ATOLL_TRANSPORTS"); chosen != nullptr && *chosen != '\0') {
    std::istringstream names(chosen);
    for (std::string name; std::getline(names, name, ',');) found.push_back(name);
    return found;
  }
  std::string const devices = settings::network_devices();
  transport::network_config config;
  config.devices = devices.c_str();
  for (std::string_view const name : transport::known_plugins()) {
    std::string const library = settings::network_library(name);
    config.library = library.c_str();
    transport::opened_network const opened = transport::open_plugin(name, config);
    if (opened.network != nullptr) {
      found.emplace_back(name);
    } else {
      listener.fact(std::string(name), "not measured: " + opened.why_not);
    }
  }
  return found;
}

/// Rows of several rounds with the same key and size become one with all their samples.
class collected_rows {
 public:
  void add(record const& r) {
    auto const found = std::find_if(rows_.begin(), rows_.end(), [&](record const& other) {
      return other.get("key") == r.get("key") && other.get("bytes") == r.get("bytes");
    });
    if (found == rows_.end()) {
      rows_.push_back(r);
      return;
    }
    for (char const* const name : {"ns", "limit_ns"}) append(found->fields[name], r.get(name));
    auto const disturbed = static_cast<int>(found->number("disturbed") + r.number("disturbed"));
    found->fields["disturbed"] = std::to_string(disturbed);
  }
  /// Those of the same measurement elsewhere become the limit.
  void put_beside(collected_rows const& others, std::string const& name) {
    for (record& r : rows_) {
      for (record const& other : others.rows_) {
        if (other.get("key") != r.get("key")) continue;
        r.fields["limit"] = name;
        r.fields["limit_ns"] = other.get("ns");
      }
    }
  }
  std::vector<record> const& all() const { return rows_; }

 private:
  static void append(std::string& to, std::string const& more) {
    if (!to.empty() && !more.empty()) to += ',';
    to += more;
  }
  std::vector<record> rows_;
};

class net_run {
 public:
  net_run(programs const& p, bench_options const& o, net_listener const& listener, std::string transport)
      : programs_(p), options_(o), listener_(listener), transport_(std::move(transport)) {
    prefix_ = "net." + (transport_.find('/') == std::string::npos ? transport_ : "module") + ".";
    only_ = options_.only.starts_with(prefix_) ? options_.only.substr(prefix_.size()) : options_.only;
  }

  int run() {
    int const rounds = options_.quick ? 1 : 3;
    blocks_ = std::max(3, options_.blocks / rounds);
    bool const jobs_only = only_.starts_with("job.");
    net_jobs jobs(programs_, options_, transport_, prefix_);
    if (options_.mpi && !programs_.open_mpi)
      facts_["mpi"] = programs_.mpi.empty() ? "not built" : "not measured: no mpirun of Open MPI's in PATH";
    int status = 0;
    for (int round = 1; round <= rounds && status == 0; ++round) {
      std::fprintf(stderr, "atoll bench: %s, round %d of %d\n", transport_.c_str(), round, rounds);
      if (!jobs_only) status = measure_between();
      if (!jobs_only && options_.mpi && programs_.open_mpi && status == 0) measure_mpi();
      if (!jobs_only && status == 0 && os::usable_cores() >= 2) status = measure_inside();
      if (status == 0 && (jobs_only || only_.empty())) status = jobs.run_once();
    }
    tell();
    tell_of(jobs);
    return status;
  }

 private:
  using figure_key = std::tuple<peer, std::string, std::size_t>;

  bool on_this_machine() const { return options_.hosts.empty(); }

  /// A job of ours. `share`: ranks of the first host; the other one has one, or none.
  command_line job(int share, bool both, std::string const& rows) {
    std::string hosts;
    if (!on_this_machine()) {
      auto const comma = options_.hosts.find(',');
      hosts = options_.hosts.substr(0, comma) + ":" + std::to_string(share);
      if (both) hosts += options_.hosts.substr(comma) + ":1";
    }
    command_line command = run_command(programs_, share + (both ? 1 : 0), hosts, options_.launcher);
    if (on_this_machine() && both) {
      command.environment.emplace_back("ATOLL_SIM_HOSTS", std::to_string(share) + ",1");
      // The third rank sleeps: its neighbours are to wait as where it is elsewhere.
      if (share > 1) command.environment.emplace_back("UPCXX_OVERSUBSCRIBED", "no");
    }
    command.environment.emplace_back("ATOLL_TRANSPORTS", transport_);
    command.words.push_back(programs_.net);
    command.words.push_back("rows=" + rows);
    command.words.push_back("prefix=" + prefix_);
    add_measuring(command);
    return command;
  }

  void add_measuring(command_line& command) const {
    command.words.push_back("sizes=" + joined(options_.net_sizes));
    command.words.push_back("blocks=" + std::to_string(blocks_));
    if (options_.quick) command.words.insert(command.words.end(), {"block_us=100", "give_up_us=100000"});
  }

  void add_choice(command_line& command) const {
    if (!only_.empty()) command.words.push_back("only=" + only_);
    if (options_.quick) command.words.emplace_back("quick=1");
  }

  int measure_between() {
    command_line command = job(1, true, "between");
    add_choice(command);
    command.words.emplace_back("tools=ucx_perftest,fi_rxm,fi_msg");
    return listen(command, [this](std::string const& line) { take(line, between_); });
  }

  /// The same with a network beside and without, inside one host.
  int measure_inside() {
    for (bool const both : {true, false}) {
      command_line command = job(2, both, "inside");
      add_choice(command);
      collected_rows& rows = both ? inside_ : one_host_;
      int const status = listen(command, [&](std::string const& line) { take(line, rows); });
      if (status != 0) return status;
    }
    return 0;
  }

  void measure_mpi() {
    command_line command = mpi_command_between(programs_, options_, 2, "self,tcp");
    if (on_this_machine()) command.environment.emplace_back("OMPI_MCA_btl_tcp_if_include", "lo");
    command.words.emplace_back("net=1");
    add_measuring(command);
    collected_rows none;
    int const status = listen(command, [&](std::string const& line) { take(line, none); });
    if (status != 0) facts_["mpi"] = "failed with status " + std::to_string(status);
  }

  void take(std::string const& line, collected_rows& rows) {
    auto const r = bench::decode(line);
    if (!r) {
      std::fprintf(stderr, "%s\n", line.c_str());
      return;
    }
    if (r->kind == "fact") {
      facts_[r->get("name")] = r->get("value");
      return;
    }
    auto const whose = std::find_if(peers.begin(), peers.end(),
                                    [&](peer_description const& p) { return p.name == r->get("suite"); });
    if (whose == peers.end()) {
      rows.add(*r);
    } else {
      auto const index = static_cast<peer>(whose - peers.begin());
      figures_[{index, r->get("key"), static_cast<std::size_t>(r->number("bytes"))}].push_back(
          median(r->numbers("ns")));
    }
  }

  void tell() {
    for (auto const& [name, value] : facts_) listener_.fact(name, value);
    for (auto const& [key, rounds] : figures_) {
      auto const& [whose, row, bytes] = key;
      listener_.figure({whose, row, bytes, median(rounds)});
    }
    inside_.put_beside(one_host_, "one host");
    for (collected_rows const* const rows : {&between_, &inside_}) {
      for (record const& r : rows->all()) listener_.row(r);
    }
  }

  void tell_of(net_jobs const& jobs) {
    if (double const ns = jobs.mpi_start_ns(); ns > 0)
      listener_.figure({peer::mpi, "job.start", 0, ns, jobs.ranks()});
    for (record const& r : jobs.rows()) {
      if (only_.empty() || prefix_ + only_ == r.get("key")) listener_.row(r);
    }
  }

  programs const& programs_;
  bench_options const& options_;
  net_listener const& listener_;
  std::string transport_;
  std::string prefix_;
  std::string only_;  ///< the key of the only row, without the prefix; empty: all
  int blocks_ = 3;
  collected_rows between_;
  collected_rows inside_;
  collected_rows one_host_;
  std::map<figure_key, std::vector<double>> figures_;  ///< one a round
  std::map<std::string, std::string> facts_;
};

}  // namespace

int measure_net(programs const& p, bench_options const& o, net_listener const& listener) {
  listener.fact("net", o.hosts.empty() ? "two simulated hosts on the loop-back device" : "hosts " + o.hosts);
  if (os::usable_cores() < 2 && o.hosts.empty()) {
    listener.fact("net", "not measured: two ranks need two cores, and one is usable here");
    return 0;
  }
  for (std::string const& each : networks(listener)) {
    if (int const status = net_run(p, o, listener, each).run(); status != 0) return status;
  }
  return 0;
}

}  // namespace atl::tools
