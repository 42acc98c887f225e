// The message-passing peers of the rows of `atoll bench`, measured under the same rules.

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "gpu.hpp"
#include "harness/cores.hpp"
#include "harness/group.hpp"
#include "harness/options.hpp"
#include "net.hpp"

namespace atl::bench {
namespace {

MPI_Comm const everyone = MPI_COMM_WORLD;
constexpr std::size_t most_bytes_of_many = std::size_t{64} << 10;  // as in suites.hpp

void probe() {
  int arrived = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, everyone, &arrived, MPI_STATUS_IGNORE);
}

/// There and back, both ways with the whole size; the time counts half where one way is compared.
void round_trips(group& g, std::size_t bytes, char const* key, bool empty_reply) {
  std::vector<char> buffer(bytes);
  auto const count = static_cast<int>(bytes);
  int const reply = empty_reply ? 0 : count;
  row const r{.suite = "mpi", .key = key, .name = key, .bytes = bytes};
  g.symmetric(r, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      if (g.first()) {
        MPI_Send(buffer.data(), count, MPI_BYTE, 1, 0, everyone);
        MPI_Recv(buffer.data(), reply, MPI_BYTE, 1, 0, everyone, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(buffer.data(), count, MPI_BYTE, 0, 0, everyone, MPI_STATUS_IGNORE);
        MPI_Send(buffer.data(), reply, MPI_BYTE, 0, 0, everyone);
      }
    }
  });
}

void flood(group& g) {
  constexpr int window = 64;
  constexpr std::size_t bytes = 8;
  std::vector<char> buffers(bytes * window);
  std::vector<MPI_Request> requests(window);
  row const r{.suite = "mpi", .key = "flood", .name = "flood", .bytes = bytes, .least = window};
  g.symmetric(r, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; i += window) {
      int const count = static_cast<int>(n - i < window ? n - i : window);
      for (int k = 0; k < count; ++k) {
        char* const at = buffers.data() + static_cast<std::size_t>(k) * bytes;
        if (g.first()) {
          MPI_Isend(at, bytes, MPI_BYTE, 1, 0, everyone, &requests[k]);
        } else {
          MPI_Irecv(at, bytes, MPI_BYTE, 0, 0, everyone, &requests[k]);
        }
      }
      MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
    }
    char done = 0;
    if (g.first()) {
      MPI_Recv(&done, 1, MPI_BYTE, 1, 1, everyone, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(&done, 1, MPI_BYTE, 0, 1, everyone);
    }
  });
}

void one_sided(group& g, std::vector<std::size_t> const& sizes) {
  std::size_t largest = 8;
  for (auto const size : sizes) largest = std::max(largest, size);
  MPI_Win window = MPI_WIN_NULL;
  char* base = nullptr;
  MPI_Win_allocate(static_cast<MPI_Aint>(largest), 1, MPI_INFO_NULL, everyone, &base, &window);
  MPI_Win_lock_all(0, window);
  std::vector<char> buffer(largest);
  for (std::size_t const bytes : sizes) {
    auto const count = static_cast<int>(bytes);
    row r{.suite = "mpi", .key = "put", .name = "put", .bytes = bytes};
    g.served(r, [&](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) {
        MPI_Put(buffer.data(), count, MPI_BYTE, 1, 0, count, MPI_BYTE, window);
        MPI_Win_flush(1, window);
      }
    });
    r.key = r.name = "get";
    g.served(r, [&](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) {
        MPI_Get(buffer.data(), count, MPI_BYTE, 1, 0, count, MPI_BYTE, window);
        MPI_Win_flush(1, window);
      }
    });
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

