// The owner's side: its memory is read and written for others, after a look whether that may be touched.

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <optional>
#include <string>

#include <atoll/engine/job.hpp>
#include <atoll/engine/strided.hpp>

#include "base/copy_watched.hpp"
#include "base/error.hpp"
#include "engine/progress/flags.hpp"
#include "engine/progress/messages.hpp"
#include "engine/progress/peer_order.hpp"
#include "engine/rma/remote_memory.hpp"
#include "memory/host/host_heap.hpp"
#include "transport/message_pool.hpp"

namespace atl::engine {

using remote::form;
using remote::notice_trailer;
using remote::piece_head;
using remote::refusal;

namespace {

/// Handler. Ends the job: the owner of the memory has refused.
void refused(message* m) {
  auto const no = remote::read_at<refusal>(m->payload());
  auto* const completion = reinterpret_cast<copy_completion*>(static_cast<std::uintptr_t>(no.to.cookie));
  char const* const call =
      no.to.cookie == remote::nobody_waits ? "atl::transfer" : remote::state_of(completion).call;
  if (no.offset == 0) fatal(call, "rank %d has given a null global pointer", job.rank_me);
  switch (no.reason) {
    case refusal::why::outside:
      fatal(call,
            "rank %d has asked for %" PRIu64 " bytes at offset 0x%" PRIx64
            " of rank %d's host memory, outside of the shared heap there, which has offsets 0x%" PRIx64
            " to 0x%" PRIx64 ": the pointer was moved too far, or the count is too large",
            job.rank_me, no.bytes, no.offset, no.owner, no.heap_begin, no.heap_end);
    case refusal::why::no_memory:
      fatal(call,
            "rank %d has asked for %" PRIu64 " bytes at offset 0x%" PRIx64
            " of rank %d's shared heap, where nothing has been allocated, so that no memory is there: the "
            "pointer was moved too far, or the count is too large",
            job.rank_me, no.bytes, no.offset, no.owner);
    case refusal::why::misaligned:
      fatal(call,
            "rank %d has asked for an operation on %" PRIu64 " bytes at offset 0x%" PRIx64
            " of rank %d's host memory, which are not aligned",
            job.rank_me, no.bytes, no.offset, no.owner);
  }
}

/// Data of a put with a call that is longer are put in place before memory is taken for the call.
constexpr std::size_t shortest_apart = transport::pooled_room[2];

/// Is that in the shared heap of whichever rank?
bool is_in_heap(std::uint64_t offset, std::uint64_t bytes) noexcept {
  return offset >= hosts.heap_begin && offset <= hosts.heap_end && bytes <= hosts.heap_end - offset;
}

/// Why [offset, offset + bytes) of this rank must not be touched.
ATOLL_COLD refusal why_not(std::uint64_t offset, std::uint64_t bytes) {
  refusal no{{}, offset, bytes, hosts.heap_begin, hosts.heap_end, refusal::why::outside};
  if (is_in_heap(offset, bytes)) no.reason = refusal::why::no_memory;
  return no;
}

/// May [offset, offset + bytes) of this rank be touched?
bool may_touch(std::uint64_t offset, std::uint64_t bytes) noexcept {
  return is_in_heap(offset, bytes) && (bytes == 0 || memory::host_heap().backed(offset, bytes));
}

/// Why not, if so.
std::optional<refusal> look_at(std::uint64_t offset, std::uint64_t bytes) {
  if (may_touch(offset, bytes)) [[likely]]
    return std::nullopt;
  return why_not(offset, bytes);
}

/// The same for a cell of so many bytes.
std::optional<refusal> look_at_cell(std::uint64_t offset, std::uint8_t bytes) {
  auto no = look_at(offset, bytes);
  if (!no && offset % bytes != 0) no = refusal{{}, offset, bytes, 0, 0, refusal::why::misaligned};
  return no;
}

/// The same for a box, whose index 0 is at the head's offset.
std::optional<refusal> look_at_box(piece_head const& head, std::byte const* description) {
  __extension__ using wide = __int128;
  wide low = head.offset;
  wide high = low + static_cast<wide>(remote::read_at<std::uint64_t>(description));
  for (std::size_t d = 0; d < head.count; ++d) {
    auto const each = remote::read_at<remote::box_dimension>(description + sizeof(std::uint64_t) +
                                                             d * sizeof(remote::box_dimension));
    wide const far = static_cast<wide>(each.stride) * static_cast<wide>(each.extent - 1);
    (far < 0 ? low : high) += far;
  }
  if (low < 0 || high > static_cast<wide>(~std::uint64_t{0})) return look_at(~std::uint64_t{0}, 1);
  return look_at(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high - low));
}

std::optional<refusal> look_at_all(piece_head const& head, std::byte const* description) {
  if (head.shape == form::contiguous) return look_at(head.offset, head.bytes);
  if (head.shape == form::box) return look_at_box(head, description);
  for (std::size_t i = 0; i < head.count; ++i) {
    auto const run = remote::read_at<transfer_run>(description + i * sizeof(transfer_run));
    if (auto no = look_at(run.at, run.bytes)) return no;
  }
  return std::nullopt;
}

void refuse(std::int32_t initiator, std::uint64_t cookie, refusal no, std::int32_t owner = job.rank_me) {
  no.to.cookie = cookie;
  no.owner = owner;
  am_short(initiator, token_cache<&refused>::get(), &no, sizeof no, pressure::always);
}

void acknowledge(std::int32_t initiator, remote::answer_head const& answer) {
  if (answer.cookie == remote::nobody_waits) return;
  am_acknowledge(initiator, remote::token_for<&remote_memory::acknowledged>(), &answer, sizeof answer);
}

/// Ends the job: what the network alone may do it cannot do, and the place is a good one.
[[noreturn]] void no_key_for_atomic(network_messages& network, key_exchange& keys, std::int32_t initiator,
                                    remote::atomic_order const& order) {
  std::string const& why = keys.refusal();
  fatal(
      "atomic_domain",
      "rank %d has asked for an atomic operation on %d bytes at offset 0x%" PRIx64
      " of this rank's host memory, and the network %s has no key for them: %s. As its operations are not atomic with those "
      "of processors it does all of them; ATOLL_NETWORK_ATOMICS=no leaves all to processors",
      initiator, order.what.bytes, order.offset, std::string(network.transport().name()).c_str(),
      why.empty() ? network.transport().last_error().c_str() : why.c_str());
}

std::byte* own_memory(std::uint64_t offset) noexcept {
  host_domain const& host = progress_engine::here().host;
  return host.at(host.me(), offset);
}

/// Moves data between the places of a piece in this rank's memory and their packed form.
void move(piece_head const& head, std::byte const* description, std::byte* packed, bool in) {
  auto const copy = [in](std::byte* mine, std::byte* beside, std::size_t bytes) {
    copy_watched(in ? mine : beside, in ? beside : mine, bytes);
  };
  switch (head.shape) {
    case form::contiguous:
      copy(own_memory(head.offset), packed, head.bytes);
      break;
    case form::runs:
      for (std::size_t i = 0; i < head.count; ++i) {
        auto const run = remote::read_at<transfer_run>(description + i * sizeof(transfer_run));
        copy(own_memory(run.at), packed, run.bytes);
        packed += run.bytes;
      }
      break;
    case form::box: {
      constexpr std::size_t most = 16;
      std::ptrdiff_t mine[most] = {};
      std::ptrdiff_t beside[most] = {};
      std::size_t extents[most] = {};
      std::size_t const run = remote::read_at<std::uint64_t>(description);
      auto next = static_cast<std::ptrdiff_t>(run);
      std::size_t const dimensions = std::min<std::size_t>(head.count, most);
      for (std::size_t d = 0; d < dimensions; ++d) {
        auto const each = remote::read_at<remote::box_dimension>(description + sizeof(std::uint64_t) +
                                                                 d * sizeof(remote::box_dimension));
        mine[d] = each.stride;
        extents[d] = each.extent;
        beside[d] = next;
        next *= static_cast<std::ptrdiff_t>(each.extent);
      }
      std::byte* const first = own_memory(head.offset);
      if (in) {
        copy_strided(first, mine, packed, beside, extents, dimensions, run);
      } else {
        copy_strided(packed, beside, first, mine, extents, dimensions, run);
      }
      break;
    }
  }
}

}  // namespace

