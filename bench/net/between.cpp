// Two ranks on two hosts. Every block runs the same exchange over bare TCP first, so that both see the same machine.

#include <sched.h>

#include <algorithm>
#include <atoll/engine/am.hpp>
#include <cstring>
#include <upcxx/upcxx.hpp>
#include <vector>

#include "harness/pattern.hpp"
#include "rows.hpp"

namespace atl::bench {
namespace {

using word = std::uint64_t;

group* counting = nullptr;  ///< whose counted() row is running, on the rank that is called
word messages = 0;          ///< that have arrived here

[[gnu::visibility("hidden")]] void take_message(engine::message* m) {
  engine::release(m);
  ++messages;
}

void send_message(int to, void const* data, std::size_t bytes) {
  engine::outgoing out;
  std::size_t const all = engine::header_bytes + bytes;
  engine::am_begin(out, to, all, engine::pressure::wait);
  std::memcpy(out.begin + engine::header_bytes, data, bytes);
  engine::am_commit(out, engine::message_kind::active, engine::token_cache<&take_message>::get(), all);
}

class rows {
 public:
  rows(net_options const& o, group_config const& config, wire& beside)
      : options_(o),
        blocks_(config),
        long_blocks_(with_long_blocks(config)),
        beside_(beside),
        first_(config.rank == 0),
        other_(1 - config.rank) {}

  void run() {
    for (std::size_t const bytes : options_.sizes) {
      if (bytes <= long_from) messages_one_way(bytes);
    }
    words();
    empty_call();
    for (std::size_t const bytes : options_.sizes) {
      if (bytes > long_from) transfers(bytes);
    }
    floods();
  }

 private:
  static group_config with_long_blocks(group_config config) {
    config.block_us *= 25;
    return config;
  }

  /// An exchange of so many bytes there and back.
  group::body tcp_round_trips(std::size_t bytes) {
    return [this, data = std::vector<char>(bytes)](std::uint64_t n) mutable {
      for (std::uint64_t i = 0; i < n; ++i) beside_.round_trip(data.data(), data.size(), first_);
    };
  }

  static row waited_for(char const* key, char const* name) {
    return {.suite = "net",
            .key = key,
            .name = name,
            .bytes = sizeof(word),
            .limit = "tcp",
            .limit_of_both = true};
  }

  void messages_one_way(std::size_t bytes) {
    std::vector<char> const data(bytes);
    row r = waited_for("am.oneway", "engine message, one way");
    r.bytes = bytes;
    r.parts = 2;
    blocks_.symmetric(
        r,
        [&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) {
            ++expected_;  // it may have come while this rank was still on its way to the block
            if (first_) send_message(other_, data.data(), bytes);
            for (unsigned looks = 0; messages != expected_; ++looks) {
              if (!engine::poll()) pause();
              if (looks > 100'000) sched_yield();  // the peer seems to have lost its core
            }
            if (!first_) send_message(other_, data.data(), bytes);
          }
        },
        tcp_round_trips(bytes));
  }

