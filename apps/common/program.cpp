#include "common/program.hpp"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "common/failure.hpp"
#include "common/files.hpp"

namespace apps {
namespace {

constexpr int could_not_be_done = 2;

}  // namespace

void program::complain(std::string const& text) const {
  std::fprintf(stderr, "%s: %s\n", name_, text.c_str());
}

int program::guard(std::function<int()> const& work) const {
  try {
    return work();
  } catch (failure const& p) {
    complain(p.text);
  } catch (std::bad_alloc const&) {
    complain(std::string("memory does not suffice; ") + memory_advice_);
  }
  return could_not_be_done;
}

int program::run(int rank, ending const& words, std::function<int()> const& work) const {
  if (!words.help.empty()) {
    if (rank == 0) std::fputs(words.help.c_str(), stdout);
    return std::fflush(stdout) == 0 ? 0 : could_not_be_done;
  }
  std::string problem = words.error;
  if (problem.empty()) {
    try {
      return work();
    } catch (failure const& p) {
      problem = p.text;
    }
  }
  if (rank == 0) complain(problem);
  return could_not_be_done;
}

bool program::succeeds(std::function<void()> const& work) const {
  try {
    work();
    return true;
  } catch (file_problem const& p) {
    complain(p.text);
    return false;
  }
}

bool program::started_by_atoll() { return std::getenv("ATOLL_JOB") != nullptr; }

std::string program::needs_mpirun(std::string const& option) const {
  return option + ": `atoll run` starts no MPI ranks; use mpirun -n N " + name_ + " ...";
}

}  // namespace apps
