#pragma once

/// A launcher's service for ranks of a large job of which only some are played (start.hpp): what libpmix has for the library, over memory that the
/// played ranks' processes share. It keeps what ranks leave, lets them meet, and answers for all ranks of the job; it counts, and
/// advances a virtual clock of each rank, by costs.hpp. Ranks that are not played leave and do what those of their place on
/// the second host do; what tells their host is made by the library's own function.
///
/// A meeting of the job is taken to go through the servers of hosts: what ranks have left since the last one goes up a binomial tree to the first
/// host's, and all of it down to all, as PMIx_Fence promises where data are collected. So do servers of Hydra at a barrier.

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "bootstrap/pmix_api.hpp"
#include "scale/costs.hpp"
#include "scale/counting_network.hpp"
#include "scale/job_shape.hpp"

namespace atl::scale {

/// A virtual time for each of `networks`.
using times = std::array<picoseconds, std::size(networks)>;

/// What a rank has asked for under names that differ in a number only.
struct asked_for {
  std::array<char, 24> name;
  std::uint64_t times;
  std::uint64_t bytes;
};

/// What one rank has done while it started.
struct rank_at_start {
  std::int32_t rank;
  std::uint64_t requests;       ///< to the server of its host: what it left, and meetings
  std::uint64_t left_bytes;     ///< for others
  std::uint64_t host_meetings;  ///< exchanges over the host
  std::uint64_t job_meetings;
  std::array<asked_for, 12> asked;
  bool
      is_rung;  ///< by the ranks of its host while it sleeps on a network: it has their event descriptors, and they its
  std::uint64_t sent;  ///< by the library to other hosts: messages, and words to connect
  std::size_t
      heap;  ///< private memory in use afterwards, more than before; 0 where the C library does not say
  times clock;

  [[nodiscard]] asked_for asked_of(char const* name) const;
  [[nodiscard]] asked_for asked_in_all() const;
};

class virtual_launcher final : public carrier {
 public:
  /// In memory that processes share from now on. Throws std::runtime_error.
  static virtual_launcher* make(job_shape const& shape);
  void remove() noexcept;

  /// World ranks that have to be played: all of the first hosts, and of the last one.
  [[nodiscard]] std::vector<std::int32_t> played() const;
  /// This process is the rank from here on; the library finds this launcher. Clears the environment of what is another launcher's.
  void become(std::int32_t rank);
  /// The launcher of this process' rank.
  static virtual_launcher& here() noexcept { return *here_; }
  /// Who waits for others ends: one of them is gone.
  void end() noexcept;

  [[nodiscard]] rank_at_start& mine() noexcept { return records_[me_].seen; }
  [[nodiscard]] rank_at_start const& of_played(std::size_t index) const noexcept {
    return records_[index].seen;
  }
  /// Bytes that all servers together have sent to each other.
  [[nodiscard]] std::uint64_t bytes_between() const noexcept { return bytes_between_; }

  void carry(std::int32_t to, packet* what) override;

  bootstrap::pmix_api::status get(bootstrap::pmix_api::proc const& of, char const* key,
                                  bootstrap::pmix_api::value** result);
  bootstrap::pmix_api::status put(std::uint8_t scope, char const* key, bootstrap::pmix_api::byte_object what);
  bootstrap::pmix_api::status fence(bootstrap::pmix_api::proc const* among, std::size_t count);

 private:
  static constexpr std::size_t most_hosts = 3;  ///< played
  static constexpr std::size_t most_left = 80;  ///< things, of a rank
  static constexpr std::size_t longest = 1100;  ///< of them

  struct thing {
    char key[32];
    std::uint32_t bytes;
    char blob[longest];
  };
  struct record {
    rank_at_start seen;
    std::uint32_t left;
    std::uint64_t collected;  ///< bytes that go to all hosts at the next meeting of the job
    thing things[most_left];
  };
  /// Of the job, or of a host.
  struct meeting_place {
    std::size_t there;
    std::uint64_t held;
    times over;
    // Of a host, since its ranks have met last, by themselves or with all:
    std::uint64_t requests;
    times latest;
  };

  virtual_launcher(job_shape const& shape, std::size_t bytes);
  [[nodiscard]] std::int32_t host_of(std::int32_t rank) const { return rank / shape_.per_host; }
  [[nodiscard]] std::int32_t ranks_of(std::int32_t host) const;
  /// Which of the played hosts stands for one.
  [[nodiscard]] std::size_t player_of(std::int32_t host) const;
  [[nodiscard]] std::size_t index_of(std::int32_t rank) const;
  [[nodiscard]] thing const* find(std::int32_t rank, char const* key) const;
  [[nodiscard]] std::size_t own_player() const { return player_of(host_of(records_[me_].seen.rank)); }
  [[nodiscard]] times end_of_meeting(meeting_place& host);
  [[nodiscard]] times end_of_job_meeting();
  void spend(picoseconds time);

  // Of this process:
  static virtual_launcher* here_;
  static std::size_t me_;

  job_shape shape_;
  std::size_t bytes_;                             ///< of all of it
  std::array<std::int32_t, most_hosts> hosts_{};  ///< that are played
  std::array<std::size_t, most_hosts> firsts_{};  ///< index of the first rank of each
  std::size_t played_hosts_ = 0;
  std::size_t played_ranks_ = 0;
  pthread_mutex_t lock_;
  pthread_cond_t changed_;
  bool over_ = false;
  std::uint64_t bytes_between_ = 0;
  meeting_place job_{};
  std::array<meeting_place, most_hosts> of_hosts_{};
  std::uint64_t* identities_;  ///< of hosts
  record* records_;            ///< of played ranks
};

}  // namespace atl::scale
