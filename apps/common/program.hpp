#pragma once

/// How a program of many ranks starts, complains and ends.
/// Its exit status is 2 where the run could not be done.

#include <functional>
#include <string>

#include "common/command_line.hpp"

namespace apps {

class program {
 public:
  /// `memory_advice` is for those who have too little.
  constexpr program(char const* name, char const* memory_advice)
      : name_(name), memory_advice_(memory_advice) {}

  /// Prints it to standard error, after the program's name.
  void complain(std::string const& text) const;

  /// What main() returns: the status of `work`, whose exceptions end the run with a message.
  [[nodiscard]] int guard(std::function<int()> const& work) const;
  /// The status of a run whose command line was read: of `work`, unless the words end it.
  /// Rank 0 prints help and complaints.
  [[nodiscard]] int run(int rank, ending const& words, std::function<int()> const& work) const;

  /// Does `work` on rank 0 and tells every rank whether it succeeded; rank 0 prints the reason if a file
  /// stood in the way. Collective.
  template <class Ranks>
  bool on_rank_0(Ranks& ranks, std::function<void()> const& work) const {
    return !ranks.any(ranks.rank() == 0 && !succeeds(work));
  }

  /// Whether `atoll run` started this process. MPI would take each of its ranks for a job of its own.
  static bool started_by_atoll();
  /// What to say then of an option that asks for MPI.
  [[nodiscard]] std::string needs_mpirun(std::string const& option) const;

 private:
  [[nodiscard]] bool succeeds(std::function<void()> const& work) const;

  char const* name_;
  char const* memory_advice_;
};

}  // namespace apps
