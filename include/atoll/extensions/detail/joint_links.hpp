#pragma once

/// Which of a rank's links share a message: small ones to ranks of one other host, where a message costs much however short it is.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include <atoll/engine/job.hpp>
#include <atoll/engine/rma.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// Their message goes to the rank of the last one, which puts the data of the others in place for their ranks. It has to
/// be one of them: so it stays in the run until it has done that.
struct joint_links {
  struct candidate {
    std::size_t link;
    std::uint32_t rank;  ///< of the job
    std::size_t bytes;   ///< that a run sends there
  };
  /// A rank may have so much put in place by another one. More would keep that one busy for longer than a message takes.
  static constexpr std::size_t most_passed_on = std::size_t{16} << 10;

  std::vector<std::size_t> links;
  std::uint32_t rank;  ///< of the last one
  std::size_t room;    ///< flagged_puts::room of all

  /// The same at every call: of all messages to a rank that belong to one link, all go one way.
  static std::vector<joint_links> of(std::vector<candidate> all) {
    using atl::engine::flagged_puts;
    // Hosts begin with different ones.
    auto const place = [](candidate const& c) {
      atl::engine::job_info const& here = atl::engine::job;
      std::int32_t const distance = (flagged_puts::host_of(c.rank) - here.host + here.host_n) % here.host_n;
      return std::tuple(distance, c.bytes, c.rank);
    };
    std::sort(all.begin(), all.end(),
              [&](candidate const& a, candidate const& b) { return place(a) < place(b); });
    std::vector<joint_links> result;
    for (auto first = all.begin(); first != all.end();) {
      std::size_t const longest = flagged_puts::longest(first->rank);
      std::size_t room = 0;
      auto end = first;
      // The largest comes last, if it fits, however large: who takes the message puts its own data in place anyway.
      for (bool more = true; more && end != all.end() &&
                             flagged_puts::host_of(end->rank) == flagged_puts::host_of(first->rank) &&
                             room + flagged_puts::room(end->bytes) <= longest;
           ++end) {
        room += flagged_puts::room(end->bytes);
        more = end->bytes <= most_passed_on;
      }
      if (end - first > 1) {
        choose_last(first, end);
        joint_links joint{{}, (end - 1)->rank, room};
        std::transform(first, end, std::back_inserter(joint.links),
                       [](candidate const& c) { return c.link; });
        result.push_back(std::move(joint));
      }
      first = std::max(end, first + 1);
    }
    return result;
  }

 private:
  using iterator = std::vector<candidate>::iterator;
  /// Of those with most bytes: ranks that have different places in their host take different ones.
  static void choose_last(iterator first, iterator end) {
    iterator const largest =
        std::find_if(first, end, [most = (end - 1)->bytes](candidate const& c) { return c.bytes == most; });
    std::iter_swap(largest + atl::engine::job.local_rank % (end - largest), end - 1);
  }
};

}  // namespace atl::inline UPCXX_MODE::detail
