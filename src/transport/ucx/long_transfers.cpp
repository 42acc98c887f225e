// Long puts and gets over TCP, as payloads that their receiver fetches.
//
// There libucp copies what ucp_put_nbx and ucp_get_nbx move once more at both ends. A payload that its receiver has asked for moves
// between the wire and its place at once.
//
//   put   ──long_put, payload──> fetched into its place ──placed──>
//   get   ──want──> <──long_data, payload── fetched into its place
//
// Since 1.16, where libucp chooses ways by other rules, that gains little, and what is being fetched from a peer that is lost does not end.
//
// Where the place is not in memory that this rank has registered, the answer is `refused`.

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/ucx/ucx_network.hpp"

namespace atl::transport::ucx {
namespace {

/// From here on a payload that is fetched is quicker, although it takes one more way.
constexpr std::size_t long_from = std::size_t{256} << 10;

struct transfer_head {
  std::uint64_t name;     ///< the record of who has begun it
  std::uint64_t address;  ///< at the owner
  std::uint64_t bytes;
};

record* record_named(std::uint64_t name) {
  return reinterpret_cast<record*>(static_cast<std::uintptr_t>(name));
}

transfer_head head_of(std::span<std::byte const> body) {
  transfer_head head{};
  std::memcpy(&head, body.data(), std::min(body.size(), sizeof head));
  return head;
}

void* own_memory(transfer_head const& head) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(head.address));
}

}  // namespace

bool ucx_network::is_long(std::span<remote_piece const> far, std::span<local_piece const> near) const {
  if (!fetches_long_ || far.size() != 1 || near.size() != 1 || far[0].bytes < long_from) return false;
  registration const* const memory = near[0].place.memory;
  return memory == nullptr || memory->type == UCS_MEMORY_TYPE_HOST;
}

/// The record is open, and its connection stands.
void ucx_network::begin_long(record* r, remote_piece const& far, void* near) {
  peer& p = *r->whom;
  ++r->parts;  // the answer
  p.unanswered.insert(r);
  transfer_head const head{reinterpret_cast<std::uintptr_t>(r), far.place.key->begin + far.place.offset,
                           far.bytes};
  if (r->what == sort::long_get) {
    r->result = near;
    say_word(p, wire::want, std::as_bytes(std::span(&head, 1)));
  } else {
    ++p.long_puts;
    send_payload(r, wire::long_put, std::as_bytes(std::span(&head, 1)), near, far.bytes, nullptr);
  }
  // Nobody will answer what has not been sent.
  if (r->status != UCS_OK && p.unanswered.erase(r) != 0) --r->parts;
}

/// `memory`: that the payload lies in; null: the host's.
void ucx_network::send_payload(record* r, wire::kind what, std::span<std::byte const> body, void* payload,
                               std::size_t bytes, registration const* memory) {
  std::size_t const header_bytes = write_word(r, what, body);
  ucp_request_param_t all = parameters(r, memory);
  all.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  all.flags = UCP_AM_SEND_FLAG_RNDV;
  started_part(
      r, ucp.am_send_nbx(r->whom->endpoint, long_id, r->memory->begin(), header_bytes, payload, bytes, &all));
}

/// Null: no memory of this rank that peers may reach.
registration const* ucx_network::registered_at(std::uint64_t address, std::uint64_t bytes) const {
  auto const found = std::find_if(registered_.begin(), registered_.end(), [&](registration const* each) {
    auto const begin = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(each->begin));
    return address >= begin && address - begin <= each->bytes && bytes <= each->bytes - (address - begin);
  });
  return found == registered_.end() ? nullptr : *found;
}

void ucx_network::refuse(peer& p, std::uint64_t name) {
  say_word(p, wire::refused, std::as_bytes(std::span(&name, 1)));
}

/// A peer wants memory of this rank.
void ucx_network::serve_long_get(peer& p, std::span<std::byte const> body) {
  transfer_head const head = head_of(body);
  registration const* const memory = registered_at(head.address, head.bytes);
  if (memory == nullptr) return refuse(p, head.name);
  p.sent.note_bulk();
  record* const r = open(p, nullptr, sort::word);
  send_payload(r, wire::long_data, std::as_bytes(std::span(&head, 1)), own_memory(head), head.bytes, memory);
  if (--r->parts == 0) here_done(r);
}

ucs_status_t ucx_network::on_long(void* self, void const* header, std::size_t header_bytes, void* data,
                                  std::size_t bytes, ucp_am_recv_param_t const* how) {
  auto& me = *static_cast<ucx_network*>(self);
  wire w;
  bool const fetched = (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  if (header_bytes < sizeof w + sizeof(transfer_head) || me.target_ == nullptr || !fetched) return UCS_OK;
  std::memcpy(&w, header, sizeof w);
  transfer_head const head =
      head_of({static_cast<std::byte const*>(header) + sizeof w, header_bytes - sizeof w});
  peer* const p = me.connected_by(w);
  if (p == nullptr) return UCS_OK;
  record* r = nullptr;
  registration const* memory = nullptr;
  void* place = nullptr;
  if (w.what == wire::long_put) {
    memory = me.registered_at(head.address, bytes);
    if (memory == nullptr) {
      me.refuse(*p, head.name);
      return UCS_OK;
    }
    place = own_memory(head);
    r = me.open(*p, nullptr, sort::placing);
    r->tag = head.name;
  } else {
    r = me.answered(*p, head.name);
    if (r == nullptr) return UCS_OK;
    place = r->result;
    r->result = nullptr;
  }
  ucp_request_param_t all = parameters(r, memory);
  all.cb.recv_am = &on_received;
  started_part(r, ucp.am_recv_data_nbx(me.context_->worker(), data, place, bytes, &all));
  if (--r->parts == 0) me.here_done(r);
  return UCS_INPROGRESS;
}

/// All of a peer's put is in its place, or cannot be brought there.
void ucx_network::say_placed(record* r) {
  peer& p = *r->whom;
  if (p.endpoint != nullptr && !p.lost) {
    say_word(p, r->status == UCS_OK ? wire::placed : wire::refused, std::as_bytes(std::span(&r->tag, 1)));
  }
  drop(r);
}

/// The record of that name, whose answer has come; its part has still to be counted. Null: there is none.
record* ucx_network::answered(peer& p, std::uint64_t name) {
  auto const found = p.unanswered.find(record_named(name));
  if (found == p.unanswered.end()) return nullptr;
  record* const r = *found;
  p.unanswered.erase(found);
  return r;
}

void ucx_network::take_answer(peer& p, std::uint64_t name, ucs_status_t status) {
  if (record* const r = answered(p, name)) part_done(r, status);
}

/// There is no wire any more to answer by.
void ucx_network::fail_unanswered(peer& p) {
  for (record* const r : std::exchange(p.unanswered, {})) part_done(r, UCS_ERR_CONNECTION_RESET);
}

}  // namespace atl::transport::ucx
