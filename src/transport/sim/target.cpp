// Put, get, flush and atomics: the side whose memory it is.

#include <algorithm>
#include <atomic>
#include <bit>

#include "base/copy_watched.hpp"
#include "transport/sim/apply_atomic.hpp"
#include "transport/sim/sim_network.hpp"

namespace atl::transport::sim {

/// False: it has to wait.
bool sim_network::take_remote(peer_record& from, packet const& p) {
  switch (p.kind) {
    case kind::put:
    case kind::put_packet:
    case kind::put_tagged:
      take_put(from, p);
      return true;
    case kind::get:
      take_get(from, p);
      return true;
    case kind::data:
    case kind::data_packet:
    case kind::no_data:
      take_data(from, p);
      return true;
    case kind::atomic:
      return take_atomic(from, p);
    case kind::answer:
      take_answer(from, p);
      return true;
    case kind::flush:
      if (from.puts_seen < word(p.body, 0) || changes_words_for(p.source)) return false;
      answer(from, low(p.token), std::exchange(from.worst, outcome::ok), 0);
      return true;
    case kind::notify: {
      if (from.puts_seen < word(p.body, 3) || changes_words_for(p.source)) return false;
      ++from.puts_seen;
      if (memory_of(from, high(p.token), word(p.body, 0), word(p.body, 1)) != nullptr) {
        ++calls_;
        receiver_->notified(p.source, word(p.body, 2));
      }
      return true;
    }
    default:
      take_fetch(from, p);
      return true;
  }
}

/// Where the bytes of a peer's key are in this process; null if there are none.
std::byte* sim_network::memory_of(peer_record const& user, std::uint32_t key, std::uint64_t offset,
                                  std::uint64_t bytes) {
  std::uint32_t const place = key & 0xffff;
  registration const* const memory = place < registrations_.size() ? registrations_[place] : nullptr;
  if (memory == nullptr || memory->id != key) {
    if (how_.stale == stale_key::breaks) break_connection(user.way.rank);
    return nullptr;
  }
  return offset > memory->bytes || bytes > memory->bytes - offset ? nullptr : memory->reached + offset;
}

void sim_network::take_put(peer_record& from, packet const& p) {
  std::uint32_t const operation = low(p.token);
  std::uint64_t const offset = word(p.body, 0) & ~sure_offset;
  bool const sure = (word(p.body, 0) & sure_offset) != 0;
  std::byte const* data = p.body + (p.kind == kind::put_tagged ? 16 : 8);
  std::uint64_t bytes = p.bytes - static_cast<std::size_t>(data - p.body);
  unsigned index = 0;
  if (p.kind == kind::put_packet) {
    index = static_cast<unsigned>(word(p.body, 1));
    data = wire_.packet_at(me_, remote_queue, index);
    bytes = word(p.body, 2);
  }
  std::byte* const to = memory_of(from, high(p.token), offset, bytes);
  bool const done = to != nullptr && (sure || !misses(from, operation));
  bool const fails = !sure && fails_untold(operation);
  if (done && !fails) copy_watched(to, data, bytes);
  if (p.kind == kind::put_packet) wire_.give_back(me_, remote_queue, index);
  ++from.puts_seen;
  if (operation != no_operation) {
    answer(from, operation, done ? outcome::ok : outcome::bad_key, 0);
  } else if (!done || fails) {
    from.worst = std::max(from.worst, fails ? outcome::failed : outcome::bad_key);
  }
  if (done && p.kind == kind::put_tagged) {
    ++calls_;
    receiver_->notified(p.source, word(p.body, 1));
  }
}

void sim_network::take_get(peer_record& from, packet const& p) {
  std::uint32_t const operation = low(p.token);
  std::uint64_t const bytes = word(p.body, 1);
  std::byte* const data = memory_of(from, high(p.token), word(p.body, 0), bytes);
  if (data != nullptr && !misses(from, operation)) {
    serve(from, operation, data, bytes, word(p.body, 2), no_operation);
    return;
  }
  slot s;
  (void)wire_.open(s, from.way, remote_queue, 8, true);
  write_words(s.body, bytes);
  wire_.publish(s, from.way, remote_queue, kind::no_data,
                two(operation, static_cast<std::uint32_t>(outcome::bad_key)));
}

/// Sends bytes to the peer's operation; `own` is told when all have left.
void sim_network::serve(peer_record& to, std::uint32_t theirs, std::byte* from, std::uint64_t bytes,
                        std::uint64_t place, std::uint32_t own) {
  if (bytes + 8 <= wire_.room() && to.jobs == 0) {
    slot s;
    (void)wire_.open(s, to.way, remote_queue, 8 + bytes, true);
    write_words(s.body, place);
    copy_bytes(s.body + 8, from, bytes);
    wire_.publish(s, to.way, remote_queue, kind::data, two(theirs, 0));
    if (own != no_operation) left_less(own, 1, outcome::ok);
    return;
  }
  job data;
  data.is = job::what::data;
  data.peer = to.way.rank;
  data.operation = own;
  data.theirs = theirs;
  data.from = {from, bytes};
  data.total = bytes;
  data.place = place;
  ++to.jobs;
  jobs_.push_back(std::move(data));  // this poll goes on with it
  stirred_ = true;
}

/// False: it has to wait, for another one that is at the same word.
bool sim_network::take_atomic(peer_record& from, packet const& p) {
  std::uint32_t const operation = low(p.token);
  auto const op = static_cast<atomic_op>(word(p.body, 1) & 0xff);
  auto const type = static_cast<atomic_type>(word(p.body, 1) >> 8 & 0xff);
  std::uint64_t const first = word(p.body, 2), second = word(p.body, 3);
  std::size_t const bytes = bytes_of(type);
  std::byte* const at = memory_of(from, high(p.token), word(p.body, 0), bytes);
  if (std::any_of(atomics_.begin(), atomics_.end(), [at](slow_atomic const& a) { return a.word == at; })) {
    return false;
  }
  if (fails_untold(operation)) {
    ++from.puts_seen;
    from.worst = std::max(from.worst, outcome::failed);
    return true;
  }
  bool const done = at != nullptr && !misses(from, operation);
  if (done && !how_.coherent) {
    std::uint64_t const seen = read_word(at, bytes);
    atomics_.push_back({p.source, operation, high(p.token), word(p.body, 0), at, bytes, seen,
                        value_after(op, type, seen, first, second), some_polls()});
    stirred_ = true;
    return true;
  }
  finish_atomic(from, operation, done, done ? apply_atomic(at, op, type, first, second) : 0);
  return true;
}

/// Operations that have been at their words for long enough write them, whatever processors have done meanwhile.
bool sim_network::visit_atomics() {
  bool any = false;
  for (slow_atomic& a : atomics_) {
    if (--a.polls != 0) continue;
    any = true;
    peer_record& from = peer_of(a.source);
    bool const done = memory_of(from, a.key, a.offset, a.bytes) == a.word;
    if (done && a.after != a.before) write_word(a.word, a.bytes, a.after);
    finish_atomic(from, a.operation, done, a.before);
  }
  std::erase_if(atomics_, [](slow_atomic const& a) { return a.polls == 0; });
  return any;
}

/// Does an operation fail of which the next flush of its side is the first to tell?
bool sim_network::fails_untold(std::uint32_t operation) {
  return operation == no_operation && choices_.chance(how_.errors);
}

bool sim_network::changes_words_for(std::int32_t rank) const {
  return std::any_of(atomics_.begin(), atomics_.end(),
                     [rank](slow_atomic const& a) { return a.source == rank; });
}

void sim_network::finish_atomic(peer_record& from, std::uint32_t operation, bool done, std::uint64_t before) {
  ++from.puts_seen;
  if (operation != no_operation) {
    answer(from, operation, done ? outcome::ok : outcome::bad_key, before);
  } else if (!done) {
    from.worst = std::max(from.worst, outcome::bad_key);
  }
}

void sim_network::answer(peer_record& to, std::uint32_t operation, outcome how, std::uint64_t value) {
  slot s;
  (void)wire_.open(s, to.way, remote_queue, 8, true);
  write_words(s.body, value);
  wire_.publish(s, to.way, remote_queue, kind::answer, two(operation, static_cast<std::uint32_t>(how)));
}

}  // namespace atl::transport::sim
