#pragma once

/// Starting kernels whose blocks wait for each other and for other ranks: all blocks must be there at once.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <atoll/base/config.hpp>
#include <atoll/engine/kernels.hpp>
#include <atoll/extensions/device/scopes.hpp>
#include <atoll/stream.hpp>

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
struct by_cuda;
struct by_cpp;
#ifdef __CUDACC__
using this_compiler = by_cuda;
#else
using this_compiler = by_cpp;
#endif

/// Whether kernels of the program run on devices of a kind, of which this process has some.
template <class Compiler>
bool kernels_run(upcxx::memory_kind kind) {
  return engine::host_plays_kernels(static_cast<unsigned>(kind)) ||
         (kind == upcxx::memory_kind::cuda_device && std::is_same_v<Compiler, by_cuda>);
}

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
    // What is captured starts with each launch of its graph.
    bool const now = !s.is_captured();
    if (now) left->fetch_add(1, std::memory_order_relaxed);
    auto turn = [blocks, left, now, kernel, args..., run = std::shared_ptr<host_play>()]() mutable {
      if (run == nullptr) {
        if (!now) left->fetch_add(1, std::memory_order_relaxed);
        run = std::make_shared<host_play>(blocks);
        for (unsigned i = 0; i < blocks; ++i) {
          run->threads_.emplace_back([all = run.get(), i, kernel, args...] {
            played() = {i, &all->grid_};
            kernel(args...);
            all->at_work_.fetch_sub(1, std::memory_order_release);
          });
        }
      }
      // Acquire: what follows in the stream sees what the blocks have done.
      if (run->at_work_.load(std::memory_order_acquire) != 0) return false;
      for (std::thread& t : run->threads_) t.join();
      run.reset();
      left->fetch_sub(1, std::memory_order_release);
      return true;
    };
    engine::play_in_stream(name_of(s), std::move(turn));
  }

  explicit host_play(unsigned blocks) : at_work_(blocks) { grid_.blocks = blocks; }

 private:
  played_grid grid_;
  std::atomic<unsigned> at_work_;
  std::vector<std::thread> threads_;
};

}  // namespace atl::inline UPCXX_MODE::device
