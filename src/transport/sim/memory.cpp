// Put, get, flush, atomics and keys: the side that asks.

#include <algorithm>
#include <cstring>

#include "transport/sim/sim_network.hpp"

namespace atl::transport::sim {
namespace {

constexpr std::uint32_t key_magic = 0x4b655921;
constexpr unsigned most_misses = 4;  ///< by chance, of a connection

struct key_image {
  std::uint32_t magic;
  std::int32_t rank;
  std::uint64_t id;
  std::uint64_t bytes;
};

std::uint64_t sum(std::span<local_piece const> list) {
  std::uint64_t total = 0;
  for (local_piece const& p : list) total += p.bytes;
  return total;
}
std::uint64_t sum(std::span<remote_piece const> list) {
  std::uint64_t total = 0;
  for (remote_piece const& p : list) total += p.bytes;
  return total;
}

piece_list resolve(std::span<local_piece const> list) {
  piece_list result;
  for (local_piece const& p : list) {
    if (p.bytes != 0) result.add({reached(p.place), p.bytes});
  }
  return result;
}

}  // namespace

bool sim_network::usable(peer_record const& to, remote_place const& place, std::uint64_t bytes) const {
  remote_key const* const key = place.key;
  return key != nullptr && key->peer == to.way.rank && key->connection == to.connections &&
         place.offset <= key->bytes && bytes <= key->bytes - place.offset;
}

/// What no registration covers is not reached by a network that needs them, nor what lies beside the one that is named.
bool sim_network::covered(std::span<local_piece const> list) const {
  return std::all_of(list.begin(), list.end(), [this](local_piece const& p) {
    registration const* const memory = p.place.memory;
    if (memory == nullptr) return !how_.registers || p.bytes == 0;
    std::uintptr_t const from =
        reinterpret_cast<std::uintptr_t>(p.place.address) - reinterpret_cast<std::uintptr_t>(memory->begin);
    return from <= memory->bytes && p.bytes <= memory->bytes - from;
  });
}

started sim_network::put(std::int32_t rank, remote_place to, local_place from, std::size_t bytes,
                         operation* events) {
  remote_piece const far{to, bytes};
  local_piece const near{from, bytes};
  return start_put(rank, {&far, 1}, {&near, 1}, nullptr, events);
}

started sim_network::put_notified(std::int32_t rank, remote_place to, local_place from, std::size_t bytes,
                                  std::uint64_t tag, operation* events) {
  if (!abilities_.put_notified) return started::unsupported;
  remote_piece const far{to, bytes};
  local_piece const near{from, bytes};
  return start_put(rank, {&far, 1}, {&near, 1}, &tag, events);
}

started sim_network::put_pieces(std::int32_t rank, std::span<remote_piece const> to,
                                std::span<local_piece const> from, operation* events) {
  if (!abilities_.put_pieces || to.size() > how_.pieces || from.size() > how_.pieces)
    return started::unsupported;
  return start_put(rank, to, from, nullptr, events);
}

started sim_network::start_put(std::int32_t rank, std::span<remote_piece const> to,
                               std::span<local_piece const> from, std::uint64_t const* tag,
                               operation* events) {
  peer_record* with = nullptr;
  if (started const s = ready(rank, with); s != started::complete) return s;
  for (remote_piece const& p : to) {
    if (!usable(*with, p.place, p.bytes)) return started::unsupported;
  }
  if (!how_.put || !covered(from)) return started::unsupported;
  std::size_t const bytes = sum(from);
  if (bytes != sum(to) || bytes > limits_.put_bytes) return started::unsupported;
  if (bytes == 0 && tag == nullptr) return started::complete;
  if (tag == nullptr && refuses_memory(*with, events)) return started::under_way;
  std::size_t const words = tag == nullptr ? 8 : 16;
  if (to.size() == 1 && from.size() == 1 && words + bytes <= wire_.room() && with->jobs == 0) {
    // The common case: one packet.
    slot s;
    if (!wire_.open(s, with->way, remote_queue, words + bytes, may_park(*with))) return started::no_room;
    bool const answered = events != nullptr && events->asks(completion::finished);
    std::uint32_t index = no_operation;
    if (answered) {
      index = open(rank, events, 1);
      operations_[index].source_due = false;
    }
    if (tag == nullptr) {
      write_words(s.body, to[0].place.offset);
    } else {
      write_words(s.body, to[0].place.offset | sure_offset, *tag);
    }
    copy_bytes(s.body + words, reached(from[0].place), bytes);
    ++with->puts_sent;
    wire_.publish(s, with->way, remote_queue, tag == nullptr ? kind::put : kind::put_tagged,
                  two(index, to[0].place.key->id));
    if (!answered) return started::complete;
    return events->asks(completion::source) ? started::source_free : started::under_way;
  }
  job what;
  what.peer = rank;
  what.from = resolve(from);
  for (remote_piece const& p : to) {
    if (p.bytes != 0) what.to.push_back({p.place.key->id, p.place.offset, p.bytes});
  }
  what.total = bytes;
  what.notify = tag != nullptr;
  if (tag != nullptr) {
    what.tag = *tag;
    if (bytes == 0) return started::no_room;  // waits for its turn behind what is being sent
  }
  return start_job(std::move(what), *with, events);
}

started sim_network::get(std::int32_t rank, local_place to, remote_place from, std::size_t bytes,
                         operation* events) {
  remote_piece const far{from, bytes};
  local_piece const near{to, bytes};
  return start_get(rank, {&near, 1}, {&far, 1}, events);
}

started sim_network::get_pieces(std::int32_t rank, std::span<local_piece const> to,
                                std::span<remote_piece const> from, operation* events) {
  if (!abilities_.get_pieces || to.size() > how_.pieces || from.size() > how_.pieces)
    return started::unsupported;
  return start_get(rank, to, from, events);
}

started sim_network::start_get(std::int32_t rank, std::span<local_piece const> to,
                               std::span<remote_piece const> from, operation* events) {
  peer_record* with = nullptr;
  if (started const s = ready(rank, with); s != started::complete) return s;
  for (remote_piece const& p : from) {
    if (!usable(*with, p.place, p.bytes)) return started::unsupported;
  }
  if (!how_.get || !covered(to)) return started::unsupported;
  std::uint64_t const bytes = sum(to);
  if (bytes != sum(from) || bytes > limits_.get_bytes) return started::unsupported;
  if (bytes == 0) return started::complete;
  if (refuses_memory(*with, events)) return started::under_way;
  std::uint32_t index = no_operation;
  std::uint64_t place = 0;
  for (remote_piece const& p : from) {
    if (p.bytes == 0) continue;
    slot s;
    bool const first = index == no_operation;
    if (!wire_.open(s, with->way, remote_queue, 24, !first || may_park(*with))) return started::no_room;
    if (first) {
      index = open(rank, events, bytes);
      operations_[index].source_due = false;
      operations_[index].into = resolve(to);
    }
    write_words(s.body, p.place.offset, p.bytes, place);
    wire_.publish(s, with->way, remote_queue, kind::get, two(index, p.place.key->id));
    place += p.bytes;
  }
  return started::under_way;
}

started sim_network::flush(std::int32_t rank, operation* events) {
  if (rank < 0 || rank >= ranks_) return started::unreachable;
  peer_record* const to = peers_[static_cast<std::size_t>(rank)].get();
  if (to == nullptr || to->now == peer_record::link::none) return started::unreachable;
  if (to->now != peer_record::link::connected) return started::no_room;
  return start_flush(*to, events, no_operation) ? started::complete : started::under_way;
}

started sim_network::flush_all(operation* events) {
  std::uint32_t const whole = open(-1, events, 1);
  operations_[whole].source_due = false;
  for (std::int32_t const rank : used_peers_) {
    peer_record& to = *peers_[static_cast<std::size_t>(rank)];
    if (to.up() && !start_flush(to, nullptr, whole)) ++operations_[whole].left;
  }
  if (--operations_[whole].left != 0) return started::under_way;
  close_record(whole);
  return started::complete;
}

/// True: there is nothing to wait for.
bool sim_network::start_flush(peer_record& to, operation* events, std::uint32_t whole) {
  if (to.puts_sent == to.puts_flushed && to.jobs == 0) return true;
  std::uint32_t const index = open(to.way.rank, events, 1);
  operations_[index].source_due = false;
  operations_[index].next = whole;
  if (to.jobs == 0) {
    push_flush(to, index);
    return false;
  }
  job after;
  after.is = job::what::flush;
  after.peer = to.way.rank;
  after.operation = index;
  ++to.jobs;
  jobs_.push_back(std::move(after));
  stirred_ = true;
  return false;
}

void sim_network::push_flush(peer_record& to, std::uint32_t index) {
  operations_[index].puts = to.puts_sent;
  slot s;
  (void)wire_.open(s, to.way, remote_queue, 8, true);
  write_words(s.body, to.puts_sent);
  wire_.publish(s, to.way, remote_queue, kind::flush, two(index, 0));
}

ability sim_network::atomic_support(atomic_op op, atomic_type type) const {
  bool const floating = type == atomic_type::float32 || type == atomic_type::float64;
  bool const bits = op == atomic_op::bit_and || op == atomic_op::bit_or || op == atomic_op::bit_xor;
  bool const plain = op != atomic_op::multiply && op != atomic_op::minimum && op != atomic_op::maximum;
  bool const can = how_.atomics == atomics_offered::yes        ? !(floating && bits)
                   : how_.atomics == atomics_offered::integers ? !floating && plain
                                                               : false;
  return can ? ability{support::native, !how_.adapter} : ability{};
}

started sim_network::atomic(std::int32_t rank, remote_place target, atomic_op op, atomic_type type,
                            void const* operands, local_place result, operation* events) {
  std::size_t const bytes = bytes_of(type);
  if (!atomic_support(op, type) || target.offset % bytes != 0) return started::unsupported;
  bool const reads = op == atomic_op::load || op == atomic_op::exchange || op == atomic_op::compare_exchange;
  if (reads && result.address == nullptr) return started::unsupported;
  peer_record* with = nullptr;
  if (started const s = ready(rank, with); s != started::complete) return s;
  if (!usable(*with, target, bytes)) return started::unsupported;
  if (how_.ordered && with->jobs != 0) return started::no_room;
  slot s;
  if (!wire_.open(s, with->way, remote_queue, 32, may_park(*with))) return started::no_room;
  bool const answered =
      result.address != nullptr || (events != nullptr && events->asks(completion::finished));
  std::uint32_t index = no_operation;
  if (answered) {
    index = open(rank, events, 1);
    operations_[index].source_due = false;
    if (result.address != nullptr) operations_[index].into = {reached(result), bytes};
  }
  std::uint64_t operand[2]{};
  std::size_t const count = op == atomic_op::load ? 0 : op == atomic_op::compare_exchange ? 2 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(&operand[i], static_cast<std::byte const*>(operands) + i * bytes, bytes);
  }
  write_words(s.body, target.offset, static_cast<unsigned>(op) | static_cast<unsigned>(type) << 8, operand[0],
              operand[1]);
  ++with->puts_sent;
  wire_.publish(s, with->way, remote_queue, kind::atomic, two(index, target.key->id));
  return answered ? started::under_way : started::complete;
}

