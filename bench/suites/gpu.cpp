// The suite of GPUs. Here: copies between memories of two ranks of which one at least is on a GPU, every pair and direction,
// beside the driver's own copies; and copies that tell the target.

#include <algorithm>
#include <atoll/copy_batch.hpp>
#include <atomic>
#include <cstring>
#include <set>
#include <string>
#include <upcxx/upcxx.hpp>
#include <vector>

#include "harness/pattern.hpp"
#include "harness/raw_copies.hpp"
#include "suites/gpu.hpp"

namespace atl::bench {
namespace {

using pointer = raw_copies::pointer;
using allocator = upcxx::device_allocator<upcxx::gpu_default_device>;
constexpr auto kind = upcxx::gpu_default_device::kind;

constexpr std::size_t mebi = std::size_t{1} << 20;
constexpr std::size_t copies_per_notification = 16;
constexpr std::uint64_t copies_per_batch = 64;
/// Copies that are started before any of them is waited for where the start is measured: fewer than a
/// driver's queues hold.
constexpr std::size_t most_started = 128;

constexpr unsigned spins_alone = 50'000;

// One way between two of them. Ends are places, or addresses of private memory.

template <class From, class To>
void check_way(std::string const& name, From from, To to, std::size_t bytes) {
  std::vector<char> sent(bytes);
  std::vector<char> got(bytes);
  fill_pattern(sent.data(), bytes, 0);
  if constexpr (std::is_pointer_v<From>) {
    std::memcpy(from, sent.data(), bytes);
  } else {
    upcxx::copy(static_cast<char const*>(sent.data()), from, bytes).wait();
  }
  upcxx::copy(from, to, bytes).wait();
  if constexpr (std::is_pointer_v<To>) {
    std::memcpy(got.data(), to, bytes);
  } else {
    upcxx::copy(to, got.data(), bytes).wait();
  }
  check_pattern(got.data(), bytes, 0, ("copy from " + name).c_str());
}

template <class From, class To>
void run_way(setting const& s, std::string const& key, std::string const& name, From from, To to,
             pointer raw_from, pointer raw_to) {
  std::size_t const largest = *std::max_element(s.options.device_sizes.begin(), s.options.device_sizes.end());
  if (s.g.first()) check_way(name, from, to, std::min(largest, std::size_t{100'003}));
  raw_copies* const raw = s.raw;
  upcxx::promise<> all;
  auto const start = [&](std::size_t bytes, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      upcxx::copy(from, to, bytes, upcxx::operation_cx::as_promise(all));
    }
  };
  auto const finish = [&] {
    all.finalize().wait();
    all = {};
  };
  auto const start_raw = [=](std::size_t bytes, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) raw->copy(raw_to, raw_from, bytes);
  };
  for (std::size_t const bytes : s.options.device_sizes) {
    s.g.served(
        s.make_row(key + ".time", name + ", waited for", bytes),
        [&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) upcxx::copy(from, to, bytes).wait();
        },
        s.limit([&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) {
            raw->copy(raw_to, raw_from, bytes);
            raw->wait();
          }
        }));
  }
  for (std::size_t const bytes : s.options.device_sizes) {
    if (bytes > mebi) continue;
    row r = s.make_row(key + ".injection", name + ", only started", bytes);
    r.most = most_started;
    s.g.served(
        r, [&](std::uint64_t n) { start(bytes, n); }, s.limit([&](std::uint64_t n) { start_raw(bytes, n); }),
        [&](std::uint64_t) {
          finish();
          if (raw != nullptr) raw->wait();
        });
  }
  for (std::size_t const bytes : s.options.device_sizes) {
    row r = s.make_row(key + ".flood", name + ", many in flight", bytes);
    r.show = unit_of(bytes);
    r.least = 16;
    s.g.served(
        r,
        [&](std::uint64_t n) {
          start(bytes, n);
          finish();
        },
        s.limit([&](std::uint64_t n) {
          start_raw(bytes, n);
          raw->wait();
        }));
  }
}

/// Little copies that are handed over together; beside them the driver's, one by one.
void run_batches(setting const& s, memories const& m, raw_memories const& raw_at) {
  raw_copies* const raw = s.raw;
  for (std::size_t const bytes : s.options.device_sizes) {
    if (bytes > std::size_t{64} << 10) continue;
    row r = s.make_row("put.batch", "64 in a batch, own GPU to peer's GPU", bytes);
    r.show = unit_of(bytes);
    r.least = copies_per_batch;
    s.g.served(
        r,
        [&](std::uint64_t n) {
          upcxx::promise<> all;
          for (std::uint64_t i = 0; i < n;) {
            atl::copy_batch const together;
            for (std::uint64_t const end = std::min(i + copies_per_batch, n); i < end; ++i) {
              upcxx::copy(m.own_gpu, m.peer_gpu, bytes, upcxx::operation_cx::as_promise(all));
            }
          }
          all.finalize().wait();
        },
        s.limit([&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) raw->copy(raw_at.peer_gpu, raw_at.own_gpu, bytes);
          raw->wait();
        }));
  }
}

