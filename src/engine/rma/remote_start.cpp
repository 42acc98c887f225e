// Beginning an operation: what may fail comes first.

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <atoll/base/exceptions.hpp>
#include <atoll/engine/rma.hpp>

#include "base/error.hpp"
#include "bootstrap/bootstrap.hpp"
#include "engine/progress/guard.hpp"
#include "engine/progress/messages.hpp"
#include "engine/rma/remote_memory.hpp"

namespace atl::engine {

using remote::form;
using remote::operation_state;
using remote::piece_head;
using remote::shape;
using remote::stream;

namespace {

/// Of the message of a contiguous put: head and trailer, and what aligns them.
constexpr std::size_t most_beside_data =
    2 * header_bytes + sizeof(piece_head) + sizeof(remote::notice_trailer);

std::int32_t elsewhere(transfer_end const& a, transfer_end const& b) noexcept {
  return a.is_here() ? b.rank : a.rank;
}

/// Puts up to this take the shortest way, up to the second the next one.
constexpr std::size_t brief_put_bytes = 64;
constexpr std::size_t small_put_bytes = 256;

/// A word, mostly: without a call.
void copy_brief(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  if (bytes == sizeof(std::uint64_t)) {
    std::memcpy(to, from, sizeof(std::uint64_t));
  } else {
    std::memcpy(to, from, bytes);
  }
}

/// Does a put that is more than a piece go in one message all the same, as its notice would be late otherwise?
bool leaves_whole(std::int32_t rank, std::size_t bytes, arrival_notice const& notice) {
  progress_engine& engine = progress_engine::here();
  if (!remote_memory::here().direct().tells_late() || engine.shm.reaches(rank)) return false;
  guard const held;
  return engine.network->leaves_whole(rank, most_beside_data + notice.bytes + bytes);
}

}  // namespace

/// The one place where "no memory now" is heard of: puts, gets and atomics are not refused, as no program expects that of them.
/// What is small is kept all the same: the record of who waits for it is larger, so a limit on messages would not bound what
/// such operations take. False for others: their data wait where they are, for their turn in the window.
bool remote_start::begin_message(std::int32_t rank, std::size_t bytes, std::size_t alignment) {
  constexpr std::size_t small_bytes = 256;
  try {
    am_begin_unordered(out_, rank, bytes, when_full_, alignment);
  } catch (bad_shared_alloc const&) {
    if (bytes > small_bytes) return false;
    am_begin_unordered(out_, rank, bytes, pressure::always, alignment);
  }
  return true;
}

// What is brief is written here first, and into the network's memory when nothing else is left to do. There it would have to wait for a line at
// which the reader looks, and whatever this core stores meanwhile, anywhere, behind it: processors hold some 48 to 64 stores, and then they
// wait, too. A record, a promise and the calls on the way are more than that.

/// All of the payload but the data.
void remote_start::be_brief(std::int32_t rank, function_token token, std::uint64_t offset, std::uint64_t word,
                            std::size_t bytes) noexcept {
  out_.target = rank;
  token_ = token;
  brief_[1] = offset;
  brief_[2] = word;
  brief_bytes_ = static_cast<std::uint32_t>(bytes);
}

/// The usual short put.
void remote_start::put_briefly(transfer_end const& to, transfer_end const& from,
                               std::uint32_t bytes) noexcept {
  static_assert(sizeof(piece_head) + brief_put_bytes <= sizeof brief_);
  copy_brief(reinterpret_cast<std::byte*>(&brief_[3]),
             reinterpret_cast<std::byte const*>(static_cast<std::uintptr_t>(from.at)), bytes);
  be_brief(to.rank, remote::token_for<&remote_memory::serve_put>(), to.at,
           remote::contiguous_head_word(bytes), sizeof(piece_head) + bytes);
  bytes_ = bytes;
  source_left_ = true;
}

void remote_start::send_brief(copy_completion* completion) noexcept {
  brief_[0] = reinterpret_cast<std::uintptr_t>(completion);
  if (am_at_once(out_.target, token_, brief_, brief_bytes_)) [[likely]]
    return;
  std::size_t const bytes = header_bytes + brief_bytes_;
  try {
    static_cast<void>(begin_message(out_.target, bytes, buffer_alignment));  // small
  } catch (std::bad_alloc const&) {
    // Promises count on it already.
    fatal("rma",
          "the system has no memory left for a %zu-byte message to rank %d. Give the ranks more memory.",
          bytes, out_.target);
  }
  std::memcpy(out_.begin + header_bytes, brief_, brief_bytes_);
  am_commit(out_, message_kind::active, token_, bytes);
}

/// The usual small put, written where it leaves from. False: there is no memory for its message.
bool remote_start::put_whole(transfer_end const& to, transfer_end const& from, std::uint32_t bytes) {
  constexpr std::size_t data_at = header_bytes + sizeof(piece_head);
  if (!begin_message(to.rank, data_at + bytes, buffer_alignment)) return false;
  // The completion follows in start().
  remote::write_at(out_.begin + header_bytes + offsetof(piece_head, offset), to.at);
  remote::write_at(out_.begin + header_bytes + offsetof(piece_head, bytes),
                   remote::contiguous_head_word(bytes));
  std::memcpy(out_.begin + data_at, reinterpret_cast<std::byte const*>(static_cast<std::uintptr_t>(from.at)),
              bytes);
  token_ = remote::token_for<&remote_memory::serve_put>();
  head_at_ = header_bytes;
  message_bytes_ = data_at + bytes;
  bytes_ = bytes;
  source_left_ = true;
  engaged_ = true;
  return true;
}

/// A get in one message. False: the window has no room for its answer.
bool remote_start::get_whole(transfer_end const& to, transfer_end const& from, std::uint32_t bytes) {
  if (guard const held; !remote_memory::here().has_room(bytes)) return false;
  be_brief(from.rank, remote::token_for<&remote_memory::serve_get>(), from.at,
           remote::contiguous_head_word(bytes), sizeof(piece_head));
  bytes_ = bytes;
  result_ = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(to.at));
  charges_ = true;
  return true;
}

