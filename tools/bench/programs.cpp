#include "programs.hpp"

#include <unistd.h>

#include <filesystem>

#include "base/os/cores.hpp"
#include "base/os/search_path.hpp"

namespace atl::tools {
namespace {

namespace fs = std::filesystem;

std::string existing(fs::path const& path) { return access(path.c_str(), X_OK) == 0 ? path.string() : ""; }

std::string text_of(std::string const& item) { return item; }
std::string text_of(auto item) { return std::to_string(item); }

std::string joined_items(auto const& items) {
  std::string text;
  for (auto const& item : items) {
    if (!text.empty()) text += ',';
    text += text_of(item);
  }
  return text;
}

}  // namespace

std::string joined(std::vector<std::string> const& items) { return joined_items(items); }
std::string joined(std::vector<int> const& items) { return joined_items(items); }
std::string joined(std::vector<std::size_t> const& items) { return joined_items(items); }
std::string joined(std::vector<double> const& items) { return joined_items(items); }

programs find_programs() {
  auto const bin = fs::read_symlink("/proc/self/exe").parent_path();
  auto const libexec = bin / ".." / "libexec" / "atoll";
  programs p;
  p.atoll = existing(bin / "atoll");
  p.ranks = existing(libexec / "atoll-bench-ranks");
  p.threads = existing(libexec / "atoll-bench-threads");
  p.net = existing(libexec / "atoll-bench-net");
  p.mpi = existing(libexec / "atoll-bench-mpi");
  p.nvshmem = existing(libexec / "atoll-bench-nvshmem");
  p.nvshmem_kernels = existing(libexec / "atoll-bench-nvshmem-kernels");
  p.nccl = existing(libexec / "atoll-bench-nccl");
  p.mpirun = os::find_on_path("mpirun");
  p.ucx_perftest = os::find_on_path("ucx_perftest");
  if (!p.mpi.empty() && !p.mpirun.empty()) {
    listen({{p.mpirun, "--version"}, {}}, [&p](std::string const& line) {
      if (line.find("Open MPI") != std::string::npos || line.find("OpenRTE") != std::string::npos)
        p.open_mpi = true;
    });
  }
  return p;
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

command_line mpi_command_of(programs const& p, int ranks, std::vector<std::string> const& binding) {
  command_line command{{p.mpirun, "-n", std::to_string(ranks)}, {}};
  if (p.open_mpi) {
    command.words.emplace_back("--oversubscribe");
    command.words.insert(command.words.end(), binding.begin(), binding.end());
    if (geteuid() == 0) {
      command.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
    }
  }
  command.words.push_back(p.mpi);
  return command;
}

command_line run_command(programs const& p, int ranks, std::string const& hosts,
                         std::string const& launcher) {
  command_line command{
      {p.atoll, "run", "-n", std::to_string(ranks), "--bind", "none", "--timeout", "300", "--stdin", "none"},
      {}};
  if (hosts.empty()) {
    command.words.emplace_back("--localhost");
  } else {
    command.words.insert(command.words.end(), {"--hosts", hosts});
    if (!launcher.empty()) command.words.insert(command.words.end(), {"--launcher", launcher});
  }
  return command;
}

command_line mpi_command_between(programs const& p, bench_options const& o, int ranks,
                                 std::string const& layers) {
  command_line command;
  if (o.hosts.empty()) {
    command = mpi_command_of(p, ranks, {"--bind-to", "none"});
  } else {
    command = run_command(p, ranks, o.hosts, "mpirun");
    command.words.push_back(p.mpi);
  }
  command.environment.emplace_back("OMPI_MCA_pml", "ob1");
  command.environment.emplace_back("OMPI_MCA_btl", layers);
  return command;
}

command_line mpi_command(programs const& p, bench_options const& o, int ranks) {
  command_line command = mpi_command_of(p, ranks, {"--bind-to", "core:overload-allowed"});
  for (auto const& word : measuring_options(o, ranks)) command.words.push_back(word);
  return command;
}

}  // namespace atl::tools
