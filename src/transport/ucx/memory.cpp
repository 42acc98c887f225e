// Memory that peers may reach: keys, put, get, their lists, and atomics.

#include <cstring>

#include "transport/ucx/ucx_network.hpp"

namespace atl::transport::ucx {
namespace {

constexpr std::uint32_t key_mark = 0x4b584355;  // "UCXK"
struct key_head {
  std::uint32_t mark;
  std::uint32_t packed;  ///< bytes that follow
  std::uint64_t begin;   ///< address at the owner
  std::uint64_t bytes;
};

/// Null: host memory, or a kind that UCX does not know.
device_memory const* device_of(memory::kind_id kind) {
  for (device_memory const& each : kinds_of_devices) {
    if (each.kind == kind) return &each;
  }
  return nullptr;
}

/// What UCX has found out itself: it faults where it believes what is not so.
ucs_memory_type_t found_type(ucp_mem_h memory) {
  ucp_mem_attr_t found{};
  found.field_mask = UCP_MEM_ATTR_FIELD_MEM_TYPE;
  return ucp.mem_query(memory, &found) == UCS_OK ? found.mem_type : UCS_MEMORY_TYPE_HOST;
}

}  // namespace

/// libucp orders no message behind a put: the note follows a flush.
started ucx_network::transfer(peer& p, std::span<remote_piece const> far, std::span<local_piece const> near,
                              std::size_t bytes, operation* events, sort what, std::uint64_t const* tag) {
  record* const r = open(p, events, what);
  ++p.memory_out;
  p.sent.note_bulk();
  if (what == sort::put) {
    ++p.memory_started;
    r->notifies = tag != nullptr;
    r->tag = tag != nullptr ? *tag : 0;
    r->flush_follows = r->notifies || (events != nullptr && events->asks(completion::finished));
  }
  if (is_copied(what, near, bytes)) r->memory = blocks_.take(bytes);
  move(r, far, near);
  return seal(r);
}

void ucx_network::move(record* r, std::span<remote_piece const> far, std::span<local_piece const> near) {
  peer const& p = *r->whom;
  std::byte* copy = r->memory != nullptr ? r->memory->begin() : nullptr;
  for_each_run(far, near, [&](remote_place const& place, local_place const& from, std::size_t bytes) {
    void* here = from.address;
    std::uint64_t const there = place.key->begin + place.offset;
    ucp_request_param_t const all = parameters(r, from.memory);
    if (copy != nullptr) {
      here = std::memcpy(copy, here, bytes);
      copy += bytes;
    }
    started_part(r, r->what == sort::put
                        ? ucp.put_nbx(p.endpoint, here, bytes, there, place.key->handle, &all)
                        : ucp.get_nbx(p.endpoint, here, bytes, there, place.key->handle, &all));
    return r->status == UCS_OK;
  });
}

// ---- atomics -------------------------------------------------------------------------------------

ability ucx_network::atomic_support(atomic_op op, atomic_type type) const {
  // UCX knows integers of both lengths, and has no minimum, maximum or product. Since 1.16 it has none at all over TCP
  // between endpoints that notice losses ("cannot find remote protocol"), and says so when they are used only.
  if (!has_atomics_) return {};
  bool const any_bits = op <= atomic_op::compare_exchange && op != atomic_op::load;
  bool const integer = type < atomic_type::float32;
  bool const can =
      any_bits || op == atomic_op::load || (integer && (op == atomic_op::add || op >= atomic_op::bit_and));
  return can ? ability{support::native, true} : ability{};
}

started ucx_network::atomic(std::int32_t rank, remote_place target, atomic_op op, atomic_type type,
                            void const* operands, local_place result, operation* events) {
  if (!atomic_support(op, type)) {
    error_ = "UCX has no such atomic operation";
    return started::unsupported;
  }
  std::size_t const bytes = bytes_of(type);
  peer* p = nullptr;
  if (started const s = ready(rank, p); s != started::complete) return s;
  if (!usable(*p, target, bytes) || (target.key->begin + target.offset) % bytes != 0) {
    error_ = "the word is not aligned, or not inside the key's memory";
    return started::unsupported;
  }
  if (p->memory_out >= most_memory) return started::no_room;
  record* const r = open(*p, events, sort::atomic);
  ++p->memory_out;
  p->sent.note_bulk();
  ++p->memory_started;
  r->width = static_cast<std::uint8_t>(bytes);
  r->result = result.address;
  if (op != atomic_op::load) std::memcpy(&r->operand, operands, bytes);
  bool answers = result.address != nullptr;
  ucp_atomic_op_t how = UCP_ATOMIC_OP_ADD;  // and a load adds 0
  switch (op) {
    case atomic_op::store:
      r->result = nullptr;
      [[fallthrough]];
    case atomic_op::exchange:
      how = UCP_ATOMIC_OP_SWAP;
      answers = true;
      break;
    case atomic_op::compare_exchange:
      // What is expected is the operand; what is to be there comes where the answer goes.
      std::memcpy(&r->reply, static_cast<std::byte const*>(operands) + bytes, bytes);
      how = UCP_ATOMIC_OP_CSWAP;
      answers = true;
      break;
    case atomic_op::bit_and:
      how = UCP_ATOMIC_OP_AND;
      break;
    case atomic_op::bit_or:
      how = UCP_ATOMIC_OP_OR;
      break;
    case atomic_op::bit_xor:
      how = UCP_ATOMIC_OP_XOR;
      break;
    default:
      break;
  }
  ucp_request_param_t all = parameters(r, nullptr);
  all.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
  all.datatype = ucp_dt_make_contig(bytes);
  if (answers) {
    all.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    all.reply_buffer = &r->reply;
  }
  r->flush_follows = !answers && events != nullptr && events->asks(completion::finished);
  started_part(r, ucp.atomic_op_nbx(p->endpoint, how, &r->operand, 1, target.key->begin + target.offset,
                                    target.key->handle, &all));
  return seal(r);
}

// ---- registration --------------------------------------------------------------------------------

registered ucx_network::register_memory(void* begin, std::size_t bytes, memory::kind_id kind, std::int32_t) {
  device_memory const* const device = device_of(kind);
  if (!abilities_.takes(kind)) {
    error_ =
        std::string("UCX takes no memory of ") + (device != nullptr ? device->name : "such") + " devices";
    return {nullptr, error_};
  }
  ucs_memory_type_t const type = device != nullptr ? device->type : UCS_MEMORY_TYPE_HOST;
  ucp_mem_map_params_t how{};
  how.field_mask =
      UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  how.address = begin;
  how.length = bytes;
  how.flags = UCP_MEM_MAP_NONBLOCK;  // pages come when they are used, where the network allows that
  if (device == nullptr) {
    how.field_mask |= UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
    how.memory_type = type;
  }
  auto made =
      std::make_unique<registration>(registration{nullptr, static_cast<std::byte*>(begin), bytes, type});
  if (ucs_status_t const s = ucp.mem_map(context_->handle(), &how, &made->handle); s != UCS_OK) {
    error_ = "UCX cannot register " + std::to_string(bytes) + " bytes: " + words_of(s);
    return {nullptr, error_};
  }
  if (device != nullptr && found_type(made->handle) != type) {
    // A device that is simulated; or UCX was loaded by others, and keeps a list on which this memory is not.
    error_ = std::string("UCX does not find memory of a ") + device->name +
             " device there (UCX_MEMTYPE_CACHE=n has it look)";
    static_cast<void>(ucp.mem_unmap(context_->handle(), made->handle));
    return {nullptr, error_};
  }
  registered_.insert(made.get());
  return {made.release(), {}};
}

void ucx_network::forget(registration* memory) {
  registered_.erase(memory);
  static_cast<void>(ucp.mem_unmap(context_->handle(), memory->handle));
  delete memory;
}

std::size_t ucx_network::export_key(registration const* memory, std::span<std::byte> room) const {
  void* packed = nullptr;
  std::size_t bytes = 0;
  if (ucs_status_t const s = ucp.rkey_pack(context_->handle(), memory->handle, &packed, &bytes);
      s != UCS_OK) {
    error_ = "UCX makes no key: " + words_of(s);
    return 0;
  }
  keys_are_out_ = true;
  key_head const head{key_mark, static_cast<std::uint32_t>(bytes),
                      reinterpret_cast<std::uintptr_t>(memory->begin), memory->bytes};
  std::size_t const all = sizeof head + bytes;
  if (all <= room.size()) {
    std::memcpy(room.data(), &head, sizeof head);
    std::memcpy(room.data() + sizeof head, packed, bytes);
  } else {
    error_ =
        "a key of UCX's has " + std::to_string(bytes) + " bytes; name fewer devices in ATOLL_NET_DEVICES";
  }
  ucp.rkey_buffer_release(packed);
  return all <= room.size() ? all : 0;
}

imported ucx_network::import_key(std::int32_t rank, std::span<std::byte const> key) {
  peer* p = nullptr;
  if (started const s = ready(rank, p); s != started::complete) return {s, nullptr};
  key_head head{};
  if (key.size() >= sizeof head) std::memcpy(&head, key.data(), sizeof head);
  if (head.mark != key_mark || key.size() < sizeof head + head.packed) {
    error_ = "that is no key of a network over UCX";
    return {started::unsupported, nullptr};
  }
  auto made = std::make_unique<remote_key>(remote_key{nullptr, head.begin, head.bytes, rank, p->generation});
  ucs_status_t const s = ucp.ep_rkey_unpack(p->endpoint, key.data() + sizeof head, &made->handle);
  if (s != UCS_OK) {
    error_ = "UCX does not take the key: " + words_of(s);
    return {started::unsupported, nullptr};
  }
  keys_.insert(made.get());
  return {started::complete, made.release()};
}

void ucx_network::drop_key(std::int32_t /*rank*/, remote_key* key) {
  keys_.erase(key);
  ucp.rkey_destroy(key->handle);
  delete key;
}

}  // namespace atl::transport::ucx
