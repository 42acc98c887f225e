// The initiator's side: pieces leave, answers come.

#include "engine/rma/remote_memory.hpp"

#include <cinttypes>
#include <cstring>

#include <atoll/base/round_up.hpp>
#include <atoll/engine/job.hpp>

#include "base/error.hpp"
#include "engine/progress/guard.hpp"
#include "engine/progress/messages.hpp"
#include "engine/progress/waiting.hpp"

namespace atl::engine {

using remote::piece_head;
using remote::position;
using remote::shape;
using remote::stream;

std::uint64_t (*atomic_applier)(void*, atomic_request const&) noexcept = nullptr;

namespace {

// Handlers.
void serve_put_with_notice(message* m) { remote_memory::here().serve_put_with_notice(m); }
void notice_announced(message* m) { remote_memory::here().notices().announced(m); }

copy_completion* completion_of(std::uint64_t cookie) noexcept {
  return reinterpret_cast<copy_completion*>(static_cast<std::uintptr_t>(cookie));
}

}  // namespace

namespace remote {

put_layout::put_layout(piece_head const& head_written, arrival_notice const* notice) noexcept {
  bool const call = notice != nullptr && notice->what == arrival_notice::sort::call;
  head = call ? round_up(notice->bytes, alignof(piece_head)) : header_bytes;
  data = head + sizeof(piece_head) + description_bytes(head_written);
  end = data + head_written.bytes + (notice != nullptr ? sizeof(notice_trailer) : 0);
}

function_token write_put(std::byte* begin, put_layout const& layout, piece_head const& head,
                         arrival_notice const* notice) noexcept {
  write_at(begin + layout.head, head);
  if (notice == nullptr) return token_for<&remote_memory::serve_put>();
  bool const call = notice->what == arrival_notice::sort::call;
  if (call) std::memcpy(begin + header_bytes, notice->payload, notice->bytes - header_bytes);
  write_at(begin + layout.end - sizeof(notice_trailer),
           notice_trailer{layout.head, call ? 0 : notice->flag, call ? notice->token : notice->raise});
  return put_with_notice_token();
}

function_token put_with_notice_token() noexcept { return token_cache<&engine::serve_put_with_notice>::get(); }

}  // namespace remote

remote_memory::remote_memory(progress_engine& engine)
    : single(this),
      work_source(engine.open, ending::silent),
      engine_(engine),
      keys_(engine.network == nullptr ? nullptr : std::make_unique<key_exchange>(engine)),
      direct_(engine, *this, keys_.get()) {
  if (keys_ == nullptr) return;
  keys_->on_news = [this] { direct_.keys_changed(); };
  atomics_ = std::make_unique<network_atomics>(engine, *this, *keys_);
  notices_ = std::make_unique<expected_notices>(engine, *this);
  engine.network->on_active = [](std::int32_t source, std::uint64_t token, std::byte* begin,
                                 std::size_t bytes) {
    return here().serve_where_it_lies(source, token, begin, bytes);
  };
}

remote_memory::~remote_memory() {
  if (engine_.network != nullptr) engine_.network->on_active = nullptr;
}

void remote_memory::begin(std::size_t charged) noexcept {
  engine_.open.add_owed(1);
  window_used_ += charged;
}

void remote_memory::begin(stream* s) noexcept {
  engine_.open.add_owed(1);
  if (s->direct) {
    direct_.begin(s);
    return;
  }
  queue(s);
  pump();
}

void remote_memory::queue(stream* s) {
  if (s->queued) return;
  s->queued = true;
  sending_.push_back(s);
}

/// Sends pieces as long as the window has room, of one operation after the other.
void remote_memory::pump() noexcept {
  while (!sending_.empty()) {
    stream* const s = sending_.front();
    if (!s->may_send()) {
      sending_.pop_front();
      s->queued = false;
      continue;
    }
    if (!has_room(s->next->bytes)) return;
    send_piece(*s);
    sending_.pop_front();
    s->queued = false;
    if (!s->all_sent()) {
      queue(s);
    } else if (s->puts() && s->completion->source != nullptr) {
      s->completion->source(s->completion);
    }
  }
}

/// Sends the next piece of a put, or asks for that of a get.
void remote_memory::send_piece(stream& s) noexcept {
  unsigned slot = 0;
  while (s.pieces[slot].under_way) ++slot;
  position const at = *s.next;
  piece_head head{
      reinterpret_cast<std::uintptr_t>(s.completion), 0, 0, 0, static_cast<std::uint8_t>(slot), {}};
  outgoing out;
  if (s.puts()) {
    bool const last = s.what.ended() && s.notice.what != arrival_notice::sort::none;
    arrival_notice const* const notice = last ? &s.notice : nullptr;
    s.what.describe(shape::side::to, at, head);
    remote::put_layout const layout(head, notice);
    am_begin_data(out, s.what.to().rank, layout.end, pressure::always,
                  last ? s.notice.alignment : buffer_alignment);
    function_token const token = remote::write_put(out.begin, layout, head, notice);
    if (notice != nullptr && notice->what == arrival_notice::sort::call) note_call_sent();
    s.what.write_description(shape::side::to, at, head, out.begin + layout.head + sizeof head);
    s.what.gather(at, out.begin + layout.data);
    am_commit(out, message_kind::active, token, layout.end);
  } else {
    s.what.describe(shape::side::from, at, head);
    std::size_t const bytes = header_bytes + sizeof head + remote::description_bytes(head);
    am_begin(out, s.what.from().rank, bytes, pressure::always);
    remote::write_at(out.begin + header_bytes, head);
    s.what.write_description(shape::side::from, at, head, out.begin + header_bytes + sizeof head);
    am_commit(out, message_kind::active, remote::token_for<&remote_memory::serve_get>(), bytes);
  }
  s.pieces[slot] = {at, true};
  s.next.reset();
  ++s.under_way;
  window_used_ += at.bytes;
}

/// Puts a fetched piece where it goes, on another rank.
void remote_memory::send_on(stream& s, unsigned slot, std::byte const* data) noexcept {
  position const& at = s.pieces[slot].at;
  piece_head head{
      reinterpret_cast<std::uintptr_t>(s.completion), 0, 0, 0, static_cast<std::uint8_t>(slot), {}};
  s.what.describe(shape::side::to, at, head);
  remote::put_layout const layout(head, nullptr);
  outgoing out;
  am_begin_data(out, s.what.to().rank, layout.end, pressure::always);
  function_token const token = remote::write_put(out.begin, layout, head, nullptr);
  s.what.write_description(shape::side::to, at, head, out.begin + layout.head + sizeof head);
  std::memcpy(out.begin + layout.data, data, at.bytes);
  am_commit(out, message_kind::active, token, layout.end);
}

/// As a put of nothing, with the notice. What else its data are to be tells where they stand.
void remote_memory::send_notice(copy_completion* completion, transfer_end const& to,
                                arrival_notice const& notice, expected_arrivals const* expected) noexcept {
  piece_head head{reinterpret_cast<std::uintptr_t>(completion), to.at, 0, 0, 0, {}};
  if (expected != nullptr) head.bytes = sizeof *expected;
  remote::put_layout const layout(head, &notice);
  head.bytes = 0;
  outgoing out;
  am_begin(out, to.rank, layout.end, pressure::always, notice.alignment);
  function_token token = remote::write_put(out.begin, layout, head, &notice);
  if (notice.what == arrival_notice::sort::call) note_call_sent();
  if (expected != nullptr) {
    remote::write_at(out.begin + layout.data, *expected);
    token = token_cache<&notice_announced>::get();
  }
  am_commit(out, message_kind::active, token, layout.end);
}

void remote_memory::send_atomic(copy_completion* completion, host_address const& cell,
                                atomic_request const& what) noexcept {
  remote::atomic_order const order{reinterpret_cast<std::uintptr_t>(completion), cell.offset, what};
  am_short_unordered(static_cast<std::int32_t>(cell.rank), remote::token_for<&remote_memory::serve_atomic>(),
                     &order, sizeof order);
}

void remote_memory::piece_done(stream* s, unsigned slot) noexcept {
  s->pieces[slot].under_way = false;
  --s->under_way;
  window_used_ -= s->pieces[slot].at.bytes;
  if (!s->all_sent()) {
    queue(s);
  } else if (s->under_way == 0) {
    copy_completion* const completion = s->completion;
    delete s;
    deliver(completion);
  }
  if (!sending_.empty()) pump();
}

void remote_memory::deliver(copy_completion* completion) noexcept {
  if (completion->arrived(completion)) {
    engine_.open.add_owed(-1);
  } else {
    undelivered_.push_back(completion);
    count(1);
  }
}

void remote_memory::acknowledged(std::int32_t /*source*/, std::byte* payload) {
  auto const head = remote::read_at<remote::answer_head>(payload);
  copy_completion* const completion = completion_of(head.cookie);
  remote::operation_state const& state = remote::state_of(completion);
  if (state.pieces == nullptr) {
    done(completion, head.count);
  } else if (state.pieces->direct) {
    direct_.notice_given(state.pieces);
  } else {
    piece_done(state.pieces, head.slot);
  }
}

void remote_memory::fetched(std::int32_t /*source*/, std::byte* payload) {
  auto const head = remote::read_at<remote::answer_head>(payload);
  std::byte const* const data = payload + sizeof head;
  copy_completion* const completion = completion_of(head.cookie);
  remote::operation_state const state = remote::state_of(completion);
  if (state.pieces == nullptr) {
    std::memcpy(state.result, data, state.bytes);
    window_used_ -= state.charged;
    deliver(completion);
    if (!sending_.empty()) pump();
    return;
  }
  stream& s = *state.pieces;
  unsigned const slot = head.slot;
  if (s.relays()) {
    send_on(s, slot, data);
    return;
  }
  s.what.scatter(s.pieces[slot].at, data);
  piece_done(&s, slot);
}

void remote_memory::changed(std::int32_t /*source*/, std::byte* payload) {
  auto const answer = remote::read_at<remote::atomic_answer>(payload);
  copy_completion* const completion = completion_of(answer.cookie);
  remote::operation_state const& state = remote::state_of(completion);
  if (state.result != nullptr) std::memcpy(state.result, &answer.value, state.bytes);
  deliver(completion);
}

void remote_memory::settle(bool (*progress)()) const {
  waiting_note const note(activity::rma);
  wait_while([this] { return engine_.open.owed() + engine_.open.awaited() != 0; }, progress);
}

void remote_memory::drop_keys() {
  guard const held;
  if (keys_ != nullptr) keys_->drop_keys();
}

void remote_memory::end_of_heap() {
  guard const held;
  if (keys_ != nullptr) keys_->end_of_heap();
}

bool remote_memory::advance() {
  bool moved = acknowledge_late();
  for (copy_completion* const each : std::exchange(undelivered_, {})) {
    if (each->arrived(each)) {
      engine_.open.add_owed(-1);
      count(-1);
      moved = true;
    } else {
      undelivered_.push_back(each);
    }
  }
  return moved;
}

}  // namespace atl::engine