void remote_start::contiguous(transfer_end to, transfer_end from, std::size_t bytes,
                              arrival_notice const& notice) {
  note_call(activity::rma, elsewhere(to, from));
  bool const put = from.is_here();
  bool const told = notice.what != arrival_notice::sort::none;
  bool const more = source_awaited_ || told;
  bool const large = remote_memory::here().direct().is_large_enough(to, from, {bytes, 1}, more);
  if (put && bytes <= small_put_bytes && !told && !large && !in_pieces_) [[likely]] {
    if (bytes <= brief_put_bytes) return put_briefly(to, from, static_cast<std::uint32_t>(bytes));
    if (put_whole(to, from, static_cast<std::uint32_t>(bytes))) return;
  }
  bool const whole =
      bytes > remote_piece_bytes && put && told && !in_pieces_ && leaves_whole(to.rank, bytes, notice);
  if (!whole && large) {
    if (shape all = shape::contiguous(to, from, bytes); begin_directly(all, notice, more)) return;
  }
  bool const one_message = whole || (!in_pieces_ && bytes <= remote_piece_bytes && (put || to.is_here()));
  if (one_message && !put && get_whole(to, from, static_cast<std::uint32_t>(bytes))) return;
  if (!one_message || !put) {
    stream_ = new stream(shape::contiguous(to, from, bytes), notice, call_);
    return;
  }
  piece_head const head{0, to.at, static_cast<std::uint32_t>(bytes), 0, 0, form::contiguous};
  arrival_notice const* const trailer = told ? &notice : nullptr;
  remote::put_layout const layout(head, trailer);
  if (!begin_message(to.rank, layout.end, notice.alignment)) {
    stream_ = new stream(shape::contiguous(to, from, bytes), notice, call_);
    return;
  }
  token_ = remote::write_put(out_.begin, layout, head, trailer);
  calls_ = notice.what == arrival_notice::sort::call;
  std::memcpy(out_.begin + layout.data,
              reinterpret_cast<std::byte const*>(static_cast<std::uintptr_t>(from.at)), bytes);
  head_at_ = layout.head;
  message_bytes_ = layout.end;
  source_left_ = true;
  bytes_ = head.bytes;
  engaged_ = true;
}

