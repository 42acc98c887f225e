// Random operations on all ranks for a long time, against a sequential model. See --help.
//
// The work is cut into phases. In a phase every rank starts the operations that the plan gives it, in any
// state of the others, and checks what they return. Then all are awaited, and every rank compares its shared
// memory, and what it was told, with the model.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include <upcxx/upcxx.hpp>

#include "player.hpp"

namespace {

using soak::settings;

char const usage[] =
    "usage: atoll run -n N soak_test [options]\n"
    "  --seed N     decides everything but the order in which things happen to meet "
    "(default: random, printed)\n"
    "  --seconds S  how long (default 5)\n"
    "  --phases N   how many phases instead\n"
    "  --ops N      operations of a phase, over all ranks (default 300)\n"
    "  --threads N  threads of each rank that start operations beside the first (only in thread mode par)\n"
    "  --quiet      print nothing but failures\n";

void read_options(int argc, char** argv) {
  settings.seed = std::random_device{}();
  for (int i = 1; i < argc; ++i) {
    std::string const name = argv[i];
    if (name == "--quiet") {
      settings.quiet = true;
      continue;
    }
    char const* const value = i + 1 < argc ? argv[++i] : nullptr;
    if (value == nullptr) {
      std::fputs(usage, stderr);
      std::exit(2);
    }
    auto const number = static_cast<std::uint32_t>(std::strtoul(value, nullptr, 0));
    if (name == "--seed") {
      settings.seed = std::strtoull(value, nullptr, 0);
    } else if (name == "--seconds") {
      settings.seconds = std::strtod(value, nullptr);
    } else if (name == "--phases") {
      settings.phases = number;
    } else if (name == "--ops") {
      settings.ops = number;
    } else if (name == "--threads") {
      settings.threads = number;
    } else {
      std::fputs(usage, stderr);
      std::exit(2);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  read_options(argc, argv);
#if !defined(UPCXX_THREADMODE) || !UPCXX_THREADMODE
  settings.threads = 0;
#endif
  upcxx::init();
  settings.seed = upcxx::broadcast(settings.seed, 0).wait();
  if (upcxx::rank_me() == 0 && !settings.quiet) {
    std::printf("soak: %d ranks, seed %llu, %u operations a phase\n", upcxx::rank_n(),
                static_cast<unsigned long long>(settings.seed), settings.ops);
    std::fflush(stdout);
  }
  {
    upcxx::dist_object<soak::word_pointer> mine(upcxx::new_array<std::uint64_t>(2 * soak::half_words));
    std::fill_n(mine->local(), 2 * soak::half_words, 0);
    for (int r = 0; r < upcxx::rank_n(); ++r) soak::memory.push_back(mine.fetch(r).wait());
    upcxx::barrier();

    soak::model model(upcxx::rank_n());
    upcxx::dist_object<soak::words> object(soak::words{static_cast<std::uint64_t>(upcxx::rank_me()), 7});
    upcxx::atomic_domain<std::uint64_t> atomics(
        {upcxx::atomic_op::add, upcxx::atomic_op::fetch_add, upcxx::atomic_op::load});
    soak::player player(model, object, atomics);
    auto const begin = std::chrono::steady_clock::now();
    for (;; ++soak::phase) {
      soak::random_numbers r(soak::mixed(settings.seed, soak::phase));
      auto const teams = soak::draw_teams(r, upcxx::rank_n());
      auto const plan = soak::draw(r, model, soak::phase, settings.ops);
      player.play(plan, teams,
                  soak::mixed(settings.seed + soak::phase, static_cast<std::uint64_t>(upcxx::rank_me())));
      double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      bool const more = settings.phases != 0 ? soak::phase + 1 < settings.phases : seconds < settings.seconds;
      if (!upcxx::broadcast(more, 0).wait()) break;
    }
    atomics.destroy();
    upcxx::delete_array(*mine);
  }
  if (upcxx::rank_me() == 0 && !settings.quiet) std::printf("soak: %u phases passed\n", soak::phase + 1);
  upcxx::finalize();
}
