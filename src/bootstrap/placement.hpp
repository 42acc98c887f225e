#pragma once

/// Where the ranks of the job are: hosts, and the ranks of a host by number. The one place that translates between
/// world ranks and local ranks.
///
/// Local ranks ascend with world ranks. Those of a host are usually consecutive, so that translating is an add; a
/// launcher may have dealt them out otherwise (`--map-by node`), and then tables answer.

#include <cstdint>
#include <memory>
#include <vector>

namespace atl::bootstrap {

/// Where ranks are: 4 bytes for each of the job, 4 for each of this host. Exists where there are several hosts.
struct rank_table {
  std::vector<std::int32_t> host_of;  ///< by world rank
  std::vector<std::int32_t> members;  ///< world ranks of this process' host, by local rank
};

/// World ranks and local ranks of one host. A view, cheap to copy: what it was made from outlives it.
///
/// The inline part knows the consecutive ranks around this process, which are usually all.
class host_ranks {
 public:
  /// What local_rank() says of a rank of another host; at least count().
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// `count` consecutive ranks.
  explicit host_ranks(std::int32_t first = 0, std::uint32_t count = 1) noexcept
      : first_(first), run_(count), count_(count) {}
  /// Those of this process, which is `me` in the table.
  host_ranks(rank_table const& table, std::int32_t me) noexcept;

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] bool has(std::int32_t world_rank) const noexcept { return local_rank(world_rank) != none; }
  [[nodiscard]] std::uint32_t local_rank(std::int32_t world_rank) const noexcept {
    std::uint32_t const distance =
        static_cast<std::uint32_t>(world_rank) - static_cast<std::uint32_t>(first_);
    if (distance < run_) [[likely]]
      return run_begin_ + distance;
    return look_up(world_rank);
  }
  /// The same where it is in the run of consecutive ranks around this process, else `none`.
  [[nodiscard]] std::uint32_t local_rank_nearby(std::int32_t world_rank) const noexcept {
    std::uint32_t const distance =
        static_cast<std::uint32_t>(world_rank) - static_cast<std::uint32_t>(first_);
    return distance < run_ ? run_begin_ + distance : none;
  }
  [[nodiscard]] std::int32_t world_rank(std::uint32_t local_rank) const noexcept {
    if (table_ == nullptr) [[likely]]
      return first_ + static_cast<std::int32_t>(local_rank);
    return table_->members[local_rank];
  }

  /// Whether the run is all.
  [[nodiscard]] bool consecutive() const noexcept { return run_ == count_; }
  /// The run of consecutive ranks around this process: world rank of its first, that one's local rank, length.
  [[nodiscard]] std::int32_t run_first() const noexcept { return first_; }
  [[nodiscard]] std::uint32_t run_begin() const noexcept { return run_begin_; }
  [[nodiscard]] std::uint32_t run_length() const noexcept { return run_; }
  /// Of all ranks of the job; null if the run is all.
  [[nodiscard]] rank_table const* table() const noexcept { return table_; }

 private:
  [[nodiscard]] std::uint32_t look_up(std::int32_t world_rank) const noexcept;

  std::int32_t first_;
  std::uint32_t run_;
  std::uint32_t run_begin_ = 0;
  std::uint32_t count_;
  rank_table const* table_ = nullptr;  ///< null: the run is all
  std::int32_t host_ = 0;
};

/// Position of this process in the job.
struct placement {
  std::int32_t rank = 0;
  std::int32_t size = 1;
  std::int32_t host = 0;  ///< index of this host, 0 .. hosts-1
  std::int32_t hosts = 1;
  std::int32_t local_rank = 0;  ///< rank among the processes of this host
  std::int32_t local_size = 1;
  std::int32_t largest_host = 1;            ///< ranks of the host that has most
  std::shared_ptr<rank_table const> table;  ///< null on one host: there, local ranks are world ranks

  /// The ranks of this host. Valid while the placement is.
  [[nodiscard]] host_ranks ranks_of_host() const noexcept {
    return table == nullptr ? host_ranks(0, static_cast<std::uint32_t>(local_size))
                            : host_ranks(*table, rank);
  }
  /// Host of a rank of the job.
  [[nodiscard]] std::int32_t host_of(std::int32_t world_rank) const noexcept {
    return table == nullptr ? 0 : table->host_of[static_cast<std::size_t>(world_rank)];
  }
  /// The lowest rank of each host. Looks at all ranks of the job.
  [[nodiscard]] std::vector<std::int32_t> first_ranks() const;
  /// The rank of each host that has this one's place there, counted round where it has fewer; negative for one that has a single
  /// rank. Looks at all ranks of the job.
  [[nodiscard]] std::vector<std::int32_t> counterparts() const;
};

/// The placement of process `rank` of a job whose rank r is on host `host_of[r]`. Hosts are numbered from 0 without
/// a gap.
placement place(std::int32_t rank, std::vector<std::int32_t> const& host_of);

}  // namespace atl::bootstrap
