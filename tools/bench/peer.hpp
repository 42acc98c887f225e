#pragma once

/// What users would take instead of the library: columns beside its rows.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace atl::tools {

enum class peer : std::size_t { mpi, mpi_put, nvshmem, nvshmem_stream, nccl, ucx, ucx_am, ofi_rxm, ofi_msg };

struct peer_description {
  std::string_view title;  ///< of the column
  std::string_view name;   ///< in records, and with "_ns" in files
};

/// Indexed by `peer`. Which of them stand beside a row depends on its suite.
inline constexpr std::array peers{
    peer_description{"MPI", "mpi"},         peer_description{"MPI put", "mpi_put"},
    peer_description{"NVSHMEM", "nvshmem"}, peer_description{"on stream", "nvshmem_stream"},
    peer_description{"NCCL", "nccl"},       peer_description{"UCX", "ucx"},
    peer_description{"UCX AM", "ucx_am"},   peer_description{"fi rxm", "ofi_rxm"},
    peer_description{"fi msg", "ofi_msg"},
};

/// Of one operation: beside the row of the library with this key and size.
struct peer_figure {
  peer whose = peer::mpi;
  std::string key;
  std::size_t bytes = 0;
  double ns = 0;
  int ranks = 2;
};

}  // namespace atl::tools
