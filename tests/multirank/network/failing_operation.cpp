// Operations of a network whose operations fail, though it has lost no connection: the first argument says which. The job ends
// with words; see CMakeLists.txt for them.

#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {

constexpr std::size_t words = 20'000;
/// The first ones go by messages, as there are no keys yet; what is short goes so without an event that could fail.
constexpr int tries = 1000;

void copy_into_a_device() {
  auto gpu = upcxx::make_gpu_allocator(std::size_t{1} << 20);
  auto const mine = gpu.allocate<long>(words);
  upcxx::dist_object<decltype(gpu.allocate<long>(1))> all(mine);
  auto const theirs = all.fetch(1).wait();
  std::vector<long> const here(words);
  if (upcxx::rank_me() == 0) {
    for (int i = 0; i < tries; ++i) upcxx::copy(here.data(), theirs, words).wait();
  }
  upcxx::barrier();
  gpu.destroy();
}

}  // namespace

int main(int, char** argv) {
  std::string_view const what = argv[1];
  upcxx::init();
  upcxx::dist_object<upcxx::global_ptr<long>> shared(upcxx::new_array<long>(words));
  upcxx::global_ptr<long> const there = shared.fetch(1).wait();
  upcxx::atomic_domain<long> counters({upcxx::atomic_op::fetch_add});
  std::vector<long> here(words);
  upcxx::barrier();
  if (what == "copy") copy_into_a_device();
  for (int i = 0; i < tries && upcxx::rank_me() == 0; ++i) {
    if (what == "put") {
      upcxx::rput(here.data(), there, 1).wait();
    } else if (what == "get") {
      upcxx::rget(there, here.data(), 1).wait();
    } else if (what == "atomic") {
      counters.fetch_add(there, 1, std::memory_order_relaxed).wait();
    } else if (what == "message") {
      upcxx::rpc(
          1, [](upcxx::view<long> v) { return std::accumulate(v.begin(), v.end(), 0L); },
          upcxx::make_view(here))
          .wait();
    }
  }
  upcxx::barrier();
  counters.destroy();
  upcxx::finalize();
  return 0;
}
