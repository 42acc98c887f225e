// All sorts of operations under conditions that let the engine decide by time: little memory for messages, so that senders lose
// patience, connections that are refused and closed again, acknowledgements that may wait. In lockstep two runs are the same.
//
// Or, with an argument: the last rank calls nothing before the file of that name is there, which the first one makes when it has gone
// on without it.

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {

constexpr std::size_t words = 2000;
constexpr int calls = 30;
long arrived;

/// More than the others take while they do something else.
void flood(int target) {
  std::vector<long> const data(500, target);
  for (int i = 0; i < calls;) {
    try {
      upcxx::rpc_ff(
          target, [](upcxx::view<long> v) { arrived += static_cast<long>(v.size()); },
          upcxx::make_view(data));
      ++i;
    } catch (upcxx::bad_shared_alloc const&) {  // for now
      upcxx::progress();
    }
  }
}

void stay_away(char const* until) {
  upcxx::barrier();
  if (upcxx::rank_me() == upcxx::rank_n() - 1) {
    while (::access(until, F_OK) != 0) ::usleep(1000);
  } else {
    for (int i = 0; i < 20; ++i) upcxx::progress();
    ::close(::open(until, O_CREAT | O_WRONLY, 0600));
  }
  upcxx::barrier();
}

}  // namespace

int main(int argc, char** argv) {
  upcxx::init();
  if (argc > 1) {
    stay_away(argv[1]);
    upcxx::finalize();
    return 0;
  }
  int const me = upcxx::rank_me(), n = upcxx::rank_n();
  upcxx::dist_object<upcxx::global_ptr<long>> shared(upcxx::new_array<long>(words));
  upcxx::atomic_domain<long> counters({upcxx::atomic_op::fetch_add});
  std::vector<upcxx::global_ptr<long>> all;
  for (int r = 0; r < n; ++r) all.push_back(shared.fetch(r).wait());
  std::vector<long> here(words, me);
  upcxx::barrier();
  for (int step = 1; step < n; ++step) {
    int const target = (me + step) % n;
    upcxx::global_ptr<long> const there = all[static_cast<std::size_t>(target)];
    upcxx::rput(here.data(), there, words).wait();
    upcxx::rget(there, here.data(), words).wait();
    counters.fetch_add(there, 1, std::memory_order_relaxed).wait();
    flood(target);
    for (int i = 0; i < 3; ++i) upcxx::rpc(target, [] { return arrived; }).wait();
  }
  upcxx::reduce_all(here.data(), here.data(), words, upcxx::op_fast_add).wait();
  long const expected = long{calls} * (n - 1) * 500;
  while (arrived < expected) upcxx::progress();
  upcxx::barrier();
  counters.destroy();
  upcxx::delete_array(*shared);
  upcxx::finalize();
  return arrived == expected ? 0 : 1;
}
