#pragma once

/// Who does something together in a kernel: a thread, its warp, its block, or the whole grid.
///
/// All threads of a scope make a call together, as __syncthreads() is one. Where the host plays kernels a
/// block has one thread, and blocks are threads of the host.

#include <cstddef>
#include <cstdint>

#include <atoll/base/config.hpp>
#include <atoll/extensions/device/words.hpp>
#include <upcxx/detail/config.hpp>

#ifdef __CUDACC__
#include <cooperative_groups.h>
#endif

namespace atl::inline UPCXX_MODE::device {

/// The blocks of a kernel that the host plays, and where this thread is among them.
struct played_grid {
  std::uint32_t blocks = 1;
  alignas(64) std::uint64_t arrived = 0;
};
struct played_block {
  std::uint32_t index = 0;
  played_grid* all = nullptr;
};
inline played_block& played() {
  static thread_local played_block mine;
  return mine;
}

struct thread {
  ATOLL_ANYWHERE static std::size_t rank() { return 0; }
  ATOLL_ANYWHERE static std::size_t size() { return 1; }
  ATOLL_ANYWHERE static void sync() {}
  /// Waits for all; true for all if it is for all.
  ATOLL_ANYWHERE static bool sync_and(bool mine) { return mine; }
};

/// All 32 threads.
struct warp {
  ATOLL_ANYWHERE static std::size_t rank() {
    ATOLL_ON_DEVICE(unsigned lane; asm("mov.u32 %0, %%laneid;" : "=r"(lane)); return lane;)
    ATOLL_ON_HOST(return 0;)
  }
  ATOLL_ANYWHERE static std::size_t size() { return ATOLL_ON_DEVICE(32) ATOLL_ON_HOST(1); }
  ATOLL_ANYWHERE static void sync() { ATOLL_ON_DEVICE(__syncwarp();) }
  ATOLL_ANYWHERE static bool sync_and(bool mine) {
    return ATOLL_ON_DEVICE(__all_sync(0xffffffffU, mine) != 0) ATOLL_ON_HOST(mine);
  }
};

struct block {
  ATOLL_ANYWHERE static std::size_t rank() {
    return ATOLL_ON_DEVICE(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z))
        ATOLL_ON_HOST(0);
  }
  ATOLL_ANYWHERE static std::size_t size() {
    return ATOLL_ON_DEVICE(blockDim.x * blockDim.y * blockDim.z) ATOLL_ON_HOST(1);
  }
  ATOLL_ANYWHERE static void sync() { ATOLL_ON_DEVICE(__syncthreads();) }
  ATOLL_ANYWHERE static bool sync_and(bool mine) {
    return ATOLL_ON_DEVICE(__syncthreads_and(mine) != 0) ATOLL_ON_HOST(mine);
  }
  /// Which of how many of the grid.
  ATOLL_ANYWHERE static std::size_t index() {
    return ATOLL_ON_DEVICE(blockIdx.x + gridDim.x * (blockIdx.y + std::size_t{gridDim.y} * blockIdx.z))
        ATOLL_ON_HOST(played().index);
  }
  ATOLL_ANYWHERE static std::size_t count() {
    return ATOLL_ON_DEVICE(std::size_t{gridDim.x} * gridDim.y * gridDim.z)
        ATOLL_ON_HOST(played().all == nullptr ? 1 : played().all->blocks);
  }
};

/// Of a kernel that was launched cooperatively (launch() does, unless blocks are apart): all its blocks are
/// there at once.
struct grid {
  ATOLL_ANYWHERE static std::size_t rank() { return block::index() * block::size() + block::rank(); }
  ATOLL_ANYWHERE static std::size_t size() { return block::count() * block::size(); }
  ATOLL_ANYWHERE static void sync() {
    ATOLL_ON_DEVICE(cooperative_groups::this_grid().sync();)
    ATOLL_ON_HOST(played_grid* const all = played().all; if (all == nullptr) return;
                  // Counts on: a round is over when all have come as often.
                  std::uint64_t const mine = words::fetch_add(&all->arrived, 1);
                  std::uint64_t const round = mine / all->blocks + 1;
                  while (words::load_acquire(&all->arrived) < round * all->blocks) words::between_looks();)
  }
  /// Costs no vote: a wait that has given up is false where it was, and true elsewhere.
  ATOLL_ANYWHERE static bool sync_and(bool mine) {
    sync();
    return mine;
  }
};

ATOLL_ANYWHERE inline thread this_thread() { return {}; }
ATOLL_ANYWHERE inline warp this_warp() { return {}; }
ATOLL_ANYWHERE inline block this_block() { return {}; }
ATOLL_ANYWHERE inline grid this_grid() { return {}; }

}  // namespace atl::inline UPCXX_MODE::device
