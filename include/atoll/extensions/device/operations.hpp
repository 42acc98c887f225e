#pragma once

/// Operations of reductions, for kernels.

#include <cstdint>

#include <atoll/base/config.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::device {

struct plus {
  template <class T>
  ATOLL_ANYWHERE T operator()(T const& a, T const& b) const {
    return a + b;
  }
};
struct least {
  template <class T>
  ATOLL_ANYWHERE T operator()(T const& a, T const& b) const {
    return b < a ? b : a;
  }
};
struct greatest {
  template <class T>
  ATOLL_ANYWHERE T operator()(T const& a, T const& b) const {
    return a < b ? b : a;
  }
};

/// Who stores the result of a reduction.
ATOLL_ANYWHERE inline bool has_result(std::int32_t rank, std::int32_t root) {
  return root < 0 || rank == root;
}

}  // namespace atl::inline UPCXX_MODE::device
