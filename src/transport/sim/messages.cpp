// Messages: three ways out by length, and what arrives.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "transport/sim/sim_network.hpp"

namespace atl::transport::sim {
namespace {

/// Late payloads to one peer in each lane, that it has not fetched.
constexpr std::uint32_t most_late = 32;
static_assert(most_late >= least_late);

/// Headers are the receiver's during its call only.
void forget_header(arrival const& what) {
  std::memset(const_cast<std::byte*>(what.header.data()), 0xdd, what.header.size());
}

}  // namespace

message_sizes sim_network::sizes(std::int32_t /*peer*/, lane /*where*/) const {
  return {longest_header, how_.eager, how_.packet, how_.late ? std::size_t{1} << 40 : how_.eager};
}

/// How the start of the message that was published last has ended.
started sim_network::leaves(peer_record& to, unsigned which, operation* events) {
  if (events == nullptr || !events->asks(completion::left)) return started::complete;
  std::uint32_t const index = open(to.way.rank, events, 1);
  if (wire::await(to.way, which, index)) return started::under_way;
  close_record(index);
  return started::complete;
}

started sim_network::send(std::int32_t rank, lane where, std::span<std::byte const> header,
                          local_place payload, std::size_t bytes, operation* events) {
  peer_record* to = nullptr;
  if (started const s = ready(rank, to); s != started::complete) return s;
  if (header.size() == 16 && bytes <= sizeof(shm::cell::data) - 16 && bytes <= how_.eager &&
      payload.memory == nullptr && !how_.ordered && events == nullptr) [[likely]] {
    auto const which = static_cast<unsigned>(where);
    auto const* const from = static_cast<std::byte const*>(payload.address);
    if (wire_.send_in_cell(to->way, which, kind::message, message_token(16, bytes, to->puts_sent), 16 + bytes,
                           [&](std::byte* body) {
                             copy_by_words(body + 16, from, bytes);
                             copy_by_words(body, header.data(), 16);
                           })) [[likely]] {
      ++to->sent[which];
      return started::complete;
    }
  }
  return send_otherwise(*to, where, header, payload, bytes, events);
}

/// What does not take the shortest way. Apart, so that what does saves few registers.
started sim_network::send_otherwise(peer_record& with, lane where, std::span<std::byte const> header,
                                    local_place const& payload, std::size_t bytes, operation* events) {
  peer_record* const to = &with;
  std::byte* const source = reached(payload);
  std::size_t const before = padded(header.size());
  bool const in_cells =
      header.size() <= longest_header && before + bytes <= wire_.room() && bytes <= how_.eager;
  // The puts before it are counted when they have left.
  if (in_cells && (!how_.ordered || to->jobs == 0)) [[likely]] {
    auto const which = static_cast<unsigned>(where);
    std::uint64_t position = 0;
    if (std::byte* const body = wire_.reserve(to->way, which, before + bytes, position)) [[likely]] {
      copy_by_words(body, header.data(), header.size());
      copy_by_words(body + before, source, bytes);
      wire_.publish(to->way, which, position, before + bytes, before + bytes, kind::message,
                    message_token(header.size(), bytes, to->puts_sent));
      ++to->sent[which];
      return events == nullptr ? started::complete : leaves(*to, which, events);
    }
  }
  return send_where_room_is(*to, where, header, source, bytes, events);
}

/// A message that does not find a place in the queue at once.
started sim_network::send_where_room_is(peer_record& to, lane where, std::span<std::byte const> header,
                                        std::byte* source, std::size_t bytes, operation* events) {
  if (header.size() > longest_header || (bytes > how_.eager && !how_.late)) return started::unsupported;
  if (how_.ordered && to.jobs != 0) return started::no_room;
  auto const which = static_cast<unsigned>(where);
  std::int32_t const rank = to.way.rank;
  std::uint64_t const token = message_token(header.size(), bytes > how_.eager ? 0 : bytes, to.puts_sent);
  slot s;
  std::size_t const in_cells = padded(header.size()) + bytes;
  if (in_cells <= wire_.room() && bytes <= how_.eager) {
    if (!wire_.open(s, to.way, which, in_cells, may_park(to))) return started::no_room;
    copy_bytes(s.body, header.data(), header.size());
    copy_bytes(s.body + padded(header.size()), source, bytes);
    wire_.publish(s, to.way, which, kind::message, token);
    ++to.sent[which];
    return leaves(to, which, events);
  }
  if (bytes <= how_.packet && bytes <= how_.eager) {
    int const index = wire_.take_packet(to.way, which);
    if (index < 0) return started::no_room;
    if (!wire_.open(s, to.way, which, 8, may_park(to))) {
      wire_.give_back(rank, which, static_cast<unsigned>(index));
      return started::no_room;
    }
    std::byte* const packet = wire_.packet_at(rank, which, static_cast<unsigned>(index));
    copy_bytes(packet, header.data(), header.size());
    copy_bytes(packet + longest_header, source, bytes);
    write_words(s.body, index);
    wire_.publish(s, to.way, which, kind::message_packet, token, bytes);
    ++to.sent[which];
    return leaves(to, which, events);
  }
  if (events == nullptr || !events->asks(completion::source)) return started::unsupported;
  if (bytes <= how_.eager) {
    job parts;
    parts.is = job::what::parts;
    parts.peer = rank;
    parts.tag = parts_sent_;
    parts.from = {source, bytes};
    parts.total = bytes;
    parts.queue = static_cast<std::uint8_t>(which);
    parts.header_bytes = header.size();
    copy_bytes(parts.header.data(), header.data(), header.size());
    started const result = start_job(std::move(parts), to, events);
    if (result == started::no_room) return result;
    ++parts_sent_;
    ++to.sent[which];
    return result;
  }
  if (to.late[which] >= most_late) return started::no_room;
  if (!wire_.open(s, to.way, which, 16 + header.size(), may_park(to))) return started::no_room;
  std::uint32_t const index = open(rank, events, 1);
  operations_[index].late_in = static_cast<std::int8_t>(which);
  ++to.late[which];
  operations_[index].finished_due = false;
  operations_[index].into = {source, bytes};
  write_words(s.body, index, bytes);
  copy_bytes(s.body + 16, header.data(), header.size());
  wire_.publish(s, to.way, which, kind::message_late, token);
  ++to.sent[which];
  return started::under_way;
}

namespace {

/// Words of a network_buffer: where it lies, and what commit() needs to send it.
enum : unsigned { word_packet, word_position, word_header, word_connection };
constexpr std::uint64_t in_cells_mark = ~std::uint64_t{0};

}  // namespace

started sim_network::begin(std::int32_t rank, lane where, std::size_t header_bytes, std::size_t least,
                           std::size_t most, network_buffer& buffer) {
  peer_record* to = nullptr;
  if (started const s = ready(rank, to); s != started::complete) return s;
  if (header_bytes > longest_header || least > how_.packet) return started::unsupported;
  if (how_.ordered && to->jobs != 0) return started::no_room;
  auto const which = static_cast<unsigned>(where);
  buffer.peer = rank;
  buffer.lane = where;
  std::size_t const before = padded(header_bytes);
  buffer.transport_words[word_header] = before;
  buffer.transport_words[word_connection] = to->connections;
  std::size_t const in_cells = before + std::max(least, std::min(most, std::size_t{512}));
  if (in_cells <= wire_.room() && how_.passive) {
    std::byte* const body = wire_.reserve(to->way, which, in_cells, buffer.transport_words[word_position]);
    if (body == nullptr) return started::no_room;
    buffer.capacity = in_cells - before;
    buffer.payload = body + before;
    buffer.transport_words[word_packet] = in_cells_mark;
    ++to->buffers;
    return started::complete;
  }
  return begin_in_packet(*to, which, buffer);
}

started sim_network::begin_in_packet(peer_record& to, unsigned which, network_buffer& buffer) {
  int const index = wire_.take_packet(to.way, which);
  if (index < 0) return started::no_room;
  buffer.payload = wire_.packet_at(to.way.rank, which, static_cast<unsigned>(index)) + longest_header;
  buffer.capacity = how_.packet;
  buffer.transport_words[word_packet] = static_cast<std::uint64_t>(index);
  ++to.buffers;
  return started::complete;
}

void sim_network::commit(network_buffer& buffer, std::span<std::byte const> header, std::size_t bytes) {
  peer_record& to = *peers_[static_cast<std::size_t>(buffer.peer)];
  if (!to.up() || to.connections != buffer.transport_words[word_connection]) [[unlikely]]
    return cancel(buffer);
  if (buffer.transport_words[word_packet] != in_cells_mark || header.size() != 16 || wire_.timed())
      [[unlikely]]
    return commit_otherwise(to, buffer, header, bytes);
  // What is stored here waits for the cell's line, like what lies there already; the processor has room for little of that.
  auto const which = static_cast<unsigned>(buffer.lane);
  std::byte* const body = std::exchange(buffer.payload, nullptr) - 16;
  copy_by_words(body, header.data(), 16);
  --to.buffers;
  ++to.sent[which];
  wire_.publish_body(to.way, which, buffer.transport_words[word_position], body, 16 + buffer.capacity,
                     16 + bytes, kind::message, message_token(16, bytes, to.puts_sent));
}

void sim_network::commit_otherwise(peer_record& to, network_buffer& buffer, std::span<std::byte const> header,
                                   std::size_t bytes) {
  --to.buffers;
  auto const which = static_cast<unsigned>(buffer.lane);
  std::uint64_t const token = message_token(header.size(), bytes, to.puts_sent);
  std::uint64_t const packet = buffer.transport_words[word_packet];
  if (packet == in_cells_mark) {
    std::size_t const before = buffer.transport_words[word_header];
    copy_by_words(buffer.payload - before, header.data(), header.size());
    wire_.publish(to.way, which, buffer.transport_words[word_position], before + buffer.capacity,
                  before + bytes, kind::message, token);
  } else {
    slot s;
    copy_bytes(buffer.payload - longest_header, header.data(), header.size());
    (void)wire_.open(s, to.way, which, 8, true);
    write_words(s.body, packet);
    wire_.publish(s, to.way, which, kind::message_packet, token, bytes);
  }
  ++to.sent[which];
  buffer.payload = nullptr;
}

void sim_network::cancel(network_buffer& buffer) {
  peer_record& to = *peers_[static_cast<std::size_t>(buffer.peer)];
  --to.buffers;
  auto const which = static_cast<unsigned>(buffer.lane);
  std::uint64_t const packet = buffer.transport_words[word_packet];
  if (packet == in_cells_mark) {
    wire_.cancel(to.way, which, buffer.transport_words[word_position],
                 buffer.transport_words[word_header] + buffer.capacity);
  } else {
    wire_.give_back(buffer.peer, which, static_cast<unsigned>(packet));
  }
  buffer.payload = nullptr;
}

/// A message that lies in cells.
void sim_network::show(peer_record& from, std::int32_t source, unsigned which, std::uint64_t token,
                       std::byte* body) {
  ++from.seen[which];
  arrival what;
  what.peer = source;
  what.lane = static_cast<lane>(which);
  what.header = {body, header_of(token)};
  what.payload = body + padded(header_of(token));
  what.bytes = payload_of(token);
  ++calls_;
  (void)receiver_->arrived(what);
}

/// False: puts that were started before it are still missing.
bool sim_network::take_message(peer_record& from, packet const& p) {
  bool const behind =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(from.puts_seen) - puts_of(p.token)) < 0;
  if (how_.ordered && (behind || changes_words_for(p.source))) return false;
  if (p.kind == kind::message_part) {
    take_part(p);
    return true;
  }
  if (p.kind == kind::message) {
    show(from, p.source, p.where, p.token, p.body);
    return true;
  }
  ++from.seen[p.where];
  if (p.kind == kind::message_packet) {
    take_packet(p);
  } else {
    take_late(from, p);
  }
  return true;
}

