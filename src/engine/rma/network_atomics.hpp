#pragma once

/// Atomic operations by the network itself, for domains that have chosen so. They do without the owner's processor.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include <atoll/engine/rma.hpp>

#include "engine/rma/key_exchange.hpp"

namespace atl::engine {

class remote_memory;

/// An atomic operation as networks name it.
struct network_form {
  transport::atomic_op op;
  transport::atomic_type type;
  bool fetches;
  std::array<std::byte, 16> operands;  ///< as many values of the type as the operation has
};

/// Translates. Set by the front end before start, as atomic_applier is.
extern network_form (*network_form_of)(atomic_request const&) noexcept;

/// Who should do the operations of a domain of several hosts, given what the network can do of each? All of them or none are
/// its own: what an adapter and processors do to one word at once gets lost, unless the network says that it does not.
/// `wanted`: ATOLL_NETWORK_ATOMICS; without it the network, where it does without the owner's polls.
atomics_by choose_atomics(transport::abilities const& network, std::span<transport::ability const> operations,
                          std::optional<bool> wanted) noexcept;

namespace remote {
struct network_atomic;
}

/// Under the engine's lock. As work that progress looks after counts what the network had no room for.
///
/// What cannot go so travels in a message, where the network's operations are atomic with those of the owner's processor.
/// Else (atomics_by::network_alone) it waits: for a connection, which may be one to the own host or rank, for a key, for room.
class network_atomics final : public work_source {
 public:
  network_atomics(progress_engine& engine, remote_memory& messages, key_exchange& keys);

  /// Null if this one is better done by a message, and may be: its key is not known yet, or many wait for room.
  remote::network_atomic* prepare(host_address const& cell, atomic_request const& what);
  static void give_up(remote::network_atomic* a) noexcept;
  /// Takes it over. The completion holds an operation_state.
  void begin(remote::network_atomic* a, copy_completion* completion);

 private:
  static constexpr std::size_t most_waiting = 64;
  static constexpr std::size_t tried_at_once = 16;  ///< of those that wait
  /// Times that there was no key for an operation that needs one, until its owner is asked why not.
  static constexpr unsigned most_questions = 16;

  bool advance() override;
  bool start(remote::network_atomic* a);
  bool without_key(remote::network_atomic* a, peer_keys::entry* useless);
  void wait(remote::network_atomic* a);
  void finish(remote::network_atomic* a);
  void by_message(remote::network_atomic* a);
  static void on_event(transport::operation& self, transport::completion what, transport::outcome how);

  remote_memory& messages_;
  network_messages& network_;
  peer_keys& keys_;
  std::deque<remote::network_atomic*> waiting_;
};

}  // namespace atl::engine