void remote_start::runs(transfer_end to, std::span<transfer_run const> to_runs, transfer_end from,
                        std::span<transfer_run const> from_runs, arrival_notice const& notice) {
  note_call(activity::rma, elsewhere(to, from));
  in_pieces(shape::of_runs(to, {to_runs.begin(), to_runs.end()}, from, {from_runs.begin(), from_runs.end()}),
            notice);
}

void remote_start::box(transfer_end to, std::ptrdiff_t const* to_strides, transfer_end from,
                       std::ptrdiff_t const* from_strides, std::size_t const* extents, std::size_t dimensions,
                       std::size_t element_bytes, arrival_notice const& notice) {
  note_call(activity::rma, elsewhere(to, from));
  in_pieces(shape::of_box(to, to_strides, from, from_strides, extents, dimensions, element_bytes), notice);
}

void remote_start::in_pieces(shape&& what, arrival_notice const& notice) {
  if (!begin_directly(what, notice, true)) stream_ = new stream(std::move(what), notice, call_);
}

/// Leaves it to the network if that is better; else `what` stays. `more`: see direct_transfers::prefers().
bool remote_start::begin_directly(shape& what, arrival_notice const& notice, bool more) {
  if (guard const held; !remote_memory::here().direct().prefers(what, more)) return false;
  stream_ = new stream(std::move(what), notice, call_);
  stream_->direct = true;
  return true;
}

void remote_start::atomic(host_address const& cell, atomic_request const& what) {
  auto const rank = static_cast<std::int32_t>(cell.rank);
  note_call(activity::rma, rank);
  bytes_ = what.bytes;
  if (what.by != atomics_by::processors) {
    guard const held;
    by_network_ = remote_memory::here().atomics().prepare(cell, what);
    if (by_network_ != nullptr) return;
  }
  static_assert(sizeof(remote::atomic_order) <= sizeof brief_ &&
                offsetof(remote::atomic_order, offset) == 8 && offsetof(remote::atomic_order, what) == 16 &&
                offsetof(atomic_request, operands) == 8);
  std::uint64_t first;
  std::memcpy(&first, &what, sizeof first);
  be_brief(rank, remote::token_for<&remote_memory::serve_atomic>(), cell.offset, first,
           sizeof(remote::atomic_order));
  brief_[3] = what.operands[0];
  brief_[4] = what.operands[1];
}

void remote_start::start(copy_completion* completion, void* result) noexcept {
  static_assert(offsetof(piece_head, cookie) == 0 && offsetof(remote::atomic_order, cookie) == 0);
  if (result != nullptr) result_ = static_cast<std::byte*>(result);
  stream* const pieces = std::exchange(stream_, nullptr);
  // Not as a second number of bytes: loaded together with the first, which has been stored alone just now, it would wait until all
  // stores before that have left for the cache, those into the peer's memory included.
  std::uint32_t const charged = charges_ ? bytes_ : 0;
  ::new (completion->under_way) operation_state{pieces, result_, call_, bytes_, charged, out_.target};
  remote_memory& all = remote_memory::here();
  if (pieces != nullptr) {
    pieces->completion = completion;
    if (result != nullptr) pieces->what.set_address(result);
    guard const held;
    all.begin(pieces);
    return;
  }
  if (by_network_ != nullptr) {
    guard const held;
    all.begin(charged);
    all.atomics().begin(std::exchange(by_network_, nullptr), completion);
    return;
  }
  if (brief_bytes_ != 0) {
    {
      guard const held;
      all.begin(charged);
    }
    return send_brief(completion);
  }
  remote::write_at(out_.begin + head_at_, reinterpret_cast<std::uintptr_t>(completion));
  {
    guard const held;
    all.begin(charged);
    if (calls_) all.note_call_sent();
  }
  engaged_ = false;
  am_commit(out_, message_kind::active, token_, message_bytes_);
}

