// Free lists of future cells, one set per thread. See upcxx/detail/future/pool.hpp for the inline half.
//
// A thread's lists go through three states: closed (nothing allocated yet), open, and finished (the thread's
// destructors have run). `current_pool` points at the lists while open and at `closed_pool` otherwise, which
// has neither blocks nor room: both inline functions then come here. Cells that outlive the thread-locals of
// the main thread (static futures of a program) find it finished and use the global allocator.

#include <upcxx/detail/future/pool.hpp>

namespace atl::fut {

namespace {

// Per list. Enough for a few thousand operations in flight; what exceeds it costs a malloc.
constexpr std::size_t list_limit_bytes = 128 * 1024;

// Never written: room is 0 everywhere, and pop writes only to lists that have a block.
constinit cell_pool closed_pool{};

__attribute__((tls_model("initial-exec"))) constinit thread_local bool finished = false;

class pool_owner {
 public:
  pool_owner() {
    for (std::size_t size_class = 1; size_class < pool_classes; ++size_class) {
      pool_.bins[size_class].room = list_limit_bytes / (size_class * pool_granule);
    }
    current_pool = &pool_;
  }
  pool_owner(pool_owner const&) = delete;
  pool_owner& operator=(pool_owner const&) = delete;

  ~pool_owner() {
    finished = true;
    current_pool = &closed_pool;
    for (pool_bin& bin : pool_.bins) {
      while (free_block* const block = bin.head) {
        bin.head = block->next;
        ::operator delete(block);
      }
    }
  }

 private:
  cell_pool pool_{};
};

/// Opens the thread's lists unless that happened before or its end has come.
bool open_pool() {
  if (finished || current_pool != &closed_pool) {
    return false;
  }
  thread_local pool_owner owner;
  return true;
}

}  // namespace

constinit thread_local cell_pool* current_pool = &closed_pool;

void* pool_pop_slow(std::size_t size_class) {
  open_pool();
  return ::operator new(size_class* pool_granule);
}

void pool_push_slow(void* block, std::size_t size_class) noexcept {
  if (open_pool()) {
    pool_push(block, size_class);
  } else {
    ::operator delete(block);
  }
}

}  // namespace atl::fut
