#include "upcxx/detail/late_copy.hpp"

#include <cstring>

#include <upcxx/detail/rpc_record.hpp>
#include <upcxx/exceptions.hpp>

#include "engine/world.hpp"

namespace atl::rt {
namespace {

/// False if there is no memory for it now.
bool send(held_call const& call) noexcept {
  try {
    engine::outgoing out;
    engine::am_begin(out, call.target, call.bytes, engine::pressure::park, call.alignment);
    std::memcpy(out.begin + engine::header_bytes, call.message + engine::header_bytes,
                call.bytes - engine::header_bytes);
    engine::am_commit(out, engine::message_kind::request, call.token, call.bytes);
  } catch (bad_shared_alloc const&) {
    return false;
  }
  note_rpc(call.target, false);
  return true;
}

bool arrive(engine::copy_completion* completion) noexcept {
  auto* const op = static_cast<late_copy*>(completion);
  for (; op->call_count > 0; --op->call_count) {
    held_call& last = op->calls[op->call_count - 1];
    if (!send(last)) return false;
    std::free(last.message);
  }
  for (std::size_t i = 0; i < op->task_count; ++i) enqueue(*op->tasks[i].target, op->tasks[i].work);
  if (!op->wanted_back) {
    op->run(op);
    return true;
  }
  // Release pairs with the acquire in wait().
  op->done.store(true, std::memory_order_release);
  enqueue(*op->initiator, op);
  return true;
}

}  // namespace

late_copy::late_copy() noexcept : engine::copy_completion{&arrive} {}

void late_copy::wait() const {
  engine::waiting_note const note(activity::copy);
  engine::waiter idle;
  while (!done.load(std::memory_order_acquire)) {
    if (progress_internal()) {
      idle.reset();
    } else {
      idle.pause();
    }
  }
}

}  // namespace atl::rt
