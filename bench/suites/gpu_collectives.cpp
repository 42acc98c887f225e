// Collectives in the order of streams, of as many ranks as have a GPU each; of two beside the driver's copies. Compiled for CUDA where
// the build has its compiler.

#include <algorithm>
#include <atoll/stream.hpp>
#include <atoll/stream_collectives.hpp>
#include <atoll/stream_reduction.cuh>
#include <upcxx/upcxx.hpp>

#include "harness/pattern.hpp"
#include "suites/gpu.hpp"

namespace atl::bench {
namespace {

constexpr auto kind = upcxx::gpu_default_device::kind;
constexpr int calls_per_graph = 16;

using allocator = upcxx::device_allocator<upcxx::gpu_default_device>;
using numbers = upcxx::global_ptr<double, kind>;
using bytes_on_gpu = upcxx::global_ptr<char, kind>;

/// Every element is the sum of what the ranks gave, before any sum is timed.
template <class Sum>
void check_sums(group const& g, numbers data, std::size_t n, Sum const& sum) {
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = g.config().rank + 1 + static_cast<double>(i % 100);
  upcxx::copy(values.data(), data, n).wait();
  upcxx::barrier();
  sum(n);
  upcxx::copy(data, values.data(), n).wait();
  double const ranks = g.config().ranks;
  for (std::size_t i = 0; i < n; ++i) {
    if (values[i] != ranks * (ranks + 1) / 2 + ranks * static_cast<double>(i % 100))
      wrong_data("sum in streams, number " + std::to_string(i));
  }
}

/// However many are timed: zeros stay what they are.
void clear(numbers data, std::size_t n) {
  std::vector<double> const zeros(n);
  upcxx::copy(zeros.data(), data, n).wait();
}

/// Of a collective in a stream, beside the copy of `sent` bytes from GPU to GPU; and, if it is not long, as nodes of a graph.
template <class Call>
void add_rows(setting const& s, stream const& in, std::string const& key, std::string const& name,
              std::size_t bytes, std::size_t sent, bool of_both, Call const& call) {
  row r = s.make_row("stream." + key, name + " in streams, many in flight", bytes);
  r.least = 16;
  r.limit_of_both = of_both;
  s.g.symmetric(
      r,
      [&](std::uint64_t times) {
        for (std::uint64_t i = 0; i < times; ++i) call();
        atl::wait(in);
      },
      s.limit([&](std::uint64_t times) {
        for (std::uint64_t i = 0; i < times; ++i) s.raw->copy(s.raw->peer(), s.raw->own(), sent);
        s.raw->wait();
      }));
  if (s.raw == nullptr || bytes > (std::size_t{1} << 20)) return;
  raw_copies::graph const captured = s.raw->capture(in.native(), [&] {
    for (int i = 0; i < calls_per_graph; ++i) call();
  });
  row g = s.make_row("graph." + key, "the same, as nodes of a graph", bytes);
  g.parts = calls_per_graph;
  g.least = 4;
  s.g.symmetric(g, [&](std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) s.raw->launch(captured, in.native());
    atl::wait(in);
  });
  s.raw->drop(captured);
}

/// Sums of arrays; beside them the copy of as much from GPU to GPU.
void run_reductions(setting const& s, allocator& gpu, numbers data, std::size_t room) {
  stream_reduction sums(gpu);
  auto const stream = make_stream(gpu);
  auto const sum = [&](std::size_t n) { sums.reduce_all(stream, data, data, n, device::plus{}); };
  upcxx::barrier();
  check_sums(s.g, data, std::min(room / sizeof(double), std::size_t{100'003}), [&](std::size_t n) {
    sum(n);
    atl::wait(stream);
  });
  clear(data, room / sizeof(double));
  for (std::size_t const bytes : s.options.device_sizes) {
    std::size_t const n = bytes / sizeof(double);
    add_rows(s, stream, "reduce", "sum of all ranks' arrays", bytes, bytes, true, [&] { sum(n); });
  }
  upcxx::barrier();
  sums.destroy();
}

/// Each rank finds what all have sent, before any is timed; long ones are passed on by ranks, from four on.
template <class Destination>
void check_copies(group const& g, Destination const& to, bytes_on_gpu data, bytes_on_gpu apart,
                  std::size_t room, stream const& s) {
  auto const rank = static_cast<std::size_t>(g.config().rank);
  auto const ranks = static_cast<std::size_t>(g.config().ranks);
  for (std::size_t const bytes : {std::size_t{8}, std::size_t{50'001}, std::size_t{3'000'016}}) {
    if (bytes > room) break;
    std::vector<char> host(bytes);
    fill_pattern(host.data(), bytes, g.config().rank);
    upcxx::copy(host.data(), data, bytes).wait();
    int const root = g.config().ranks - 1;
    to.broadcast(s, root, data, bytes);
    atl::wait(s);
    upcxx::copy(data, host.data(), bytes).wait();
    check_pattern(host.data(), bytes, root, "broadcast in streams");
    std::size_t const each = bytes / ranks;
    fill_pattern(host.data() + rank * each, each, g.config().rank, 1);
    upcxx::copy(host.data(), data, bytes).wait();
    upcxx::barrier();
    to.gather_all(s, data + static_cast<std::ptrdiff_t>(rank * each), each);
    atl::wait(s);
    upcxx::copy(data, host.data(), bytes).wait();
    for (std::size_t r = 0; r < ranks; ++r)
      check_pattern(host.data() + r * each, each, static_cast<int>(r), "gather to all in streams", 1);
    for (std::size_t r = 0; r < ranks; ++r)
      fill_pattern(host.data() + r * each, each, g.config().rank, 2 + static_cast<unsigned>(r));
    upcxx::copy(host.data(), apart, bytes).wait();
    to.all_to_all(s, apart, each);
    atl::wait(s);
    upcxx::copy(data, host.data(), bytes).wait();
    for (std::size_t r = 0; r < ranks; ++r) {
      check_pattern(host.data() + r * each, each, static_cast<int>(r), "all to all in streams",
                    2 + static_cast<unsigned>(rank));
    }
  }
}

/// Collectives that copy; beside them the copy of as much as a rank sends.
void run_copies(setting const& s, allocator& gpu, bytes_on_gpu data, std::size_t room) {
  stream_collectives all(gpu);
  auto const to = all.bind(data, room);
  auto const apart = gpu.allocate<char>(room);
  auto const stream = make_stream(gpu);
  check_copies(s.g, to, data, apart, room, stream);
  for (std::size_t const bytes : s.options.device_sizes) {
    add_rows(s, stream, "broadcast", "broadcast", bytes, bytes, false,
             [&] { to.broadcast(stream, 0, data, bytes); });
    // In place: each sends its part.
    std::size_t const each = bytes / static_cast<std::size_t>(s.g.config().ranks);
    if (each == 0) continue;
    auto const place = data + static_cast<std::ptrdiff_t>(each) * s.g.config().rank;
    add_rows(s, stream, "gather_all", "gather to all", bytes, each, true,
             [&] { to.gather_all(stream, place, each); });
    // Not in place, which it cannot be.
    add_rows(s, stream, "all_to_all", "all to all", bytes, each, true,
             [&] { to.all_to_all(stream, apart, each); });
  }
  upcxx::barrier();
  all.destroy();
  gpu.deallocate(apart);
}

}  // namespace

bool can_launch_on([[maybe_unused]] void const* own_memory) {
#ifdef __CUDACC__
  // The library may have been told of another driver than the run time's.
  cudaPointerAttributes known{};
  return cudaPointerGetAttributes(&known, own_memory) == cudaSuccess && known.type == cudaMemoryTypeDevice;
#else
  return false;
#endif
}

void run_collectives(setting const& s, allocator& gpu, upcxx::global_ptr<char, kind> data, std::size_t room) {
  run_copies(s, gpu, data, room);
  // What is simulated is played by the host.
  if (s.is_simulated || can_launch_on(gpu.local(data)))
    run_reductions(s, gpu, upcxx::reinterpret_pointer_cast<double>(data), room);
}

}  // namespace atl::bench
