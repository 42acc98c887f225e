#pragma once

/// The ranks of one host: what they share beside messages. Every rank has a page at the start of its region
/// (page.hpp), with its doorbell, its lines of flat collectives and what peers may want to know of it, and
/// transit memory in which it stages data for others to read.
///
/// Stands beside the transports: it is there whatever carries the messages.

#include <cstddef>
#include <cstdint>

#include "bootstrap/placement.hpp"
#include "engine/host/page.hpp"
#include "memory/host/arena.hpp"

namespace atl::engine {

class host_domain {
 public:
  struct shape {
    std::byte* base = nullptr;    ///< region of local rank 0 in this process
    std::size_t stride = 0;       ///< from one rank's region to the next one's
    bootstrap::host_ranks ranks;  ///< of this host
    std::uint32_t me = 0;         ///< local rank of this process
    bool remote_fences = false;   ///< of all ranks: no wake-up is missed (base/doorbell.hpp)
    bool one_network = true;      ///< all ranks are in one network namespace
  };

  /// `transit`: of this rank, inside its region.
  host_domain(shape const& ranks, memory::arena& transit) noexcept : ranks_(ranks), transit_(transit) {}
  host_domain(host_domain const&) = delete;
  host_domain& operator=(host_domain const&) = delete;

  /// Local rank of no rank of this host.
  static constexpr std::uint32_t none = bootstrap::host_ranks::none;

  [[nodiscard]] std::uint32_t count() const noexcept { return ranks_.ranks.count(); }
  [[nodiscard]] std::uint32_t me() const noexcept { return ranks_.me; }
  [[nodiscard]] bool has(std::int32_t world_rank) const noexcept { return local_rank(world_rank) != none; }
  /// `none` for a rank of another host.
  [[nodiscard]] std::uint32_t local_rank(std::int32_t world_rank) const noexcept {
    return ranks_.ranks.local_rank(world_rank);
  }
  [[nodiscard]] std::int32_t world_rank(std::uint32_t local_rank) const noexcept {
    return ranks_.ranks.world_rank(local_rank);
  }

  [[nodiscard]] bool one_network() const noexcept { return ranks_.one_network; }

  /// A place in the region of a rank of this host.
  [[nodiscard]] std::byte* at(std::uint32_t local_rank, std::uint64_t offset) const noexcept {
    return ranks_.base + local_rank * ranks_.stride + offset;
  }
  [[nodiscard]] rank_page& page(std::uint32_t local_rank) const noexcept {
    return *reinterpret_cast<rank_page*>(at(local_rank, 0));
  }
  [[nodiscard]] rank_page& own_page() const noexcept { return page(ranks_.me); }

  // Sleeping and waking, see base/doorbell.hpp.

  /// Call it after the publication that a local rank shall see.
  void wake(std::uint32_t local_rank) const noexcept { atl::wake(bell(local_rank)); }
  [[nodiscard]] bool anybody_sleeps() const noexcept { return any_sleeper(page(0).sleepers); }
  [[nodiscard]] std::uint32_t announce_sleep() const noexcept {
    return announce(bell(me()), page(0).sleepers, ranks_.remote_fences);
  }
  void sleep(std::uint32_t announced, std::int64_t longest_ns) const noexcept {
    atl::sleep(bell(me()), announced, longest_ns, network_descriptor_);
  }
  /// From here on this rank sleeps on that, too. `event`: number of its bell's descriptor.
  void sleep_on(int network_descriptor, std::uint32_t event) noexcept {
    network_descriptor_ = network_descriptor;
    bell(me()).event.store(event + 1, std::memory_order_relaxed);
  }
  void withdraw_sleep() const noexcept { withdraw(page(0).sleepers); }

  // Staging: memory of this rank for the others to read.

  static constexpr std::uint64_t no_room = ~std::uint64_t{0};
  /// Offset in this rank's region of a block that stays until it is given back, or no_room.
  [[nodiscard]] std::uint64_t take_staging(std::size_t bytes) const {
    std::uint64_t const block = transit_.reserve(bytes);
    return block == memory::arena::npos ? no_room : transit_offset() + block;
  }
  /// Should a block of that size be given back, and another taken, when its readers are done?
  [[nodiscard]] bool staging_rests(std::size_t bytes) const { return transit_.rests(bytes); }
  void give_staging(std::uint64_t offset) const { transit_.unreserve(offset - transit_offset()); }

 private:
  [[nodiscard]] doorbell& bell(std::uint32_t local_rank) const noexcept { return page(local_rank).bell; }
  std::uint64_t transit_offset() const noexcept {
    return static_cast<std::uint64_t>(transit_.address(0) - at(ranks_.me, 0));
  }

  shape ranks_;
  memory::arena& transit_;
  int network_descriptor_ = -1;
};

}  // namespace atl::engine