void sim_network::take_packet(packet const& p) {
  auto const index = static_cast<unsigned>(word(p.body, 0));
  std::byte* const data = wire_.packet_at(me_, p.where, index);
  std::uint64_t const in_use =
      wire_.map().page_of(wire_.base(), me_)->packets[p.where].taken.load(std::memory_order_relaxed);
  arrival what;
  what.peer = p.source;
  what.lane = static_cast<lane>(p.where);
  what.header = {data, header_of(p.token)};
  what.payload = data + longest_header;
  what.bytes = payload_of(p.token);
  // Who keeps them all receives nothing any more.
  what.may_keep = static_cast<unsigned>(std::popcount(in_use)) <= (how_.packets + 1) / 2;
  std::unique_ptr<kept_arrival> record;
  if (what.may_keep) {
    record = std::make_unique<kept_arrival>();
    record->is = kept_arrival::where::packet;
    record->queue = p.where;
    record->index = index;
  }
  what.handle.record = record.get();
  ++calls_;
  bool const kept = receiver_->arrived(what) == taken::kept && record != nullptr;
  forget_header(what);
  if (kept) {
    (void)record.release();
  } else {
    wire_.give_back(me_, p.where, index);
  }
}

void sim_network::take_part(packet const& p) {
  auto const index = static_cast<unsigned>(word(p.body, 0));
  std::byte* const data = wire_.packet_at(me_, p.where, index);
  std::uint64_t const name = two(low(word(p.body, 1)), static_cast<std::uint32_t>(p.source));
  std::unique_ptr<arrived_parts>& parts = parts_[name];
  if (parts == nullptr) {
    parts = std::make_unique<arrived_parts>();
    parts->total = payload_of(p.token);
    parts->payload = std::make_unique<std::byte[]>(parts->total);
  }
  std::size_t const bytes = word(p.body, 3);
  copy_bytes(parts->payload.get() + word(p.body, 2), data + longest_header, bytes);
  parts->come += bytes;
  if (parts->come < parts->total) {
    wire_.give_back(me_, p.where, index);
    return;
  }
  auto record = std::make_unique<kept_arrival>();
  record->is = kept_arrival::where::privately;
  record->bytes = parts->total;
  record->payload = std::move(parts->payload);
  parts_.erase(name);
  std::array<std::byte, longest_header> header;
  copy_bytes(header.data(), data, header_of(p.token));
  wire_.give_back(me_, p.where, index);
  ++peer_of(p.source).seen[p.where];
  arrival what;
  what.peer = p.source;
  what.lane = static_cast<lane>(p.where);
  what.header = {header.data(), header_of(p.token)};
  what.payload = record->payload.get();
  what.bytes = record->bytes;
  what.may_keep = true;
  what.handle.record = record.get();
  ++calls_;
  if (receiver_->arrived(what) == taken::kept) (void)record.release();
}