void sim_network::take_data(peer_record& from, packet const& p) {
  open_operation* const operation = find(from, low(p.token));
  if (p.kind == kind::no_data) {
    if (operation != nullptr) left_less(low(p.token), word(p.body, 0), static_cast<outcome>(high(p.token)));
    return;
  }
  bool const in_cells = p.kind == kind::data;
  auto const index = in_cells ? 0U : static_cast<unsigned>(word(p.body, 1));
  std::uint64_t const bytes = in_cells ? p.bytes - 8 : word(p.body, 2);
  if (operation != nullptr) {
    copy_in(operation->into.view(), word(p.body, 0),
            in_cells ? p.body + 8 : wire_.packet_at(me_, remote_queue, index), bytes);
  }
  if (!in_cells) wire_.give_back(me_, remote_queue, index);
  if (operation != nullptr) left_less(low(p.token), bytes, outcome::ok);
}

void sim_network::take_answer(peer_record& from, packet const& p) {
  open_operation* const operation = find(from, low(p.token));
  if (operation == nullptr) return;
  auto const how = static_cast<outcome>(high(p.token));
  if (operation->puts != 0) from.puts_flushed = std::max(from.puts_flushed, operation->puts);
  if (how == outcome::ok && !operation->into.empty()) {
    std::uint64_t const value = word(p.body, 0);
    copy_bytes(operation->into.front().at, &value, operation->into.front().bytes);
  }
  left_less(low(p.token), 1, how);
}

