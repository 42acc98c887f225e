#include "goals.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "result.hpp"

namespace atl::tools {
namespace {

struct entry {
  std::string_view key;
  std::size_t bytes;
  int ranks;
  goal wanted;
};

using enum goal::measure;

constexpr std::size_t mebi = std::size_t{1} << 20;
/// "Never behind", with what two jobs one after the other differ by on a quiet machine.
constexpr double not_behind = 1.02;
constexpr std::size_t six_faces = 6 * 128 * 128 * sizeof(double);

constexpr std::array entries{
    entry{"put.own", 8, 2, {at_most_ns, 8}},
    entry{"put.neighbour", 8, 2, {at_most_ns, 8}},
    entry{"get.own", 8, 2, {at_most_ns, 8}},
    entry{"get.neighbour", 8, 2, {at_most_ns, 8}},
    entry{"atomics.load.own", 8, 2, {at_most_ns, 10}},
    entry{"atomics.fetch_add.own", 8, 2, {at_most_ns, 10}},
    entry{"atomics.fetch_add.neighbour", 8, 2, {at_most_ns, 10}},
    entry{"atomics.fetch_add_into.neighbour", 8, 2, {at_most_ns, 10}},
    entry{"atomics.compare_exchange.neighbour", 8, 2, {at_most_ns, 12}},
    entry{"strided.put.faces", six_faces, 2, {at_least_share, 1 / 1.2}},
    entry{"strided.get.faces", six_faces, 2, {at_least_share, 1 / 1.2}},
    entry{"irregular.put", 32 << 10, 2, {at_least_share, 0.5}},
    entry{"rpc.empty", 8, 2, {at_most_lines, 2.0}},
    entry{"am.roundtrip", 8, 2, {at_most_lines, 1.3}},
    entry{"rpc_ff.flood", 8, 2, {at_least_rate, 25e6}},
    entry{"then.ready", 0, 2, {at_most_ns, 6}},
    entry{"progress.idle", 0, 2, {at_most_ns, 8}},
    entry{"lpc.self", 0, 2, {at_most_ns, 40}},
    entry{"lpc.threads", 0, 2, {at_most_lines, 2.5}},
    entry{"allocations.ready", 0, 2, {at_most_value, 0}},
    entry{"put.remote_rpc", 8, 2, {at_most_ns, 100}},
    entry{"rpc.vector", mebi, 2, {at_most_ns, 60e3}},
    entry{"rpc.view", mebi, 2, {at_most_ns, 25e3}},
    entry{"barrier", 0, 2, {at_most_lines, 1.0}},
    entry{"allreduce", 8, 2, {at_most_lines, 2.0}},
    entry{"neighbors.sync", 0, 2, {at_most_lines, 1.0}},
    entry{"barrier", 0, 8, {at_most_ns, 6e3}},
    entry{"barrier", 0, 16, {at_most_ns, 18e3}},
    entry{"put.array", mebi, 2, {at_least_share, 0.95}},
    entry{"allocations.put", 0, 2, {at_most_value, 0}},
    entry{"allocations.get", 0, 2, {at_most_value, 0}},
    entry{"flood.lost", 0, 2, {at_most_value, 0}},
    // GPUs: shares of what the driver's own copies reach.
    entry{"gpu.put.time", 8, 2, {at_least_share, 1 / 1.05}},
    entry{"gpu.get.time", 8, 2, {at_least_share, 1 / 1.05}},
    entry{"gpu.put.injection", 8, 2, {at_least_share, 1 / 1.15}},
    entry{"gpu.get.injection", 8, 2, {at_least_share, 1 / 1.15}},
    entry{"gpu.put.flood", mebi, 2, {at_least_share, 0.97}},
    entry{"gpu.put.flood", 16 * mebi, 2, {at_least_share, 0.97}},
    entry{"gpu.put.flood", 64 * mebi, 2, {at_least_share, 0.97}},
    entry{"gpu.get.flood", mebi, 2, {at_least_share, 0.97}},
    entry{"gpu.get.flood", 16 * mebi, 2, {at_least_share, 0.97}},
    entry{"gpu.get.flood", 64 * mebi, 2, {at_least_share, 0.97}},
    entry{"gpu.host_to_peer_gpu.flood", 16 * mebi, 2, {at_least_share, 0.97}},
    entry{"gpu.host_to_peer_gpu.flood", 64 * mebi, 2, {at_least_share, 0.97}},
    entry{"gpu.peer_gpu_to_host.flood", 16 * mebi, 2, {at_least_share, 0.97}},
    entry{"gpu.peer_gpu_to_host.flood", 64 * mebi, 2, {at_least_share, 0.97}},
    entry{"gpu.pinned_to_gpu.flood", 16 * mebi, 2, {at_least_share, 0.9}},
    entry{"gpu.pinned_to_gpu.flood", 64 * mebi, 2, {at_least_share, 0.9}},
    entry{"gpu.gpu_to_pinned.flood", 16 * mebi, 2, {at_least_share, 0.9}},
    entry{"gpu.gpu_to_pinned.flood", 64 * mebi, 2, {at_least_share, 0.9}},
    // Of what one core's memcpy of cold memory reaches.
    entry{"gpu.private_to_gpu.flood", 16 * mebi, 2, {at_least_share, 0.9}},
    entry{"gpu.private_to_gpu.flood", 64 * mebi, 2, {at_least_share, 0.9}},
    entry{"gpu.gpu_to_private.flood", 16 * mebi, 2, {at_least_share, 0.9}},
    entry{"gpu.gpu_to_private.flood", 64 * mebi, 2, {at_least_share, 0.9}},
    entry{"gpu.stream.signal", 8, 2, {at_least_share, 1 / 1.1}},
    entry{"gpu.stream.signal", 4096, 2, {at_least_share, 1 / 1.1}},
    entry{"gpu.stream.graph16", 16 * 8, 2, {at_least_share, 3}},
    entry{"gpu.stream.graph16", 16 * 4096, 2, {at_least_share, 3}},
    // By kernels: what two of them need between each other, and the driver's copies.
    entry{"gpu.kernel.stamped", 16, 2, {at_most_ns, 800}},
    entry{"gpu.kernel.signal", 8, 2, {at_least_share, 1 / 1.15}},
    entry{"gpu.kernel.put", 16 * mebi, 2, {at_least_share, 0.94}},
    entry{"gpu.kernel.put_block", 16 * mebi, 2, {at_least_rate, 45e9 / (16 * mebi)}},
    // And the alternatives.
    entry{"gpu.put.time", 8, 2, {at_most_peers, 0.5, peer::mpi}},
    entry{"gpu.put.time", 4096, 2, {at_most_peers, 0.5, peer::mpi}},
    entry{"gpu.put.time", 8, 2, {at_most_peers, not_behind, peer::nvshmem}},
    entry{"gpu.put.time", 8, 2, {at_most_peers, not_behind, peer::nvshmem_stream}},
    entry{"gpu.put.flood", 16 * mebi, 2, {at_most_peers, not_behind, peer::nvshmem}},
    entry{"gpu.put.flood", 16 * mebi, 2, {at_most_peers, not_behind, peer::nvshmem_stream}},
    entry{"gpu.put.batch", 8, 2, {at_most_peers, 0.25, peer::ucx}},
    entry{"gpu.stream.signal", 8, 2, {at_most_peers, not_behind, peer::nvshmem_stream}},
    entry{"gpu.stream.signal", 4096, 2, {at_most_peers, not_behind, peer::nvshmem_stream}},
    entry{"gpu.stream.signal", 64 << 10, 2, {at_most_peers, not_behind, peer::nvshmem_stream}},
    entry{"gpu.stream.signal", mebi, 2, {at_most_peers, not_behind, peer::nvshmem_stream}},
    entry{"gpu.kernel.stamped", 16, 2, {at_most_peers, not_behind, peer::nvshmem}},
    entry{"gpu.kernel.signal", 8, 2, {at_most_peers, not_behind, peer::nvshmem}},
    entry{"gpu.kernel.signal", 4096, 2, {at_most_peers, not_behind, peer::nvshmem}},
    entry{"gpu.kernel.put", 16 * mebi, 2, {at_most_peers, not_behind, peer::nvshmem}},
    entry{"gpu.kernel.put_block", 16 * mebi, 2, {at_most_peers, not_behind, peer::nvshmem}},
    entry{"gpu.notified.time", 8, 2, {at_most_ns, 8.5e3}},
    entry{"gpu.notified.injection", 8, 2, {at_most_ns, 3e3}},
    // 0.29 million/s and 173 GB/s, as MPI's messages: from one GPU to another, not beside what the driver does without telling.
    entry{"gpu.notified.flood", 8, 2, {at_most_ns, 3.45e3}},
    entry{"gpu.notified.flood", mebi, 2, {at_most_ns, 6.06e3}},
    entry{"gpu.notified.flood", 16 * mebi, 2, {at_least_share, 0.9}},
    entry{"gpu.notified16.flood", 16 * mebi, 2, {at_least_share, 0.95}},
    entry{"gpu.notified16.flood", 256 * mebi, 2, {at_least_share, 0.95}},
};

/// On two GPUs and on four.
struct nccl_entry {
  std::string_view key;
  std::size_t bytes;
  double bound;
};

constexpr std::array nccl_entries{
    nccl_entry{"gpu.stream.reduce", 8, not_behind},
    nccl_entry{"gpu.stream.reduce", 4096, not_behind},
    nccl_entry{"gpu.stream.reduce", 64 << 10, not_behind},
    nccl_entry{"gpu.stream.reduce", 16 * mebi, 1 / 0.95},
    nccl_entry{"gpu.stream.reduce", 64 * mebi, 1 / 0.95},
    nccl_entry{"gpu.graph.reduce", 8, 0.8},
    nccl_entry{"gpu.graph.reduce", 4096, 0.8},
    nccl_entry{"gpu.graph.reduce", 64 << 10, 0.8},
    nccl_entry{"gpu.stream.broadcast", 8, not_behind},
    nccl_entry{"gpu.stream.broadcast", 4096, not_behind},
    nccl_entry{"gpu.stream.broadcast", 64 << 10, not_behind},
    nccl_entry{"gpu.stream.broadcast", mebi, not_behind},
    nccl_entry{"gpu.stream.broadcast", 16 * mebi, not_behind},
    nccl_entry{"gpu.stream.broadcast", 64 * mebi, not_behind},
    nccl_entry{"gpu.graph.broadcast", 8, 0.8},
    nccl_entry{"gpu.graph.broadcast", 4096, 0.8},
    nccl_entry{"gpu.graph.broadcast", 64 << 10, 0.8},
    nccl_entry{"gpu.stream.gather_all", 8, not_behind},
    nccl_entry{"gpu.stream.gather_all", 4096, not_behind},
    nccl_entry{"gpu.stream.gather_all", 64 << 10, not_behind},
    nccl_entry{"gpu.stream.gather_all", mebi, not_behind},
    nccl_entry{"gpu.stream.gather_all", 16 * mebi, not_behind},
    nccl_entry{"gpu.stream.gather_all", 64 * mebi, not_behind},
    nccl_entry{"gpu.graph.gather_all", 8, 0.8},
    nccl_entry{"gpu.graph.gather_all", 4096, 0.8},
    nccl_entry{"gpu.graph.gather_all", 64 << 10, 0.8},
};

/// Of suite net: over this transport, or any if that is empty.
struct net_entry {
  std::string_view transport;
  std::string_view key;
  std::size_t bytes;
  goal wanted;
};

constexpr double one_percent_more = 1 / 1.01;
constexpr std::array net_entries{
    // One message is held against one of the library below, a request and its answer against two.
    net_entry{"ucx", "am.oneway", 8, {at_most_peers, 1.1, peer::ucx}},
    net_entry{"ucx", "am.oneway", 4096, {at_most_peers, 1.1, peer::ucx}},
    net_entry{"ucx", "put.seen", 8, {at_most_peers, 1.15, peer::ucx_am}},
    net_entry{"ucx", "put.waited", 8, {at_most_peers, 1.1, peer::ucx_am}},
    net_entry{"ucx", "get.waited", 8, {at_most_peers, 1.1, peer::ucx_am}},
    net_entry{"ucx", "fetch_add.waited", 8, {at_most_peers, 1.1, peer::ucx_am}},
    net_entry{"ucx", "rpc.empty", 8, {at_most_peers, 1.15, peer::ucx_am}},
    net_entry{"ofi", "am.oneway", 8, {at_most_peers, 1.15, peer::ofi_rxm}},
    net_entry{"ofi", "am.oneway", 4096, {at_most_peers, 1.15, peer::ofi_rxm}},
    net_entry{"ofi", "put.seen", 8, {at_most_peers, 1.15, peer::ofi_rxm}},
    net_entry{"ofi", "put.waited", 8, {at_most_peers, 1.15, peer::ofi_rxm}},
    net_entry{"ofi", "get.waited", 8, {at_most_peers, 1.15, peer::ofi_rxm}},
    net_entry{"ofi", "fetch_add.waited", 8, {at_most_peers, 1.15, peer::ofi_rxm}},
    net_entry{"ofi", "rpc.empty", 8, {at_most_peers, 1.15, peer::ofi_rxm}},
    // Bare TCP.
    net_entry{"", "put.bandwidth", 64 << 10, {at_least_share, 0.75}},
    net_entry{"", "get.bandwidth", 64 << 10, {at_least_share, 0.75}},
    net_entry{"", "put.bandwidth", mebi, {at_least_share, 0.9}},
    net_entry{"", "get.bandwidth", mebi, {at_least_share, 0.9}},
    net_entry{"", "put.bandwidth", 16 * mebi, {at_least_share, 0.9}},
    net_entry{"", "get.bandwidth", 16 * mebi, {at_least_share, 0.9}},
    net_entry{"", "rpc_ff.flood", 8, {at_least_rate, 3e6}},
    net_entry{"", "put.flood", 8, {at_least_rate, 3e6}},
    net_entry{"", "fetch_add.flood", 8, {at_least_rate, 3e6}},
    // A job of that host alone.
    net_entry{"", "inside.put", 8, {at_least_share, one_percent_more}},
    net_entry{"", "inside.get", 8, {at_least_share, one_percent_more}},
    net_entry{"", "inside.rpc", 8, {at_least_share, 1 / 1.1}},
    // Of many ranks: by the same launcher; MiB that a rank holds more than in a job of four.
    net_entry{"", "job.start", 0, {at_most_peers, 1.2, peer::mpi}},
    net_entry{"", "job.memory", 0, {at_most_value, 0.5}},
};

bool concerns(net_entry const& e, result const& r) {
  // "net.ucx.put.bandwidth"
  std::string_view rest = r.key;
  rest.remove_prefix(std::min(rest.size(), rest.find('.') + 1));
  std::string_view const transport = rest.substr(0, rest.find('.'));
  rest.remove_prefix(std::min(rest.size(), transport.size() + 1));
  bool const over = e.transport.empty() ? transport == "ucx" || transport == "ofi" : e.transport == transport;
  return over && e.key == rest && e.bytes == r.bytes;
}

}  // namespace

bool goal::reached(result const& r) const {
  switch (what) {
    case at_most_ns:
      return r.median_ns <= bound;
    case at_most_lines:
      return r.lines > 0 && r.lines <= bound;
    case at_least_rate:
      return r.median_ns > 0 && 1e9 / r.median_ns >= bound;
    case at_least_share:
      return r.share >= bound;
    case at_most_value:
      return r.value <= bound;
    case at_most_peers:
      return r.median_ns <= bound * r.of(whose);
  }
  return false;
}

std::string goal::text() const {
  char buffer[48];
  switch (what) {
    case at_most_ns:
      if (bound < 1000) {
        std::snprintf(buffer, sizeof buffer, "<= %g ns", bound);
      } else {
        std::snprintf(buffer, sizeof buffer, "<= %g us", bound / 1e3);
      }
      break;
    case at_most_lines:
      std::snprintf(buffer, sizeof buffer, "<= %.1f lines", bound);
      break;
    case at_least_rate:
      std::snprintf(buffer, sizeof buffer, ">= %g M/s", bound / 1e6);
      break;
    case at_least_share:
      std::snprintf(buffer, sizeof buffer, ">= %.3g %%", bound * 100);
      break;
    case at_most_value:
      std::snprintf(buffer, sizeof buffer, "%g", bound);
      break;
    case at_most_peers: {
      auto const title = peers[static_cast<std::size_t>(whose)].title;
      std::snprintf(buffer, sizeof buffer, "<= %.3g %.*s", bound, static_cast<int>(title.size()),
                    title.data());
      break;
    }
  }
  return buffer;
}

std::vector<goal> find_goals(result const& r) {
  std::vector<goal> found;
  auto const add = [&](goal const& wanted) {
    bool const known = wanted.what == at_most_peers    ? r.of(wanted.whose) > 0
                       : wanted.what == at_least_share ? r.share > 0
                                                       : true;
    if (known) found.push_back(wanted);
  };
  for (auto const& e : entries) {
    if (e.key == r.key && e.bytes == r.bytes && e.ranks == r.ranks) add(e.wanted);
  }
  for (auto const& e : nccl_entries) {
    if (e.key == r.key && e.bytes == r.bytes && (r.ranks == 2 || r.ranks == 4))
      add({at_most_peers, e.bound, peer::nccl});
  }
  for (auto const& e : net_entries) {
    if (r.suite == "net" && concerns(e, r)) add(e.wanted);
  }
  return found;
}

}  // namespace atl::tools