// Copies that tell the target

std::atomic<std::uint64_t>* notes = nullptr;  ///< on rank 1: of rank 0, calls that have run
group* counting = nullptr;

void note_arrival() { notes->fetch_add(1, std::memory_order_release); }
void count_arrival() { counting->note_served(); }

void run_notified(setting const& s, memories const& m, raw_memories const& raw_at) {
  raw_copies* const raw = s.raw;
  counting = &s.g;
  auto const counter = upcxx::new_<std::atomic<std::uint64_t>>(0);
  auto const rank_0s = upcxx::broadcast(counter, 0).wait();
  notes = rank_0s.local();
  std::uint64_t started = 0;
  auto const start = [&](std::size_t bytes) {
    upcxx::copy(m.own_gpu, m.peer_gpu, bytes, upcxx::remote_cx::as_rpc(note_arrival));
    ++started;
  };
  auto const all_ran = [&] { return notes->load(std::memory_order_acquire) == started; };
  auto const word = upcxx::new_<std::uint64_t>(0);
  pointer const raw_word = raw != nullptr ? raw->of_host(word.local()) : 0;
  std::string const name = "notified, own GPU to peer's GPU";
  for (std::size_t const bytes : s.options.device_sizes) {
    if (bytes > 16 * mebi) continue;
    s.g.served(
        s.make_row("notified.time", name + ", until it ran", bytes),
        [&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) {
            start(bytes);
            // Nothing that this rank does is needed for that, but where the device announces nothing itself.
            for (unsigned spins = 0; !all_ran(); ++spins) {
              if (spins > spins_alone) upcxx::progress();
            }
            upcxx::progress();  // lets go of what the copy needed here
          }
        },
        s.limit([&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) {
            raw->copy(raw_at.peer_gpu, raw_at.own_gpu, bytes);
            raw->wait();
          }
        }));
    row injection = s.make_row("notified.injection", name + ", only started", bytes);
    injection.limit = raw != nullptr ? "copy, write" : "none";
    injection.most = most_started;
    if (bytes <= mebi) {
      s.g.served(
          injection,
          [&](std::uint64_t n) {
            for (std::uint64_t i = 0; i < n; ++i) start(bytes);
          },
          s.limit([&](std::uint64_t n) {
            for (std::uint64_t i = 0; i < n; ++i) {
              raw->copy(raw_at.peer_gpu, raw_at.own_gpu, bytes);
              raw->write(raw_word);
            }
          }),
          [&](std::uint64_t) {
            while (!all_ran()) upcxx::progress();
            if (raw != nullptr) raw->wait();
          });
    }
    for (std::size_t const batch : {std::size_t{1}, copies_per_notification}) {
      row flood = s.make_row(batch == 1 ? "notified.flood" : "notified16.flood",
                             batch == 1 ? name + ", many" : "16 copies, the last notified: own to peer's GPU",
                             bytes * batch);
      flood.show = unit_of(bytes);
      flood.least = 16;
      flood.most = 512;
      s.g.counted(
          flood,
          [&](std::uint64_t n) {
            upcxx::promise<> others;
            for (std::uint64_t i = 0; i < n; ++i) {
              for (std::size_t k = 1; k < batch; ++k) {
                upcxx::copy(m.own_gpu, m.peer_gpu, bytes, upcxx::operation_cx::as_promise(others));
              }
              upcxx::copy(m.own_gpu, m.peer_gpu, bytes, upcxx::remote_cx::as_rpc(count_arrival));
            }
            others.finalize().wait();
          },
          s.limit([&](std::uint64_t n) {
            for (std::uint64_t i = 0; i < n * batch; ++i) raw->copy(raw_at.peer_gpu, raw_at.own_gpu, bytes);
            raw->wait();
          }));
    }
  }
  upcxx::barrier();
  upcxx::delete_(counter);
  upcxx::delete_(word);
}

