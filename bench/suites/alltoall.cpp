// Calls between all ranks, also where many share a core: every rank calls all others in turn. And small bursts from all ranks to random ones,
// of other hosts where there are several.

#include <upcxx/upcxx.hpp>

#include <random>
#include <utility>
#include <vector>

#include "suites.hpp"

namespace atl::bench {
namespace {

std::uint64_t calls_here = 0;

/// `n` calls, the first to the next rank; returns when all have been answered.
void call_everybody(std::uint64_t n) {
  auto const ranks = static_cast<std::uint64_t>(upcxx::rank_n());
  auto const me = static_cast<std::uint64_t>(upcxx::rank_me());
  upcxx::promise<> all;
  for (std::uint64_t i = 0; i < n; ++i) {
    auto const target = static_cast<upcxx::intrank_t>((me + 1 + i % (ranks - 1)) % ranks);
    upcxx::rpc(
        target, upcxx::operation_cx::as_promise(all), [](std::uint64_t v) { calls_here += v; },
        std::uint64_t{1});
  }
  all.finalize().wait();
}

/// Ranks of other hosts, or all but this one where there is one host.
std::vector<upcxx::intrank_t> far_ranks() {
  std::vector<upcxx::intrank_t> all;
  for (upcxx::intrank_t r = 0; r < upcxx::rank_n(); ++r)
    if (on_one_host() ? r != upcxx::rank_me() : !upcxx::local_team_contains(r)) all.push_back(r);
  return all;
}

/// What a rank has been told of the calls that come in one round, and has seen of them.
struct round_count {
  std::uint64_t calls = 0;
  std::uint64_t announced = 0;
  std::size_t tellers = 0;
} round_here;

/// Many small ones from every rank to random others, with progress after every few: too few to fill a bundle for each of them.
class scattered {
 public:
  scattered() : far_(far_ranks()), order_(std::minstd_rand(1 + static_cast<unsigned>(upcxx::rank_me()))) {
    upcxx::dist_object<upcxx::global_ptr<std::uint64_t>> all(own_);
    for (upcxx::intrank_t const r : far_) cells_.push_back(all.fetch(r).wait());
    upcxx::barrier();
  }
  ~scattered() {
    domain_.destroy();
    upcxx::delete_(own_);
  }
  scattered(scattered const&) = delete;
  scattered& operator=(scattered const&) = delete;

  /// Until all that was sent to this rank has run, and the same is true of the others.
  void call(std::uint64_t n) {
    std::vector<std::uint64_t> sent(far_.size());
    for (std::uint64_t i = 0; i < n; ++i) {
      end_burst(i);
      std::size_t const to = next();
      ++sent[to];
      upcxx::rpc_ff(
          far_[to], [](std::uint64_t v) { round_here.calls += v; }, std::uint64_t{1});
    }
    for (std::size_t to = 0; to < far_.size(); ++to) {
      upcxx::rpc_ff(
          far_[to],
          [](std::uint64_t calls) {
            round_here.announced += calls;
            ++round_here.tellers;
          },
          sent[to]);
    }
    while (round_here.tellers < far_.size() || round_here.calls < round_here.announced) upcxx::progress();
    round_here = {};
    upcxx::barrier();
  }

  void fetch_add(std::uint64_t n) {
    upcxx::promise<> all;
    for (std::uint64_t i = 0; i < n; ++i) {
      end_burst(i);
      domain_.fetch_add(cells_[next()], 1, &before_, std::memory_order_relaxed,
                        upcxx::operation_cx::as_promise(all));
    }
    all.finalize().wait();
    upcxx::barrier();
  }

  void put(std::uint64_t n) {
    upcxx::promise<> all;
    for (std::uint64_t i = 0; i < n; ++i) {
      end_burst(i);
      upcxx::rput(i, cells_[next()], upcxx::operation_cx::as_promise(all));
    }
    all.finalize().wait();
    upcxx::barrier();
  }

 private:
  static void end_burst(std::uint64_t i) {
    if (i % 16 == 0) upcxx::progress();
  }
  std::size_t next() { return order_() % far_.size(); }

  std::vector<upcxx::intrank_t> far_;
  std::minstd_rand order_;
  std::vector<upcxx::global_ptr<std::uint64_t>> cells_;
  upcxx::global_ptr<std::uint64_t> own_ = upcxx::new_<std::uint64_t>(0);
  upcxx::atomic_domain<std::uint64_t> domain_{{upcxx::atomic_op::fetch_add}};
  std::uint64_t before_ = 0;
};

/// Each rank's rate.
void run_scattered(group& g) {
  scattered to_all;
  row r{.suite = "alltoall",
        .key = "rpc_ff.scattered",
        .name = "rpc_ff from all to random ranks, 16 between progress",
        .bytes = 8,
        .show = "rate",
        .limit = "none",
        .least = 1 << 8,
        .most = 1 << 13};
  g.symmetric(r, [&](std::uint64_t n) { to_all.call(n); });
  r.key = "fetch_add.scattered";
  r.name = "fetch_add from all to random ranks, 16 between progress";
  g.symmetric(r, [&](std::uint64_t n) { to_all.fetch_add(n); });
  r.key = "put.scattered";
  r.name = "rput from all to random ranks, 16 between progress";
  g.symmetric(r, [&](std::uint64_t n) { to_all.put(n); });
}

}  // namespace

void run_alltoall(group& g, suite_options const&) {
  auto const others = static_cast<std::uint64_t>(upcxx::rank_n() - 1);
  calls_here = 0;
  upcxx::barrier();
  call_everybody(3 * others);
  upcxx::barrier();  // all calls were answered before it
  if (calls_here != 3 * others) wrong_data("calls between all ranks");
  row const r{.suite = "alltoall",
              .key = "rpc.alltoall",
              .name = "rpc to all others in turn, answers at the end",
              .bytes = 8,
              .show = "rate",
              .least = 64,
              .most = 1 << 13};
  g.symmetric(r, call_everybody);
  run_scattered(g);
}

}  // namespace atl::bench
