#include "upcxx/detail/late_copy.hpp"

#include <cstring>

#include <upcxx/detail/rpc_record.hpp>
#include <upcxx/exceptions.hpp>

#include "engine/progress/waiting.hpp"

namespace atl::rt {
namespace {

/// False if there is no memory for it now. `news`: where the target sees that the data has arrived, if the
/// call leaves before.
bool send(held_call const& call, engine::announced_trailer const* news) noexcept {
  try {
    std::size_t const bytes = call.bytes + (news == nullptr ? 0 : sizeof *news);
    engine::outgoing out;
    engine::am_begin(out, call.target, bytes, engine::pressure::park, call.alignment,
                     engine::lane::request);
    std::memcpy(out.begin + engine::header_bytes, call.payload(), call.bytes - engine::header_bytes);
    if (news != nullptr) std::memcpy(out.begin + call.bytes, news, sizeof *news);
    engine::am_commit(out, news == nullptr ? engine::message_kind::request : engine::message_kind::announced,
                      call.token, bytes);
  } catch (bad_shared_alloc const&) {
    return false;
  }
  note_rpc(call.target, false);
  return true;
}

/// Sends the calls that were not sent yet, the last one first; false if that must be tried again.
bool send_calls(late_copy& op, engine::announced_trailer const* news) noexcept {
  for (; op.call_count > 0; --op.call_count) {
    held_call& last = op.calls[op.call_count - 1];
    if (!send(last, news)) return false;
    std::free(last.message);
  }
  return true;
}

/// What finds no memory here leaves when the data has arrived.
void announce(engine::copy_completion* completion, engine::announced_trailer const& news) noexcept {
  send_calls(*static_cast<late_copy*>(completion), &news);
}

bool arrive(engine::copy_completion* completion) noexcept {
  auto* const op = static_cast<late_copy*>(completion);
  if (!send_calls(*op, nullptr)) return false;
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

void late_copy::announce_calls() noexcept { announced = &announce; }

void late_copy::wait() const {
  engine::waiting_note const note(activity::copy);
  engine::wait_while([&] { return !done.load(std::memory_order_acquire); }, &progress_internal);
}

}  // namespace atl::rt
