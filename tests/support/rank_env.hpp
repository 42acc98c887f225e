#pragma once

/// A channel between the ranks of a test, independent of what is tested.
///
/// Tests of communication must not rely on it to stay in step. The ranks of a test share a host, so rank 0
/// listens on an abstract Unix socket (nothing is left on disk) and every other rank connects to it. While a
/// rank waits here it keeps calling the library's progress, because its peers may still need its attention
/// to finish the test that this rank has finished already.

#include <cstdint>
#include <vector>

namespace atoll_test {

class rank_env {
 public:
  /// Connects the ranks. Collective. `key` names the rendezvous; the same on all ranks, unique on the host.
  rank_env(int rank, int size, std::uint64_t key);
  ~rank_env();
  rank_env(rank_env const&) = delete;
  rank_env& operator=(rank_env const&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Returns when all ranks have called it. Ends the process when a peer is lost.
  void barrier();
  /// Sum of all ranks' values, known to all. Collective.
  std::int64_t sum(std::int64_t mine);

 private:
  int rank_;
  int size_;
  std::vector<int> sockets_;  ///< rank 0: one for each other rank; others: one to rank 0
};

}  // namespace atoll_test
