// `atoll picture`: has jobs on several hosts say what their ranks are doing. They go on.

#include <cstdio>
#include <string>
#include <string_view>

#include "command.hpp"
#include "picture/keepers.hpp"

namespace atl::tools {
namespace {

void print_help(std::FILE* to) {
  std::fputs(
      "usage: atoll picture [JOB]\n\n"
      "Has your jobs on several hosts that have ranks on this one say what all their ranks are doing: each host prints a table\n"
      "where its ranks write errors, and the jobs go on. Jobs on this host alone: send SIGQUIT to their `atoll run`, which ends them.\n\n"
      "  JOB     only the one whose ranks have it in ATOLL_CLUSTER_JOB; `atoll run -v --hosts ...` says it\n"
      "  --help  this text\n\n"
      "Exit status: 1 if there is no such job.\n",
      to);
}

/// Says what is wrong, then how it is right; the exit status.
int wrong_words(std::string const& what) {
  std::fprintf(stderr, "atoll picture: %s\n\n", what.c_str());
  print_help(stderr);
  return 2;
}

}  // namespace

int picture_command(int argc, char** argv) {
  std::string_view const word = argc > 1 ? argv[1] : "";
  if (word == "--help" || word == "-h") {
    print_help(stdout);
    return 0;
  }
  if (argc > 2) return wrong_words("one JOB, or none for all");
  if (word.starts_with('-')) return wrong_words(std::string(word) + " is no option");
  if (argc > 1 && word.empty()) return wrong_words("JOB is empty; leave it out for all jobs");
  int const asked = ask_keepers(std::string(word));
  if (asked == 0) {
    std::string const which = word.empty() ? "" : " " + std::string(word);
    std::fprintf(
        stderr,
        "atoll picture: no job%s on several hosts has ranks of yours here, or nobody watches over it "
        "(ATOLL_HOST_TIMEOUT=0)%s\n",
        which.c_str(),
        word.empty() ? "" : "; `atoll run -v` and ATOLL_CLUSTER_JOB of its ranks tell its name");
    return 1;
  }
  std::printf("%d job%s asked: the answer stands where ranks write errors\n", asked, asked == 1 ? "" : "s");
  return 0;
}

}  // namespace atl::tools