registered sim_network::register_memory(void* begin, std::size_t bytes, memory::kind_id kind, std::int32_t) {
  auto* const first = static_cast<std::byte*>(begin);
  std::byte* reached = first;
  if (kind != memory::kind_id::host) {
    reached = how_.gpu && reach_ != nullptr ? reach_(kind, begin, bytes) : nullptr;
    if (reached == nullptr) {
      return {nullptr,
              std::string("the simulated network does not take ") + memory::to_string(kind) + " memory"};
    }
  }
  std::uint32_t place = static_cast<std::uint32_t>(registrations_.size());
  if (free_registrations_.empty() && place > 0xffff) {
    return {nullptr, "the simulated network knows no more than 65536 pieces of memory"};
  }
  if (free_registrations_.empty()) {
    registrations_.push_back(nullptr);
  } else {
    place = free_registrations_.back();
    free_registrations_.pop_back();
  }
  ++registration_serial_;
  registrations_[place] =
      new registration{first, reached, bytes, (place & 0xffff) | registration_serial_ << 16};
  return {registrations_[place], {}};
}

void sim_network::forget(registration* memory) {
  std::uint32_t const place = memory->id & 0xffff;
  registrations_[place] = nullptr;
  free_registrations_.push_back(place);
  delete memory;
}

