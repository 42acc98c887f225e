#include "run/hosts/launchers.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <sstream>

#include "base/error.hpp"
#include "base/os/search_path.hpp"
#include "run/quoted.hpp"

namespace atl::tools {
namespace {

/// Whose Hydra it is that knows more options than MPICH's.
constexpr char const* intel = "intel";

/// What a program prints.
std::string output_of(std::string const& program, std::string const& option) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const pipe(
      ::popen((quoted(program) + " " + option + " 2>&1 < /dev/null").c_str(), "r"), &::pclose);
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 512> some{};
  while (text.size() < 16384 && std::fgets(some.data(), some.size(), pipe.get()) != nullptr)
    text += some.data();
  return text;
}

/// Of what `srun --mpi=list` prints, which differs between versions: a word of that name by itself. Its errors name plugins, too ("mpi/pmix").
bool offers(std::string const& list, std::string_view plugin) {
  std::istringstream words(list);
  for (std::string word; words >> word;) {
    if (word == plugin) return true;
  }
  return false;
}

/// For a message: on one line.
std::string on_one_line(std::string const& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line.empty() ? "nothing" : line.substr(0, 300);
}

std::optional<launcher> find_srun() {
  std::string const file = os::find_on_path("srun");
  if (file.empty()) return std::nullopt;
  std::string const list = output_of(file, "--mpi=list");
  std::string const mpi = offers(list, "pmix") ? "pmix" : "pmi2";
  if (!offers(list, mpi)) {
    throw startup_error(format(
        "Slurm's srun (%s) offers neither pmix nor pmi2, by which ranks find each other: `srun --mpi=list` prints \"%s\". Ask for one of "
        "these plugins of Slurm to be installed (Debian: slurm-wlm-basic-plugins), or take another launcher (--launcher mpirun or hydra)",
        file.c_str(), on_one_line(list).c_str()));
  }
  return launcher{launcher_kind::srun, file, "Slurm's srun --mpi=" + mpi + " (" + file + ")", mpi,
                  tag_style::label};
}

std::optional<launcher> find_prterun() {
  std::string const file = os::find_on_path("prterun");
  if (file.empty()) return std::nullopt;
  return launcher{launcher_kind::prterun, file, "prterun (" + file + ")", "",
                  tag_style::bracketed_with_space};
}

std::optional<launcher> find_openmpi() {
  for (char const* const name : {"mpirun", "mpirun.openmpi", "orterun"}) {
    std::string const file = os::find_on_path(name);
    if (file.empty()) continue;
    std::string const version = output_of(file, "--version");
    if (version.find("Open MPI") == std::string::npos && version.find("OpenRTE") == std::string::npos)
      continue;
    // From version 5 on it calls prterun.
    bool const old = version.find(") 4.") != std::string::npos || version.find(") 3.") != std::string::npos;
    return launcher{launcher_kind::openmpi, file, "Open MPI's mpirun (" + file + ")", "",
                    old ? tag_style::bracketed : tag_style::bracketed_with_space};
  }
  return std::nullopt;
}

std::optional<launcher> find_hydra() {
  for (char const* const name : {"mpiexec.hydra", "mpiexec", "mpirun", "mpirun.mpich"}) {
    std::string const file = os::find_on_path(name);
    if (file.empty()) continue;
    std::string const version = output_of(file, "--version");
    bool const is_intels = version.find("Intel(R) MPI") != std::string::npos;
    if (is_intels || version.find("HYDRA") != std::string::npos)
      return launcher{launcher_kind::hydra, file, "Hydra (" + file + ")", is_intels ? intel : "",
                      tag_style::pattern};
  }
  return std::nullopt;
}

std::string hosts_as_words(std::vector<host_share> const& hosts, bool with_ranks) {
  std::string text;
  for (host_share const& each : hosts) {
    text += (text.empty() ? "" : ",") + each.name;
    if (with_ranks) text += format(":%d", each.ranks);
  }
  return text;
}

void add(std::vector<std::string>& to, std::initializer_list<std::string> words) {
  to.insert(to.end(), words);
}

char const* core_word(binding_mode how) {
  switch (how) {
    case binding_mode::core:
      return "core";
    case binding_mode::socket:
      return "socket";
    case binding_mode::numa:
      return "numa";
    case binding_mode::none:
      return "none";
    case binding_mode::automatic:
      break;
  }
  return nullptr;
}

/// Open MPI's, and PRRTE's, which comes from it.
void add_openmpi(std::vector<std::string>& words, cluster_start const& start, run_options const& options) {
  if (!start.hosts.empty()) add(words, {"--host", hosts_as_words(start.hosts, true)});
  if (start.ranks != 0) add(words, {"-n", std::to_string(start.ranks)});
  if (start.tagged) words.emplace_back("--tag-output");
  if (options.input != input_mode::first)
    add(words, {"--stdin", options.input == input_mode::all ? "all" : "none"});
  for (std::string const& name : start.variables) add(words, {"-x", name});
}

void add_srun(std::vector<std::string>& words, launcher const& which, cluster_start const& start,
              run_options const& options) {
  words.push_back("--mpi=" + which.mpi);
  // What one host's launcher does at once.
  // By itself it asks for a second Ctrl-C within a second, and takes no other for an answer.
  // What this process has is meant for ranks, also in a batch script that has got less from whoever sent it.
  add(words, {"--kill-on-bad-exit=1", "--quit-on-interrupt", "--overcommit", "--export=ALL"});
  if (start.beside) words.emplace_back("--overlap");
  if (!start.hosts.empty()) {
    bool const equal = std::all_of(start.hosts.begin(), start.hosts.end(),
                                   [&](host_share const& h) { return h.ranks == start.hosts.front().ranks; });
    if (equal) {
      add(words, {"-w", hosts_as_words(start.hosts, false), "-N", std::to_string(start.hosts.size()),
                  "--ntasks-per-node", std::to_string(start.hosts.front().ranks), "-m", "block"});
    } else {
      // The one way to shares that differ: a host for each rank, in their order.
      std::vector<host_share> of_ranks;
      for (host_share const& each : start.hosts)
        of_ranks.insert(of_ranks.end(), static_cast<std::size_t>(each.ranks), each);
      add(words, {"-m", "arbitrary", "-w", hosts_as_words(of_ranks, false)});
    }
  } else if (start.host_count != 0) {
    add(words, {"-N", std::to_string(start.host_count)});
  }
  if (start.ranks != 0) add(words, {"-n", std::to_string(start.ranks)});
  if (start.tagged) words.emplace_back("--label");
  words.emplace_back(options.input == input_mode::all     ? "--input=all"
                     : options.input == input_mode::first ? "--input=0"
                                                          : "--input=none");
  static constexpr std::array<std::string_view, 4> bindings{"cores", "sockets", "ldoms", "none"};
  static constexpr std::array<binding_mode, 4> modes{binding_mode::core, binding_mode::socket,
                                                     binding_mode::numa, binding_mode::none};
  for (std::size_t i = 0; i < modes.size(); ++i) {
    if (options.binding == modes[i]) words.push_back("--cpu-bind=" + std::string(bindings[i]));
  }
}

}  // namespace

