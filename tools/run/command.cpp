#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "command.hpp"
#include "run/facts.hpp"
#include "run/job.hpp"
#include "run/options.hpp"
#include "run/show.hpp"
#include "run/spawn.hpp"

namespace atl::tools {
namespace {

constexpr char const* description =
    "Starts a program on several ranks of this machine.\n"
    "Everything after the program's name is the program's.";

constexpr char const* footer =
    "Examples:\n"
    "  atoll run -n 4 ./simulation --steps 100\n"
    "  atoll run -n 4 --tag --timeout 60 ./test\n"
    "  atoll run -n 2 -E MODE=fast --shared-heap 1G ./simulation\n"
    "\n"
    "Exit status: that of the first rank that failed (128 + number for a signal), 0 when none did; 124 when "
    "the time\n"
    "was up; 128 + number when the launcher got a signal; 126 and 127 when the program cannot be run or "
    "found; 2 for\n"
    "wrong options.\n"
    "\n"
    "Ctrl-C, SIGTERM and SIGHUP end all ranks. Ctrl-\\ (SIGQUIT) prints what every rank is doing, then ends "
    "them.";

/// Options of other launchers of this kind, which write long names with one dash, in our spelling. Looks only
/// at what stands before the program.
std::vector<std::string> normalise(int argc, char** argv) {
  struct spelling {
    std::string_view theirs;
    std::string_view ours;
    bool takes_value;
  };
  static constexpr std::array spellings{
      spelling{"-np", "-n", true},
      spelling{"-shared-heap", "--shared-heap", true},
      spelling{"-ssh-servers", "--ssh-servers", true},
      spelling{"-show", "--show", false},
      spelling{"-info", "--info", false},
      spelling{"-i", "--info", false},
      spelling{"-backtrace", "--backtrace", false},
      spelling{"-localhost", "--localhost", false},
      spelling{"-help", "--help", false},
      spelling{"-n", "-n", true},
      spelling{"-N", "-N", true},
      spelling{"-E", "-E", true},
      spelling{"--env", "--env", true},
      spelling{"--ranks", "--ranks", true},
      spelling{"--nodes", "--nodes", true},
      spelling{"--timeout", "--timeout", true},
      spelling{"--bind", "--bind", true},
      spelling{"--stdin", "--stdin", true},
      spelling{"--shared-heap", "--shared-heap", true},
      spelling{"--ssh-servers", "--ssh-servers", true},
  };
  std::vector<std::string> words;
  int at = 1;
  for (; at < argc; ++at) {
    std::string word = argv[at];
    if (word == "--") {
      ++at;
      break;
    }
    if (word.size() < 2 || word[0] != '-') break;
    std::string value;
    bool has_value = false;
    if (auto const equals = word.find('='); equals != std::string::npos) {
      value = word.substr(equals + 1);
      word.erase(equals);
      has_value = true;
    }
    auto const found =
        std::find_if(spellings.begin(), spellings.end(), [&](spelling const& s) { return s.theirs == word; });
    if (found == spellings.end()) {
      words.emplace_back(argv[at]);
      continue;
    }
    words.emplace_back(found->ours);
    if (has_value) {
      words.push_back(value);
    } else if (found->takes_value && at + 1 < argc) {
      words.emplace_back(argv[++at]);
    }
  }
  words.emplace_back("--");
  for (; at < argc; ++at) words.emplace_back(argv[at]);
  return words;
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

/// NAME=VALUE sets; NAME[,NAME...] is forwarded anyway, since ranks inherit the environment.
void add_environment(std::string const& text, std::vector<std::string>& to) {
  if (auto const equals = text.find('='); equals != std::string::npos) {
    if (equals == 0) throw startup_error("--env " + text + ": no name before the =");
    to.push_back(text);
    return;
  }
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    if (char const* const value = std::getenv(name.c_str())) to.push_back(name + "=" + value);
  }
}

/// The facts that are embedded in each program; the exit status.
int print_facts(std::vector<std::string> const& programs) {
  int result = 0;
  for (auto const& name : programs) {
    int status = 0;
    std::string const path = find_program(name, status);
    std::string const facts = path.empty() ? "" : program_facts(path);
    if (!path.empty() && facts.empty()) {
      std::fprintf(stderr, "atoll run: %s was not compiled with the library's headers\n", path.c_str());
      status = 1;
    }
    if (programs.size() > 1 && !facts.empty()) std::printf("%s:\n", path.c_str());
    std::fputs(facts.c_str(), stdout);
    if (result == 0) result = status;
  }
  return result;
}

/// Pipes must not get the numbers of standard streams that the caller has closed.
void open_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) < 0) {
      [[maybe_unused]] int const opened = ::open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY);
    }
  }
}

int usage_error(std::string const& text) {
  std::fprintf(stderr, "atoll run: %s\n", text.c_str());
  return exit_status::usage;
}

}  // namespace

