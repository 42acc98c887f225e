#include "run/options.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/os/cores.hpp"
#include "base/settings.hpp"
#include "run/command_line.hpp"
#include "run/hosts/cluster_plan.hpp"
#include "run/spawn.hpp"

namespace atl::tools {
namespace {

int parse_ranks(std::string const& text) {
  char* rest = nullptr;
  long const count = std::strtol(text.c_str(), &rest, 10);
  if (*rest != '\0') throw startup_error("-n " + text + ": not a number");
  if (count < 1) throw startup_error("-n " + text + ": at least one rank is needed");
  if (count > most_ranks()) {
    throw startup_error(
        format("-n %s: more than the %d ranks that the limit on open files (ulimit -n) leaves room for",
               text.c_str(), most_ranks()));
  }
  return static_cast<int>(count);
}

/// "2.5", "90s", "5m", "1h".
std::chrono::nanoseconds parse_duration(std::string const& text) {
  char* rest = nullptr;
  double seconds = std::strtod(text.c_str(), &rest);
  std::string_view const unit = rest;
  if (unit == "m") seconds *= 60;
  if (unit == "h") seconds *= 3600;
  bool const known = unit.empty() || unit == "s" || unit == "m" || unit == "h";
  if (rest == text.c_str() || !known || !std::isfinite(seconds) || seconds <= 0 || seconds > 1e9) {
    throw startup_error("--timeout " + text + ": not a time; write for example 60, 2.5, 5m or 1h");
  }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

binding_mode parse_binding(std::string const& text) {
  if (text == "auto") return binding_mode::automatic;
  if (text == "core") return binding_mode::core;
  if (text == "socket") return binding_mode::socket;
  if (text == "numa") return binding_mode::numa;
  if (text == "none") return binding_mode::none;
  throw startup_error("--bind " + text + ": not one of none, core, socket, numa, auto");
}

input_mode parse_input(std::string const& text) {
  if (text == "0") return input_mode::first;
  if (text == "all") return input_mode::all;
  if (text == "none") return input_mode::none;
  throw startup_error("--stdin " + text + ": not one of 0, all, none");
}

/// As shells have them: others cannot be read back, and a comma shows that a list was meant.
void check_variable(std::string_view name, std::string const& text) {
  auto const letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  bool const good = !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9');
  });
  if (good) return;
  bool const list = text.find('=') != std::string::npos && name.find(',') != std::string_view::npos;
  throw startup_error("-E " + text + ": `" + std::string(name) + "` is no name of a variable" +
                      (list ? "; lists hold names only, so give -E once more for each NAME=VALUE" : ""));
}

/// NAME=VALUE sets; NAME[,NAME...] is forwarded anyway, since ranks inherit the environment.
void add_environment(std::string const& text, std::vector<std::string>& to,
                     std::vector<std::string>& remarks) {
  if (auto const equals = text.find('='); equals != std::string::npos) {
    if (equals == 0) throw startup_error("-E " + text + ": no name before the =");
    check_variable(std::string_view(text).substr(0, equals), text);
    to.push_back(text);
    return;
  }
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    check_variable(name, text);
    if (char const* const value = std::getenv(name.c_str())) {
      to.push_back(name + "=" + value);
    } else {
      remarks.push_back("-E " + name + ": not set here, so ranks do not get it; -E " + name +
                        "=VALUE sets it");
    }
  }
}

/// What ranks get besides our own environment: the user's settings, then those that options stand for.
std::vector<std::string> added_environment(command_line const& line, std::vector<std::string>& remarks) {
  std::vector<std::string> result;
  for (auto const& text : line.environment) add_environment(text, result, remarks);
  if (!line.heap.empty()) {
    settings::size_value const size = settings::parse_heap_size(line.heap, "--shared-heap");
    if (size.percent < 0 ? size.bytes == 0 : size.percent == 0)
      throw startup_error("--shared-heap " + line.heap +
                          ": nothing could be allocated; write for example 64M");
    result.push_back("UPCXX_SHARED_HEAP_SIZE=" + line.heap);
    result.push_back("GASNET_MAX_SEGSIZE=" + segment_size(line.heap));
  }
  bool const is_said = std::getenv("UPCXX_VERBOSE") != nullptr ||
                       std::any_of(result.begin(), result.end(), [](std::string const& each) {
                         return each.starts_with("UPCXX_VERBOSE=");
                       });
  if (line.verbosity > 1 && !is_said) result.push_back(format("UPCXX_VERBOSE=%d", line.verbosity - 1));
  return result;
}

