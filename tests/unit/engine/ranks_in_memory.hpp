#pragma once

/// The ranks of a host without processes: their regions lie side by side in memory of the test.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <atoll/base/round_up.hpp>

#include "engine/host/host_domain.hpp"
#include "memory/host/arena.hpp"

namespace atl::engine {

class ranks_in_memory {
 public:
  /// `first`: world rank of local rank 0.
  explicit ranks_in_memory(std::uint32_t count, std::int32_t first = 0, std::size_t transit_bytes = 64 << 10)
      : memory_(std::make_unique<page[]>(count * stride_pages(transit_bytes))) {
    auto* const base = reinterpret_cast<std::byte*>(memory_.get());
    std::size_t const stride = stride_pages(transit_bytes) * sizeof(page);
    for (std::uint32_t me = 0; me < count; ++me) {
      arenas_.push_back(std::make_unique<memory::arena>(base + me * stride + transit_offset, transit_bytes));
      hosts_.push_back(std::make_unique<host_domain>(
          host_domain::shape{base, stride, bootstrap::host_ranks(first, count), me, false}, *arenas_.back()));
    }
  }

  /// As the local rank sees it.
  host_domain& seen_by(std::uint32_t local_rank) { return *hosts_[local_rank]; }

  static constexpr std::size_t transit_offset = round_up(sizeof(rank_page), std::size_t{4096});

 private:
  struct alignas(4096) page {
    std::byte bytes[4096];
  };
  static std::size_t stride_pages(std::size_t transit_bytes) {
    return (transit_offset + round_up(transit_bytes, sizeof(page))) / sizeof(page);
  }

  std::unique_ptr<page[]> memory_;
  std::vector<std::unique_ptr<memory::arena>> arenas_;
  std::vector<std::unique_ptr<host_domain>> hosts_;
};

}  // namespace atl::engine
