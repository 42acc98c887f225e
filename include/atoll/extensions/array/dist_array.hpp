#pragma once

/// Arrays that are distributed over a team in blocks.

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <atoll/extensions/array/ghosts.hpp>
#include <atoll/extensions/array/view.hpp>
#include <atoll/extensions/detail/allocate_together.hpp>
#include <upcxx/copy.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/dist_object.hpp>
#include <upcxx/future.hpp>
#include <upcxx/rma.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE {

/// Number of blocks in each dimension whose product is `blocks`, such that faces between blocks of `whole`
/// have as few points as possible.
template <int N>
[[nodiscard]] point<N> balanced_grid(domain<N> const& whole, std::ptrdiff_t blocks) {
  point<N> grid = point<N>::all(1);
  std::ptrdiff_t factors[64];
  int count = 0;
  for (std::ptrdiff_t f = 2; blocks > 1; ++f) {
    for (; blocks % f == 0; blocks /= f) factors[count++] = f;
  }
  // The largest factors first, each where blocks are longest: there a cut is shortest.
  while (count-- > 0) {
    int longest = 0;
    auto const length = [&](int d) {
      return static_cast<double>(whole.extent(d)) / static_cast<double>(grid[d]);
    };
    for (int d = 1; d < N; ++d) {
      if (length(d) >= length(longest)) longest = d;
    }
    grid[longest] *= factors[count];
  }
  return grid;
}

/// How an array is distributed; the same on all ranks.
template <int N>
struct distribution {
  point<N> grid{};                                  ///< blocks in each dimension; all 0: balanced_grid
  int depth = 0;                                    ///< ghosts around each block
  shape which = shape::all;                         ///< ghosts that ghosts() exchanges
  bool periodic[static_cast<std::size_t>(N)] = {};  ///< dimensions whose ends are neighbours
  order fastest = order::first_fastest;
};

/// An array of a whole domain, cut into blocks of nearly equal size, one for each rank of a team (rank 0 has
/// the block at the lowest indices; ranks follow with dimension 0 fastest). A rank has its block, and ghosts
/// around it, in one array in its shared memory, or on its device.
///
/// Every rank can read and write every element: those of its block through local(), on devices in kernels,
/// others by rget and rput, or whole parts by copy() from and to on(rank).
template <class T, int N, upcxx::memory_kind Kind = upcxx::memory_kind::host>
class dist_array {
  static constexpr bool on_host = Kind == upcxx::memory_kind::host;
  using pointer = upcxx::global_ptr<T, Kind>;

 public:
  /// Collective over `over`. Elements are T{}.
  ///
  /// @progress  user.
  /// @throws    upcxx::bad_shared_alloc on all ranks if one has no room.
  explicit dist_array(atl::domain<N> const& whole, distribution<N> const& how = {},
                      upcxx::team const& over = upcxx::world()) requires on_host
      : dist_array([](atl::domain<N> const& mine,
                      order fastest) { return atl::make_array<T>(mine, fastest); },
                   whole, how, over) {}
  /// The same in the segments of the ranks' allocators, which stay where they are. Those of ranks that have a
  /// block are active.
  template <class Device>
  requires(Device::kind == Kind)
      dist_array(upcxx::device_allocator<Device>& gpu, atl::domain<N> const& whole,
                 distribution<N> const& how = {}, upcxx::team const& over = upcxx::world())
      : dist_array([&gpu](atl::domain<N> const& mine,
                          order fastest) { return atl::make_array<T>(gpu, mine, fastest); },
                   whole, how, over) {}
  /// Local. Nobody may use this rank's elements any more: a barrier before sees to that.
  ~dist_array() = default;
  dist_array(dist_array&&) = default;
  dist_array& operator=(dist_array&&) = default;

  /// All points.
  [[nodiscard]] atl::domain<N> const& domain() const { return whole_; }
  /// Blocks in each dimension.
  [[nodiscard]] point<N> const& grid() const { return how_.grid; }
  [[nodiscard]] int depth() const { return how_.depth; }
  /// The points of a rank of the team, without ghosts; empty where it has none.
  [[nodiscard]] atl::domain<N> block(upcxx::intrank_t rank) const {
    atl::domain<N> result{};
    std::ptrdiff_t rest = rank;
    for (int d = 0; d < N; ++d) {
      std::ptrdiff_t const b = rest % how_.grid[d];
      rest /= how_.grid[d];
      result.lower[d] = edge(d, b);
      result.upper[d] = edge(d, b + 1);
    }
    return rest == 0 ? result : atl::domain<N>{};
  }
  /// This rank's.
  [[nodiscard]] atl::domain<N> block() const { return block(me_); }
  /// Rank, in the team, that has this point of the domain.
  [[nodiscard]] upcxx::intrank_t owner(point<N> const& p) const {
    std::ptrdiff_t rank = 0;
    for (int d = N - 1; d >= 0; --d) {
      ATOLL_CHECK(p[d] >= whole_.lower[d] && p[d] < whole_.upper[d],
                  "atl::dist_array: index %td in dimension %d is outside the domain, from %td to below %td",
                  p[d], d, whole_.lower[d], whole_.upper[d]);
      auto const extent = static_cast<std::ptrdiff_t>(whole_.extent(d));
      // Block b begins at floor(extent * b / grid), so this is the last that does not begin behind p.
      std::ptrdiff_t const b = ((p[d] - whole_.lower[d] + 1) * how_.grid[d] - 1) / extent;
      rank = rank * how_.grid[d] + b;
    }
    return static_cast<upcxx::intrank_t>(rank);
  }

