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
    engine::am_begin(out, call.target, bytes, engine::pressure::park, call.alignment, engine::lane::request);
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
  for (unsigned const left = op.call_travels ? 1 : 0; op.call_count > left; --op.call_count) {
    held_call& last = op.calls[op.call_count - 1];
    if (!send(last, news)) return false;
    last.message.reset();
  }
  return true;
}

/// What finds no memory here leaves when the data has arrived.
void announce(engine::copy_completion* completion, engine::announced_trailer const& news) noexcept {
  send_calls(*static_cast<late_copy*>(completion), &news);
}

void tell_source(engine::copy_completion* completion) noexcept {
  auto* const op = static_cast<late_copy*>(completion);
  if (op->source_told) return;
  op->source_told = true;
  for (std::size_t i = 0; i < op->task_count; ++i) {
    if (op->tasks[i].of_source) enqueue(*op->tasks[i].target, op->tasks[i].work);
  }
  if (op->source_task != nullptr) enqueue(*op->initiator, op->source_task);
  // Release pairs with the acquire in wait_for_source().
  op->source_left.store(true, std::memory_order_release);
}

bool arrive(engine::copy_completion* completion) noexcept {
  auto* const op = static_cast<late_copy*>(completion);
  tell_source(op);
  if (!send_calls(*op, nullptr)) return false;
  for (std::size_t i = 0; i < op->task_count; ++i) {
    if (!op->tasks[i].of_source) enqueue(*op->tasks[i].target, op->tasks[i].work);
  }
  if (op->wanted_back) {
    enqueue(*op->initiator, op);
  } else {
    op->run(op);
  }
  return true;
}

}  // namespace

late_copy::late_copy() noexcept : engine::copy_completion{&arrive, nullptr, &tell_source} {}

void late_copy::announce_calls() noexcept { announced = &announce; }

void late_copy::wait_for_source() const {
  engine::waiting_note const note(activity::copy);
  engine::wait_while([&] { return !source_left.load(std::memory_order_acquire); }, &wait_internally);
}

engine::arrival_notice late_copy::call_with_data() noexcept {
  if (call_count == 0) return {};
  call_travels = true;
  held_call const& first = calls[0];
  note_rpc(first.target, false);
  engine::arrival_notice notice;
  notice.what = engine::arrival_notice::sort::call;
  notice.token = first.token;
  notice.payload = first.payload();
  notice.bytes = first.bytes;
  notice.alignment = first.alignment;
  return notice;
}

}  // namespace atl::rt
