#include "base/settings.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include "base/error.hpp"
#include "base/os/memory.hpp"
#include "base/real_number.hpp"

namespace atl::settings {
namespace {

// The order is that of `atoll info`; `find` looks names up here, so a getter cannot name a setting
// that is not listed.
constexpr std::array table{
    entry{"UPCXX_SHARED_HEAP_SIZE", kind::heap_size, "128MB", "",
          "shared heap of each rank; a percentage is of the host's memory, shared by the job's ranks on it"},
    entry{"UPCXX_SEGMENT_MB", kind::heap_size, "", "",
          "old name of UPCXX_SHARED_HEAP_SIZE; a bare number is in MiB"},
    entry{"GASNET_MAX_SEGSIZE", kind::segment_size, "", "",
          "most that a shared heap may take: 128MB/P of a rank, 4GB/H or 0.85/H (of its memory) of a host"},
    entry{"UPCXX_OVERSUBSCRIBED", kind::automatic_boolean, "", "",
          "whether there are more ranks than cores; left empty, the library compares them"},
    entry{"ATOLL_LONGEST_SLEEP", kind::count, "10", "",
          "milliseconds after which a rank that sleeps while it waits looks by itself; 0: never sleep"},
    entry{"UPCXX_VERBOSE", kind::verbosity, "0", "", "start-up report of rank 0; larger numbers say more"},
    entry{"UPCXX_COLORIZE_DEBUG", kind::automatic_boolean, "", "",
          "colours in tables for debugging; left empty, a terminal gets them"},
    entry{"UPCXX_CCS_MAX_SEGMENTS", kind::count, "", "",
          "accepted; modules with remote functions are not limited"},
    entry{"GASNET_PSHM_NODES", kind::count, "", "", "ranks of a program that is started without a launcher"},
    entry{"GASNET_BACKTRACE", kind::boolean, "no", "",
          "print a backtrace on a crash where no launcher does it"},
    entry{"GASNET_BACKTRACE_SIGNAL", kind::signal, "", "", "signal at which a rank prints a backtrace: USR1"},
    entry{"GASNET_FREEZE", kind::boolean, "no", "", "wait for a debugger in upcxx::init"},
    entry{"GASNET_FREEZE_ON_ERROR", kind::boolean, "no", "", "wait for a debugger before ending on an error"},
    entry{"GASNET_FREEZE_SIGNAL", kind::signal, "", "", "signal at which a rank waits for a debugger: USR2"},
    entry{
        "ATOLL_HUGE_PAGES", kind::choice, "auto", "auto|no|pool",
        "huge pages for shared memory; auto: where the system grants them on advice, pool: those set aside"},
    entry{"ATOLL_TRANSIT_MEMORY", kind::size_or_percent, "8MB", "",
          "memory of each rank that messages too large for a queue travel through"},
    entry{"ATOLL_MESSAGE_MEMORY", kind::size_or_percent, "", "",
          "private memory that messages of one rank may take; left empty, a share of what the host has free"},
    entry{"ATOLL_READ_PEERS", kind::boolean, "yes", "",
          "whether very large messages are read from the sender's memory, where the system allows it"},
    entry{
        "ATOLL_FLAT_COLLECTIVES", kind::boolean, "yes", "",
        "whether collectives inside a host go by lines of memory that all members read; otherwise by messages"},
    entry{
        "ATOLL_PROGRESS_THREAD", kind::boolean, "no", "",
        "in jobs on several hosts: whether a thread of each rank makes internal progress while the program computes"},
    entry{
        "ATOLL_BUNDLES_BY_HOST", kind::boolean, "no", "",
        "between hosts: whether small messages to all ranks of a host travel together, to one rank there that passes them on"},
    entry{
        "ATOLL_DIRECT_FROM", kind::size_or_percent, "", "",
        "smallest transfer between hosts for which the network's own put and get are used; left empty, as the "
        "network is good at it"},
    entry{
        "ATOLL_DIRECT_RUN_FROM", kind::size_or_percent, "", "",
        "for transfers of several runs of bytes, how long those have to be on average besides; left empty, as the "
        "network is good at it"},
    entry{
        "ATOLL_NETWORK_ATOMICS", kind::automatic_boolean, "", "",
        "whether the network does atomic operations on memory of other hosts where it can, and on all memory where "
        "processors would disturb it; left empty, where it does without the owner"},
    entry{
        "ATOLL_NETWORK_DEVICE_MEMORY", kind::automatic_boolean, "", "",
        "whether the network reads and writes device memory of other hosts itself where it can; left empty, where it does so "
        "without going through host memory"},
    entry{"ATOLL_TRANSPORTS", kind::networks, "", "",
          "networks between hosts, by choice: ucx, ofi, a path of a module, or sim between simulated hosts"},
    entry{"ATOLL_NET_DEVICES", kind::text, "", "",
          "network devices to use between hosts: mlx5_0:1,eth0; left empty, the network's library chooses"},
    entry{"ATOLL_UCX_LIBRARY", kind::text, "", "",
          "file of libucp to open where none is in the process yet; left empty, libucp.so.0"},
    entry{"ATOLL_OFI_LIBRARY", kind::text, "", "",
          "file of libfabric to open where none is in the process yet; left empty, libfabric.so.1"},
    entry{"ATOLL_CUDA_DRIVER", kind::text, "libcuda.so.1", "",
          "library of the CUDA driver; none: use no CUDA devices"},
    entry{"ATOLL_HIP_DRIVER", kind::text, "libamdhip64.so.6", "",
          "library of the HIP runtime; none: use no HIP devices"},
    entry{"ATOLL_ZE_DRIVER", kind::text, "libze_loader.so.1", "",
          "library of the Level Zero loader; none: use no Level Zero devices"},
    entry{"ATOLL_GPU_SHARING", kind::boolean, "yes", "",
          "whether ranks of a host copy to and from each other's device memory directly; else owners do it"},
    entry{"ATOLL_GPU_DESCRIPTORS", kind::boolean, "yes", "",
          "whether device memory is shared by descriptors where the driver can; else by IPC handles"},
    entry{
        "ATOLL_STREAM_PATIENCE", kind::count, "0", "",
        "seconds after which atl::wait(stream) ends the job and says where streams stand; 0: it waits for ever"},
    entry{"ATOLL_SIM_DEVICES", kind::count, "0", "",
          "simulated devices of each rank: GPUs in host memory, for machines without any"},
    entry{"ATOLL_SIM_KIND", kind::choice, "cuda", "cuda|hip|ze|all",
          "what simulated devices present themselves as; all: as many of each kind"},
    entry{"ATOLL_SIM_MEMORY", kind::size_or_percent, "1GB", "", "largest segment of a simulated device"},
    entry{
        "ATOLL_SIM_ATOMICS", kind::boolean, "yes", "",
        "whether atomic operations of kernels that the host plays reach other simulated devices and the host"},
    entry{"ATOLL_SIM_SEED", kind::count, "1", "",
          "start of the pseudo-random choices of simulated devices and of the simulated network"},
    entry{
        "ATOLL_SIM_HOSTS", kind::text, "", "",
        "hosts that the ranks of one machine are to believe in, for tests: 2x2 (hosts x ranks), 1,3 (ranks of "
        "each), cyclic:2x2 (ranks dealt out in turn)"},
    entry{"ATOLL_SIM_NETWORK", kind::text, "", "",
          "what the simulated network is like: bad=yes, or a list such as latency=20us,bandwidth=10GB/s"},
    entry{"ATOLL_SIM_LOCKSTEP", kind::boolean, "no", "",
          "whether ranks with a simulated network take turns, in an order from the seed"},
    entry{"ATOLL_BOOTSTRAP", kind::choice, "auto", "auto|solo|local|pmix|pmi",
          "who tells a process its rank; auto looks at what started it"},
    entry{
        "ATOLL_HOST", kind::text, "", "",
        "name of the host that this rank is on, for pmix and pmi; empty: the launcher's node and the system "
        "that runs there"},
    entry{"ATOLL_HOST_TIMEOUT", kind::count, "10", "",
          "seconds in which all ranks have ended after a host of theirs is lost; 0: nobody watches"},
    entry{"ATOLL_CRASH_REPORTS", kind::boolean, "yes", "",
          "ranks of a launcher catch fatal signals to report a backtrace before they die"},
    entry{"ATOLL_LEAKS", kind::choice, "summary", "no|summary|sites",
          "in checked builds, what finalize says of shared memory that was not freed; sites: where it was "
          "allocated"},
};

entry const& find(std::string_view name) {
  return *std::find_if(table.begin(), table.end(), [&](entry const& e) { return e.name == name; });
}

/// Value from the environment; an empty one counts as unset.
char const* environment(char const* name) {
  char const* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

/// What has no sense where ranks of a job differ in it.
struct shared_setting {
  char const* name;
  std::optional<std::string> followed;  ///< the first rank's
};
std::array<shared_setting, 2>& shared_settings() {
  static auto& all = *new std::array<shared_setting, 2>{shared_setting{"ATOLL_HOST_TIMEOUT", {}},
                                                        shared_setting{"ATOLL_BUNDLES_BY_HOST", {}}};
  return all;
}

/// Text of a setting: the first rank's, environment or default.
std::string text_of(char const* name) {
  for (shared_setting const& each : shared_settings()) {
    if (each.followed && std::string_view(name) == each.name) return *each.followed;
  }
  entry const& what = find(name);
  char const* const set = environment(what.name);
  return set != nullptr ? set : what.standard;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return std::string(text);
}

std::uint64_t parse_count(std::string_view text, char const* name) {
  std::string const word = trim(text);
  if (word.empty() || word.size() > 18 || word.find_first_not_of("0123456789") != std::string::npos) {
    throw startup_error(format("%s=%s: not a whole number of 0 or more", name, word.c_str()));
  }
  return std::strtoull(word.c_str(), nullptr, 10);
}

std::optional<bool> yes_or_no(std::string_view word) {
  for (char const* yes : {"1", "y", "yes", "true", "on"}) {
    if (word == yes) return true;
  }
  for (char const* no : {"0", "n", "no", "false", "off"}) {
    if (word == no) return false;
  }
  return std::nullopt;
}

/// Of what is said at start. "yes" was always accepted by other implementations.
int parse_verbosity(std::string_view text, char const* name) {
  if (std::optional<bool> const yes = yes_or_no(lower(trim(text)))) return *yes ? 1 : 0;
  return static_cast<int>(std::min<std::uint64_t>(3, parse_count(text, name)));
}

std::string parse_choice(std::string_view text, entry const& what) {
  std::string word = lower(trim(text));
  std::istringstream in(what.choices);
  for (std::string choice; std::getline(in, choice, '|');) {
    if (choice == word) return word;
  }
  throw startup_error(format("%s=%s: not one of %s", what.name, word.c_str(), what.choices));
}

/// "128MB/P", "4G/H", "0.85/H", "50%".
struct segment_limit {
  size_value size;
  bool of_host = false;
};

segment_limit parse_segment_size(std::string_view text, char const* name) {
  std::string word = lower(trim(text));
  segment_limit limit;
  if (word.ends_with("/p") || word.ends_with("/h")) {
    limit.of_host = word.back() == 'h';
    word.resize(word.size() - 2);
  }
  // Without a unit and with a point, up to 1: a share of the host's memory.
  bool const bare = word.find_first_not_of("0123456789.") == std::string::npos;
  double const value = read_real(word.c_str());
  bool const fraction = bare && word.find('.') != std::string::npos && value <= 1;
  limit.size = fraction ? size_value{0, 100 * value} : parse_heap_size(word, name);
  return limit;
}

/// "USR1", "SIGUSR1", "10"; 0 for an empty word.
int parse_signal(std::string_view text, char const* name) {
  struct named {
    std::string_view name;
    int number;
  };
  static constexpr std::array known{named{"usr1", SIGUSR1}, named{"usr2", SIGUSR2}, named{"int", SIGINT},
                                    named{"quit", SIGQUIT}, named{"term", SIGTERM}, named{"hup", SIGHUP},
                                    named{"alrm", SIGALRM}, named{"cont", SIGCONT}, named{"urg", SIGURG},
                                    named{"prof", SIGPROF}, named{"trap", SIGTRAP}, named{"xcpu", SIGXCPU}};
  std::string word = lower(trim(text));
  if (word.starts_with("sig")) word.erase(0, 3);
  for (named const& signal : known) {
    if (word == signal.name) return signal.number;
  }
  if (word.empty()) return 0;
  if (word.size() < 3 && word.find_first_not_of("0123456789") == std::string::npos)
    return std::atoi(word.c_str());
  throw startup_error(format("%s=%s: not the name of a signal; write for example USR1", name, word.c_str()));
}

std::vector<std::string> parse_networks(std::string const& text) {
  std::vector<std::string> names;
  std::istringstream in(text);
  for (std::string name; std::getline(in, name, ',');) {
    name = trim(name);
    if (name.empty()) continue;
    bool const path = name.find('/') != std::string::npos;
    if (!path) name = lower(name);
    if (!path && name != "ucx" && name != "ofi" && name != "sim") {
      throw startup_error(format(
          "ATOLL_TRANSPORTS: %s is not known; write ucx, ofi, sim, or the path of a module", name.c_str()));
    }
    names.push_back(std::move(name));
  }
  return names;
}

void check(entry const& what, std::string_view text) {
  switch (what.type) {
    case kind::heap_size:
      parse_heap_size(text, what.name);
      break;
    case kind::segment_size:
      parse_segment_size(text, what.name);
      break;
    case kind::signal:
      parse_signal(text, what.name);
      break;
    case kind::size_or_percent:
      parse_size(text, what.name);
      break;
    case kind::boolean:
    case kind::automatic_boolean:
      parse_boolean(text, what.name);
      break;
    case kind::count:
      parse_count(text, what.name);
      break;
    case kind::verbosity:
      parse_verbosity(text, what.name);
      break;
    case kind::choice:
      parse_choice(text, what);
      break;
    case kind::networks:
      parse_networks(std::string(text));
      break;
    case kind::text:
      break;
  }
}

}  // namespace

std::span<entry const> all() noexcept { return table; }

current look_up(entry const& what) {
  current result;
  char const* const set = environment(what.name);
  result.value = set != nullptr ? set : what.standard;
  result.origin = set != nullptr ? "environment" : "default";
  if (set != nullptr) {
    try {
      check(what, set);
    } catch (startup_error const& error) {
      result.problem = error.what();
    }
  }
  return result;
}

std::string shared_by_job() {
  std::string all;
  for (shared_setting const& each : shared_settings()) all += trim(text_of(each.name)) + '\n';
  return all;
}

void follow(std::string_view first_rank) {
  for (shared_setting& each : shared_settings()) {
    if (first_rank.empty()) return;  // another version, which the ranks find out later
    std::size_t const end = std::min(first_rank.find('\n'), first_rank.size());
    each.followed = first_rank.substr(0, end);
    first_rank.remove_prefix(std::min(end + 1, first_rank.size()));
  }
}

size_value parse_heap_size(std::string_view text, char const* name) {
  return parse_size(text, name, std::uint64_t{1} << 20);
}

size_value parse_size(std::string_view text, char const* name, std::uint64_t bare_unit) {
  std::string const word = lower(trim(text));
  auto const refuse = [&](char const* why) {
    throw startup_error(format("%s=%.*s: %s; write for example 128MB, 2G, 4096B or 10%%", name,
                               static_cast<int>(text.size()), text.data(), why));
  };
  if (word.empty() || !(std::isdigit(static_cast<unsigned char>(word[0])) || word[0] == '.')) {
    refuse("not a size");
  }
  // read_real() also reads hexadecimal and exponents, which nobody means here.
  auto const end = word.find_first_not_of("0123456789.");
  std::string const number = word.substr(0, end);
  std::string unit = end == std::string::npos ? "" : trim(std::string_view(word).substr(end));
  char* rest = nullptr;
  double const value = read_real(number.c_str(), &rest);
  if (*rest != '\0') refuse("not a size");
  if (unit == "%") {
    if (value > 100) refuse("more than 100%");
    return {0, value};
  }
  if (unit.empty()) {
    if (value != 0 && bare_unit == 0) refuse("a unit is missing");
    unit.assign(1, 'b');  // GCC 12 warns wrongly of an overlap where a literal is assigned (its bug 105651)
  } else {
    bare_unit = 1;
  }
  static constexpr std::string_view powers = "kmgt";
  auto factor = static_cast<double>(bare_unit);
  if (auto const power = powers.find(unit[0]); power != std::string_view::npos) {
    factor = std::pow(1024.0, static_cast<double>(power + 1));
    unit.erase(0, 1);
    if (unit != "" && unit != "b" && unit != "ib") refuse("unknown unit");
  } else if (unit != "b") {
    refuse("unknown unit");
  }
  double const bytes = value * factor;
  if (bytes >= 9e18) refuse("too large");
  return {static_cast<std::uint64_t>(bytes), -1};
}

bool parse_boolean(std::string_view text, char const* name) {
  std::string const word = lower(trim(text));
  if (std::optional<bool> const answer = yes_or_no(word)) return *answer;
  throw startup_error(format("%s=%s: neither yes nor no", name, word.c_str()));
}

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  bool const whole = value == std::floor(value) || value >= 100;
  return format(whole ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

std::size_t shared_heap_size(int local_ranks) {
  auto const ranks = static_cast<double>(std::max(1, local_ranks));
  auto const share = [&](double percent) {
    os::memory_limits const limits = os::read_memory_limits();
    std::uint64_t memory = limits.host_total;
    if (limits.group_limit) memory = std::min(memory, *limits.group_limit);
    return static_cast<std::uint64_t>(static_cast<double>(memory) * percent / 100 / ranks);
  };
  bool const old_name =
      environment("UPCXX_SHARED_HEAP_SIZE") == nullptr && environment("UPCXX_SEGMENT_MB") != nullptr;
  char const* const name = old_name ? "UPCXX_SEGMENT_MB" : "UPCXX_SHARED_HEAP_SIZE";
  size_value const size = parse_heap_size(text_of(name), name);
  std::uint64_t bytes = size.percent < 0 ? size.bytes : share(size.percent);
  if (char const* const ceiling = environment("GASNET_MAX_SEGSIZE")) {
    segment_limit const limit = parse_segment_size(ceiling, "GASNET_MAX_SEGSIZE");
    std::uint64_t const most = limit.size.percent >= 0 ? share(limit.size.percent)
                               : limit.of_host         ? limit.size.bytes / static_cast<std::uint64_t>(ranks)
                                                       : limit.size.bytes;
    bytes = std::min(bytes, most);
  }
  return static_cast<std::size_t>(bytes);
}

namespace {
/// A size setting; percentages are of the host's memory.
std::size_t size_setting(char const* name) {
  size_value const size = parse_size(text_of(name), name);
  if (size.percent < 0) return static_cast<std::size_t>(size.bytes);
  return static_cast<std::size_t>(static_cast<double>(os::read_memory_limits().host_total) * size.percent /
                                  100);
}
}  // namespace

std::size_t transit_memory() {
  std::size_t const bytes = size_setting("ATOLL_TRANSIT_MEMORY");
  if (bytes < (std::size_t{64} << 10)) {
    throw startup_error(format("ATOLL_TRANSIT_MEMORY=%zu bytes: at least 64 KiB are needed", bytes));
  }
  return bytes;
}

std::optional<std::size_t> message_memory() {
  if (environment("ATOLL_MESSAGE_MEMORY") == nullptr) return std::nullopt;
  return size_setting("ATOLL_MESSAGE_MEMORY");
}

bool bundles_by_host() { return parse_boolean(text_of("ATOLL_BUNDLES_BY_HOST"), "ATOLL_BUNDLES_BY_HOST"); }
bool progress_thread() { return parse_boolean(text_of("ATOLL_PROGRESS_THREAD"), "ATOLL_PROGRESS_THREAD"); }

std::optional<std::size_t> direct_from() {
  if (environment("ATOLL_DIRECT_FROM") == nullptr) return std::nullopt;
  return size_setting("ATOLL_DIRECT_FROM");
}

std::optional<std::size_t> direct_run_from() {
  if (environment("ATOLL_DIRECT_RUN_FROM") == nullptr) return std::nullopt;
  return size_setting("ATOLL_DIRECT_RUN_FROM");
}

std::optional<bool> network_atomics() {
  std::string const text = text_of("ATOLL_NETWORK_ATOMICS");
  if (text.empty()) return std::nullopt;
  return parse_boolean(text, "ATOLL_NETWORK_ATOMICS");
}

std::optional<bool> network_device_memory() {
  std::string const text = text_of("ATOLL_NETWORK_DEVICE_MEMORY");
  if (text.empty()) return std::nullopt;
  return parse_boolean(text, "ATOLL_NETWORK_DEVICE_MEMORY");
}

bool flat_collectives() { return parse_boolean(text_of("ATOLL_FLAT_COLLECTIVES"), "ATOLL_FLAT_COLLECTIVES"); }

bool read_peers() { return parse_boolean(text_of("ATOLL_READ_PEERS"), "ATOLL_READ_PEERS"); }

std::string gpu_driver(std::string_view kind) {
  std::string name = "ATOLL_";
  for (char const c : kind) name += static_cast<char>(c - 'a' + 'A');
  return text_of((name + "_DRIVER").c_str());
}

std::vector<std::string> transports() { return parse_networks(text_of("ATOLL_TRANSPORTS")); }

std::string network_devices() { return trim(text_of("ATOLL_NET_DEVICES")); }

std::string network_library(std::string_view network) {
  if (network == "ucx") return trim(text_of("ATOLL_UCX_LIBRARY"));
  if (network == "ofi") return trim(text_of("ATOLL_OFI_LIBRARY"));
  return {};
}

std::uint64_t stream_patience() {
  std::uint64_t const seconds = parse_count(text_of("ATOLL_STREAM_PATIENCE"), "ATOLL_STREAM_PATIENCE");
  return std::min<std::uint64_t>(seconds, 1'000'000'000);
}

bool gpu_sharing() { return parse_boolean(text_of("ATOLL_GPU_SHARING"), "ATOLL_GPU_SHARING"); }

bool gpu_descriptors() { return parse_boolean(text_of("ATOLL_GPU_DESCRIPTORS"), "ATOLL_GPU_DESCRIPTORS"); }

simulated_devices sim_devices() {
  simulated_devices result;
  std::uint64_t const count = parse_count(text_of("ATOLL_SIM_DEVICES"), "ATOLL_SIM_DEVICES");
  if (count > 64) {
    throw startup_error(format("ATOLL_SIM_DEVICES=%llu: at most 64", static_cast<unsigned long long>(count)));
  }
  result.count = static_cast<int>(count);
  result.kind = parse_choice(text_of("ATOLL_SIM_KIND"), find("ATOLL_SIM_KIND"));
  result.bytes = size_setting("ATOLL_SIM_MEMORY");
  result.atomics = parse_boolean(text_of("ATOLL_SIM_ATOMICS"), "ATOLL_SIM_ATOMICS");
  result.seed = parse_count(text_of("ATOLL_SIM_SEED"), "ATOLL_SIM_SEED");
  return result;
}

simulated_network sim_network() {
  return {text_of("ATOLL_SIM_NETWORK"), parse_count(text_of("ATOLL_SIM_SEED"), "ATOLL_SIM_SEED"),
          parse_boolean(text_of("ATOLL_SIM_LOCKSTEP"), "ATOLL_SIM_LOCKSTEP")};
}

std::optional<bool> oversubscribed() {
  std::string const text = text_of("UPCXX_OVERSUBSCRIBED");
  if (text.empty()) return std::nullopt;
  return parse_boolean(text, "UPCXX_OVERSUBSCRIBED");
}

std::int64_t longest_sleep_ns() {
  std::uint64_t const ms = parse_count(text_of("ATOLL_LONGEST_SLEEP"), "ATOLL_LONGEST_SLEEP");
  return static_cast<std::int64_t>(std::min<std::uint64_t>(ms, 3'600'000)) * 1'000'000;
}

int verbosity() { return parse_verbosity(text_of("UPCXX_VERBOSE"), "UPCXX_VERBOSE"); }

int ranks_without_launcher() {
  std::string const text = text_of("GASNET_PSHM_NODES");
  return text.empty()
             ? 1
             : static_cast<int>(std::min<std::uint64_t>(1 << 20, parse_count(text, "GASNET_PSHM_NODES")));
}

bool backtrace() { return parse_boolean(text_of("GASNET_BACKTRACE"), "GASNET_BACKTRACE"); }
bool freeze() { return parse_boolean(text_of("GASNET_FREEZE"), "GASNET_FREEZE"); }
bool freeze_on_error() { return parse_boolean(text_of("GASNET_FREEZE_ON_ERROR"), "GASNET_FREEZE_ON_ERROR"); }
int backtrace_signal() { return parse_signal(text_of("GASNET_BACKTRACE_SIGNAL"), "GASNET_BACKTRACE_SIGNAL"); }
int freeze_signal() { return parse_signal(text_of("GASNET_FREEZE_SIGNAL"), "GASNET_FREEZE_SIGNAL"); }

std::optional<bool> colorize_debug() {
  std::string const text = text_of("UPCXX_COLORIZE_DEBUG");
  if (text.empty()) return std::nullopt;
  return parse_boolean(text, "UPCXX_COLORIZE_DEBUG");
}

std::string sim_hosts() { return trim(text_of("ATOLL_SIM_HOSTS")); }

std::string bootstrap() { return parse_choice(text_of("ATOLL_BOOTSTRAP"), find("ATOLL_BOOTSTRAP")); }

std::string host() { return trim(text_of("ATOLL_HOST")); }

std::uint32_t host_timeout_ms() {
  std::uint64_t const seconds = parse_count(text_of("ATOLL_HOST_TIMEOUT"), "ATOLL_HOST_TIMEOUT");
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(seconds, 86'400)) * 1000;
}

std::string huge_pages() { return parse_choice(text_of("ATOLL_HUGE_PAGES"), find("ATOLL_HUGE_PAGES")); }

std::string leaks() { return parse_choice(text_of("ATOLL_LEAKS"), find("ATOLL_LEAKS")); }

bool crash_reports() { return parse_boolean(text_of("ATOLL_CRASH_REPORTS"), "ATOLL_CRASH_REPORTS"); }

}  // namespace atl::settings
