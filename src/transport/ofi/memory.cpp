// Memory that peers may reach: keys, put, get, and their lists.

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "transport/ofi/ofi_network.hpp"
#include "transport/ofi/shares.hpp"
#include "transport/ofi/windows.hpp"

namespace atl::transport::ofi {
namespace {

constexpr std::uint64_t key_mark = 0x31594b49464f;  // "OFIKY1"
struct packed_key {
  std::uint64_t mark;
  std::uint64_t begin;  ///< as libfabric at its owner knows it
  std::uint64_t bytes;
  std::uint64_t key;
};

/// Keys of further devices follow.
constexpr std::size_t longest_key = sizeof(packed_key) + most_further * sizeof(std::uint64_t);

}  // namespace

started ofi_network::transfer(peer& p, std::span<remote_piece const> far, std::span<local_piece const> near,
                              std::size_t bytes, operation* events, sort what, std::uint64_t const* tag) {
  if (bytes >= rails_from && !rails_.empty()) ask_rails(p);
  block* copy = nullptr;
  if (is_copied(what, near, bytes)) {
    copy = small_.take();
    if (copy == nullptr) {
      error_ = "there is no memory for what is put";
      return started::no_room;
    }
  }
  record* const r = open(p, events, what);
  r->memory = copy;
  ++p.memory_out;
  p.sent.note_bulk();
  if (what == sort::put) ++p.puts_out;
  // A message that follows is not shown before the data are there, where that is so; else it is said when they are.
  bool const told_at_once = tag != nullptr && abilities_.put_before_message;
  r->notifies = tag != nullptr && !told_at_once;
  r->tag = tag != nullptr ? *tag : 0;
  move(r, far, near);
  if (told_at_once && p.rail_puts != 0) {  // it does not come behind them
    r->notifies = true;
    return seal(r);
  }
  bool const whole = r->how == outcome::ok;
  started const result = seal(r);
  if (told_at_once && whole) say_word(p, wire::note, std::as_bytes(std::span(tag, 1)));
  return result;
}

void ofi_network::move(record* r, std::span<remote_piece const> far, std::span<local_piece const> near) {
  std::byte* copy = r->memory != nullptr ? r->memory->begin() : nullptr;
  bool first = true;
  for_each_run(far, near, [&](remote_place const& there, local_place const& here, std::size_t bytes) {
    move_run(r, std::exchange(first, false), there, here, bytes, copy);
    if (copy != nullptr) copy += bytes;
    return r->how == outcome::ok;
  });
}

/// One run, over several devices if it is long. `first`: in the operation's own record; `copy`: where a short put is copied to.
void ofi_network::move_run(record* r, bool first, remote_place const& far, local_place const& near,
                           std::size_t bytes, std::byte* copy) {
  std::array<std::uint8_t, most_rails> ways{};
  bool const spread = bytes >= rails_from && on_host(near);
  std::size_t const count = spread ? ways_to(*r->whom, *far.key, ways) : 1;
  for (std::size_t k = 0; k < count && r->how == outcome::ok; ++k) {
    bool const own = first && k == 0;
    record* const run = own ? r : open(*r->whom, nullptr, r->what);
    if (!own) run->parent = r;
    ++r->parts;
    share const part = share_of(bytes, count, k);
    run->near = static_cast<std::byte*>(near.address) + part.begin;
    run->bytes = part.bytes;
    run->far = far.key->begin + far.offset + part.begin;
    run->key = far.key->key;
    run->rail = ways[k];
    if (run->rail != 0) {
      run->key = far.key->further[r->whom->rails->far[run->rail - 1U]];
      if (r->what != sort::get) ++r->whom->rail_puts;
    }
    if (copy == nullptr) {
      enter_local(run, near.memory);
      continue;
    }
    std::memcpy(copy, near.address, bytes);
    run->near = copy;
    run->descriptor = r->memory->descriptor;
    start(run);
  }
}

/// Registers memory of the caller's for one operation. False: error_ says why not.
bool ofi_network::enter(context& on, void const* begin, std::size_t bytes, std::uint64_t access,
                        fid_mr*& memory) {
  int const e = on.enter(begin, bytes, access, memory);
  if (e != 0) error_ = "libfabric cannot register " + std::to_string(bytes) + " bytes: " + words_of(e);
  return e == 0;
}

/// Starts what reads or writes memory of the caller's, which may have to be registered.
void ofi_network::enter_local(record* r, registration const* memory) {
  bool const device = memory != nullptr && !memory->on_host;
  if ((context_->registers_local() || device) && r->bytes != 0) {
    fid_mr* known = nullptr;
    if (memory != nullptr) known = r->rail == 0 ? memory->handle : memory->further[r->rail - 1U];
    if (known == nullptr && r->entered == nullptr &&
        !enter(device_of(r), r->near, r->bytes, FI_READ | FI_WRITE, r->entered)) {
      part_done(r, outcome::refused);
      return;
    }
    r->descriptor = fi_mr_desc(known != nullptr ? known : r->entered);
  }
  start(r);
}

started ofi_network::atomic(std::int32_t, remote_place, atomic_op, atomic_type, void const*, local_place,
                            operation*) {
  error_ = "the network over libfabric has no atomic operations";
  return started::unsupported;
}

// ---- registration --------------------------------------------------------------------------------

registered ofi_network::register_memory(void* begin, std::size_t bytes, memory::kind_id kind,
                                        std::int32_t device) {
  if (!abilities_.takes(kind)) {
    return {nullptr, "libfabric takes no device memory by " + name_of(context_->info())};
  }
  home_of_memory home;
  for (home_of_kind const& each : homes_of_kinds) {
    if (each.kind == kind) home = {each.home, device};
  }
  bool const on_host = home.kind == FI_HMEM_SYSTEM;
  auto made = std::make_unique<registration>(
      registration{nullptr, static_cast<std::byte*>(begin), bytes, on_host, {}});
  constexpr std::uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  if (int const e = context_->enter(begin, bytes, access, made->handle, home); e != 0) {
    error_ = "libfabric cannot register " + std::to_string(bytes) + " bytes" +
             (on_host ? "" : " of a device's memory") + ": " + words_of(e);
    return {nullptr, error_};
  }
  // A device that does not take it is not used for it. GPUs' memory goes over the first.
  for (std::size_t i = 0; on_host && i < rails_.size(); ++i) {
    static_cast<void>(rails_[i].opened->enter(begin, bytes, access, made->further[i]));
  }
  registered_.insert(made.get());
  return {made.release(), {}};
}

void ofi_network::close_memory(registration& memory) {
  for (fid_mr*& each : memory.further) close_object(each);
  close_object(memory.handle);
}

void ofi_network::forget(registration* memory) {
  registered_.erase(memory);
  close_memory(*memory);
  delete memory;
}

std::size_t ofi_network::export_key(registration const* memory, std::span<std::byte> room) const {
  keys_are_out_ = true;
  packed_key const key{key_mark, context_->far_address(memory->begin, memory->begin), memory->bytes,
                       fi_mr_key(memory->handle)};
  if (room.size() < limits_.key_bytes) {
    error_ = "there is no room for a key";
    return 0;
  }
  std::byte* to = room.data();
  std::memcpy(to, &key, sizeof key);
  to += sizeof key;
  for (std::size_t i = 0; i < rails_.size(); ++i, to += sizeof(std::uint64_t)) {
    std::uint64_t const more =
        memory->further[i] != nullptr ? fi_mr_key(memory->further[i]) : FI_KEY_NOTAVAIL;
    std::memcpy(to, &more, sizeof more);
  }
  return limits_.key_bytes;
}

imported ofi_network::import_key(std::int32_t rank, std::span<std::byte const> key) {
  peer* p = nullptr;
  if (started const s = ready(rank, p); s != started::complete) return {s, nullptr};
  packed_key packed{};
  if (key.size() >= sizeof packed) std::memcpy(&packed, key.data(), sizeof packed);
  if (packed.mark != key_mark) {
    error_ = "that is no key of a network over libfabric";
    return {started::unsupported, nullptr};
  }
  auto* const made = new remote_key{packed.begin, packed.bytes, packed.key, rank, p->generation, {}};
  made->further.fill(FI_KEY_NOTAVAIL);
  std::memcpy(made->further.data(), key.data() + sizeof packed,
              std::min(key.size(), longest_key) - sizeof packed);
  keys_.insert(made);
  return {started::complete, made};
}

void ofi_network::drop_key(std::int32_t /*rank*/, remote_key* key) {
  keys_.erase(key);
  delete key;
}

}  // namespace atl::transport::ofi
