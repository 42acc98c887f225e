#pragma once

/// The start of a large job, in virtual time. Of all ranks those of the first, the second and the last host are played: each is a process that
/// runs the library's own start (engine::start) over the model's launcher (virtual_launcher.hpp), with memory of its
/// host, descriptors and all; only the network between hosts counts and carries nothing, and no keeper is started. Other hosts do what the second does.
///
/// What is not in the times: what the system does for memory and descriptors, and the launcher's work before ranks run.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scale/virtual_launcher.hpp"

namespace atl::scale {

struct start_tally {
  std::vector<rank_at_start> played;  ///< in the order of ranks
  std::uint64_t sent = 0;             ///< by the library to other hosts, of the ranks played
  std::uint64_t meetings = 0;         ///< of the job, by the launcher
  std::uint64_t exchanges = 0;        ///< over a host
  std::uint64_t of_launcher = 0;      ///< messages between hosts by its servers
  std::uint64_t of_launcher_bytes = 0;
  std::uint64_t steps = 0;  ///< messages between hosts that follow each other
  times time{};             ///< until the last rank is there

  [[nodiscard]] rank_at_start const& first() const { return played.front(); }
  /// The rank of the host that is last in it, which does nothing for others: of the first host.
  [[nodiscard]] rank_at_start const& other(job_shape const& of) const {
    return played[static_cast<std::size_t>(of.per_host < of.ranks ? of.per_host - 1 : of.ranks - 1)];
  }
};

/// Throws std::runtime_error when a rank fails, which has said why. `open_files`: the limit for each, of ranks that have no privileges; 0: those of this process.
start_tally play_start(job_shape const& shape, std::uint64_t open_files = 0);

}  // namespace atl::scale
