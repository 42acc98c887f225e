#include "run/descendants.hpp"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/error.hpp"
#include "base/os/cgroup.hpp"

namespace atl::tools {
namespace {

/// Parent of a process, or 0. The command name in the stat line may contain anything, even parentheses.
int parent_of(int pid) {
  auto const text = os::read_small_file(format("/proc/%d/stat", pid));
  if (!text) return 0;
  auto const end = text->rfind(')');
  if (end == std::string::npos || end + 4 >= text->size()) return 0;
  return std::atoi(text->c_str() + end + 4);
}

}  // namespace

std::vector<int> all_processes() {
  std::vector<int> found;
  std::unique_ptr<DIR, int (*)(DIR*)> const folder(::opendir("/proc"), ::closedir);
  if (!folder) return found;
  while (dirent const* const item = ::readdir(folder.get())) {
    if (item->d_name[0] >= '1' && item->d_name[0] <= '9') found.push_back(std::atoi(item->d_name));
  }
  return found;
}

std::vector<int> children_of_self() {
  int const self = ::getpid();
  std::vector<int> children;
  if (auto const text = os::read_small_file(format("/proc/self/task/%d/children", self))) {
    for (char* at = const_cast<char*>(text->c_str());;) {
      char* rest = nullptr;
      long const pid = std::strtol(at, &rest, 10);
      if (rest == at) return children;
      children.push_back(static_cast<int>(pid));
      at = rest;
    }
  }
  for (int const pid : all_processes()) {
    if (parent_of(pid) == self) children.push_back(pid);
  }
  return children;
}

void end_children(int spared) {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < deadline) {
    bool any = false;
    for (int const pid : children_of_self()) {
      if (pid == spared) continue;
      any = true;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, WNOHANG);
    }
    if (!any) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool has_in_environment(int pid, std::string_view text) {
  auto const environment = os::read_small_file(format("/proc/%d/environ", pid));
  return environment && environment->find(text) != std::string::npos;
}

int kill_by_environment(std::string_view variable) {
  int found = 0;
  int const self = ::getpid();
  for (int const pid : all_processes()) {
    if (pid == self || !has_in_environment(pid, variable)) continue;
    ++found;
    ::kill(pid, SIGKILL);
  }
  return found;
}

}  // namespace atl::tools
