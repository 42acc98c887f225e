#include "upcxx/detail/promise_series.hpp"

namespace atl::rt {
namespace {

bool enqueue_end(engine::copy_completion* completion) noexcept {
  auto* const all = static_cast<promise_series*>(completion);
  enqueue(*all->initiator, all);
  return true;
}

}  // namespace

promise_series::promise_series(persona_state& persona, void (*finish)(task*)) noexcept
    : engine::copy_completion{&enqueue_end}, initiator(&persona) {
  run = finish;
}

}  // namespace atl::rt