int run_command(int argc, char** argv) {
  open_standard_streams();
  run_options options;
  std::string ranks, timeout, bind = "auto", input = "0", heap, servers;
  std::vector<std::string> environment, words;
  int hosts = 1;
  bool backtrace = false;
  bool localhost = false;
  bool facts = false;

  CLI::App app(description, "atoll run");
  app.footer(footer);
  app.add_option("-n,--ranks", ranks, "number of ranks (also -np)")->type_name("N");
  app.add_option("-N,--nodes", hosts, "number of hosts; only 1")->type_name("N");
  app.add_flag("-t,--tag", options.tag, "put the rank before every line of output, as in \"[3] \"");
  app.add_option("--timeout", timeout,
                 "end the job after so many seconds (or 5m, 1h), saying what each rank was doing")
      ->type_name("SECONDS");
  app.add_option("-E,--env", environment, "set or forward an environment variable; may be repeated")
      ->type_name("NAME[=VALUE]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--shared-heap", heap,
                 "shared heap of each rank: 64M, 2G, 10% (of the host's memory, for all ranks); a bare "
                 "number is in MB")
      ->type_name("SIZE");
  app.add_option(
         "--bind", bind,
         "none, core, or auto: one core for each rank when the ranks are as many as the cores and no other "
         "job is bound")
      ->type_name("HOW");
  app.add_option("--stdin", input, "who reads standard input: 0 (rank 0), all, none")->type_name("WHO");
  app.add_flag("--pty", options.terminal,
               "give the ranks a terminal as standard output, for programs that would otherwise print late");
  app.add_flag("--show", options.show,
               "print the command that would be used, with -v also the environment, and stop");
  app.add_flag("-i,--info", facts,
               "print what the program says about itself (modes, network, kinds), and stop");
  app.add_flag("-v", options.verbosity,
               "say more: job layout (-v), each rank and the library's report (-vv), its details (-vvv)");
  app.add_flag("--backtrace", backtrace, "accepted for compatibility: backtraces are always printed")
      ->group("");
  app.add_flag("--localhost", localhost, "accepted for compatibility")->group("");
  app.add_option("--ssh-servers", servers, "not supported")->group("");
  app.add_option("program", words, "program and its arguments")->group("");
  app.positionals_at_end();

  auto normal = normalise(argc, argv);
  std::reverse(normal.begin(), normal.end());
  try {
    app.parse(normal);
  } catch (CLI::CallForHelp const&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (CLI::ParseError const& error) {
    return usage_error(std::string(error.what()) + "; `atoll run --help` lists the options");
  }

  if (facts) {
    if (words.empty()) return usage_error("no program given");
    return print_facts({words.front()});
  }
  try {
    if (ranks.empty())
      return usage_error("-n is required: the number of ranks; `atoll run --help` lists the options");
    char* rest = nullptr;
    long const count = std::strtol(ranks.c_str(), &rest, 10);
    if (ranks.empty() || *rest != '\0') return usage_error("-n " + ranks + ": not a number");
    if (count < 1) return usage_error("-n " + ranks + ": at least one rank is needed");
    raise_file_limit();
    if (count > most_ranks()) {
      return usage_error(
          format("-n %s: more than the %d ranks that the limit on open files (ulimit -n) leaves room "
                 "for",
                 ranks.c_str(), most_ranks()));
    }
    options.ranks = static_cast<int>(count);
    if (hosts != 1 || !servers.empty()) {
      return usage_error("several hosts need the ucx transport, which is not in this build; use -N 1");
    }
    if (!timeout.empty()) options.timeout = parse_duration(timeout);
    if (bind == "auto") {
      options.binding = binding_mode::automatic;
    } else if (bind == "core") {
      options.binding = binding_mode::core;
    } else if (bind == "none") {
      options.binding = binding_mode::none;
    } else {
      return usage_error("--bind " + bind + ": not one of none, core, auto");
    }
    if (input == "0") {
      options.input = input_mode::first;
    } else if (input == "all") {
      options.input = input_mode::all;
    } else if (input == "none") {
      options.input = input_mode::none;
    } else {
      return usage_error("--stdin " + input + ": not one of 0, all, none");
    }
    for (auto const& text : environment) add_environment(text, options.environment);
    if (!heap.empty()) {
      settings::parse_heap_size(heap, "--shared-heap");
      options.environment.push_back("UPCXX_SHARED_HEAP_SIZE=" + heap);
      options.environment.push_back("GASNET_MAX_SEGSIZE=" + segment_size(heap));
    }
    if (options.verbosity > 1 && std::getenv("UPCXX_VERBOSE") == nullptr) {
      options.environment.push_back(format("UPCXX_VERBOSE=%d", options.verbosity - 1));
    }
  } catch (startup_error const& error) {
    return usage_error(error.what());
  }
  if (words.empty()) return usage_error("no program given; `atoll run --help` shows how");
  options.program = words.front();
  options.arguments.assign(words.begin() + 1, words.end());
  int status = 0;
  options.path = find_program(options.program, status);
  if (options.path.empty()) return status;
  if (options.show) {
    show_command(options);
    return 0;
  }
  return job(options).run();
}

}  // namespace atl::tools
