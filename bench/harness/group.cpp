#include "group.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "record.hpp"

namespace atl::bench {
namespace {

double now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/// How often the kernel has given this thread's core to another one.
std::uint64_t times_switched() {
  rusage use{};
  getrusage(RUSAGE_THREAD, &use);
  return static_cast<std::uint64_t>(use.ru_nivcsw + use.ru_nvcsw);
}

/// For meetings outside the measured part. Gives the core away after a while: the peer may be waiting for it.
template <class Done>
void spin_until(Done const& done) {
  for (unsigned spins = 0; !done(); ++spins) {
    if (spins > 20'000) sched_yield();
    pause();
  }
}

std::string joined(std::vector<double> const& values) {
  std::string text;
  char buffer[32];
  for (double const v : values) {
    std::snprintf(buffer, sizeof buffer, "%s%.5g", text.empty() ? "" : ",", v);
    text += buffer;
  }
  return text;
}

constexpr unsigned line_trips_per_block = 640;
constexpr unsigned turns_per_block = 100;
constexpr std::size_t fewest_quiet_blocks = 7;
constexpr int fewest_warm_blocks = 5;
constexpr unsigned looks_before_serving = 2'000;

}  // namespace

void wrong_data(std::string const& what) {
  std::fprintf(stderr, "atoll bench: wrong data: %s\n", what.c_str());
  std::exit(3);
}

void group::meet() {
  if (config_.shared == nullptr) {
    config_.barrier();
    return;
  }
  auto& lines = config_.shared->arrived;
  ++met_;
  lines[config_.rank].value.store(met_, std::memory_order_release);
  auto const& other = lines[1 - config_.rank].value;
  // The peer may wait for this rank to serve its calls: after a while, do.
  unsigned looks = 0;
  spin_until([&] {
    if (++looks > looks_before_serving) config_.idle();
    return other.load(std::memory_order_acquire) >= met_;
  });
}

double group::line_round_trip(unsigned trips) {
  meet();
  double const start = now_ns();
  for (std::uint64_t i = lines_ + 1; i <= lines_ + trips; ++i) {
    auto& ping = config_.shared->ping[i % shared_lines::pairs].value;
    auto& pong = config_.shared->pong[i % shared_lines::pairs].value;
    if (first()) {
      ping.store(i, std::memory_order_release);
      while (pong.load(std::memory_order_acquire) != i) {
      }
    } else {
      while (ping.load(std::memory_order_acquire) != i) {
      }
      pong.store(i, std::memory_order_release);
    }
  }
  lines_ += trips;
  return (now_ns() - start) / trips;
}

void group::hand_over(void const* from, void* between, void* to, std::size_t bytes) {
  auto& ping = config_.shared->ping[0].value;
  auto& pong = config_.shared->pong[0].value;
  ++lines_;
  if (first()) {
    std::memcpy(between, from, bytes);
    ping.store(lines_, std::memory_order_release);
    while (pong.load(std::memory_order_acquire) != lines_) {
    }
  } else {
    while (ping.load(std::memory_order_acquire) != lines_) {
    }
    std::memcpy(to, between, bytes);
    asm volatile("" : : "r"(to) : "memory");
    pong.store(lines_, std::memory_order_release);
  }
}

double group::turn_of_all(unsigned turns) {
  meet();
  double const start = now_ns();
  // The others go on for longer: turns are not dealt out evenly, and one that has ended would make
  // the rest faster.
  for (unsigned i = 0; i < (first() ? turns : 3 * turns); ++i) sched_yield();
  return (now_ns() - start) / turns;
}

void group::announce(std::uint64_t& iterations) {
  if (config_.shared == nullptr) {
    config_.share(iterations);
    return;
  }
  if (first()) config_.shared->iterations.value.store(iterations, std::memory_order_relaxed);
  meet();
  if (!first()) iterations = config_.shared->iterations.value.load(std::memory_order_relaxed);
  meet();  // before the line is written again
}

void group::finish_counted() {
  if (config_.shared == nullptr) {
    meet();
    return;
  }
  auto const& count = config_.shared->count.value;
  while (count.load(std::memory_order_acquire) < awaited_) config_.idle();
}

void group::serve(style how) {
  if (how == style::counted) {
    while (served_ < awaited_) config_.idle();
  }
  if (config_.shared == nullptr) {
    meet();
  } else if (how == style::served) {
    auto const& finished = config_.shared->finished.value;
    while (finished.load(std::memory_order_acquire) != block_) config_.idle();
  }
}

bool group::was_disturbed(std::uint64_t switches) {
  if (config_.shared == nullptr) return config_.any && config_.any(switches != 0);
  auto& theirs = config_.shared->disturbance.value;
  if (!first()) theirs.store(switches, std::memory_order_relaxed);
  meet();
  // The next writing of that line is behind the meetings of the next announcement.
  return switches != 0 || theirs.load(std::memory_order_relaxed) != 0;
}

group::sample group::run_block(row const& r, style how, bodies const& run, std::uint64_t iterations,
                               bool warming) {
  bool const has_lines = config_.shared != nullptr;
  auto const count = static_cast<double>(iterations) * r.parts;
  sample result;
  std::uint64_t const switched = times_switched();
  ++block_;
  if (has_lines && !warming) result.line = line_round_trip(line_trips_per_block);
  if (config_.crowded && !warming) result.limit = turn_of_all(turns_per_block);
  if (run.limit && !warming && !has_lines) meet();
  if (run.limit && !warming && (first() || r.limit_of_both)) {
    double const start = now_ns();
    run.limit(iterations);
    result.limit = (now_ns() - start) / count;
    if (run.settle) run.settle(iterations);
  }
  if (how == style::counted) awaited_ += iterations;
  meet();

  double const start = now_ns();
  if (how == style::symmetric || first()) {
    run.operate(iterations);
    if (how == style::counted) finish_counted();
    result.ns = (now_ns() - start) / count;
    if (run.settle) run.settle(iterations);
    if (how == style::served) {
      if (has_lines) {
        config_.shared->finished.value.store(block_, std::memory_order_release);
      } else {
        meet();
      }
    }
  } else {
    serve(how);
  }
  result.disturbed = was_disturbed(times_switched() - switched);
  return result;
}

void group::once(std::function<void()> const& operate) {
  run_block(row{}, style::served, {[&](std::uint64_t) { operate(); }, {}, {}}, 1, true);
}

void group::measure(row const& r, style how, bodies const& run) {
  if (!config_.only.empty() && config_.only != r.key && config_.only != config_.prefix + r.key) return;
  // Warm-up, which also finds how many iterations make a block.
  std::uint64_t iterations = r.least;
  double const started = now_ns();
  for (int round = 1;; ++round) {
    std::uint64_t now = iterations;
    announce(now);
    if (now == 0) break;
    sample const warm = run_block(r, how, run, now, true);
    if (!first()) continue;
    if (warm.disturbed && (now_ns() - started) / 1e3 < config_.give_up_us / 4) continue;
    double const each = warm.ns * r.parts;
    double const us = each * static_cast<double>(now) / 1e3;
    auto const fitting = static_cast<std::uint64_t>(config_.block_us * 1e3 / std::max(each, 0.1));
    bool const done = round >= fewest_warm_blocks && (us > config_.block_us / 4 || now >= r.most);
    // The first ones touch new memory and are slow: grow carefully.
    iterations = std::clamp<std::uint64_t>(done ? fitting : std::min(now * 8, std::max(fitting, now)),
                                           r.least, r.most);
    if (!done) continue;
    now = 0;
    announce(now);
    break;
  }

  std::vector<sample> quiet;
  std::vector<sample> all;
  double const begun = now_ns();
  for (;;) {
    std::uint64_t now = iterations;
    if (first()) {
      bool const enough = static_cast<int>(quiet.size()) >= config_.blocks;
      bool const late = all.size() >= 3 && (now_ns() - begun) / 1e3 > config_.give_up_us;
      if (enough || late) now = 0;
    }
    announce(now);
    if (now == 0) break;
    sample const s = run_block(r, how, run, now, false);
    all.push_back(s);
    if (!s.disturbed) quiet.push_back(s);
  }
  if (!first()) return;
  std::size_t const disturbed = all.size() - quiet.size();
  bool const use_all = quiet.size() < std::min<std::size_t>(fewest_quiet_blocks, config_.blocks);
  print(r, iterations, use_all ? all : quiet, use_all ? disturbed : 0);
}

void group::symmetric(row const& r, body const& operate, body const& limit) {
  measure(r, style::symmetric, {operate, limit, {}});
}

void group::served(row const& r, body const& operate, body const& limit, body const& settle) {
  measure(r, style::served, {operate, limit, settle});
}

void group::counted(row const& r, body const& send, body const& limit) {
  measure(r, style::counted, {send, limit, {}});
}

void group::print(row const& r, std::uint64_t iterations, std::vector<sample> const& samples,
                  std::size_t disturbed) const {
  std::vector<double> times;
  std::vector<double> lines;
  std::vector<double> limits;
  for (sample const& s : samples) {
    times.push_back(s.ns);
    if (s.line > 0) lines.push_back(s.line);
    if (s.limit > 0) limits.push_back(s.limit);
  }
  record out{"row",
             {{"suite", r.suite},
              {"key", config_.prefix + r.key},
              {"name", r.name},
              {"peer", r.peer},
              {"bytes", std::to_string(r.bytes)},
              {"ranks", std::to_string(config_.ranks)},
              {"iterations", std::to_string(iterations)},
              {"show", r.show},
              {"limit", config_.crowded ? "turn" : r.limit},
              {"disturbed", std::to_string(disturbed)},
              {"ns", joined(times)},
              {"line_ns", joined(lines)},
              {"limit_ns", joined(limits)}}};
  std::fputs(encode(out).c_str(), stdout);
  std::fflush(stdout);
}

void group::print_fact(std::string const& name, std::string const& value) const {
  if (!first()) return;
  std::fputs(encode({"fact", {{"name", name}, {"value", value}}}).c_str(), stdout);
}

void group::print_value(std::string const& suite, std::string const& key, std::string const& name,
                        double value, std::string const& unit) const {
  if (!first()) return;
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  record const out{"value",
                   {{"suite", suite},
                    {"key", config_.prefix + key},
                    {"name", name},
                    {"ranks", std::to_string(config_.ranks)},
                    {"value", text},
                    {"unit", unit}}};
  std::fputs(encode(out).c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace atl::bench
