#pragma once

/// Ghost exchange of a set of boxes.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/extensions/array/transfer.hpp>
#include <atoll/extensions/array/view.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE {

/// Which ghosts are exchanged.
enum class shape {
  faces,        ///< those that share a face with the box: what a star-shaped stencil reads
  faces_edges,  ///< and those at its edges
  all,          ///< and those at its corners
};

namespace detail {

/// The arrays of a ghost exchange.
template <class T, int N, upcxx::memory_kind Kind>
struct ghost_arrays {
  std::vector<array<T, N, Kind>> interiors;
  std::vector<array<T, N, Kind>> ghosts;

  ghost_arrays(std::span<array<T, N, Kind> const> boxes, int depth, shape which,
               std::optional<domain<N>> const& periodic) {
    if (depth < 0) atl::check_failed("atl::ghost_exchange: the depth is %d; it is not negative", depth);
    for (array<T, N, Kind> const& box : boxes) {
      domain<N> const interior = box.domain().shrink(depth);
      for (int d = 0; d < N; ++d) {
        if (interior.extent(d) == 0) {
          atl::check_failed(
              "atl::ghost_exchange: a box has %zu points in dimension %d, %d ghosts on either side "
              "included: no interior is left",
              box.extent(d), d, depth);
        }
      }
      interiors.push_back(box.restrict_to(interior));
      for (point<N> const& direction : domain<N>{point<N>::all(-1), point<N>::all(2)}) {
        int away = 0;
        for (int d = 0; d < N; ++d) away += direction[d] != 0 ? 1 : 0;
        if (away == 0 || (which == shape::faces && away > 1) || (which == shape::faces_edges && away > 2)) {
          continue;
        }
        add_images(box.restrict_to(interior.region(direction, depth)), periodic);
      }
    }
  }

 private:
  /// Ghosts outside of a periodic domain are those of an image: they are given the indices of their original.
  void add_images(array<T, N, Kind> const& region, std::optional<domain<N>> const& periodic) {
    if (region.empty()) return;
    domain<N> images{{}, point<N>::all(1)};
    for (int d = 0; d < N && periodic; ++d) {
      auto const period = static_cast<std::ptrdiff_t>(periodic->extent(d));
      if (period == 0) continue;
      images.lower[d] = detail::floor_divide(region.lower()[d] - periodic->lower[d], period);
      images.upper[d] = detail::floor_divide(region.upper()[d] - 1 - periodic->lower[d], period) + 1;
    }
    for (point<N> const& image : images) {
      domain<N> part = region.domain();
      point<N> shift{};
      for (int d = 0; d < N && periodic; ++d) {
        auto const period = static_cast<std::ptrdiff_t>(periodic->extent(d));
        if (period == 0) continue;
        shift[d] = image[d] * period;
        part = part & slab(part, d, periodic->lower[d] + shift[d], periodic->upper[d] + shift[d]);
      }
      ghosts.push_back(region.restrict_to(part).translate(-shift));
    }
  }
  static domain<N> slab(domain<N> whole, int dimension, std::ptrdiff_t lower, std::ptrdiff_t upper) {
    whole.lower[dimension] = lower;
    whole.upper[dimension] = upper;
    return whole;
  }
};

}  // namespace detail

/// Fills the ghosts of boxes from the interiors of the boxes that have these points, on whichever rank. A
/// transfer (run, start, test, finish, offsets, rules): planned once, replayed for any field of the boxes.
///
///     atl::ghost_exchange<double, 3> halo(boxes, 1, atl::shape::faces);
///     halo.run();          // of the field that `boxes` are views of
///     halo.run(at, at);    // of the field that is `at` elements behind it, in every box
///
/// Ghosts for which there is no interior (the boundary of the domain) are left alone, as are interiors.
///
/// Boxes on devices, `ghost_exchange<double, 3, kind>`: see transfer.
template <class T, int N, upcxx::memory_kind Kind = upcxx::memory_kind::host>
class ghost_exchange : public transfer<T, N, Kind> {
 public:
  ghost_exchange() = default;
  /// Collective over `over`.
  ///
  /// @param boxes     this rank's boxes, any number, in its own shared memory, or on its devices; the domain of
  ///                  each includes `depth` ghosts on every side. Interiors do not overlap.
  /// @param depth     the same on all ranks.
  /// @param which     ghosts in which directions; the same on all ranks.
  /// @param periodic  the whole domain, if it is periodic; dimensions in which it has no points are not.
  /// @param over      boxes of its members are exchanged.
  /// @throws          upcxx::bad_shared_alloc where transfer does.
  /// @progress        user.
  ghost_exchange(std::span<array<T, N, Kind> const> boxes, int depth, shape which = shape::all,
                 std::optional<domain<N>> const& periodic = {}, upcxx::team const& over = upcxx::world(),
                 transfer_options options = {})
      : ghost_exchange(detail::ghost_arrays<T, N, Kind>(boxes, depth, which, periodic), over, options) {}

 private:
  ghost_exchange(detail::ghost_arrays<T, N, Kind> const& arrays, upcxx::team const& over,
                 transfer_options options)
      : transfer<T, N, Kind>(arrays.interiors, arrays.ghosts, options, over) {}
};

}  // namespace atl::inline UPCXX_MODE
