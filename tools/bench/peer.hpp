#pragma once

/// What users would take instead of the library: columns beside its rows.

#include <array>
#include <cstddef>
#include <string_view>

namespace atl::tools {

enum class peer : std::size_t { mpi, mpi_put, nvshmem, nvshmem_stream, ucx };

struct peer_description {
  std::string_view title;  ///< of the column
  std::string_view name;   ///< in records, and with "_ns" in files
};

/// Indexed by `peer`. All but the first stand beside copies of GPU memory only.
inline constexpr std::array peers{
    peer_description{"MPI", "mpi"},         peer_description{"MPI put", "mpi_put"},
    peer_description{"NVSHMEM", "nvshmem"}, peer_description{"on stream", "nvshmem_stream"},
    peer_description{"UCX", "ucx"},
};

}  // namespace atl::tools
