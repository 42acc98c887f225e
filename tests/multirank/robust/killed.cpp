// Rank 1 is killed while the others wait for it, in the operation that the first argument names. They may be on other
// hosts, which hear of it from the launcher only.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {

constexpr int victim = 1;
constexpr std::size_t words = std::size_t{1} << 15;
std::vector<int> asked;  ///< by each rank

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

/// The victim dies when all others have asked it for something several times, in the midst of what they do.
void serve() {
  auto const often = [](int times) { return times >= 3; };
  while (std::count_if(asked.begin(), asked.end(), often) < upcxx::rank_n() - 1) upcxx::progress();
  die();
}

/// Tells the victim that one more operation is under way. Who reaches its memory directly is faster than it serves others: it
/// may have sent more than messages may take, and then the victim has heard of it often enough.
void ask() {
  try {
    upcxx::rpc_ff(
        victim, [](int from) { ++asked[static_cast<std::size_t>(from)]; }, upcxx::rank_me());
  } catch (upcxx::bad_shared_alloc const&) {  // for now
    upcxx::progress();
  }
}

template <class Operation>
void repeat(Operation operation) {
  if (upcxx::rank_me() == victim) serve();
  for (;;) {
    ask();
    operation();
  }
}

}  // namespace

int main(int, char** argv) {
  std::string_view const how = argv[1];
  upcxx::init();
  asked.resize(static_cast<std::size_t>(upcxx::rank_n()));
  if (how == "connecting") {  // before anybody has spoken to it
    if (upcxx::rank_me() == victim) die();
    upcxx::rpc(victim, [] {}).wait();
  }
  upcxx::dist_object<upcxx::global_ptr<long>> shared(upcxx::new_array<long>(words));
  upcxx::global_ptr<long> const there = shared.fetch(victim).wait();
  std::vector<long> here(words);
  upcxx::atomic_domain<long> counters({upcxx::atomic_op::fetch_add});
  upcxx::barrier();
  if (how == "put") {
    repeat([&] { upcxx::rput(here.data(), there, words).wait(); });
  } else if (how == "get") {
    repeat([&] { upcxx::rget(there, here.data(), words).wait(); });
  } else if (how == "rpc") {
    repeat([&] {
      upcxx::rpc(
          victim, [](upcxx::view<long> v) { return v.size(); }, upcxx::make_view(here))
          .wait();
    });
  } else if (how == "flood") {
    repeat([&] {
      try {
        upcxx::rpc_ff(
            victim, [](upcxx::view<long>) {}, upcxx::make_view(here));
      } catch (upcxx::bad_shared_alloc const&) {  // for now
        upcxx::progress();
      }
    });
  } else if (how == "atomic") {
    repeat([&] { counters.fetch_add(there, 1, std::memory_order_relaxed).wait(); });
  } else if (how == "reduce" || how == "broadcast") {
    for (int i = 0;; ++i) {
      if (upcxx::rank_me() == victim && i == 30) die();
      if (how == "reduce") {
        upcxx::reduce_all(here.data(), here.data(), i % 2 == 0 ? 1 : words, upcxx::op_fast_add).wait();
      } else {
        upcxx::broadcast(here.data(), words, i % upcxx::rank_n()).wait();
      }
    }
  } else if (how == "finalize") {
    if (upcxx::rank_me() == victim) {
      ::usleep(100'000);  // the others are there by then, and asleep
      die();
    }
  }
  counters.destroy();
  upcxx::finalize();
  return 0;
}
