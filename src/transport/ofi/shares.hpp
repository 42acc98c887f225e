#pragma once

/// How a long transfer is cut for several devices.

#include <algorithm>
#include <cstddef>

namespace atl::transport::ofi {

/// Transfers from so many bytes on go over all of them. Below, where cores are the limit, a second wire costs what it brings elsewhere.
inline constexpr std::size_t rails_from = std::size_t{1} << 20;

struct share {
  std::size_t begin = 0;
  std::size_t bytes = 0;
};

/// The share at `index` of `count` equal ones, which begin at whole pages; the last one has what remains. Those of less than a
/// page a device may be empty.
constexpr share share_of(std::size_t bytes, std::size_t count, std::size_t index) {
  constexpr std::size_t page = 4096;
  std::size_t const each = (bytes / count + page - 1) / page * page;
  std::size_t const begin = std::min(bytes, index * each);
  std::size_t const end = index + 1 == count ? bytes : std::min(bytes, begin + each);
  return {begin, end - begin};
}

}  // namespace atl::transport::ofi