int parse_count(char const* option, std::string const& text) {
  bool const is_number =
      !text.empty() && text.size() < 9 && text.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || std::atoi(text.c_str()) < 1)
    throw startup_error(std::string(option) + " " + text + ": not a number of 1 or more");
  return std::atoi(text.c_str());
}

/// The hosts that are asked for; none: this one. Inside an allocation of several nodes these are meant, unless -N 1 says otherwise.
std::optional<cluster_request> cluster_of(command_line const& line) {
  cluster_request asked;
  if (!line.nodes.empty()) asked.count = parse_count("-N", line.nodes);
  int const ways =
      (line.hosts.empty() ? 0 : 1) + (line.hostfile.empty() ? 0 : 1) + (line.servers.empty() ? 0 : 1);
  if (ways > 1)
    throw startup_error("hosts are named twice: give one of --hosts, --hostfile and --ssh-servers");
  if (line.localhost) {
    if (ways != 0 || !line.launcher.empty())
      throw startup_error("--localhost: all ranks are on this host then, and no others can be named");
    return std::nullopt;  // also with -N 2: other launchers play two hosts on one then
  }
  if (!line.hosts.empty()) asked.hosts = parse_hosts(line.hosts, "--hosts " + line.hosts);
  if (!line.servers.empty()) asked.hosts = parse_hosts(line.servers, "--ssh-servers " + line.servers);
  if (!line.hostfile.empty()) asked.hosts = read_hostfile(line.hostfile);
  if (asked.hosts.empty() && asked.count > 1) asked.hosts = hosts_in_environment(!line.ranks.empty());
  bool const meant =
      !asked.hosts.empty() || asked.count > 1 || (asked.count == 0 && inside_slurm_allocation());
  if (!meant && !line.launcher.empty())
    throw startup_error("--launcher: ranks of this host need none; name hosts by --hosts or --hostfile");
  return meant ? std::optional(asked) : std::nullopt;
}

}  // namespace

run_options checked_options(command_line const& line) {
  run_options options;
  if (line.words.empty()) throw startup_error("no program given; `atoll run --help` shows how");
  options.cluster = cluster_of(line);
  if (options.cluster) {
    // Limits of this host say nothing of the others.
    if (!line.ranks.empty()) options.ranks = options.cluster->ranks = parse_count("-n", line.ranks);
  } else if (line.ranks.empty()) {
    options.ranks = os::usable_cores();
    options.remarks.push_back(format("no -n given: %d rank%s, one for each usable core", options.ranks,
                                     options.ranks == 1 ? "" : "s"));
  } else {
    options.ranks = parse_ranks(line.ranks);
  }
  if (!line.timeout.empty()) options.timeout = parse_duration(line.timeout);
  options.binding = parse_binding(line.bind);
  options.input = parse_input(line.input);
  options.environment = added_environment(line, options.remarks);
  options.tag = line.tag;
  if (options.cluster) options.cluster->launcher = line.launcher;
  options.terminal = line.terminal;
  options.show = line.show;
  options.verbosity = line.verbosity;
  options.program = line.words.front();
  options.arguments.assign(line.words.begin() + 1, line.words.end());
  return options;
}

std::string segment_size(std::string const& heap) {
  settings::size_value const size = settings::parse_heap_size(heap, "--shared-heap");
  return size.percent < 0 ? format("%lluB/P", static_cast<unsigned long long>(size.bytes))
                          : format("%.9f/H", size.percent / 100);
}

}  // namespace atl::tools
