#pragma once

/// How much memory the ranks of this host may still take, and who says so.

#include <cstdint>
#include <string>

namespace atoll::memory {

/// The tightest of the bounds that apply to this process: free memory of the host, and every control group
/// (version 1 or 2) from its own up to the root.
struct memory_budget {
  std::uint64_t available_bytes = ~std::uint64_t{0};
  std::string reason;  ///< for messages: "61 MiB free in control group /user (limit 2 GiB)"; empty if unknown
};

/// Reads /proc and the control group file systems. What cannot be read does not bound.
/// @param root  prefix of every path read, for tests.
memory_budget read_memory_budget(std::string const& root = {});

/// Empty if `ranks` ranks may take `bytes_per_rank` each, else what is missing and what to try.
std::string explain_shortage(memory_budget const& budget, std::uint64_t bytes_per_rank, std::uint32_t ranks);

/// "128 MiB", "1.5 GiB", "17 B": for messages.
std::string readable_bytes(std::uint64_t bytes);

}  // namespace atoll::memory