  /// This rank's elements, ghosts included; no elements where it has no block.
  [[nodiscard]] array<T, N, Kind> const& local() const { return memory_.view(); }
  /// A rank's elements, ghosts included: for copy(), or where it is local.
  ///
  /// @return    ready at once if this rank asked before.
  /// @progress  internal. The object neither moves nor ends before the future is ready.
  [[nodiscard]] upcxx::future<array<T, N, Kind>> on(upcxx::intrank_t rank) {
    if (auto const at = known_.find(rank); at != known_.end()) return upcxx::make_future(at->second);
    return pointers_->fetch(rank).then([this, rank](pointer data) {
      atl::domain<N> const theirs = block(rank);
      array<T, N, Kind> const there(data, theirs.empty() ? theirs : theirs.grow(how_.depth), how_.fastest);
      known_.emplace(rank, there);
      return there;
    });
  }
  /// The value at a point, on whichever rank; from the block, not from ghosts.
  ///
  /// @progress  internal. The object neither moves nor ends before the future is ready.
  [[nodiscard]] upcxx::future<T> rget(point<N> const& p) {
    return on(owner(p)).then([p](array<T, N, Kind> const& there) {
      if constexpr (on_host) {
        return upcxx::rget(there.pointer(p));
      } else {
        auto const value = std::make_shared<T>();
        return upcxx::copy(there.pointer(p), value.get(), 1).then([value] { return *value; });
      }
    });
  }
  /// Replaces the value at a point, in the block of its owner.
  ///
  /// @progress  internal. The object neither moves nor ends before the future is ready.
  [[nodiscard]] upcxx::future<> rput(T const& value, point<N> const& p) {
    return on(owner(p)).then([value, p](array<T, N, Kind> const& there) {
      if constexpr (on_host) {
        return upcxx::rput(value, there.pointer(p));
      } else {
        auto const sent = std::make_shared<T>(value);
        return upcxx::copy(sent.get(), there.pointer(p), 1).then([sent] {});
      }
    });
  }

  /// Exchange of the ghosts: `a.ghosts().run()`. Nothing to do where the depth is 0.
  [[nodiscard]] ghost_exchange<T, N, Kind>& ghosts() { return ghosts_; }

 private:
  /// `make`: allocates this rank's block.
  template <class Make>
  requires std::is_invocable_v < Make, atl::domain<N>
  const&,
      order > dist_array(Make const& make, atl::domain<N> const& whole, distribution<N> const& how,
                         upcxx::team const& over)
      : whole_(whole),
  how_(how), ranks_(over.rank_n()), me_(over.rank_me()) {
    if (how_.grid == point<N>{}) how_.grid = atl::balanced_grid(whole, ranks_);
    std::ptrdiff_t blocks = 1;
    for (int d = 0; d < N; ++d) {
      if (how_.grid[d] < 1) {
        atl::check_failed(
            "atl::dist_array: a grid with %td blocks in dimension %d; there is one at least, or 0 in all dimensions",
            how_.grid[d], d);
      }
      blocks *= how_.grid[d];
    }
    if (how_.depth < 0) {
      atl::check_failed("atl::dist_array: a depth of %d ghosts; it is not negative", how_.depth);
    }
    if (blocks > ranks_) {
      atl::check_failed("atl::dist_array: a grid of %td blocks for %d ranks; there is at most one for each",
                        blocks, static_cast<int>(ranks_));
    }
    atl::domain<N> const mine = block(me_);
    detail::allocate_together(
        [&] {
          if (!mine.empty()) memory_ = make(mine.grow(how_.depth), how_.fastest);
        },
        over, "atl::dist_array", "room for its block");
    if (std::size_t const n = memory_.view().size(); n != 0) {
      if constexpr (on_host) {
        std::fill_n(memory_.data_handle(), n, T{});
      } else {
        auto const values = std::make_unique<T[]>(n);
        upcxx::copy(values.get(), memory_.view().data(), n).wait();
      }
    }
    pointers_.emplace(memory_.view().data(), over);
    known_.emplace(me_, memory_.view());
    if (how_.depth > 0) {
      std::optional<atl::domain<N>> period;
      atl::domain<N> wrapped = whole;
      bool any = false;
      for (int d = 0; d < N; ++d) {
        any |= how_.periodic[d];
        if (!how_.periodic[d]) wrapped.upper[d] = wrapped.lower[d];
      }
      if (any) period = wrapped;
      std::span<array<T, N, Kind> const> const boxes(&memory_.view(), mine.empty() ? 0U : 1U);
      ghosts_ = ghost_exchange<T, N, Kind>(boxes, how_.depth, how_.which, period, over);
    }
  }
  std::ptrdiff_t edge(int d, std::ptrdiff_t block) const {
    return whole_.lower[d] + static_cast<std::ptrdiff_t>(whole_.extent(d)) * block / how_.grid[d];
  }

  atl::domain<N> whole_;
  distribution<N> how_;
  upcxx::intrank_t ranks_;
  upcxx::intrank_t me_;
  owned_array<T, N, Kind> memory_;
  ghost_exchange<T, N, Kind> ghosts_;
  std::optional<upcxx::dist_object<pointer>> pointers_;  ///< each rank's memory
  std::map<upcxx::intrank_t, array<T, N, Kind>> known_;  ///< arrays that were asked for
};

}  // namespace atl::inline UPCXX_MODE
