#include "run/descendants.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/error.hpp"
#include "base/os/cgroup.hpp"
#include "base/os/processes.hpp"

namespace atl::tools {

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
  for (os::listed_process const& each : os::list_processes()) {
    if (each.parent == self) children.push_back(each.number);
  }
  return children;
}

void end_children(std::vector<int> const& spared) {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < deadline) {
    bool any = false;
    for (int const pid : children_of_self()) {
      if (std::find(spared.begin(), spared.end(), pid) != spared.end()) continue;
      any = true;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, WNOHANG);
    }
    if (!any) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool has_in_environment(int pid, std::string_view text) {
  auto const environment = os::read_environment(pid);
  return environment && environment->find(text) != std::string::npos;
}

int kill_by_environment(std::string_view variable) {
  int found = 0;
  int const self = ::getpid();
  for (int const pid : os::process_numbers()) {
    if (pid == self || !has_in_environment(pid, variable)) continue;
    ++found;
    ::kill(pid, SIGKILL);
  }
  return found;
}

}  // namespace atl::tools
