// Objects that are still alive when the library ends, and periods that come and go around them: all of this
// must be silent and end with status 0.

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {
// Destroyed after main, long after the last finalize.
upcxx::future<std::string> kept_future;
upcxx::promise<int> kept_promise;
upcxx::global_ptr<int> kept_pointer;
std::unique_ptr<upcxx::dist_object<std::string>> kept_object;
std::unique_ptr<upcxx::persona> kept_persona;
std::optional<upcxx::team_id> kept_id;
upcxx::persona early;  // constructed before init
std::optional<upcxx::persona_scope> kept_scope;
upcxx::atomic_domain<int> kept_domain;
std::unique_ptr<upcxx::atomic_domain<int>> other_domain;
}  // namespace

int main() {
  int failures = 0;
  if (upcxx::initialized()) {
    ++failures;
  }
  for (int period = 0; period < 2; ++period) {
    upcxx::init();
    int const right = (upcxx::rank_me() + 1) % upcxx::rank_n();
    auto const value_of = [period](int rank) { return std::to_string(period) + "." + std::to_string(rank); };
    auto other = std::make_unique<upcxx::dist_object<std::string>>(value_of(upcxx::rank_me()));
    std::swap(other, kept_object);
    // That of the period before had the same id. It has none any more, and may be used by any thread.
    if (other) {
      std::thread([&] {
        failures += other->is_active() ? 1 : 0;
        other = std::make_unique<upcxx::dist_object<std::string>>(std::move(*other));
        failures += other->is_active() || **other != "0." + std::to_string(upcxx::rank_me()) ? 1 : 0;
        other.reset();
      }).join();
    }
    upcxx::barrier();
    kept_future = kept_object->fetch(right);
    failures += kept_future.wait() == value_of(right) ? 0 : 1;
    kept_promise = upcxx::promise<int>();
    upcxx::rpc(right, upcxx::operation_cx::as_promise(kept_promise), [] { return 5; });
    failures += kept_promise.finalize().wait() == 5 ? 0 : 1;
    kept_pointer = upcxx::new_<int>(3);
    kept_persona = std::make_unique<upcxx::persona>();
    kept_id = upcxx::world().id();
    // Those of the period before are gone, and may be replaced and destroyed.
    failures += kept_domain.is_active() ? 1 : 0;
    kept_domain = upcxx::atomic_domain<int>({upcxx::atomic_op::fetch_inc});
    auto another = std::make_unique<upcxx::atomic_domain<int>>(std::vector{upcxx::atomic_op::load});
    if (other_domain) {
      upcxx::atomic_domain<int> const moved(std::move(*other_domain));
      failures += moved.is_active() ? 1 : 0;
    }
    other_domain = std::move(another);
    failures += kept_domain.is_active() && other_domain->is_active() ? 0 : 1;
    failures += kept_domain.fetch_inc(kept_pointer, std::memory_order_relaxed).wait() == 3 ? 0 : 1;
    int ran = 0;
    early.lpc_ff([&ran] { ++ran; });
    {
      upcxx::persona_scope scope(early);
      while (ran == 0) {
        upcxx::progress();
      }
    }
    // A future that never becomes ready, with a callback that owns something.
    upcxx::promise<> never;
    never.get_future().then([p = std::make_shared<int>(1)] {});
    if (period == 1) kept_scope.emplace(upcxx::master_persona());
    upcxx::barrier();
    upcxx::finalize();
    failures += upcxx::initialized() ? 1 : 0;
    failures += kept_future.ready() ? 0 : 1;
    failures += kept_domain.is_active() || kept_object->is_active() ? 1 : 0;
  }
  return failures;
}
