// Snippets of the page on personas and threads. Thread mode par.
#include <atomic>
#include <thread>
#include <vector>

#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const right = (me + 1) % upcxx::rank_n();
  upcxx::dist_object<upcxx::global_ptr<int>> boxes(upcxx::new_array<int>(4));
  upcxx::global_ptr<int> const dest = boxes.fetch(right).wait();

  // [workers]
  std::atomic<int> finished = 0;
  std::vector<std::thread> workers;
  for (int t = 0; t < 4; ++t) {
    workers.emplace_back([&, t] {
      upcxx::rput(10 * me + t, dest + t)
          .wait();  // notified on this thread's own default persona
      int const value = upcxx::rpc(
                            right, [](int x) { return x + 1; }, t)
                            .wait();
      UPCXX_ASSERT_ALWAYS(value == t + 1);
      ++finished;
    });
  }
  while (finished != 4)
    upcxx::progress();  // the master persona runs the calls that come in
  for (std::thread& worker : workers) worker.join();
  upcxx::barrier();
  // [/workers]
  UPCXX_ASSERT_ALWAYS(boxes->local()[3] % 10 == 3);

  // [lpc]
  upcxx::persona& main_persona = upcxx::current_persona();
  int total = 0;  // touched by the main thread only
  std::thread helper([&] { main_persona.lpc_ff([&] { total += 42; }); });
  while (total == 0) upcxx::progress();
  helper.join();
  // [/lpc]

  // [scope]
  upcxx::persona worker_persona;
  int result = 0;
  std::thread other([&] {
    upcxx::persona_scope scope(worker_persona);  // this thread speaks for it now
    result = upcxx::rget(dest + 2).wait();
  });
  std::atomic<bool> joined = false;
  std::thread joiner([&] {
    other.join();
    joined = true;
  });
  while (!joined) upcxx::progress();
  joiner.join();
  // [/scope]
  UPCXX_ASSERT_ALWAYS(result == 10 * me + 2);

  upcxx::barrier();
  upcxx::delete_array(*boxes);
  upcxx::finalize();
}