bool remote_memory::put(std::int32_t source, piece_head const& head, std::byte* description) {
  if (head.shape == form::contiguous && may_touch(head.offset, head.bytes)) [[likely]] {
    copy_watched(own_memory(head.offset), description, head.bytes);
    return true;
  }
  if (auto const no = look_at_all(head, description)) {
    refuse(source, head.cookie, *no);
    return false;
  }
  move(head, description, description + remote::description_bytes(head), true);
  return true;
}

void remote_memory::serve_put(std::int32_t source, std::byte* payload) {
  auto const head = remote::read_at<piece_head>(payload);
  if (put(source, head, payload + sizeof head)) acknowledge(source, {head.cookie, head.slot});
}

void remote_memory::serve_put_series(std::int32_t source, std::byte* payload) {
  auto const head = remote::read_at<remote::put_series>(payload);
  std::byte const* items = payload + sizeof head;
  for (std::uint32_t i = 0; i < head.count; ++i) {
    auto const offset = remote::read_at<std::uint64_t>(items);
    if (auto const no = look_at(offset, head.bytes)) return refuse(source, head.cookie, *no);
    copy_watched(own_memory(offset), items + sizeof offset, head.bytes);
    items += remote::series_item_bytes(head.bytes);
  }
  acknowledge(source, {head.cookie, 0, head.count});
}

