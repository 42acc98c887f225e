#pragma once

/// What `atoll bench` starts.

#include <string>
#include <vector>

#include "child.hpp"
#include "options.hpp"

namespace atl::tools {

/// Programs of this installation or build tree, and of others. Empty: not there.
struct programs {
  std::string atoll;
  std::string ranks;
  std::string threads;
  std::string net;
  std::string mpi;
  std::string nvshmem;
  std::string nvshmem_kernels;
  std::string nccl;
  std::string mpirun;
  std::string ucx_perftest;
  bool open_mpi = false;
};

programs find_programs();

/// Settings of the run as the measuring programs read them.
std::vector<std::string> measuring_options(bench_options const& o, int ranks);

/// Starts the program that measures message passing; `binding`: words for Open MPI's launcher. Without the program's options.
command_line mpi_command_of(programs const& p, int ranks, std::vector<std::string> const& binding);

/// Starts a program of so many ranks by atoll run, between hosts if any are named, by that launcher unless it is empty. Without the program.
command_line run_command(programs const& p, int ranks, std::string const& hosts, std::string const& launcher);

/// As mpi_command_of(), between the hosts, if any are named. Through these byte transfer layers of Open MPI's.
command_line mpi_command_between(programs const& p, bench_options const& o, int ranks,
                                 std::string const& layers);

/// mpi_command_of() with what is measured everywhere.
command_line mpi_command(programs const& p, bench_options const& o, int ranks);

/// "a,b" or "1,2".
std::string joined(std::vector<std::string> const& items);
std::string joined(std::vector<int> const& items);
std::string joined(std::vector<std::size_t> const& items);
std::string joined(std::vector<double> const& items);

}  // namespace atl::tools