launcher find_launcher(std::string const& name, bool inside_slurm) {
  struct way {
    std::string_view name;
    std::optional<launcher> (*find)();
    char const* package;
  };
  static constexpr std::array<way, 4> ways{
      way{"srun", &find_srun, "slurm-client"}, way{"mpirun", &find_openmpi, "openmpi-bin"},
      way{"prterun", &find_prterun, "PRRTE"}, way{"hydra", &find_hydra, "mpich"}};
  if (!name.empty()) {
    auto const found = std::find_if(ways.begin(), ways.end(), [&](way const& w) { return w.name == name; });
    if (found == ways.end())
      throw startup_error("--launcher " + name + ": not one of " + std::string(launcher_names));
    auto one = found->find();
    if (!one)
      throw startup_error(
          format("--launcher %s: it is not installed, or not the right one is first on PATH (Debian: %s)",
                 name.c_str(), found->package));
    return *one;
  }
  for (way const& each : ways) {
    if (each.name == "srun" && !inside_slurm) continue;
    if (auto one = each.find()) return *one;
  }
  throw startup_error(
      "several hosts need one of the launchers that clusters have, and none is installed: Slurm's srun inside an allocation, Open MPI's "
      "mpirun (Debian: openmpi-bin), PRRTE's prterun or MPICH's mpiexec.hydra (Debian: mpich)");
}

std::vector<std::string> words_for(launcher const& which, cluster_start const& start,
                                   run_options const& options) {
  if (options.terminal) throw startup_error("--pty: terminals are for ranks of this host only");
  // Whatever stands before it.
  if (std::find(options.arguments.begin(), options.arguments.end(), ":") != options.arguments.end())
    throw startup_error(
        "the program's argument `:` begins another program for launchers of several hosts; give a shell the whole line: sh -c 'PROGRAM :'");
  std::vector<std::string> words{which.program};
  switch (which.kind) {
    case launcher_kind::openmpi:
      add_openmpi(words, start, options);
      words.emplace_back("--oversubscribe");
      if (char const* const how = core_word(options.binding)) add(words, {"--bind-to", how});
      break;
    case launcher_kind::prterun:
      add_openmpi(words, start, options);
      // By slots: without the word, and without --bind-to, PRRTE 3 fills the first host.
      add(words, {"--map-by", "slot:oversubscribe"});
      if (char const* const how = core_word(options.binding)) add(words, {"--bind-to", how});
      break;
    case launcher_kind::hydra:
      if (!start.hosts.empty()) add(words, {"-hosts", hosts_as_words(start.hosts, true)});
      if (start.ranks != 0) add(words, {"-n", std::to_string(start.ranks)});
      if (start.tagged)
        add(words, {"-prepend-pattern", std::string(hydra_tag_begins) + "%r" + std::string(hydra_tag_ends)});
      if (options.input == input_mode::all) {
        if (which.mpi != intel) {
          throw startup_error(
              "--stdin all: MPICH's Hydra hands input to rank 0 alone; start with --launcher mpirun, prterun or srun, or have rank 0 broadcast "
              "what it reads");
        }
        add(words, {"-s", "all"});
      }
      if (char const* const how = core_word(options.binding)) add(words, {"-bind-to", how});
      break;
    case launcher_kind::srun:
      add_srun(words, which, start, options);
      break;
  }
  words.push_back(options.path);
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  return words;
}

}  // namespace atl::tools