  /// Puts, gets and atomics of single words.
  void words() {
    auto const own = upcxx::new_<word>(static_cast<word>(options_.config.rank) + 41);
    upcxx::global_ptr<word> const at[2] = {upcxx::broadcast(own, 0).wait(), upcxx::broadcast(own, 1).wait()};
    auto const there = at[other_];
    upcxx::atomic_domain<word> domain({upcxx::atomic_op::fetch_add});
    if (upcxx::rget(there).wait() != static_cast<word>(other_) + 41)
      wrong_data("rget of 8 bytes from another host");
    upcxx::barrier();
    *own.local() = 0;
    upcxx::barrier();
    seen_puts(own, there);
    upcxx::barrier();

    auto const limit = tcp_round_trips(sizeof(word));
    blocks_.served(
        waited_for("put.waited", "rput().wait()"),
        [&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) upcxx::rput(i, there).wait();
        },
        limit);
    blocks_.served(
        waited_for("get.waited", "rget().wait()"),
        [&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) keep(upcxx::rget(there).wait());
        },
        limit);
    blocks_.served(
        waited_for("fetch_add.waited", "fetch_add().wait()"),
        [&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i)
            keep(domain.fetch_add(there, 1, std::memory_order_relaxed).wait());
        },
        limit);
    flood_of_words(there, domain);
    domain.destroy();
    upcxx::delete_(own);
  }

  /// Each side puts a word when it sees the other's.
  void seen_puts(upcxx::global_ptr<word> own, upcxx::global_ptr<word> there) {
    row r = waited_for("put.seen", "rput, until the target sees it");
    r.parts = 2;
    word round = 0;
    word volatile* const here = own.local();
    blocks_.symmetric(
        r,
        [&](std::uint64_t n) {
          auto done = upcxx::make_future();
          auto const put = [&] {
            done.wait();  // the one before; what came back since then says that it was long ago
            done = upcxx::rput(round, there);
          };
          for (std::uint64_t i = 0; i < n; ++i) {
            ++round;
            if (first_) put();
            while (*here != round) upcxx::progress();
            if (!first_) put();
          }
          done.wait();
        },
        tcp_round_trips(sizeof(word)));
  }

  void flood_of_words(upcxx::global_ptr<word> there, upcxx::atomic_domain<word> const& domain) {
    row r = flood("put.flood", "rput into a promise, until all are done");
    long_blocks_.served(r, [&](std::uint64_t n) {
      upcxx::promise<> all;
      for (std::uint64_t i = 0; i < n; ++i) upcxx::rput(i, there, upcxx::operation_cx::as_promise(all));
      all.finalize().wait();
    });
    r = flood("fetch_add.flood", "fetch_add into a promise, until all are done");
    std::vector<word> before(r.most);
    long_blocks_.served(r, [&](std::uint64_t n) {
      upcxx::promise<> all;
      for (std::uint64_t i = 0; i < n; ++i) {
        domain.fetch_add(there, 1, &before[i], std::memory_order_relaxed,
                         upcxx::operation_cx::as_promise(all));
      }
      all.finalize().wait();
    });
  }

  row flood(char const* key, char const* name) const {
    std::size_t const count = std::size_t{1} << (options_.quick ? 8 : 14);
    return {.suite = "net",
            .key = key,
            .name = name,
            .bytes = sizeof(word),
            .show = "rate",
            .limit = "none",
            .least = count,
            .most = 4 * count};
  }

  void floods() {
    counting = &long_blocks_;
    long_blocks_.meet();
    long_blocks_.counted(flood("rpc_ff.flood", "rpc_ff, until all have run"), [](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) {
        upcxx::rpc_ff(
            1,
            [](word v) {
              keep(v);
              counting->note_served();
            },
            i);
      }
    });
  }

  void empty_call() {
    blocks_.served(
        waited_for("rpc.empty", "rpc of an empty function"),
        [](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) upcxx::rpc(1, [] {}).wait();
        },
        tcp_round_trips(sizeof(word)));
  }

  /// Many at once, each way.
  void transfers(std::size_t bytes) {
    auto const own = upcxx::new_array<char>(bytes);
    auto const there = upcxx::broadcast(own, 1).wait();
    std::vector<char> here(bytes);
    fill_pattern(here.data(), bytes, 0);
    if (first_) {
      upcxx::rput(here.data(), there, bytes).wait();
      std::fill(here.begin(), here.end(), 0);
      upcxx::rget(there, here.data(), bytes).wait();
      check_pattern(here.data(), bytes, 0, "rput and rget of an array to another host");
    }
    upcxx::barrier();
    if (!first_) check_pattern(own.local(), bytes, 0, "rput of an array to another host");

    row r{.suite = "net",
          .key = "put.bandwidth",
          .name = "rput into a promise, until all are done",
          .bytes = bytes,
          .show = "bandwidth",
          .limit = "tcp",
          .limit_of_both = true,
          .least = options_.quick ? 1U : 4U};
    auto const tcp = [&](bool sends) {
      return [this, bytes, sends, data = std::vector<char>(bytes)](std::uint64_t n) mutable {
        beside_.stream(data.data(), bytes, n, sends);
      };
    };
    long_blocks_.served(
        r,
        [&](std::uint64_t n) {
          upcxx::promise<> all;
          for (std::uint64_t i = 0; i < n; ++i)
            upcxx::rput(here.data(), there, bytes, upcxx::operation_cx::as_promise(all));
          all.finalize().wait();
        },
        tcp(first_));
    r.key = "get.bandwidth";
    r.name = "rget into a promise, until all are done";
    long_blocks_.served(
        r,
        [&](std::uint64_t n) {
          upcxx::promise<> all;
          for (std::uint64_t i = 0; i < n; ++i)
            upcxx::rget(there, here.data(), bytes, upcxx::operation_cx::as_promise(all));
          all.finalize().wait();
        },
        tcp(!first_));
    upcxx::barrier();
    upcxx::delete_array(own);
  }

  net_options const& options_;
  group blocks_;
  group long_blocks_;
  wire& beside_;
  bool first_;
  int other_;
  word expected_ = 0;  ///< messages, in all rows together
};

}  // namespace

void run_between(net_options const& options, wire& beside) {
  group_config c = options.config;
  c.idle = [] { upcxx::progress(); };
  // The rank that serves does so here: it never sleeps.
  c.barrier = [] {
    auto const all = upcxx::barrier_async();
    while (!all.is_ready()) upcxx::progress();
  };
  c.share = [](std::uint64_t& value) { value = upcxx::broadcast(value, 0).wait(); };
  c.any = [](bool here) { return upcxx::reduce_all(here ? 1 : 0, upcxx::op_fast_max).wait() != 0; };
  rows(options, c, beside).run();
  upcxx::barrier();
}

}  // namespace atl::bench