void remote_memory::serve_put_with_notice(message* m) {
  auto const trailer = remote::read_at<notice_trailer>(m->base + m->bytes - sizeof(notice_trailer));
  auto const head = remote::read_at<piece_head>(m->base + trailer.head);
  std::int32_t const source = m->source;
  if (!put(source, head, m->base + trailer.head + sizeof head)) {
    release(m);
    return;
  }
  if (trailer.flag != 0) {
    release(m);
    raise_flag_here(engine_.host.me(), trailer.flag, trailer.value);
  } else {
    m->kind = message_kind::request;
    m->token = trailer.value;
    static_cast<void>(engine_.shm.charge(m));
    engine_.network->note_call_taken();
    message_sink(m);
    if (!engine_.shm.memory().admits_arrival(0)) {
      late_.push_back({source, {head.cookie, head.slot}});
      count(1);
      return;
    }
  }
  acknowledge(source, {head.cookie, head.slot});
}

/// Each part is for a rank of this host, whose flag nobody else raises.
void remote_memory::serve_parts(std::int32_t source, std::byte* payload) {
  auto const count = remote::read_at<remote::part_count>(payload);
  std::byte const* data = payload + sizeof count;
  host_domain const& host = engine_.host;
  for (remote::part_count i = 0; i < count; ++i) {
    auto const head = remote::read_at<remote::part_head>(data);
    data += sizeof head;
    std::uint32_t const local = host.local_rank(head.rank);
    // Only its owner knows where a heap has memory; ranks of a host copy to each other without asking.
    bool const fits = local == host.me() ? may_touch(head.offset, head.bytes)
                                         : local != host_domain::none && is_in_heap(head.offset, head.bytes);
    if (!fits) [[unlikely]]
      return refuse(source, remote::nobody_waits, why_not(head.offset, head.bytes), head.rank);
    copy_watched(host.at(local, head.offset), data, head.bytes);
    raise_flag_here(local, head.flag, 1);
    data += head.bytes;
  }
}

template <auto... Handle>
bool remote_memory::handled_by(function_token token, std::int32_t source, std::byte* payload) {
  return ((token == remote::token_for<Handle>() && ((this->*Handle)(source, payload), true)) || ...);
}

std::size_t remote_memory::serve_where_it_lies(std::int32_t source, function_token token, std::byte* begin,
                                               std::size_t bytes) {
  came_from_peers();
  if (handled_by<&remote_memory::serve_put, &remote_memory::acknowledged, &remote_memory::serve_get,
                 &remote_memory::fetched, &remote_memory::serve_atomic, &remote_memory::changed,
                 &remote_memory::serve_put_series, &remote_memory::serve_atomic_series,
                 &remote_memory::changed_series, &remote_memory::serve_parts>(token, source,
                                                                              begin + header_bytes))
    return 0;
  if (token != remote::put_with_notice_token()) return bytes;
  std::byte* const trailer_at = begin + bytes - sizeof(notice_trailer);
  auto const trailer = remote::read_at<notice_trailer>(trailer_at);
  std::byte* const head_at = begin + trailer.head;
  auto head = remote::read_at<piece_head>(head_at);
  // A short one becomes the call as it is.
  if (trailer.flag == 0 && head.bytes <= shortest_apart) return bytes;
  if (!put(source, head, head_at + sizeof head)) return 0;
  if (trailer.flag == 0) {
    // What is left is a put of nothing.
    head.bytes = head.count = 0;
    head.shape = form::contiguous;
    remote::write_at(head_at, head);
    std::memmove(head_at + sizeof head, trailer_at, sizeof trailer);
    return trailer.head + sizeof head + sizeof trailer;
  }
  raise_flag_here(engine_.host.me(), trailer.flag, trailer.value);
  acknowledge(source, {head.cookie, head.slot});
  return 0;
}

