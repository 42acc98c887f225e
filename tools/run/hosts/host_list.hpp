#pragma once

/// Which hosts a job is to run on, as users write it.

#include <string>
#include <string_view>
#include <vector>

namespace atl::tools {

struct host_share {
  std::string name;
  int ranks = 0;  ///< 0: not said

  bool operator==(host_share const&) const = default;
};

/// "a,b" or "a:4,b:2", also as Slurm writes many, "node[01-12,20]:4"; `where` says in errors where that stood. A host that comes again has its numbers added. Throws startup_error.
std::vector<host_share> parse_hosts(std::string_view list, std::string const& where);

/// A host a line: "a", "a:4" or "a slots=4", or several of one number as above; `#` begins a comment. Throws startup_error with file and line.
std::vector<host_share> read_hostfile(std::string const& file);

/// Hosts that the environment names: where other launchers of this kind look, and where batch systems tell them. Empty: it names none. What a host
/// is named several times for counts only if it is not known how many ranks there are. Throws startup_error.
std::vector<host_share> hosts_in_environment(bool ranks_are_given);

/// Gives each of the first `count` hosts (0: all) its ranks: what was said of it, else equal shares, the first ones one more if that does
/// not come out even. Where fewer are asked for than the hosts have room for, the first hosts are filled, or if `count` is given all alike. `ranks` 0: as many as the hosts say, or one each. Hosts without ranks are left out. Throws startup_error.
std::vector<host_share> deal_out(std::vector<host_share> hosts, int count, int ranks);

}  // namespace atl::tools
