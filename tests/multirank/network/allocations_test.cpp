// Small operations between hosts take no memory from the system once pools are filled, on either side.

#include <atomic>
#include <cstdlib>
#include <new>

#include "../common.hpp"

namespace {
std::atomic<long> allocations{0};
}  // namespace

// Of the whole process: the library calls these, too.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using network_allocations_test = multirank::fixture;

/// Does it often, then counts what is taken when it is done as often again, here and on the others.
template <class Operation>
long taken_by(Operation const& operation) {
  constexpr int often = 2000;
  upcxx::barrier();
  for (int i = 0; i < often; ++i) operation();
  upcxx::barrier();
  long const before = allocations.load();
  for (int i = 0; i < often; ++i) operation();
  long const mine = allocations.load() - before;
  upcxx::barrier();
  return mine;
}

TEST_F(network_allocations_test, small_operations_take_none) {
  multirank::shared_array<long> cells(1);
  // Some for the collectives and barriers in between.
  constexpr long few = 100;
  EXPECT_LT(taken_by([&] { upcxx::rput(5L, cells.at(right)).wait(); }), few);
  EXPECT_LT(taken_by([&] { EXPECT_EQ(upcxx::rget(cells.at(right)).wait(), 5); }), few);
  EXPECT_LT(taken_by([&] {
              upcxx::rpc(
                  right, [](long x) { return x + 1; }, 1L)
                  .wait();
            }),
            few);
  EXPECT_LT(taken_by([&] {
              upcxx::rpc_ff(
                  right, [](long) {}, 1L);
              upcxx::progress();
            }),
            few);
}

}  // namespace