std::size_t sim_network::export_key(registration const* memory, std::span<std::byte> room) const {
  key_image const image{key_magic, me_, memory->id, memory->bytes};
  if (room.size() < sizeof image) return 0;
  std::memcpy(room.data(), &image, sizeof image);
  return sizeof image;
}

imported sim_network::import_key(std::int32_t rank, std::span<std::byte const> key) {
  peer_record* with = nullptr;
  if (started const s = ready(rank, with); s != started::complete) return {s, nullptr};
  key_image image{};
  if (key.size() == sizeof image) std::memcpy(&image, key.data(), sizeof image);
  if (image.magic != key_magic || image.rank != rank) return {started::unsupported, nullptr};
  if (misses(*with)) {
    last_error_ = "the simulated network was asked for keys that miss";
    return {started::unsupported, nullptr};
  }
  keys_.push_back(std::make_unique<remote_key>(
      remote_key{rank, static_cast<std::uint32_t>(image.id), image.bytes, with->connections}));
  return {started::complete, keys_.back().get()};
}

void sim_network::drop_key(std::int32_t /*peer*/, remote_key* key) {
  std::erase_if(keys_, [key](auto const& each) { return each.get() == key; });
}

/// As if there were no registration left for the caller's memory.
bool sim_network::refuses_memory(peer_record& with, operation* events) {
  if (events == nullptr || !events->asks(completion::finished) || !misses(with)) return false;
  std::uint32_t const index = open(with.way.rank, events, 0);
  operations_[index].how = outcome::refused;
  late_events_.push_back({index, operations_[index].serial, some_polls(), false});
  stirred_ = true;
  return true;
}

bool sim_network::misses(peer_record& with) {
  if (with.misses >= most_misses || !choices_.chance(how_.misses)) return false;
  ++with.misses;
  return true;
}

bool sim_network::misses(peer_record& from, std::uint32_t operation) {
  return operation != no_operation && misses(from);
}

}  // namespace atl::transport::sim
