// An MPI that does not take device memory follows the pointer and dies. Asking it beforehand says little:
// MPIX_Query_cuda_support knows nothing of what a library below, such as UCX, can do. So it is tried.

#include "gpu.hpp"

#include <mpi.h>

#include <algorithm>

#include "harness/pattern.hpp"
#include "harness/raw_copies.hpp"

namespace atl::bench {
namespace {

MPI_Comm const everyone = MPI_COMM_WORLD;
constexpr int messages_in_flight = 64;
constexpr std::size_t room = std::size_t{256} << 20;
constexpr std::size_t mebi = std::size_t{1} << 20;

char const* unit_of(std::size_t bytes) {
  return bytes < 1024 ? "rate" : "bandwidth";
}  // as in suites/gpu.cpp

class device_buffer {
 public:
  ~device_buffer() { copies_.close(); }
  std::string open(int rank) { return copies_.open(rank, room); }
  [[nodiscard]] char* at(std::size_t offset) const { return reinterpret_cast<char*>(copies_.own() + offset); }
  void write(void const* from, std::size_t bytes) { copy(copies_.own(), address(from), bytes); }
  void read(void* to, std::size_t bytes) { copy(address(to), copies_.own(), bytes); }

 private:
  using pointer = raw_copies::pointer;
  static pointer address(void const* host) { return reinterpret_cast<pointer>(host); }
  void copy(pointer to, pointer from, std::size_t bytes) {
    copies_.copy(to, from, bytes);
    copies_.wait();
  }

  raw_copies copies_;
};

/// One message, looked at when it has come.
void try_message(group& g, device_buffer& memory, std::size_t bytes) {
  std::vector<char> host(bytes);
  auto const count = static_cast<int>(bytes);
  if (g.first()) {
    fill_pattern(host.data(), bytes, 0);
    memory.write(host.data(), bytes);
    MPI_Send(memory.at(0), count, MPI_BYTE, 1, 0, everyone);
  } else {
    MPI_Recv(memory.at(0), count, MPI_BYTE, 0, 0, everyone, MPI_STATUS_IGNORE);
    memory.read(host.data(), bytes);
    check_pattern(host.data(), bytes, 0, "MPI message between GPUs");
  }
}

/// An empty message tells rank 0 that all has come.
void answer(group const& g) {
  if (g.first()) {
    MPI_Recv(nullptr, 0, MPI_BYTE, 1, 1, everyone, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(nullptr, 0, MPI_BYTE, 0, 1, everyone);
  }
}

/// Half a round trip is one iteration.
void half_round_trips(group& g, device_buffer& memory, std::size_t bytes) {
  auto const count = static_cast<int>(bytes);
  row const r{.suite = "mpi", .key = "gpu.put.time", .name = "half round trip", .bytes = bytes};
  g.symmetric(r, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      if (static_cast<int>(i % 2) == g.config().rank) {
        MPI_Send(memory.at(0), count, MPI_BYTE, 1 - g.config().rank, 0, everyone);
      } else {
        MPI_Recv(memory.at(0), count, MPI_BYTE, 1 - g.config().rank, 0, everyone, MPI_STATUS_IGNORE);
      }
    }
    if (n % 2 != 0) answer(g);
  });
}

void flood(group& g, device_buffer& memory, std::size_t bytes) {
  auto const window = static_cast<int>(std::clamp<std::size_t>(room / bytes, 1, messages_in_flight));
  auto const size = static_cast<int>(bytes);
  std::vector<MPI_Request> requests(window);
  row r{.suite = "mpi", .key = "gpu.put.flood", .name = "messages, many in flight", .bytes = bytes};
  r.show = unit_of(bytes);
  r.least = 16;
  g.symmetric(r, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; i += window) {
      int const count = static_cast<int>(std::min<std::uint64_t>(n - i, window));
      for (int k = 0; k < count; ++k) {
        char* const at = memory.at(static_cast<std::size_t>(k) * bytes);
        if (g.first()) {
          MPI_Isend(at, size, MPI_BYTE, 1, 0, everyone, &requests[k]);
        } else {
          MPI_Irecv(at, size, MPI_BYTE, 0, 0, everyone, &requests[k]);
        }
      }
      MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
    }
    answer(g);
  });
}

void run_messages(group& g, device_buffer& memory, std::vector<std::size_t> const& sizes) {
  for (std::size_t const bytes : sizes) half_round_trips(g, memory, bytes);
  for (std::size_t const bytes : sizes) flood(g, memory, bytes);
}

void run_puts(group& g, device_buffer& memory, std::vector<std::size_t> const& sizes) {
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(memory.at(0), static_cast<MPI_Aint>(room / 2), 1, MPI_INFO_NULL, everyone, &window);
  MPI_Win_lock_all(0, window);
  char* const own = memory.at(room / 2);
  auto const put = [&](std::size_t bytes) {
    auto const count = static_cast<int>(bytes);
    MPI_Put(own, count, MPI_BYTE, 1, 0, count, MPI_BYTE, window);
  };
  auto const get = [&](std::size_t bytes) {
    auto const count = static_cast<int>(bytes);
    MPI_Get(own, count, MPI_BYTE, 1, 0, count, MPI_BYTE, window);
  };
  auto const measure = [&](std::string const& way, auto const& start) {
    for (std::size_t const bytes : sizes) {
      row r{.suite = "mpi_put", .key = "gpu." + way + ".time", .name = way + " and flush", .bytes = bytes};
      g.served(r, [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
          start(bytes);
          MPI_Win_flush(1, window);
        }
      });
      if (bytes <= mebi) {
        row injection = r;
        injection.key = "gpu." + way + ".injection";
        injection.most = 128;  // as in suites/gpu.cpp
        g.served(
            injection,
            [&](std::uint64_t n) {
              for (std::uint64_t i = 0; i < n; ++i) start(bytes);
            },
            {}, [&](std::uint64_t) { MPI_Win_flush(1, window); });
      }
      r.key = "gpu." + way + ".flood";
      r.show = unit_of(bytes);
      r.least = 16;
      g.served(r, [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) start(bytes);
        MPI_Win_flush(1, window);
      });
    }
  };
  measure("put", put);
  measure("get", get);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

}  // namespace

void run_gpu_peers(group& g, std::string const& how, std::vector<std::size_t> const& sizes) {
  device_buffer memory;
  std::string const problem = memory.open(g.config().rank);
  int failed = problem.empty() ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, everyone);
  if (failed != 0) {
    g.print_fact("mpi.gpu", "not measured: " + (problem.empty() ? "rank 1 has no device" : problem));
    return;
  }
  for (std::size_t const bytes : {std::size_t{8}, std::size_t{100'003}}) try_message(g, memory, bytes);
  MPI_Barrier(everyone);
  if (how == "messages") {
    run_messages(g, memory, sizes);
  } else {
    run_puts(g, memory, sizes);
  }
  MPI_Barrier(everyone);
}

}  // namespace atl::bench
