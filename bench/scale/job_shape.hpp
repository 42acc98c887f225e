#pragma once

#include <cstddef>
#include <cstdint>

namespace atl::scale {

/// Small messages leave together, as over networks where one is dear: for a rank, or for all ranks of a host.
enum class bundling : std::uint8_t { none, by_rank, by_host };

/// A job: ranks in blocks, as many on each host as on the first, but perhaps the last.
struct job_shape {
  std::int32_t ranks = 1;
  std::int32_t per_host = 1;
  std::size_t connections = 0;  ///< at once, that the network bears well; 0: any number
  bool flat = true;             ///< flat collectives inside hosts
  bundling bundles = bundling::none;

  [[nodiscard]] std::int32_t hosts() const { return (ranks + per_host - 1) / per_host; }
};

}  // namespace atl::scale
