#include "run/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace atl::tools {
namespace {

constexpr char const* description =
    "Starts a program on several ranks: of this machine, or of several hosts by a launcher that is installed there.\n"
    "Everything after the program's name is the program's.";

constexpr char const* footer =
    "Examples:\n"
    "  atoll run -n 4 ./simulation --steps 100\n"
    "  atoll run -n 4 --tag --timeout 60 ./test\n"
    "  atoll run -n 2 -E MODE=fast --shared-heap 1G ./simulation\n"
    "  atoll run -n 8 --hosts a,b ./simulation        4 ranks on each\n"
    "  atoll run --hosts a:4,b:2 ./simulation         6 ranks\n"
    "  salloc -N 4 atoll run -n 64 ./simulation       all hosts of the allocation\n"
    "\n"
    "Exit status: that of the first rank that failed (128 + number for a signal), 0 when none did; "
    "124 when the time\n"
    "was up; 128 + number when the launcher got a signal; 1 when standard output cannot be written; "
    "126 and 127 when\n"
    "the program cannot be run or found; 2 for wrong options.\n"
    "\n"
    "Ctrl-C, SIGTERM and SIGHUP (unless under nohup) end all ranks. Ctrl-\\ (SIGQUIT) prints what every rank is doing, "
    "then ends them.";

/// By its long name, without dashes.
struct option {
  std::string_view name;
  bool takes_value;
};

/// What a word before the program means. Long names may have one dash, as those of other launchers of this kind.
option const* find_option(std::string_view word) {
  static constexpr std::array options{
      option{"ranks", true},      option{"nodes", true},      option{"hosts", true},
      option{"hostfile", true},   option{"launcher", true},   option{"tag", false},
      option{"timeout", true},    option{"env", true},        option{"shared-heap", true},
      option{"bind", true},       option{"stdin", true},      option{"pty", false},
      option{"show", false},      option{"info", false},      option{"help", false},
      option{"backtrace", false}, option{"localhost", false}, option{"ssh-servers", true},
  };
  struct abbreviation {
    std::string_view word;
    std::string_view name;
  };
  static constexpr std::array abbreviations{
      abbreviation{"-np", "ranks"}, abbreviation{"-n", "ranks"}, abbreviation{"-N", "nodes"},
      abbreviation{"-E", "env"},    abbreviation{"-i", "info"},  abbreviation{"-t", "tag"},
      abbreviation{"-h", "help"},
  };
  auto const* const shorter = std::find_if(abbreviations.begin(), abbreviations.end(),
                                           [&](abbreviation const& a) { return a.word == word; });
  std::string_view const name =
      shorter != abbreviations.end() ? shorter->name : word.substr(word.starts_with("--") ? 2 : 1);
  auto const* const found =
      std::find_if(options.begin(), options.end(), [&](option const& o) { return o.name == name; });
  return found == options.end() ? nullptr : found;
}

/// One word of options, without a value that stands behind it.
struct option_word {
  std::string name;  ///< as it was written
  option const* meaning = nullptr;
  std::optional<std::string> value;  ///< "-n=4", "-n4"
};

option_word read_option(std::string const& word) {
  std::size_t const equals = word.find('=');
  option_word one{word.substr(0, equals), find_option(word.substr(0, equals)), std::nullopt};
  if (one.meaning != nullptr) {
    if (equals != std::string::npos) one.value = word.substr(equals + 1);
    return one;
  }
  // A short option and its value in one word.
  if (word.starts_with("-np") && word.find_first_not_of("0123456789", 3) == std::string::npos)
    return {"-np", find_option("-np"), word.substr(3)};
  option const* const begin = word[1] == '-' ? nullptr : find_option(word.substr(0, 2));
  if (begin != nullptr && begin->takes_value) return {word.substr(0, 2), begin, word.substr(2)};
  // Short options without values in one word; of others, none may be taken for such.
  bool const flags = word[1] != '-' && word.find_first_not_of("tvih", 1) == std::string::npos;
  if (!flags) throw startup_error(word + " is no option; `atoll run --help` lists them");
  return {word, nullptr, std::nullopt};
}

/// What stands before the program, each option in one spelling. The program and its words are not for CLI11, which would take "[a,b]" for a list: they go
/// to `program` as they are.
std::vector<std::string> normalise(int argc, char** argv, std::vector<std::string>& program) {
  std::vector<std::string> words;
  std::vector<std::string> given;  ///< options with values
  int at = 1;
  for (; at < argc; ++at) {
    std::string const word = argv[at];
    if (word == "--") {
      ++at;
      break;
    }
    if (word.size() < 2 || word[0] != '-') break;
    option_word one = read_option(word);
    if (one.meaning == nullptr) {
      words.push_back(word);
      continue;
    }
    std::string const ours = "--" + std::string(one.meaning->name);
    if (!one.meaning->takes_value) {
      words.push_back(one.value ? ours + "=" + *one.value : ours);
      continue;
    }
    if (!one.value && at + 1 < argc) one.value = argv[++at];
    if (!one.value)
      throw startup_error(one.name + ": its value is missing; `atoll run --help` lists the options");
    // `--hosts "$HOSTS"` with nothing in HOSTS means no job on this host.
    if (one.value->empty())
      throw startup_error(one.name + ": its value is empty; leave the option out, or give it one");
    if (ours != "--env" && std::find(given.begin(), given.end(), ours) != given.end())
      throw startup_error(one.name + " is given twice");
    given.push_back(ours);
    words.push_back(ours);
    words.push_back(*one.value);
  }
  program.assign(argv + at, argv + argc);
  return words;
}

/// Names the program, which the library's own line of usage leaves out, since it is none of the listed options.
class with_program final : public CLI::Formatter {
 public:
  std::string make_usage(CLI::App const*, std::string name) const override {
    return "Usage: " + name + " [OPTIONS] PROGRAM [ARGUMENTS...]\n";
  }
};

void declare_options(CLI::App& app, command_line& line) {
  app.add_option(
         "-n,--ranks", line.ranks,
         "number of ranks (also -np); without it, one for each usable core; on several hosts the sum of their numbers, or one each")
      ->type_name("N");
  app.add_option("-N,--nodes", line.nodes,
                 "number of hosts: of those named, or of an allocation of Slurm; 1: this one")
      ->type_name("N");
  app.add_option("--hosts", line.hosts, "hosts to run on, with their numbers of ranks if these shall differ")
      ->type_name("a,b:4");
  app.add_option("--hostfile", line.hostfile,
                 "the same from a file: a host a line, \"a\", \"a:4\" or \"a slots=4\"")
      ->type_name("FILE");
  app.add_option(
         "--launcher", line.launcher,
         "what starts ranks on several hosts: srun, mpirun (Open MPI's), prterun, hydra (MPICH's, Intel MPI's); without "
         "it, the first of these that is installed")
      ->type_name("NAME");
  app.add_flag("-t,--tag", line.tag, "put the rank before every line of output, as in \"[3] \"");
  app.add_option("--timeout", line.timeout,
                 "end the job after so many seconds (or 5m, 1h), saying what each rank was doing")
      ->type_name("SECONDS");
  app.add_option("-E,--env", line.environment,
                 "set an environment variable, or forward one or a list with commas; may be repeated")
      ->type_name("NAME[=VALUE]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--shared-heap", line.heap,
                 "shared heap of each rank: 64M, 2G, 10% (of the host's memory, for all ranks); "
                 "a bare number is in MB")
      ->type_name("SIZE");
  app.add_option(
         "--bind", line.bind,
         "none, core, socket, numa (`atoll info` draws them), or auto: one core for each rank when the ranks are as many as the cores "
         "and no other job is bound")
      ->type_name("HOW");
  app.add_option("--stdin", line.input, "who reads standard input: 0 (rank 0), all, none")->type_name("WHO");
  app.add_flag("--pty", line.terminal,
               "give the ranks a terminal as standard output, for programs that would otherwise print late");
  app.add_flag("--show", line.show,
               "print the command that would be used, with -v also the environment, and stop");
  app.add_flag("-i,--info", line.facts,
               "print what the program says about itself (modes, network, kinds), and stop");
  app.add_flag("-v", line.verbosity,
               "say more: job layout (-v), each rank and the library's report (-vv), its details (-vvv)");
  app.add_flag("--backtrace", line.backtrace, "accepted for compatibility: backtraces are always printed")
      ->group("");
  app.add_flag("--localhost", line.localhost,
               "all ranks are on this host, whatever -N and an allocation of Slurm say");
  app.add_option("--ssh-servers", line.servers, "another name of --hosts")->group("");
}

}  // namespace

std::optional<command_line> read_command_line(int argc, char** argv) {
  command_line line;
  CLI::App app(description, "atoll run");
  app.footer(footer);
  app.formatter(std::make_shared<with_program>());
  declare_options(app, line);
  auto normal = normalise(argc, argv, line.words);
  std::reverse(normal.begin(), normal.end());
  try {
    app.parse(normal);
  } catch (CLI::CallForHelp const&) {
    std::fputs(app.help().c_str(), stdout);
    return std::nullopt;
  } catch (CLI::ParseError const& error) {
    throw startup_error(std::string(error.what()) + "; `atoll run --help` lists the options");
  }
  return line;
}

}  // namespace atl::tools
