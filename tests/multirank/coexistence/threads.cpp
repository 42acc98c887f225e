// Threads that are older than init and outlive finalize: one of the standard library, and OpenMP's where
// there is OpenMP. Threads that are born later: multirank.persona, coexistence.openmp.

#include <atomic>
#include <cstdio>
#include <thread>
#include <upcxx/upcxx.hpp>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace {

enum class stage { before_init, communicate, after_finalize };
std::atomic<stage> now{stage::before_init};
std::atomic<int> finished{0};
std::atomic<int> wrong{0};
std::atomic<int> told{0};

void wait_for(stage s) {
  while (now != s) std::this_thread::yield();
}

/// What every thread does between init and finalize.
void communicate(upcxx::global_ptr<int> there) {
  int const next = (upcxx::rank_me() + 1) % upcxx::rank_n();
  upcxx::rput(7, there).wait();
  if (upcxx::rget(there).wait() != 7) ++wrong;
  int const answer = upcxx::rpc(
                         next, [](int x) { return x + 1; }, 4)
                         .wait();
  if (answer != 5) ++wrong;
  upcxx::master_persona().lpc_ff([] { ++told; });
  upcxx::discharge();
  ++finished;
}

}  // namespace

int main() {
  upcxx::global_ptr<int> there;  // written before the stage is
  std::thread old([&] {
    wait_for(stage::communicate);
    communicate(there);
    wait_for(stage::after_finalize);
    if (upcxx::initialized()) ++wrong;
  });
  int threads = 1;
#if defined(_OPENMP)
  constexpr int team = 3;
  std::atomic<int> early{0};
#pragma omp parallel num_threads(team)
  ++early;
  if (early != team) ++wrong;
  threads += team - 1;
#endif

  upcxx::init();
  upcxx::dist_object<upcxx::global_ptr<int>> slot(upcxx::new_<int>(0));
  there = slot.fetch((upcxx::rank_me() + 1) % upcxx::rank_n()).wait();
  now = stage::communicate;
#if defined(_OPENMP)
#pragma omp parallel num_threads(team)
  if (omp_get_thread_num() != 0) {
    communicate(there);
  } else {
    while (finished < threads) upcxx::progress();
  }
#endif
  while (finished < threads || told < threads) upcxx::progress();
  upcxx::barrier();
  upcxx::delete_(*slot);
  int const all_wrong = upcxx::reduce_all(wrong.load(), upcxx::op_fast_add).wait();
  if (upcxx::rank_me() == 0) {
    std::printf("%d ranks, %d threads: %s\n", upcxx::rank_n(), threads,
                all_wrong == 0 ? "all well" : "WRONG");
  }
  upcxx::finalize();
  now = stage::after_finalize;
  old.join();
#if defined(_OPENMP)
#pragma omp parallel num_threads(team)
  ++early;
  if (early != 2 * team) ++wrong;
#endif
  return all_wrong + wrong == 0 ? 0 : 1;
}
