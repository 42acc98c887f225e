#pragma once

/// A reduction of arrays that lie in memory of one device, element by element: by a kernel of the library (cuda/kernels.cu).

#include <cstdint>

#include <atoll/base/config.hpp>

namespace atl::memory {

struct array_reduction {
  enum class operation : std::uint32_t { plus, least, greatest };
  enum class element : std::uint32_t { float32, float64, int32, int64 };
  static constexpr unsigned threads = 256;
  static constexpr unsigned most_blocks = 1024;

  std::uint64_t to;      ///< as devices of this process find it
  std::uint64_t from;    ///< the first array
  std::uint64_t stride;  ///< bytes to the next one
  std::uint64_t count;   ///< elements of each
  std::uint32_t arrays;
  operation what;
  element of;

  [[nodiscard]] std::uint64_t bytes_of_element() const noexcept {
    return of == element::float64 || of == element::int64 ? 8 : 4;
  }
  /// So many fill the device where there is enough to do.
  [[nodiscard]] unsigned blocks() const noexcept {
    std::uint64_t const wanted = (count + threads - 1) / threads;
    return static_cast<unsigned>(wanted < most_blocks ? wanted : most_blocks);
  }

  /// Element i, in the order of the arrays.
  template <class T>
  ATOLL_ANYWHERE void reduce_one(std::uint64_t i) const {
    T total = reinterpret_cast<T const*>(from)[i];
    for (std::uint32_t k = 1; k < arrays; ++k) {
      T const next = reinterpret_cast<T const*>(from + k * stride)[i];
      switch (what) {
        case operation::plus:
          total = total + next;
          break;
        case operation::least:
          total = next < total ? next : total;
          break;
        case operation::greatest:
          total = total < next ? next : total;
          break;
      }
    }
    reinterpret_cast<T*>(to)[i] = total;
  }
  /// Elements `first`, `first` + `step`, and so on.
  ATOLL_ANYWHERE void reduce(std::uint64_t first, std::uint64_t step) const {
    for (std::uint64_t i = first; i < count; i += step) {
      switch (of) {
        case element::float32:
          reduce_one<float>(i);
          break;
        case element::float64:
          reduce_one<double>(i);
          break;
        case element::int32:
          reduce_one<std::int32_t>(i);
          break;
        case element::int64:
          reduce_one<std::int64_t>(i);
          break;
      }
    }
  }
};

}  // namespace atl::memory
