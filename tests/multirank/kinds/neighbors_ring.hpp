#pragma once

#include <vector>

#include <atoll/stream_neighbors.hpp>

#include "multirank/kinds/stream_fixture.hpp"

/// Each rank puts a number into both of its neighbours' memory, and takes those that it has got to the host, all in a stream.
class neighbors_ring {
 public:
  /// Two elements of each rank's device: what comes from the left, and from the right.
  explicit neighbors_ring(std::vector<gpu_ptr<int>> halos)
      : halos_(std::move(halos)), given_(1, 0), got_(2, -1) {}

  [[nodiscard]] std::vector<upcxx::intrank_t> sides() const { return {left_, right_}; }
  void give(int round) {
    given_[0] = number(me_, round);
    got_[0] = got_[1] = -1;
  }
  /// `own`: an element of the own device.
  template <class Neighbors>
  void run(atl::stream const& s, gpu_ptr<int> own, Neighbors& around) {
    upcxx::copy(given_.data(), own, 1, atl::on_stream(s));
    upcxx::copy(own, halos_[static_cast<std::size_t>(right_)], 1, atl::on_stream(s));
    upcxx::copy(own, halos_[static_cast<std::size_t>(left_)] + 1, 1, atl::on_stream(s));
    around.sync(s);
    upcxx::copy(halos_[static_cast<std::size_t>(me_)], got_.data(), 2, atl::on_stream(s));
    around.sync(s);  // they may be overwritten
  }
  void expect(int round) const {
    EXPECT_EQ(got_[0], number(left_, round));
    EXPECT_EQ(got_[1], number(right_, round));
  }

 private:
  static int number(upcxx::intrank_t rank, int round) { return 1000 * round + rank; }

  upcxx::intrank_t me_ = upcxx::rank_me();
  upcxx::intrank_t left_ = (me_ + upcxx::rank_n() - 1) % upcxx::rank_n();
  upcxx::intrank_t right_ = (me_ + 1) % upcxx::rank_n();
  std::vector<gpu_ptr<int>> halos_;
  pinned<int> given_;
  pinned<int> got_;
};