namespace {
/// The longest message of the engine's that the network takes as it is; 0: the way to that rank is not the network.
std::size_t longest_in_place(std::uint32_t rank) {
  progress_engine& engine = progress_engine::here();
  auto const target = static_cast<std::int32_t>(rank);
  if (engine.network == nullptr || engine.shm.reaches(target)) return 0;
  guard const held;
  return engine.network->transport().sizes(target, transport::lane::control).in_place;
}
}  // namespace

bool flagged_put::best_cut(std::uint32_t rank, std::size_t bytes) {
  if (bytes <= unit) return false;
  std::size_t const whole = longest_in_place(rank);
  return whole >= most_beside_data + unit && whole < most_beside_data + bytes;
}

flagged_put::flagged_put(host_address const& to, std::size_t bytes, host_address const& flag) {
  auto const rank = static_cast<std::int32_t>(to.rank);
  note_call(activity::rma, rank);
  arrival_notice notice;
  notice.what = arrival_notice::sort::flag;
  notice.flag = flag.offset;
  notice.raise = units(bytes);
  piece_head const head{remote::nobody_waits, to.offset, static_cast<std::uint32_t>(bytes), 0, 0,
                        form::contiguous};
  remote::put_layout const layout(head, &notice);
  am_begin_data(out_, rank, layout.end, pressure::always);
  token_ = remote::write_put(out_.begin, layout, head, &notice);
  data_ = out_.begin + layout.data;
  message_bytes_ = layout.end;
}

void flagged_put::send() noexcept { am_commit(out_, message_kind::active, token_, message_bytes_); }

std::size_t flagged_puts::longest(std::uint32_t rank) {
  constexpr std::size_t before_parts = sizeof(remote::part_count);
  std::size_t const in_place = longest_in_place(rank);
  if (in_place < before_parts || !progress_engine::here().network->bundles()) return 0;
  return std::min(in_place - before_parts, flagged_put::unit);
}

std::int32_t flagged_puts::host_of(std::uint32_t rank) {
  return bootstrap::attach().where().host_of(static_cast<std::int32_t>(rank));
}

flagged_puts::flagged_puts(std::uint32_t rank, std::size_t parts, std::size_t room) {
  auto const target = static_cast<std::int32_t>(rank);
  note_call(activity::rma, target);
  message_bytes_ = header_bytes + sizeof(remote::part_count) + room;
  am_begin_data(out_, target, message_bytes_, pressure::always);
  remote::write_at(out_.begin + header_bytes, remote::part_count{parts});
  next_ = out_.begin + header_bytes + sizeof(remote::part_count);
}

std::byte* flagged_puts::add(host_address const& to, std::size_t bytes, host_address const& flag) noexcept {
  remote::write_at(next_, remote::part_head{to.offset, flag.offset, static_cast<std::int32_t>(to.rank),
                                            static_cast<std::uint32_t>(bytes)});
  std::byte* const data = next_ + sizeof(remote::part_head);
  next_ = data + bytes;
  return data;
}

void flagged_puts::send() noexcept {
  am_commit(out_, message_kind::active, remote::token_for<&remote_memory::serve_parts>(), message_bytes_);
}

void remote_start::give_up() noexcept {
  if (engaged_) am_cancel(out_);
  delete stream_;
  network_atomics::give_up(by_network_);
}

}  // namespace atl::engine
