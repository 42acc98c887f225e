#pragma once

/// What all that makes progress works with: the transport, the host's ranks, the work that is open.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <atoll/transport/message.hpp>

#include "base/diagnostics.hpp"
#include "base/single.hpp"
#include "base/spin_lock.hpp"
#include "engine/host/host_domain.hpp"
#include "engine/network/network_messages.hpp"
#include "engine/progress/held_back.hpp"
#include "engine/progress/impatience.hpp"
#include "engine/progress/work.hpp"
#include "transport/shm/endpoint.hpp"

namespace atl::engine {

/// How ranks of this host wait.
struct waiting_policy {
  bool spare_cores = false;           ///< a core for each rank of this host: spinning disturbs nobody
  std::int64_t longest_sleep_ns = 0;  ///< 0: never sleep
};

struct progress_engine : single<progress_engine> {
  /// `other_hosts`: null in a job on one host.
  progress_engine(shm::endpoint& transport, network_messages* other_hosts, host_domain& ranks,
                  waiting_policy policy, bool several_threads);
  ~progress_engine();

  shm::endpoint& shm;
  network_messages* const network;
  host_domain& host;
  open_work open;
  held_back_calls held_back;
  impatience impatient;
  bool const threaded;  ///< several threads use it: the lock is needed
  waiting_policy const waiting;
  recursive_spin_lock lock;  ///< see guard.hpp

  /// Takes calls that arrive ahead of their data (message_kind::announced).
  void (*announced_sink)(transport::message*) = nullptr;
  /// Called now and then by a thread that has waited for long; under no lock.
  void (*long_wait)(std::uint64_t waited_ns) noexcept = nullptr;
  /// That is how long, and how often: it looks whether ranks wait for each other in different calls. Tests change it.
  std::uint64_t suspicious_ns = 500'000'000;
};

/// What this rank shows of itself. Never null; private memory until a launcher gives a record that it can see.
extern rank_diagnostics* diagnostics;

/// Notes for the diagnostics record that a communication call is entered.
inline void note_call(activity what, std::int32_t peer) noexcept {
  diagnostics->last_call.store(what, std::memory_order_relaxed);
  diagnostics->peer.store(peer, std::memory_order_relaxed);
}

}  // namespace atl::engine
