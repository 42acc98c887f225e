#pragma once

/// Tiles of a device that the host plays.

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backends/device_cells.hpp"

namespace heat3d {

class host_tile_flags {
 public:
  explicit host_tile_flags(tiling const& tiles) : device_{{}, {}, {numbers_.data(), nullptr, 0}} {
    retile(tiles);
  }
  host_tile_flags(host_tile_flags const&) = delete;
  host_tile_flags& operator=(host_tile_flags const&) = delete;

  tile_flags const& device() const { return device_; }
  void retile(tiling const& tiles) {
    words_.assign(2 * static_cast<std::size_t>(tiles.tile_n()), 0);
    device_.tiles = tiles;
    device_.words[0] = words_.data();
    device_.words[1] = words_.data() + tiles.tile_n();
  }
  /// As those of accelerator.
  void restart() { numbers_ = {}; }
  void time_steps(std::int64_t n) {
    began_.resize(static_cast<std::size_t>(n + 1));
    device_.clock.began = began_.data();
    device_.clock.began_n = static_cast<std::uint32_t>(began_.size());
  }
  std::vector<double> step_seconds(std::int64_t n) const {
    return seconds_between(std::span(began_).first(n + 1));
  }

  /// All inner cells, tile by tile; tells of those of each thread.
  template <class Tell>
  void sweep(sweep_work const& w, Tell&& tell) const {
    tiling const& t = device_.tiles;
    for (tile_place at{0, 0, 0}; at.z < t.n_z; ++at.z) {
      for (at.y = 0; at.y < t.n_y; ++at.y) {
        for (at.x = 0; at.x < t.n_x; ++at.x) {
          for (int y = 0; y < t.height; ++y) {
            for (int x = 0; x < t.width; ++x) tell(sweep_tile(w, device_, at, x, y));
          }
        }
      }
    }
  }

 private:
  std::vector<std::uint32_t> words_;
  std::array<std::uint32_t, 2> numbers_{};
  std::vector<std::uint64_t> began_;
  tile_flags device_;
};

}  // namespace heat3d
