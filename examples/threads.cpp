// Several threads in each rank: they throw numbers into a histogram that is spread over all ranks.
//
// Each thread communicates by itself, with its own default persona. The main thread keeps the master persona
// and serves other ranks; at the end every worker hands its result over by a local call. Thread mode par:
//
//   atoll run -n 2 ./threads [threads] [numbers per thread]

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include <upcxx/upcxx.hpp>

int main(int argc, char** argv) {
  upcxx::init();
  int const thread_count = argc > 1 ? std::atoi(argv[1]) : 3;
  int const numbers = argc > 2 ? std::atoi(argv[2]) : 20000;
  int const me = upcxx::rank_me();
  auto const ranks = static_cast<unsigned>(upcxx::rank_n());
  constexpr unsigned bins = 64;  // of each rank

  upcxx::dist_object<upcxx::global_ptr<std::uint32_t>> parts(upcxx::new_array<std::uint32_t>(bins));
  std::vector<upcxx::global_ptr<std::uint32_t>> all(ranks);
  for (unsigned i = 0; i < bins; ++i) parts->local()[i] = 0;
  for (unsigned r = 0; r < ranks; ++r) all[r] = parts.fetch(static_cast<int>(r)).wait();
  upcxx::atomic_domain<std::uint32_t> atomics({upcxx::atomic_op::add, upcxx::atomic_op::load});

  upcxx::persona& main_persona = upcxx::master_persona();
  int finished = 0;  // touched by the main thread only
  long thrown = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < thread_count; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(1000 * me + t));
      upcxx::promise<> done;  // belongs to this thread's persona
      for (int i = 0; i < numbers; ++i) {
        unsigned const value = static_cast<unsigned>(random()) % (bins * ranks);
        atomics.add(all[value / bins] + value % bins, 1, std::memory_order_relaxed,
                    upcxx::operation_cx::as_promise(done));
      }
      done.finalize().wait();
      main_persona.lpc_ff([&finished, &thrown, numbers] {
        thrown += numbers;
        ++finished;
      });
    });
  }
  while (finished < thread_count) {
    upcxx::progress();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  upcxx::barrier();  // everybody's numbers have been counted

  long counted = 0;
  for (unsigned i = 0; i < bins; ++i) {
    counted += static_cast<long>(atomics.load(*parts + i, std::memory_order_relaxed).wait());
  }
  counted = upcxx::reduce_all(counted, upcxx::op_fast_add).wait();
  thrown = upcxx::reduce_all(thrown, upcxx::op_fast_add).wait();
  bool const correct = counted == thrown && counted == static_cast<long>(ranks) * thread_count * numbers;
  if (me == 0) {
    std::printf("%ld numbers of %d threads on each of %u ranks: %s\n", counted, thread_count, ranks,
                correct ? "correct" : "WRONG");
  }
  atomics.destroy();
  upcxx::barrier();
  upcxx::delete_array(*parts);
  upcxx::finalize();
  return correct ? 0 : 1;
}
