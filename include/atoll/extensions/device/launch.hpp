#pragma once

/// Starting kernels whose blocks wait for each other and for other ranks: all blocks must be there at once.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <atoll/base/config.hpp>
#include <atoll/extensions/device/scopes.hpp>
#include <atoll/stream.hpp>
#include <upcxx/allocate.hpp>

namespace atl::inline UPCXX_MODE::device {

/// How many blocks of how many threads, and bytes of shared memory that the kernel asks for when it is
/// launched.
struct grid_shape {
  unsigned blocks = 1;
  unsigned threads = 1;
  std::size_t shared_bytes = 0;
  /// Not launched cooperatively, so it starts sooner: for kernels whose blocks wait for other ranks, and for
  /// earlier blocks of theirs, but for no later ones. Nothing of such a kernel may have the scope of the grid.
  bool apart = false;
};

/// Part of the names of functions that compilers of CUDA make otherwise than those of C++: a program may have
/// both.
#ifdef __CUDACC__
struct by_cuda;
using this_compiler = by_cuda;
#else
struct by_cpp;
using this_compiler = by_cpp;
#endif

#ifdef __CUDACC__
template <class Kernel, class... Args>
__global__ void run_kernel(Kernel kernel, Args... args) {
  kernel(args...);
}
#endif

/// Plays a kernel: a thread of the host for each block.
class host_play {
 public:
  /// So many that have been started have not ended.
  using counter = std::shared_ptr<std::atomic<int>>;

  template <class Kernel, class... Args>
  static void start(atl::stream const& s, unsigned blocks, counter const& left, Kernel kernel, Args... args) {
    // Streams that the host plays go on when somebody makes progress, so threads begin then; the stream goes
    // on when all of them have counted themselves.
    auto const ended = upcxx::new_<std::uint64_t>(0);
    auto const self = std::make_shared<host_play>();
    self->grid_.blocks = blocks;
    left->fetch_add(1, std::memory_order_relaxed);
    atl::when(s).then([self, ended, blocks, left, kernel, args...] {
      for (unsigned i = 0; i < blocks; ++i) {
        self->threads_.emplace_back(
            [all = &self->grid_, i, word = ended.local(), blocks, left, kernel, args...] {
              played() = {i, all};
              kernel(args...);
              // Release: who sees that none is left may take away what they have used.
              if (words::fetch_add(word, 1) + 1 == blocks) left->fetch_sub(1, std::memory_order_release);
            });
      }
    });
    atl::wait(s, ended, blocks);
    atl::when(s).then([self, ended] {
      for (std::thread& t : self->threads_) t.join();
      upcxx::delete_(ended);
    });
  }

 private:
  played_grid grid_;
  std::vector<std::thread> threads_;
};

}  // namespace atl::inline UPCXX_MODE::device
