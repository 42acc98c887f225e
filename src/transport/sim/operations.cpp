// Operations of this side: their records, their events, and data that are cut into packets as room permits.

#include <algorithm>

#include "transport/sim/sim_network.hpp"

namespace atl::transport::sim {
namespace {

constexpr std::uint32_t most_jobs = 64;          ///< to one peer
constexpr std::size_t copied_into_cells = 1024;  ///< at most, where there is the choice
constexpr char const* asked_for_errors = "the simulated network was asked for errors";

}  // namespace

std::uint32_t sim_network::open(std::int32_t rank, operation* events, std::uint64_t left) {
  std::uint32_t index = free_operations_;
  if (index == no_operation) {
    index = static_cast<std::uint32_t>(operations_.size());
    operations_.emplace_back();
  } else {
    free_operations_ = operations_[index].next;
  }
  open_operation& record = operations_[index];
  record.events = events;
  record.peer = rank;
  record.used = true;
  record.late_in = -1;
  record.source_due = events != nullptr && events->asks(completion::source);
  record.last = events != nullptr && events->asks(completion::left) ? completion::left : completion::finished;
  record.finished_due = events != nullptr && events->asks(record.last);
  record.how = outcome::ok;
  record.serial = ++serial_;
  record.next = no_operation;
  record.left = left;
  record.puts = 0;
  ++open_operations_;
  if (rank >= 0) ++peers_[static_cast<std::size_t>(rank)]->operations;
  return index;
}

void sim_network::close_record(std::uint32_t index) {
  open_operation& record = operations_[index];
  if (record.peer >= 0) {
    peer_record& to = *peers_[static_cast<std::size_t>(record.peer)];
    --to.operations;
    if (record.late_in >= 0) --to.late[record.late_in];
  }
  delete record.fetched;
  record.fetched = nullptr;
  record.into.clear();
  record.used = false;
  record.next = free_operations_;
  free_operations_ = index;
  --open_operations_;
}

/// The operation that a peer's answer is for; null if it has ended.
open_operation* sim_network::find(peer_record const& from, std::uint32_t index) {
  if (index >= operations_.size()) return nullptr;
  open_operation& record = operations_[index];
  return record.used && record.peer == from.way.rank && record.left != 0 ? &record : nullptr;
}

void sim_network::left_less(std::uint32_t index, std::uint64_t by, outcome how) {
  open_operation& record = operations_[index];
  record.left -= std::min(by, record.left);
  record.how = std::max(record.how, how);
  if (how == outcome::failed) last_error_ = asked_for_errors;
  if (record.left != 0) return;
  // A flush tells of others.
  bool const flushes = record.peer < 0 || record.puts != 0;
  if (record.events != nullptr && !flushes && choices_.chance(how_.errors)) {
    record.how = outcome::failed;
    last_error_ = asked_for_errors;
  }
  if (choices_.chance(how_.completions)) {
    late_events_.push_back({index, record.serial, some_polls(), false});
    stirred_ = true;
  } else {
    deliver(index, false);
  }
}

void sim_network::source_free(std::uint32_t index) {
  open_operation const& record = operations_[index];
  if (!record.source_due || !record.finished_due) return;  // the only event says how all of it went
  if (choices_.chance(how_.completions)) {
    late_events_.push_back({index, record.serial, some_polls(), true});
    stirred_ = true;
  } else {
    deliver(index, true);
  }
}

/// Calls the events that are due. Callbacks may start operations, and so move records.
void sim_network::deliver(std::uint32_t index, bool source_only) {
  operation* const events = operations_[index].events;
  outcome const how = operations_[index].how;
  if (std::exchange(operations_[index].source_due, false)) {
    if (!source_only && !operations_[index].finished_due) {
      close_record(index);
      ++calls_;
      events->on_event(*events, completion::source, how);
      return;
    }
    ++calls_;
    events->on_event(*events, completion::source, how);
  }
  if (source_only) return;
  bool const finished = operations_[index].finished_due;
  completion const last = operations_[index].last;
  std::uint32_t const whole = operations_[index].next;
  close_record(index);
  if (finished) {
    ++calls_;
    events->on_event(*events, last, how);
  }
  if (whole != no_operation) left_less(whole, 1, how);
}

void sim_network::lose_operations(std::int32_t rank) {
  for (job& j : jobs_) {
    if (j.peer != rank) continue;
    --peers_[static_cast<std::size_t>(rank)]->jobs;
    j.peer = -1;
  }
  std::erase_if(jobs_, [](job const& j) { return j.peer < 0; });
  for (std::uint32_t index = 0; index < operations_.size(); ++index) {
    if (!operations_[index].used || operations_[index].peer != rank) continue;
    operations_[index].how = outcome::peer_lost;
    deliver(index, false);
  }
}

/// Sends what there is room for, and leaves the rest to polls.
started sim_network::start_job(job&& what, peer_record& to, operation* events) {
  if (to.jobs >= most_jobs) return started::no_room;
  bool const finished = what.is == job::what::put && events != nullptr && events->asks(completion::finished);
  what.answered = finished;
  // Without events a record is needed only to tell when the last packet has left; a job knows that.
  if (events != nullptr && events->asked != 0) what.operation = open(to.way.rank, events, 1);
  if (!finished && what.operation != no_operation) operations_[what.operation].finished_due = false;
  bool const done = to.jobs == 0 && push(what);
  if (!done) {
    ++to.jobs;
    jobs_.push_back(std::move(what));
    stirred_ = true;
    return started::under_way;
  }
  if (what.operation == no_operation) return started::complete;
  open_operation& record = operations_[what.operation];
  bool const source = std::exchange(record.source_due, false);
  --record.left;
  if (!finished) {
    close_record(what.operation);
    return started::complete;
  }
  return source ? started::source_free : started::under_way;
}

/// True: all of it has left.
bool sim_network::push(job& what) {
  peer_record& to = *peers_[static_cast<std::size_t>(what.peer)];
  if (what.is == job::what::flush) {
    push_flush(to, what.operation);
    return true;
  }
  while (what.done < what.total) {
    if (choices_.chance(how_.completions)) return false;
    bool const moved = what.is == job::what::put    ? push_put(what, to)
                       : what.is == job::what::data ? push_data(what, to)
                                                    : push_parts(what, to);
    if (!moved) return false;
  }
  if (!what.notify) return true;
  far_piece const& where = what.to.front();
  slot s;
  (void)wire_.open(s, to.way, remote_queue, 32, true);
  write_words(s.body, where.offset, where.bytes, what.tag, to.puts_sent++);
  wire_.publish(s, to.way, remote_queue, kind::notify, two(no_operation, where.key));
  return true;
}

/// The next bytes of a job in a packet to be published: in the queue's cells where they are few, else beside it. False:
/// there is no room. `place`: where they go.
bool sim_network::write_data(data_slot& d, job& what, peer_record& to, std::size_t bytes,
                             std::uint64_t place) {
  bool const in_cells = bytes <= copied_into_cells;
  int const index = in_cells ? 0 : wire_.take_packet(to.way, remote_queue);
  if (index < 0) return false;
  if (!wire_.open(d.at, to.way, remote_queue, in_cells ? 8 + bytes : 24, false)) {
    if (!in_cells) wire_.give_back(to.way.rank, remote_queue, static_cast<unsigned>(index));
    return false;
  }
  std::byte* const data =
      in_cells ? d.at.body + 8 : wire_.packet_at(to.way.rank, remote_queue, static_cast<unsigned>(index));
  what.read.copy_out(what.from.view(), data, bytes);
  if (in_cells) {
    write_words(d.at.body, place);
  } else {
    write_words(d.at.body, place, index, bytes);
  }
  d.beside = in_cells ? 0 : bytes;
  what.done += bytes;
  return true;
}

bool sim_network::push_put(job& what, peer_record& to) {
  far_piece const& where = what.to[what.to_index];
  std::size_t const n = std::min<std::uint64_t>(where.bytes - what.to_within, how_.packet);
  // A notified put must not miss by chance: nobody could tell the target.
  std::uint64_t const offset = (where.offset + what.to_within) | (what.notify ? sure_offset : 0);
  data_slot d;
  if (!write_data(d, what, to, n, offset)) return false;
  std::uint32_t const operation = what.answered ? what.operation : no_operation;
  if (what.answered) ++operations_[what.operation].left;
  ++to.puts_sent;
  wire_.publish(d.at, to.way, remote_queue, d.beside == 0 ? kind::put : kind::put_packet,
                two(operation, where.key), d.beside);
  what.to_within += n;
  while (what.to_index < what.to.size() && what.to_within == what.to[what.to_index].bytes) {
    ++what.to_index;
    what.to_within = 0;
  }
  return true;
}

bool sim_network::push_data(job& what, peer_record& to) {
  std::size_t const n = std::min<std::uint64_t>(what.total - what.done, how_.packet);
  data_slot d;
  if (!write_data(d, what, to, n, what.place + what.done)) return false;
  wire_.publish(d.at, to.way, remote_queue, d.beside == 0 ? kind::data : kind::data_packet,
                two(what.theirs, 0), d.beside);
  return true;
}

bool sim_network::push_parts(job& what, peer_record& to) {
  std::size_t const n = std::min<std::uint64_t>(what.total - what.done, how_.packet);
  int const index = wire_.take_packet(to.way, what.queue);
  if (index < 0) return false;
  slot s;
  if (!wire_.open(s, to.way, what.queue, 32, false)) {
    wire_.give_back(to.way.rank, what.queue, static_cast<unsigned>(index));
    return false;
  }
  std::byte* const packet = wire_.packet_at(to.way.rank, what.queue, static_cast<unsigned>(index));
  copy_bytes(packet, what.header.data(), what.header_bytes);
  what.read.copy_out(what.from.view(), packet + longest_header, n);
  write_words(s.body, index, what.tag, what.done, n);
  wire_.publish(s, to.way, what.queue, kind::message_part, message_token(what.header_bytes, what.total, 0),
                n);
  what.done += n;
  return true;
}

}  // namespace atl::transport::sim