void collectives(group& g, std::vector<std::size_t> const& sizes) {
  row r{.suite = "mpi", .key = "barrier", .name = "barrier"};
  g.symmetric(r, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) MPI_Barrier(everyone);
  });
  r.key = r.name = "allreduce";
  for (std::size_t const bytes : sizes) {
    if (bytes < sizeof(double)) continue;
    auto const count = static_cast<int>(bytes / sizeof(double));
    std::vector<double> from(count, 1.0);
    std::vector<double> to(count);
    r.bytes = bytes;
    g.symmetric(r, [&](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) {
        MPI_Allreduce(from.data(), to.data(), count, MPI_DOUBLE, MPI_SUM, everyone);
      }
    });
    if (g.config().ranks != 2 && bytes > most_bytes_of_many) break;
  }
  r.key = r.name = "broadcast";
  for (std::size_t const bytes : sizes) {
    if (g.config().ranks != 2 && bytes > most_bytes_of_many) break;
    std::vector<char> buffer(bytes);
    auto const ranks = static_cast<std::uint64_t>(g.config().ranks);
    r.bytes = bytes;
    g.symmetric(r, [&](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) {
        MPI_Bcast(buffer.data(), static_cast<int>(bytes), MPI_BYTE, static_cast<int>(i % ranks), everyone);
      }
    });
  }
}

struct options {
  std::vector<std::size_t> sizes;
  std::vector<std::size_t> device_sizes;
  std::string gpu;   ///< what to measure on memory of GPUs, instead of all the rest; empty: nothing
  bool net = false;  ///< between two hosts, instead of all the rest
  bool job = false;  ///< start and end, which is timed from outside, instead of all the rest
};

void run(group_config c, options const& o) {
  auto sizes = o.sizes;
  MPI_Comm_rank(everyone, &c.rank);
  MPI_Comm_size(everyone, &c.ranks);
  c.idle = probe;
  c.barrier = [] { MPI_Barrier(everyone); };
  c.share = [](std::uint64_t& value) { MPI_Bcast(&value, 1, MPI_UINT64_T, 0, everyone); };
  c.any = [](bool here) {
    int mine = here ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_MAX, everyone);
    return mine != 0;
  };
  if (std::find(sizes.begin(), sizes.end(), 8U) == sizes.end()) sizes.insert(sizes.begin(), 8);

  MPI_Win window = MPI_WIN_NULL;
  if (c.ranks == 2 && !o.net) {
    void* own = nullptr;
    MPI_Aint const bytes = c.rank == 0 ? 2 * sizeof(shared_lines) : 0;
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, everyone, &own, &window);
    MPI_Aint size = 0;
    int unit = 0;
    void* base = nullptr;
    MPI_Win_shared_query(window, 0, &size, &unit, &base);
    // Aligned by offset, which is the same for both: their addresses may differ.
    auto const address = reinterpret_cast<std::uintptr_t>(base);
    c.shared = reinterpret_cast<shared_lines*>((address + 127) & ~std::uintptr_t{127});
    if (c.rank == 0) std::memset(base, 0, static_cast<std::size_t>(bytes));
    MPI_Barrier(everyone);
  }
  group g(c);
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  std::string text(version, static_cast<std::size_t>(length));
  g.print_fact("mpi", text.substr(0, text.find(',')));
  if (o.net) {
    bind_to_core(c.rank);
    run_net_peers(c, o.sizes);
    return;
  }
  if (!o.gpu.empty()) {
    run_gpu_peers(g, o.gpu, o.device_sizes);
  } else if (c.ranks == 2) {
    round_trips(g, 8, "roundtrip", false);
    flood(g);
    for (auto const size : sizes) round_trips(g, size, "oneway", true);
    one_sided(g, sizes);
  }
  if (o.gpu.empty()) collectives(g, sizes);
  if (window != MPI_WIN_NULL) MPI_Win_free(&window);
}

}  // namespace
}  // namespace atl::bench

int main(int argc, char** argv) {
  atl::bench::group_config config;
  atl::bench::options options;
  for (int i = 1; i < argc; ++i) {
    auto const given = atl::bench::option_of(argv[i]);
    auto const& [name, value] = given;
    if (atl::bench::take_measuring(config, given)) continue;
    if (name == "sizes") {
      options.sizes = atl::bench::sizes_of(value);
    } else if (name == "device_sizes") {
      options.device_sizes = atl::bench::sizes_of(value);
    } else if (name == "gpu") {
      options.gpu = value;
    } else if (name == "net") {
      options.net = true;
    } else if (name == "job") {
      options.job = true;
    } else if (name == "crowded") {
      config.crowded = true;
    }
  }
  MPI_Init(&argc, &argv);
  if (options.job) {
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    atl::bench::run(config, options);
  }
  MPI_Finalize();
}
