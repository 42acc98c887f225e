#pragma once

/// Whether the ranks of this host may take the memory they are about to reserve, in words.

#include <cstdint>
#include <string>

#include "base/os/memory.hpp"

namespace atl::memory {

/// What is free and who says so: "61 MiB are free in the control group (limit 2 GiB)"; for messages.
std::string describe(os::memory_limits const& limits);

/// Empty if `ranks` ranks that start may take `bytes_per_rank` each, else what is missing and what to try.
std::string explain_shortage(os::memory_limits const& limits, std::uint64_t bytes_per_rank,
                             std::uint32_t ranks);

/// Empty if one of `ranks` running ranks may take `bytes` more and leave `promised` to each, else what there is
/// and what to try: short enough for the text of an exception.
std::string explain_refusal(os::memory_limits const& limits, std::uint64_t bytes, std::uint32_t ranks,
                            std::uint64_t promised = 0);

}  // namespace atl::memory