bool remote_memory::acknowledge_late() {
  if (late_.empty() || !engine_.shm.memory().admits_arrival(0)) return false;
  for (late_acknowledgement const& each : late_) acknowledge(each.initiator, each.answer);
  count(-static_cast<std::ptrdiff_t>(late_.size()));
  late_.clear();
  return true;
}

void remote_memory::serve_get(std::int32_t source, std::byte* payload) {
  auto const head = remote::read_at<piece_head>(payload);
  std::byte const* const description = payload + sizeof head;
  bool const plain = head.shape == form::contiguous && may_touch(head.offset, head.bytes);
  if (!plain) {
    if (auto const no = look_at_all(head, description)) return refuse(source, head.cookie, *no);
  }
  remote::answer_head const answer{head.cookie, head.slot};
  if (plain && head.bytes == sizeof(std::uint64_t)) {
    std::uint64_t words[3] = {answer.cookie, answer.slot | std::uint64_t{answer.count} << 32};
    copy_watched(&words[2], own_memory(head.offset), sizeof(std::uint64_t));
    return am_short_unordered(source, remote::token_for<&remote_memory::fetched>(), words, sizeof words);
  }
  std::size_t const bytes = header_bytes + sizeof answer + head.bytes;
  outgoing out;
  am_begin_unordered(out, source, bytes, pressure::always);
  remote::write_at(out.begin + header_bytes, answer);
  std::byte* const data = out.begin + header_bytes + sizeof answer;
  if (plain) [[likely]] {
    copy_watched(data, own_memory(head.offset), head.bytes);
  } else {
    move(head, description, data, false);
  }
  am_commit(out, message_kind::active, remote::token_for<&remote_memory::fetched>(), bytes);
}

void remote_memory::serve_atomic(std::int32_t source, std::byte* payload) {
  auto const order = remote::read_at<remote::atomic_order>(payload);
  if (auto const no = look_at_cell(order.offset, order.what.bytes)) return refuse(source, order.cookie, *no);
  if (order.what.by == atomics_by::network_alone) no_key_for_atomic(*engine_.network, *keys_, source, order);
  remote::atomic_answer const answer{order.cookie, atomic_applier(own_memory(order.offset), order.what)};
  am_short_unordered(source, remote::token_for<&remote_memory::changed>(), &answer, sizeof answer);
}

void remote_memory::serve_atomic_series(std::int32_t source, std::byte* payload) {
  auto const head = remote::read_at<remote::atomic_series>(payload);
  std::byte const* items = payload + sizeof head;
  atomic_request what = head.what;
  std::byte answer[sizeof(remote::answer_head) + remote::most_atomics * sizeof(remote::fetched_item)];
  std::byte* value_at = answer + sizeof(remote::answer_head);
  for (std::uint32_t i = 0; i < head.count; ++i, items += sizeof(remote::atomic_item)) {
    auto const item = remote::read_at<remote::atomic_item>(items);
    if (auto const no = look_at_cell(item.offset, what.bytes)) return refuse(source, head.cookie, *no);
    std::memcpy(what.operands, item.operands, sizeof what.operands);
    std::uint64_t const value = atomic_applier(own_memory(item.offset), what);
    remote::write_at(value_at, remote::fetched_item{item.result, value});
    value_at += sizeof(remote::fetched_item);
  }
  remote::answer_head const done{head.cookie, what.bytes, head.count};
  if (head.fetches == 0) return acknowledge(source, done);
  remote::write_at(answer, done);
  am_short_unordered(source, remote::token_for<&remote_memory::changed_series>(), answer,
                     static_cast<std::size_t>(value_at - answer));
}

}  // namespace atl::engine
