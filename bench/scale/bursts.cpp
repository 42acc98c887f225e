#include "scale/bursts.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include <atoll/engine/am.hpp>
#include <atoll/engine/token.hpp>

namespace atl::scale {
namespace {

using engine::on_done;

/// The one that is played.
struct burst_state {
  burst* of;
  std::vector<std::vector<std::int32_t>> targets;  ///< of each rank
  std::vector<std::int32_t> missing;               ///< calls to each rank
  std::vector<on_done> done;
};
burst_state* played = nullptr;

void take_call(transport::message* m) {
  std::int32_t target = -1;
  std::memcpy(&target, m->payload(), sizeof target);
  bool const here = target == model::here().whose_turn();
  ++(here ? played->of->arrived : played->of->misplaced);
  engine::release(m);
  auto const rank = static_cast<std::size_t>(target);
  if (here && --played->missing[rank] == 0) played->done[rank].call(played->done[rank].context);
}

void call(std::int32_t target, std::size_t bytes) {
  std::size_t const all = engine::header_bytes + sizeof target + bytes;
  engine::outgoing out;
  engine::am_begin(out, target, all, engine::pressure::always, 8, engine::lane::request);
  std::memset(out.begin + engine::header_bytes, 0, sizeof target + bytes);
  std::memcpy(out.begin + engine::header_bytes, &target, sizeof target);
  engine::am_commit(out, engine::message_kind::active, engine::token_cache<&take_call>::get(), all);
}

}  // namespace

tally play_burst(model& on, burst& what) {
  job_shape const& job = on.shape();
  if (job.hosts() < 2) throw std::invalid_argument("bursts go to other hosts, and there is one");
  auto const n = static_cast<std::size_t>(job.ranks);
  burst_state all{&what, std::vector<std::vector<std::int32_t>>(n), std::vector<std::int32_t>(n),
                  std::vector<on_done>(n)};
  for (std::int32_t r = 0; r < job.ranks; ++r) {
    std::mt19937_64 random(what.seed * 1'000'003 + static_cast<std::uint64_t>(r));
    std::int32_t const first = r / job.per_host * job.per_host;
    std::int32_t const here = std::min(job.per_host, job.ranks - first);
    std::uniform_int_distribution<std::int32_t> others(0, job.ranks - here - 1);
    for (std::int32_t i = 0; i < what.calls; ++i) {
      std::int32_t const other = others(random);
      std::int32_t const target = other < first ? other : other + here;
      all.targets[static_cast<std::size_t>(r)].push_back(target);
      ++all.missing[static_cast<std::size_t>(target)];
    }
  }
  what.arrived = what.misplaced = 0;
  played = &all;
  tally const t = on.run([&](engine::team_view&, std::int32_t rank, on_done done) {
    auto const r = static_cast<std::size_t>(rank);
    all.done[r] = done;
    for (std::int32_t const target : all.targets[r]) call(target, what.bytes);
    if (all.missing[r] == 0) done.call(done.context);
  });
  played = nullptr;
  return t;
}

}  // namespace atl::scale
