#include "python.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/os/exit_status.hpp"

extern char** environ;

namespace atl::plotting {
namespace {

/// Starts a program found on PATH, waits, and returns its exit status; 127 when it cannot be started.
int spawn_and_wait(std::vector<std::string> words, posix_spawn_file_actions_t* actions) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, argv[0], actions, nullptr, argv.data(), environ) != 0) return 127;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 127;
  }
  return os::exit_status_of(status);
}

bool has_matplotlib(std::string const& python) {
  posix_spawn_file_actions_t silent;
  posix_spawn_file_actions_init(&silent);
  for (int fd : {1, 2}) posix_spawn_file_actions_addopen(&silent, fd, "/dev/null", O_WRONLY, 0);
  // Looks for the package without loading it, which would take a third of a second.
  auto const status = spawn_and_wait(
      {python, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('matplotlib') is None)"},
      &silent);
  posix_spawn_file_actions_destroy(&silent);
  return status == 0;
}

}  // namespace

std::string interpreter() {
  std::vector<std::string> candidates;
  if (char const* const named = std::getenv("ATOLL_PYTHON")) {
    candidates = {named};
  } else {
    candidates = {"python3", "/usr/bin/python3", "/usr/local/bin/python3"};
  }
  std::string tried;
  for (auto const& candidate : candidates) {
    if (has_matplotlib(candidate)) return candidate;
    tried += (tried.empty() ? "" : ", ") + candidate;
  }
  throw problem{"pictures need a Python interpreter with matplotlib; tried " + tried +
                ". Install python3-matplotlib, or set ATOLL_PYTHON to an interpreter that has it"};
}

std::string script(std::string_view name) {
  char self[PATH_MAX];
  auto const length = readlink("/proc/self/exe", self, sizeof self - 1);
  std::string where(self, length > 0 ? static_cast<std::size_t>(length) : 0);
  where.resize(where.rfind('/') == std::string::npos ? 0 : where.rfind('/'));
  auto path = where + "/../share/atoll/" + std::string(name);
  if (access(path.c_str(), R_OK) != 0) {
    throw problem{path + ": " + std::strerror(errno) + "; the installation is incomplete"};
  }
  return path;
}

int run(std::string const& interpreter_path, std::string const& script_path,
        std::vector<std::string> const& arguments, int input) {
  std::vector<std::string> words = {interpreter_path, script_path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (input >= 0) {
    posix_spawn_file_actions_adddup2(&actions, input, 0);
  } else {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  }
  auto const status = spawn_and_wait(words, &actions);
  posix_spawn_file_actions_destroy(&actions);
  return status;
}

}  // namespace atl::plotting
