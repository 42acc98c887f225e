#pragma once

/// Boxes between memories of which one process addresses neither: the engine copies each of their runs.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <atoll/engine/memory_copy.hpp>
#include <atoll/engine/strided.hpp>
#include <atoll/extensions/detail/planned_copy.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::detail {

struct device_box {
  atl::engine::prepared_box
      shape;         ///< its ends are addresses in the owners' terms, which nobody follows here
  std::uint64_t to;  ///< first words of global pointers to them
  std::uint64_t from;

  atl::engine::memory_place target(std::ptrdiff_t moved) const { return place(to, shape.dest, moved); }
  atl::engine::memory_place source(std::ptrdiff_t moved) const { return place(from, shape.source, moved); }
  std::size_t runs() const {
    std::size_t count = 1;
    for (auto const& d : shape.dimensions) count *= d.extent;
    return count;
  }
  /// Calls f(to, from, bytes) for each run, the ends moved by so many bytes.
  template <class F>
  void for_each_run(std::ptrdiff_t dest_moved, std::ptrdiff_t source_moved, F&& f) const {
    auto const [d0, d1, d2, d3] = shape.dimensions;
    auto const count = [](atl::engine::prepared_box::dimension const& d) {
      return static_cast<std::ptrdiff_t>(d.extent);
    };
    for (std::ptrdiff_t l = 0; l < count(d3); ++l) {
      for (std::ptrdiff_t k = 0; k < count(d2); ++k) {
        for (std::ptrdiff_t j = 0; j < count(d1); ++j) {
          for (std::ptrdiff_t i = 0; i < count(d0); ++i) {
            f(place(to, shape.dest, dest_moved + i * d0.dest + j * d1.dest + k * d2.dest + l * d3.dest),
              place(from, shape.source,
                    source_moved + i * d0.source + j * d1.source + k * d2.source + l * d3.source),
              shape.run);
          }
        }
      }
    }
  }

 private:
  static atl::engine::memory_place place(std::uint64_t memory, std::byte const* first, std::ptrdiff_t moved) {
    return atl::engine::memory_place{memory, reinterpret_cast<std::uintptr_t>(first)}.moved_by(moved);
  }
};

/// Appends the boxes of a planned copy.
template <int N>
void append_boxes(std::vector<device_box>& boxes, planned_copy<N> const& t, std::size_t element_bytes) {
  auto const at = [](std::uint64_t address, std::ptrdiff_t moved) {
    return reinterpret_cast<std::byte*>(address + static_cast<std::uint64_t>(moved));
  };
  detail::for_each_box(
      t, [&](std::ptrdiff_t dest, std::ptrdiff_t source, std::size_t const* extents, std::size_t dimensions) {
        device_box box{{}, t.dest_memory, t.source_memory};
        if (atl::engine::prepare_box(box.shape, at(t.dest, dest), t.dest_strides.coordinates,
                                     at(t.source, source), t.source_strides.coordinates, extents, dimensions,
                                     element_bytes)) {
          boxes.push_back(box);
        }
      });
}

}  // namespace atl::inline UPCXX_MODE::detail