// Memory of both ranks

/// What each of the ranks has, on all.
std::vector<std::string> of_all(std::string const& own) {
  upcxx::dist_object<std::string> const mine(own);
  std::vector<std::string> all;
  for (int rank = 0; rank < upcxx::rank_n(); ++rank) all.push_back(mine.fetch(rank).wait());
  upcxx::barrier();
  return all;
}

/// The first rank's problem, on all.
std::string agreed(std::string const& own) {
  auto const all = of_all(own);
  auto const first =
      std::find_if(all.begin(), all.end(), [](std::string const& each) { return !each.empty(); });
  return first == all.end() ? std::string() : *first;
}

/// Nothing at all if the driver refuses anything on any rank; the reason is a fact of the run. Two ranks have each other's memory.
bool open_raw(group const& g, raw_copies& raw, int device, std::size_t bytes) {
  std::string problem = agreed(raw.open(device, bytes));
  if (problem.empty() && g.config().ranks == 2) {
    auto const of_0 = upcxx::broadcast(raw.share(), 0).wait();
    auto const of_1 = upcxx::broadcast(raw.share(), 1).wait();
    problem = agreed(raw.open_peer(g.first() ? of_1 : of_0));
  }
  if (!problem.empty()) g.print_fact("driver", "not measured: " + problem);
  return problem.empty();
}

void run_ways(setting const& s, memories& m, raw_memories const& raw) {
  char* const own_private = m.own_private.data();
  run_way(s, "put", "own GPU to peer's GPU", m.own_gpu, m.peer_gpu, raw.own_gpu, raw.peer_gpu);
  run_way(s, "get", "peer's GPU to own GPU", m.peer_gpu, m.own_gpu, raw.peer_gpu, raw.own_gpu);
  run_way(s, "host_to_peer_gpu", "own host to peer's GPU", m.own_host, m.peer_gpu, raw.own_host,
          raw.peer_gpu);
  run_way(s, "peer_gpu_to_host", "peer's GPU to own host", m.peer_gpu, m.own_host, raw.peer_gpu,
          raw.own_host);
  run_way(s, "private_to_peer_gpu", "private memory to peer's GPU", own_private, m.peer_gpu, raw.own_private,
          raw.peer_gpu);
  run_way(s, "peer_gpu_to_private", "peer's GPU to private memory", m.peer_gpu, own_private, raw.peer_gpu,
          raw.own_private);
  run_way(s, "host_to_gpu", "own host to own GPU", m.own_host, m.own_gpu, raw.own_host, raw.own_gpu);
  run_way(s, "gpu_to_host", "own GPU to own host", m.own_gpu, m.own_host, raw.own_gpu, raw.own_host);
  run_way(s, "gpu_to_peer_host", "own GPU to peer's host", m.own_gpu, m.peer_host, raw.own_gpu,
          raw.peer_host);
  run_way(s, "peer_host_to_gpu", "peer's host to own GPU", m.peer_host, m.own_gpu, raw.peer_host,
          raw.own_gpu);
}

