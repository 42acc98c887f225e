#include "net.hpp"

#include <mpi.h>

#include <algorithm>

namespace atl::bench {
namespace {

MPI_Comm const everyone = MPI_COMM_WORLD;
constexpr int window = 64;
constexpr std::size_t long_from = std::size_t{8} << 10;  // as in bench/net

/// There and back, so that half of it is one way.
void messages(group& g, char const* key, std::size_t bytes, unsigned parts) {
  std::vector<char> buffer(bytes);
  auto const count = static_cast<int>(bytes);
  row const r{.suite = "mpi", .key = key, .name = key, .bytes = bytes, .parts = parts};
  g.symmetric(r, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      if (g.first()) MPI_Send(buffer.data(), count, MPI_BYTE, 1, 0, everyone);
      MPI_Recv(buffer.data(), count, MPI_BYTE, g.first() ? 1 : 0, 0, everyone, MPI_STATUS_IGNORE);
      if (!g.first()) MPI_Send(buffer.data(), count, MPI_BYTE, 0, 0, everyone);
    }
  });
}

/// Many messages from one to the other, then an answer.
void one_way(group& g, char const* key, std::size_t bytes, bool from_first) {
  std::size_t const room =
      bytes > long_from ? bytes : bytes * window;  // long ones all come to the same place
  std::vector<char> buffer(room);
  std::vector<MPI_Request> requests(window);
  bool const sends = g.first() == from_first;
  int const peer = g.first() ? 1 : 0;
  auto const length = static_cast<int>(bytes);
  row const r{.suite = "mpi",
              .key = key,
              .name = key,
              .bytes = bytes,
              .least = bytes > long_from ? 4U : 16U * window};
  g.symmetric(r, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; i += window) {
      int const count = static_cast<int>(std::min<std::uint64_t>(n - i, window));
      for (int k = 0; k < count; ++k) {
        char* const at = buffer.data() + (static_cast<std::size_t>(k) * bytes) % room;
        if (sends) {
          MPI_Isend(at, length, MPI_BYTE, peer, 0, everyone, &requests[k]);
        } else {
          MPI_Irecv(at, length, MPI_BYTE, peer, 0, everyone, &requests[k]);
        }
      }
      MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
    }
    char done = 0;
    if (sends) {
      MPI_Recv(&done, 1, MPI_BYTE, peer, 1, everyone, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(&done, 1, MPI_BYTE, peer, 1, everyone);
    }
  });
}

/// Single words, each flushed.
void words(group& g) {
  MPI_Win shared = MPI_WIN_NULL;
  std::int64_t* base = nullptr;
  MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, everyone, &base, &shared);
  *base = 0;
  MPI_Win_lock_all(0, shared);
  MPI_Barrier(everyone);
  std::int64_t value = 1;
  std::int64_t before = 0;
  row r{.suite = "mpi", .key = "", .name = "", .bytes = sizeof value};
  auto const measure = [&](char const* key, auto const& operate) {
    r.key = r.name = key;
    g.served(r, [&](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) {
        operate();
        MPI_Win_flush(1, shared);
      }
    });
  };
  measure("put.waited", [&] { MPI_Put(&value, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, shared); });
  measure("get.waited", [&] { MPI_Get(&before, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, shared); });
  measure("fetch_add.waited", [&] { MPI_Fetch_and_op(&value, &before, MPI_INT64_T, 1, 0, MPI_SUM, shared); });
  MPI_Win_unlock_all(shared);
  MPI_Win_free(&shared);
}

}  // namespace

void run_net_peers(group_config const& config, std::vector<std::size_t> const& sizes) {
  group g(config);
  group_config longer = config;
  longer.block_us *= 25;
  group long_blocks(longer);
  messages(g, "rpc.empty", 8, 1);
  one_way(g, "rpc_ff.flood", 8, true);
  for (std::size_t const bytes : sizes) {
    if (bytes <= long_from) {
      messages(g, "am.oneway", bytes, 2);
    } else {
      one_way(long_blocks, "put.bandwidth", bytes, true);
      one_way(long_blocks, "get.bandwidth", bytes, false);
    }
  }
  // On one machine a window is shared memory, whatever the messages go through.
  MPI_Comm near = MPI_COMM_NULL;
  int sharing = 0;
  MPI_Comm_split_type(everyone, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
  MPI_Comm_size(near, &sharing);
  MPI_Comm_free(&near);
  if (sharing == 1) words(g);
}

}  // namespace atl::bench
