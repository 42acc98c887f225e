// Copies and signals in the order of streams, while no host waits; beside them the driver's own copies, writes and waits.

#include <atoll/copy_batch.hpp>
#include <atoll/stream.hpp>
#include <cstdint>
#include <upcxx/upcxx.hpp>

#include "suites/gpu.hpp"

namespace atl::bench {
namespace {

constexpr auto kind = upcxx::gpu_default_device::kind;

constexpr std::size_t largest = std::size_t{1} << 20;
constexpr int copies_per_graph = 16;

}  // namespace

void run_streams(setting const& s, upcxx::device_allocator<upcxx::gpu_default_device>& gpu,
                 memories const& m) {
  raw_copies* const raw = s.raw;
  bool const first = s.g.first();
  auto const own = gpu.allocate<std::uint64_t>(1);
  std::uint64_t const zero = 0;
  upcxx::copy(&zero, own, 1).wait();
  auto const of_peer = [first](auto mine) {
    auto const of_0 = upcxx::broadcast(mine, 0).wait();
    auto const of_1 = upcxx::broadcast(mine, 1).wait();
    return first ? of_1 : of_0;
  };
  auto const peer = of_peer(own);
  auto const own_data = upcxx::static_kind_cast<kind>(m.own_gpu);
  auto const peer_data = of_peer(own_data);
  auto const stream = atl::make_stream(gpu);
  std::uint64_t step = 0;
  upcxx::barrier();
  for (std::size_t const bytes : s.options.device_sizes) {
    if (bytes > largest) continue;
    row r = s.make_row("stream.signal", "copy and signal in a stream until the peer's goes on", bytes);
    r.parts = 2;  // there and back
    r.limit_of_both = true;
    if (raw != nullptr) r.limit = "copy, write, wait";
    auto const there = [&] {
      upcxx::copy(own_data, peer_data, bytes, atl::on_stream(stream) | atl::remote_cx::as_signal(peer, step));
    };
    s.g.symmetric(
        r,
        [&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) {
            ++step;
            if (first) there();
            atl::wait(stream, own, step);
            if (!first) there();
          }
          atl::wait(stream);
        },
        s.limit([&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) {
            raw->next_step();
            if (first) raw->copy_and_signal(bytes);
            raw->wait_for_signal();
            if (!first) raw->copy_and_signal(bytes);
          }
          raw->wait();
        }));
  }
  if (raw != nullptr) {
    for (std::size_t const bytes : s.options.device_sizes) {
      if (bytes > 4096) continue;
      raw_copies::graph const sixteen = raw->capture(stream.native(), [&] {
        atl::copy_batch const together;
        for (int k = 1; k < copies_per_graph; ++k) {
          upcxx::copy(own_data + k * 4096, peer_data + k * 4096, bytes, atl::on_stream(stream));
        }
        upcxx::copy(own_data, peer_data, bytes, atl::on_stream(stream) | atl::remote_cx::as_signal(peer, 1));
      });
      row r = s.make_row("stream.graph16", "graph of 16 copies, the last with signal, launched again",
                         bytes * copies_per_graph);
      r.limit = "16 copies, write";
      s.g.served(
          r,
          [&](std::uint64_t n) {
            for (std::uint64_t i = 0; i < n; ++i) raw->launch(sixteen, stream.native());
            atl::wait(stream);
          },
          s.limit([&](std::uint64_t n) {
            for (std::uint64_t i = 0; i < n; ++i) {
              for (int k = 1; k < copies_per_graph; ++k)
                raw->copy(raw->peer() + k * 4096, raw->own() + k * 4096, bytes);
              raw->copy_and_signal(bytes);
            }
            raw->wait();
          }));
      raw->drop(sixteen);
    }
  }
  upcxx::barrier();
  gpu.deallocate(own);
}

}  // namespace atl::bench