/// Between two ranks.
void run_pair(setting const& s, allocator& gpu, upcxx::global_ptr<char, kind> own_gpu, std::size_t room) {
  auto const own_host = upcxx::new_array<char>(room);
  auto const peers_gpu = upcxx::broadcast(own_gpu, 1).wait();
  auto const peers_host = upcxx::broadcast(own_host, 1).wait();
  memories m{own_gpu, peers_gpu, own_host, peers_host, std::vector<char>(room)};
  raw_memories at;
  if (s.raw != nullptr) {
    at = {s.raw->own(), s.raw->peer(), s.raw->of_host(own_host.local()), s.raw->of_host(peers_host.local()),
          reinterpret_cast<pointer>(m.own_private.data())};
  }
  run_ways(s, m, at);
  run_private(s, m, at);
  run_batches(s, m, at);
  run_notified(s, m, at);
  run_streams(s, gpu, m);
  run_kernels(s, gpu, m);
  run_ghosts(s);
  upcxx::barrier();
  upcxx::delete_array(own_host);
}

/// How many different devices the ranks have. `about`: what kind_info() says of those of this one, in lines that name them by uuid.
int devices_of_all(std::string const& about, int own) {
  std::size_t const line = about.find("device " + std::to_string(own) + ":");
  std::size_t const name = about.find("uuid", line);
  auto const all = of_all(name == std::string::npos ? std::to_string(own)
                                                    : about.substr(name, about.find(';', name) - name));
  std::set<std::string> const names(all.begin(), all.end());
  return static_cast<int>(names.size());
}

/// Every rank has a GPU, of which `gpu` is a part that has room for `room` bytes twice.
void measure(group& g, suite_options const& options, allocator& gpu, std::string const& about,
             std::size_t room) {
  int const ranks = g.config().ranks;
  int const devices = devices_of_all(about, gpu.device_id());
  // Kernels that wait for each other on one GPU take turns of milliseconds, which says nothing of any of them.
  bool const has_each_its_own = devices == ranks;
  if (!has_each_its_own) {
    g.print_fact("gpu, " + std::to_string(ranks) + " ranks",
                 std::string("not measured: collectives") +
                     (ranks == 2 ? ", and kernels that wait for each other," : "") +
                     " need a GPU for each rank, and there " + (devices == 1 ? "is " : "are ") +
                     std::to_string(devices));
    if (ranks != 2) return;
  }
  bool const simulated = about.find("simulated") != std::string::npos;
  auto const own_gpu = gpu.allocate<char>(room);
  raw_copies raw;
  bool const beside = !simulated && open_raw(g, raw, gpu.device_id(), room + mebi);
  setting const s{g,         options,         beside ? &raw : nullptr, simulated ? "gpu.simulated." : "gpu.",
                  simulated, has_each_its_own};
  if (ranks == 2) run_pair(s, gpu, own_gpu, room);
  if (has_each_its_own) run_collectives(s, gpu, own_gpu, room);
  upcxx::barrier();
  if (beside) raw.close();
}

}  // namespace

void run_gpu(group& g, suite_options const& options) {
  if (!on_one_host()) {
    g.print_fact("measured", "nothing of GPUs: the ranks are on different hosts");
    return;
  }
  int const ranks = g.config().ranks;
  std::size_t const largest = *std::max_element(options.device_sizes.begin(), options.device_sizes.end());
  std::size_t const room = std::max(largest, std::size_t{128} << 10);
  std::string about = upcxx::gpu_default_device::kind_info();
  // Room for what all-to-all sends. Reductions take a quarter of a MiB for each rank.
  auto gpu = upcxx::make_gpu_allocator(2 * room + mebi + static_cast<std::size_t>(ranks) * mebi / 2);
  bool const everywhere = upcxx::reduce_all(gpu.is_active(), upcxx::op_fast_bit_and).wait();
  about.erase(about.find_last_not_of('\n') + 1);
  std::replace(about.begin(), about.end(), '\n', ';');
  g.print_fact("gpu", about);
  if (everywhere) {
    measure(g, options, gpu, about, room);
  } else {
    g.print_fact("measured", "nothing: not every rank has a GPU");
  }
  gpu.destroy();
}

}  // namespace atl::bench
