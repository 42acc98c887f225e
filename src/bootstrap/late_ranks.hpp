#pragma once

/// For a scope in which a rank waits for all others at the start, where one that never comes is all that launchers wait for: a thread that tells who
/// that is, if it can be known, and ends the job; else that it takes long.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace atl::bootstrap {

class late_ranks {
 public:
  late_ranks() = default;
  ~late_ranks();
  late_ranks(late_ranks const&) = delete;
  late_ranks& operator=(late_ranks const&) = delete;

  /// Once. `size`: of the job. `node`: ranks that the launcher has started where this one is, in their order; empty if that is not known. `rank_variable` tells a process
  /// its rank. `end_job` is called by the thread and does not return.
  void watch(std::int32_t rank, std::int32_t size, std::vector<std::int32_t> node, std::string rank_variable,
             std::function<void()> end_job);

 private:
  void run(std::int32_t rank, std::int32_t size, std::vector<std::int32_t> const& node,
           std::string const& rank_variable, std::function<void()> const& end_job);

  std::mutex lock_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace atl::bootstrap
