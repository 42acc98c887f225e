#pragma once

/// Which network a job uses: the first that all of its ranks can open, whatever is first on the host of each.

#include <functional>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"

namespace atl::engine {

/// What a rank says of itself beside its networks; no line ends in it.
struct standpoint {
  std::string build;               ///< of this library, without blanks
  std::string program = "";        ///< name of the running program
  std::string program_build = "";  ///< without blanks
  std::string system = "0";  ///< without blanks; equal where ranks reach each other by the loop-back device
  std::string
      no_way_out;  ///< "no network device but lo": nothing else leads to this rank; else empty. Looked at after each opening
};

struct agreement {
  std::string name;  ///< empty: there is none that all ranks have
  /// What is wrong with those before it, or with all, as of one rank that lacks each. The same on all ranks.
  std::string passed_over;
  bool has_better = false;  ///< this rank has one of those
  /// Where ranks have different builds of programs of one name: which and who, in words. Programs of different names are no mistake.
  std::string programs;
  bool one_system = false;  ///< all ranks reach each other by the loop-back device
};

/// `open` opens a network here, instead of the one it has opened before, and returns why that cannot be, or nothing. It is called with one name
/// after the other until all ranks have succeeded with one. Ranks agree on nothing where they have different builds, or where some have no way out and
/// others another system. Collective over the job; each attempt is one channel::agree().
agreement agree_on_network(bootstrap::channel& channel, standpoint const& mine,
                           std::vector<std::string> const& names,
                           std::function<std::string(std::string const& name)> const& open);

}  // namespace atl::engine
