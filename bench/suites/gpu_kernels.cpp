// Communication by kernels, on two GPUs, or played by the host; beside it a bare flag that two kernels hand to each other, and the
// driver's copies. Compiled for CUDA where the build has its compiler.

#include <atoll/device.cuh>
#include <atoll/stream.hpp>
#include <cstdint>
#include <upcxx/upcxx.hpp>

#include "suites/gpu.hpp"

namespace atl::bench {
namespace {

constexpr auto kind = upcxx::gpu_default_device::kind;
template <class T>
using pointer = upcxx::global_ptr<T, kind>;

/// What both ranks have.
struct ends {
  device_team team;
  stamped* own_pair;
  stamped* peer_pair_here;
  pointer<stamped> peer_pair;
  std::uint64_t* own_word;
  std::uint64_t* peer_word_here;
  pointer<std::uint64_t> peer_word;
  std::uint64_t const* own_data;
  pointer<std::uint64_t> peer_data;
  std::uint64_t* peer_data_here;
  bool first;
};

struct bare_flag {
  ATOLL_ANYWHERE void operator()(ends e, std::uint64_t from, std::uint64_t n) const {
    for (std::uint64_t i = from + 1; i <= from + n; ++i) {
      if (e.first) words::store_relaxed(e.peer_word_here, i);
      while (words::load_relaxed(e.own_word) < i) words::between_looks();
      if (!e.first) words::store_relaxed(e.peer_word_here, i);
    }
  }
};

/// What the memory model asks of a value and a flag behind it.
struct bare_value_and_flag {
  ATOLL_ANYWHERE void operator()(ends e, std::uint64_t from, std::uint64_t n) const {
    for (std::uint64_t i = from + 1; i <= from + n; ++i) {
      if (e.first) store(e, i);
      while (words::load_acquire(e.own_word) < i) words::between_looks();
      if (!e.first) store(e, i);
    }
  }
  ATOLL_ANYWHERE static void store(ends const& e, std::uint64_t i) {
    *e.peer_data_here = i;
    words::store_release(e.peer_word_here, i);
  }
};

struct values_with_signal {
  ATOLL_ANYWHERE void operator()(ends e, std::uint64_t from, std::uint64_t n) const {
    for (std::uint64_t i = from + 1; i <= from + n; ++i) {
      if (e.first) e.team.put_signal(i, e.peer_data, e.peer_word, i);
      e.team.wait(device::this_thread(), e.own_word, i);
      if (!e.first) e.team.put_signal(i, e.peer_data, e.peer_word, i);
    }
  }
};

/// To a global pointer, or to the address that it stands for.
struct stamped_values {
  template <class To>
  ATOLL_ANYWHERE void operator()(ends e, std::uint64_t from, std::uint64_t n, To to) const {
    for (std::uint64_t i = from + 1; i <= from + n; ++i) {
      if (e.first) e.team.put_stamped(i, i, to);
      e.team.wait_stamped<std::uint64_t>(e.own_pair, i);
      if (!e.first) e.team.put_stamped(i, i, to);
    }
  }
};

struct puts_with_signal {
  ATOLL_ANYWHERE void operator()(ends e, std::uint64_t from, std::uint64_t n, std::size_t words_each) const {
    device::block const all = device::this_block();
    for (std::uint64_t i = from + 1; i <= from + n; ++i) {
      if (e.first) e.team.put_signal(all, e.own_data, e.peer_data, words_each, e.peer_word, i);
      e.team.wait(all, e.own_word, i);
      if (!e.first) e.team.put_signal(all, e.own_data, e.peer_data, words_each, e.peer_word, i);
    }
  }
};

template <class Scope>
struct puts {
  ATOLL_ANYWHERE void operator()(ends e, std::uint64_t n, std::size_t words_each) const {
    for (std::uint64_t i = 0; i < n; ++i) e.team.put(Scope{}, e.own_data, e.peer_data, words_each);
  }
};

struct barriers {
  ATOLL_ANYWHERE void operator()(ends e, std::uint64_t n) const {
    for (std::uint64_t i = 0; i < n; ++i) e.team.barrier(device::this_block());
  }
};

struct sums {
  ATOLL_ANYWHERE void operator()(ends e, std::uint64_t n, double* result) const {
    double sum = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      sum = e.team.reduce_all(device::this_thread(), 1.0, [](double a, double b) { return a + b; });
    }
    *result = sum;
  }
};

}  // namespace

