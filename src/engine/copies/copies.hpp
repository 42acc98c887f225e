#pragma once

/// Copies of device memory under way, and what this rank does for copies of its peers.

#include <cstddef>
#include <memory>
#include <vector>

#include <atoll/engine/memory_copy.hpp>

#include "base/single.hpp"
#include "engine/copies/arrivals.hpp"
#include "engine/copies/device_keys.hpp"
#include "engine/copies/network_copies.hpp"
#include "engine/copies/segments.hpp"
#include "engine/copies/staged_copies.hpp"
#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

/// While anything here is open, progress looks for it and nobody sleeps, since no message tells of it. Under
/// the engine's lock.
class device_copies final : public single<device_copies>, public work_source {
 public:
  explicit device_copies(progress_engine& engine);
  ~device_copies() override;

  /// See start_copy().
  void start(memory_place to, memory_place from, std::size_t bytes, copy_completion* completion);
  /// A call arrived ahead of its data: keeps it until its word says that the data is there.
  void keep_announced(message* m);

  /// Ends a segment of this rank (segment_table::destroy), once no other host's network can reach it any more.
  void destroy(segment_name own);

  segment_table& segments() noexcept { return segments_; }
  staged_copies& staged() noexcept { return staged_; }
  /// In a job on several hosts.
  network_copies& by_network() noexcept { return *network_; }
  /// Null in a job on one host.
  device_keys* keys() noexcept { return keys_.get(); }

 private:
  struct transfer;
  bool advance() override;
  bool deliver(transfer* t) noexcept;
  static void landed(memory::copy_record* record) noexcept;

  progress_engine& engine_;
  segment_table segments_;
  arrivals announced_{*this};
  staged_copies staged_{segments_, *this};
  // Null in a job on one host.
  std::unique_ptr<device_keys> keys_;
  std::unique_ptr<network_copies> network_;
  std::vector<transfer*> undelivered_;  ///< in place, but the news found no memory
};

}  // namespace atl::engine
