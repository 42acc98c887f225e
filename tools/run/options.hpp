#pragma once

/// What the user asked of `atoll run`.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "run/hosts/host_list.hpp"

namespace atl::tools {

enum class binding_mode { automatic, core, socket, numa, none };
enum class input_mode { first, all, none };

/// A job on several hosts.
struct cluster_request {
  std::vector<host_share> hosts;  ///< empty: those of the allocation
  int count = 0;                  ///< of them; 0: all
  int ranks = 0;                  ///< 0: as many as the hosts say
  std::string launcher;           ///< empty: the first that there is
};

struct run_options {
  int ranks = 0;
  std::string program;                   ///< as given
  std::string path;                      ///< where it was found
  std::vector<std::string> arguments;    ///< without the program
  std::vector<std::string> environment;  ///< NAME=VALUE, in the order given
  std::optional<std::chrono::nanoseconds> timeout;
  binding_mode binding = binding_mode::automatic;
  input_mode input = input_mode::first;
  bool tag = false;
  std::optional<cluster_request> cluster;  ///< none: all ranks run here
  bool terminal = false;                   ///< give the ranks a terminal for their output
  bool show = false;
  int verbosity = 0;
  std::vector<std::string> remarks;  ///< what the user shall know before the job starts
};

struct command_line;

/// What the words of the user mean, but for `path`. Throws startup_error where they mean nothing.
run_options checked_options(command_line const& line);

/// A heap size, as --shared-heap takes it, as GASNET_MAX_SEGSIZE has it.
std::string segment_size(std::string const& heap);

/// Exit statuses that are the launcher's own.
namespace exit_status {
inline constexpr int usage = 2;
inline constexpr int timeout = 124;
inline constexpr int not_executable = 126;
inline constexpr int not_found = 127;
inline constexpr int signal_base = 128;
}  // namespace exit_status

}  // namespace atl::tools
