#pragma once

/// Boxes that cover a domain, for tests of transfers.

#include <chrono>
#include <cstddef>
#include <random>
#include <thread>
#include <vector>

#include <atoll/extensions/array/view.hpp>

#include "multirank/common.hpp"

namespace multirank {

template <int N>
double point_value(atl::point<N> const& p, int step) {
  double v = step;
  for (int d = 0; d < N; ++d) v = v * 64 + static_cast<double>(p[d]);
  return v;
}

/// Some ranks, in some steps.
inline void lag(int step) {
  if ((step * 5 + upcxx::rank_me() * 3) % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Fields that a box has, behind each other.
constexpr int fields = 2;

/// An uneven cut of a domain into boxes, dealt to the ranks in no order; some may have none.
template <int N>
struct uneven_boxes {
  uneven_boxes(atl::domain<N> const& whole, int cuts, int depth, unsigned seed, int ranks, int me)
      : all(whole) {
    std::minstd_rand numbers(seed);  // the same on all ranks
    std::vector<std::ptrdiff_t> edges[N];
    for (int d = 0; d < N; ++d) {
      auto const extent = static_cast<std::ptrdiff_t>(whole.extent(d));
      edges[d] = {whole.lower[d]};
      for (int c = 1; c < cuts; ++c) {
        edges[d].push_back(whole.lower[d] + extent * c / cuts + static_cast<std::ptrdiff_t>(numbers() % 2));
      }
      edges[d].push_back(whole.upper[d]);
    }
    for (atl::point<N> const& b : atl::domain<N>{{}, atl::point<N>::all(cuts)}) {
      atl::domain<N> interior{};
      for (int d = 0; d < N; ++d) {
        interior.lower[d] = edges[d][static_cast<std::size_t>(b[d])];
        interior.upper[d] = edges[d][static_cast<std::size_t>(b[d]) + 1];
      }
      auto const owner = static_cast<int>(numbers() % static_cast<unsigned>(ranks));
      bool const last_fastest = numbers() % 3 == 0;
      if (owner != me) continue;
      atl::domain<N> const with_ghosts = interior.grow(depth);
      // All boxes have room for the same number of elements, so that fields are equally far apart.
      memory.push_back(upcxx::new_array<double>(fields * field_elements));
      mine.emplace_back(memory.back(), with_ghosts,
                        last_fastest ? atl::order::last_fastest : atl::order::first_fastest);
      EXPECT_LE(with_ghosts.size(), field_elements);
    }
  }
  ~uneven_boxes() {
    upcxx::barrier();
    for (auto const m : memory) upcxx::delete_array(m);
  }
  static constexpr std::size_t field_elements = 4096;

  atl::domain<N> all;
  std::vector<upcxx::global_ptr<double>> memory;
  std::vector<atl::array<double, N>> mine;
};

}  // namespace multirank