void sim_network::take_late(peer_record& from, packet const& p) {
  auto* const record = new kept_arrival;
  record->is = kept_arrival::where::late;
  record->peer = p.source;
  record->connections = from.connections;
  record->operation = static_cast<std::uint32_t>(word(p.body, 0));
  record->bytes = word(p.body, 1);
  arrival what;
  what.peer = p.source;
  what.lane = static_cast<lane>(p.where);
  what.late = true;
  what.may_keep = true;
  what.header = {p.body + 16, header_of(p.token)};
  what.bytes = record->bytes;
  what.handle.record = record;
  ++calls_;
  bool const consumed = receiver_->arrived(what) == taken::consumed;
  forget_header(what);
  if (consumed) release(what.handle);
}

started sim_network::fetch(arrival_handle what, local_place into, operation* events) {
  auto* const record = static_cast<kept_arrival*>(what.record);
  peer_record& from = peer_of(record->peer);
  if (!from.up() || from.connections != record->connections) return started::unreachable;
  if (refuses()) return started::no_room;
  slot s;
  if (!wire_.open(s, from.way, remote_queue, 0, may_park(from))) return started::no_room;
  std::uint32_t const index = open(record->peer, events, record->bytes);
  operations_[index].source_due = false;
  operations_[index].into = {reached(into), record->bytes};
  operations_[index].fetched = record;
  wire_.publish(s, from.way, remote_queue, kind::fetch, two(index, record->operation));
  return started::under_way;
}

void sim_network::take_fetch(peer_record& from, packet const& p) {
  std::uint32_t const own = high(p.token);
  open_operation* const message = find(from, own);
  if (message == nullptr) return;
  if (p.kind == kind::give_up) {
    left_less(own, 1, outcome::ok);
  } else {
    piece const payload = message->into.front();
    serve(from, low(p.token), payload.at, payload.bytes, 0, own);
  }
}

void sim_network::release(arrival_handle what) {
  std::unique_ptr<kept_arrival> const record(static_cast<kept_arrival*>(what.record));
  if (record->is == kept_arrival::where::packet) {
    wire_.give_back(me_, record->queue, record->index);
  } else if (record->is == kept_arrival::where::late) {
    peer_record& from = peer_of(record->peer);
    if (!from.up() || from.connections != record->connections) return;
    send_plain(from, kind::give_up, two(no_operation, record->operation));
  }
}

}  // namespace atl::transport::sim
