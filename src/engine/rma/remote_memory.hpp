#pragma once

/// Transfers and atomic operations on memory of ranks that this process does not address, by engine messages (and, of
/// direct.hpp, by the network itself): what this rank has begun, and what it owes to others that have.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <atoll/engine/rma.hpp>

#include "base/single.hpp"
#include "engine/progress/progress_engine.hpp"
#include "engine/rma/direct.hpp"
#include "engine/rma/expected_notices.hpp"
#include "engine/rma/key_exchange.hpp"
#include "engine/rma/network_atomics.hpp"
#include "engine/rma/stream.hpp"
#include "engine/rma/wire.hpp"

namespace atl::engine {

/// Under the engine's lock. As work that progress looks after counts only news that could not be handed on for
/// want of memory: all else goes on when messages arrive.
///
/// Messages from here are never refused memory: a window bounds the pieces of all operations of a rank that are
/// under way, here, at their owners, and as answers. Small puts and atomics are bounded by their injection.
class remote_memory final : public single<remote_memory>, public work_source {
 public:
  explicit remote_memory(progress_engine& engine);
  ~remote_memory();

  /// May so many bytes more be asked for now, whose answers take memory at their owner?
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
    return window_used_ == 0 || window_used_ + bytes <= window;
  }
  /// An operation of one message leaves.
  void begin(std::size_t charged) noexcept;
  void begin(remote::stream* s) noexcept;
  /// Tells the owner of a put's destination that the data are in place, or what it is to do when they are, which it will
  /// hear otherwise. It acknowledges what it has done.
  void send_notice(copy_completion* completion, transfer_end const& to, arrival_notice const& notice,
                   expected_arrivals const* expected = nullptr) noexcept;
  /// Asks a cell's owner for an operation.
  void send_atomic(copy_completion* completion, host_address const& cell,
                   atomic_request const& what) noexcept;
  void deliver(copy_completion* completion) noexcept;
  // As join_put() and join_atomic() (series.cpp).
  joined join_put(copy_completion* all, bool fresh, char const* call, host_address const& to,
                  void const* data, std::size_t bytes) noexcept;
  joined join_atomic(copy_completion* all, bool fresh, char const* call, host_address const& cell,
                     atomic_request const& what, void* result) noexcept;
  direct_transfers& direct() noexcept { return direct_; }

  // In jobs with a network only:
  key_exchange& keys() noexcept { return *keys_; }
  network_atomics& atomics() noexcept { return *atomics_; }
  expected_notices& notices() noexcept { return *notices_; }

  // All ranks' heaps end, in three steps with meetings of all in between. They take the lock.

  /// Makes progress until nothing that this rank has begun is under way, questions for keys included. Of user level, since
  /// a peer that has no memory left for calls acknowledges puts when it has run some.
  void settle(bool (*progress)()) const;
  /// Keys of peers' heaps.
  void drop_keys();
  /// The network forgets the own heap, of which nobody has keys any more.
  void end_of_heap();

  /// A put leaves, or will certainly, whose call is one of the program's like all others: these are counted. Under the lock.
  void note_call_sent() noexcept { engine_.network->note_call_sent(); }

  // Called by messages, of which they keep nothing: answers to this rank …
  void acknowledged(std::int32_t source, std::byte* payload);
  void fetched(std::int32_t source, std::byte* payload);
  void changed(std::int32_t source, std::byte* payload);
  void changed_series(std::int32_t source, std::byte* payload);
  // … and what it does for others.
  void serve_put(std::int32_t source, std::byte* payload);
  void serve_get(std::int32_t source, std::byte* payload);
  void serve_atomic(std::int32_t source, std::byte* payload);
  void serve_put_series(std::int32_t source, std::byte* payload);
  void serve_atomic_series(std::int32_t source, std::byte* payload);
  void serve_parts(std::int32_t source, std::byte* payload);
  void serve_put_with_notice(message* m);
  /// The same of messages that lie with the network, before memory is taken for them. As network_messages::on_active.
  std::size_t serve_where_it_lies(std::int32_t source, function_token token, std::byte* begin,
                                  std::size_t bytes);

 private:
  /// Bytes of pieces under way.
  static constexpr std::size_t window = std::size_t{8} << 20;

  /// A put whose call waits here for the program, while there is no memory for more calls: its initiator hears
  /// when there is, and so sends no more than its window holds.
  struct late_acknowledgement {
    std::int32_t initiator;
    remote::answer_head answer;
  };

  /// May an operation to that rank, alone a message of so many bytes, be one of `all`? `yes`: as far as this tells.
  joined may_join(copy_completion const* all, bool fresh, char const* call, std::int32_t rank,
                  std::size_t bytes) noexcept;
  /// An operation more of `all`, the first one if that is fresh.
  void add(copy_completion* all, bool fresh, char const* call, std::int32_t rank) noexcept;
  /// So many operations of it are over.
  void done(copy_completion* completion, std::uint32_t count) noexcept;
  /// Puts data into place, if the places may be touched.
  bool put(std::int32_t source, remote::piece_head const& head, std::byte* description);
  /// Calls the one of these functions whose message it is, if it is one's.
  template <auto... Handle>
  bool handled_by(function_token token, std::int32_t source, std::byte* payload);
  bool advance() override;
  bool acknowledge_late();
  void pump() noexcept;
  void send_piece(remote::stream& s) noexcept;
  void send_on(remote::stream& s, unsigned slot, std::byte const* data) noexcept;
  void piece_done(remote::stream* s, unsigned slot) noexcept;
  void queue(remote::stream* s);

  progress_engine& engine_;
  std::deque<remote::stream*> sending_;
  std::size_t window_used_ = 0;
  std::vector<copy_completion*> undelivered_;
  std::vector<late_acknowledgement> late_;
  std::unique_ptr<key_exchange> keys_;
  direct_transfers direct_;
  std::unique_ptr<network_atomics> atomics_;
  std::unique_ptr<expected_notices> notices_;
};

namespace remote {

/// What lies in a completion's `under_way`.
struct operation_state {
  stream* pieces;     ///< null: one message
  std::byte* result;  ///< of a get or an atomic
  char const* call;
  std::uint32_t bytes;
  std::uint32_t charged;
  std::int32_t rank;
  std::uint32_t open = 1;  ///< of several operations that have this completion: those under way
};
static_assert(sizeof(operation_state) <= sizeof(copy_completion::under_way));

inline operation_state& state_of(copy_completion* completion) noexcept {
  return *reinterpret_cast<operation_state*>(completion->under_way);
}
inline operation_state const& state_of(copy_completion const* completion) noexcept {
  return *reinterpret_cast<operation_state const*>(completion->under_way);
}

/// Where the message of a put has its parts.
struct put_layout {
  std::size_t head;
  std::size_t data;
  std::size_t end;

  put_layout(piece_head const& head_written, arrival_notice const* notice) noexcept;
};

/// Writes the head and the notice of a put into a buffer with that layout; the token to send it with.
function_token write_put(std::byte* begin, put_layout const& layout, piece_head const& head,
                         arrival_notice const* notice) noexcept;
function_token put_with_notice_token() noexcept;

template <auto Handle>
void handle(message* m) {
  (remote_memory::here().*Handle)(m->source, m->payload());
  release(m);
}
/// Of messages that a function of remote_memory handles and keeps nothing of.
template <auto Handle>
function_token token_for() {
  return token_cache<&handle<Handle>>::get();
}

}  // namespace remote
}  // namespace atl::engine