void run_kernels(setting const& s, upcxx::device_allocator<upcxx::gpu_default_device>& gpu,
                 memories const& m) {
  if (!s.is_simulated && !can_launch_on(gpu.local(upcxx::static_kind_cast<kind>(m.own_gpu)))) return;
  device_team team = make_device_team(gpu);
  bool const first = s.g.first();
  auto const of_peer = [first](auto mine) {
    auto const of_0 = upcxx::broadcast(mine, 0).wait();
    auto const of_1 = upcxx::broadcast(mine, 1).wait();
    return first ? of_1 : of_0;
  };
  auto const memory = gpu.allocate<std::uint64_t>(8, 64);
  std::uint64_t const zeros[8] = {};
  upcxx::copy(zeros, memory, 8).wait();
  auto const peer_memory = of_peer(memory);
  auto const own_data =
      upcxx::reinterpret_pointer_cast<std::uint64_t>(upcxx::static_kind_cast<kind>(m.own_gpu));
  auto const peer_data = of_peer(own_data);
  auto const word = [](auto base) { return base + 2; };
  ends const e{team,
               reinterpret_cast<stamped*>(team.local(memory)),
               reinterpret_cast<stamped*>(team.local(peer_memory)),
               upcxx::reinterpret_pointer_cast<stamped>(peer_memory),
               team.local(word(memory)),
               team.local(word(peer_memory)),
               word(peer_memory),
               team.local(own_data),
               peer_data,
               team.local(peer_data),
               first};
  auto const stream = make_stream(gpu);
  std::uint64_t flags = 0;  // so far
  std::uint64_t stamps = 0;
  upcxx::barrier();
  auto const run = [&](device::grid_shape shape, auto kernel, auto... args) {
    device::launch(team, stream, shape, kernel, e, args...);
    atl::wait(stream);
  };
  // Whoever launches a kernel waits 10 us for it: long rows.
  std::size_t const least = s.raw != nullptr ? 2000 : 1;
  bool behind_data = false;
  auto const exchange = [&](std::string const& key, char const* name, std::size_t bytes, auto const& body) {
    row r = s.make_row(key, name, bytes);
    r.parts = 2;
    if (s.raw != nullptr) r.limit = behind_data ? "bare value and flag" : "bare flag";
    r.limit_of_both = true;
    r.least = least;
    s.g.symmetric(r, body, s.limit([&](std::uint64_t n) {
      if (behind_data) {
        run({1, 1}, bare_value_and_flag{}, flags, n);
      } else {
        run({1, 1}, bare_flag{}, flags, n);
      }
      flags += n;
    }));
  };
  if (e.peer_word_here != nullptr && s.has_each_its_own) {
    auto const stamps_to = [&](auto to) {
      return [&, to](std::uint64_t n) {
        run({1, 1}, stamped_values{}, stamps, n, to);
        stamps += n;
      };
    };
    exchange("kernel.stamped", "value and its number, from kernel to kernel", 16,
             stamps_to(e.peer_pair_here));
    exchange("kernel.stamped_to", "the same, to a global pointer", 16, stamps_to(e.peer_pair));
    behind_data = true;
    for (std::size_t const bytes : s.options.device_sizes) {
      if (bytes > 65536) continue;
      char const* const name = "put with signal, from kernel to kernel";
      if (bytes <= 8) {
        exchange("kernel.signal", name, bytes, [&](std::uint64_t n) {
          run({1, 1}, values_with_signal{}, flags, n);
          flags += n;
        });
        continue;
      }
      unsigned const threads = bytes <= 4096 ? 128 : 1024;
      exchange("kernel.signal", name, bytes, [&, bytes, threads](std::uint64_t n) {
        run({1, threads}, puts_with_signal{}, flags, n, bytes / 8);
        flags += n;
      });
    }
    exchange("kernel.barrier", "barrier of two kernels", 0, [&](std::uint64_t n) {
      run({1, 1}, barriers{}, 2 * n);
    });
    exchange("kernel.reduce", "sum of two kernels, of 8 bytes", 8, [&](std::uint64_t n) {
      run({1, 1}, sums{}, 2 * n, reinterpret_cast<double*>(team.local(memory + 6)));
    });
  }
  if (e.peer_word_here != nullptr) {
    for (std::size_t const bytes : s.options.device_sizes) {
      if (bytes < (std::size_t{1} << 20)) continue;
      for (bool const whole : {true, false}) {
        row r = s.make_row(whole ? "kernel.put" : "kernel.put_block",
                           whole ? "put by a whole grid" : "put by one block", bytes);
        r.show = "bandwidth";
        r.least = 8;
        s.g.served(
            r,
            [&](std::uint64_t n) {
              unsigned const threads = whole ? 512 : 1024;
              auto const blocks = static_cast<unsigned>(
                  whole ? team.max_blocks(puts<device::grid>{}, threads, 0, e, n, bytes) : 1);
              if (whole) {
                run({blocks, threads}, puts<device::grid>{}, n, bytes / 8);
              } else {
                run({1, threads}, puts<device::block>{}, n, bytes / 8);
              }
            },
            s.limit([&](std::uint64_t n) {
              for (std::uint64_t i = 0; i < n; ++i) s.raw->copy(s.raw->peer(), s.raw->own(), bytes);
              s.raw->wait();
            }));
      }
    }
  }
  upcxx::barrier();
  gpu.deallocate(memory);
  team.destroy();
}

}  // namespace atl::bench
