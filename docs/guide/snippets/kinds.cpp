// Snippets of the page on memory kinds. ATOLL_SIM_DEVICES=1 gives every machine a device.
#include <vector>

#include <atoll/copy_batch.hpp>
#include <atoll/pin.hpp>
#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  int const right = (me + 1) % ranks;
  // [allocator]
  auto gpu = upcxx::make_gpu_allocator(1 << 20);  // collective; 1 MiB on a device
  constexpr auto kind = upcxx::gpu_default_device::kind;
  UPCXX_ASSERT_ALWAYS(gpu.is_active());  // false where there is no device
  upcxx::global_ptr<double, kind> mine = gpu.allocate<double>(100);
  // [/allocator]
  upcxx::dist_object<upcxx::global_ptr<double, kind>> blocks(mine);
  auto const theirs = blocks.fetch(right).wait();

  // [copy]
  static bool arrived = false;
  std::vector<double> numbers(100, me), received(100);
  upcxx::copy(numbers.data(), theirs, 100,  // from here to the neighbour's device
              upcxx::remote_cx::as_rpc([] { arrived = true; }));
  while (!arrived) upcxx::progress();
  upcxx::copy(mine, received.data(), 100).wait();  // what the left neighbour sent
  UPCXX_ASSERT_ALWAYS(received[50] == (me + ranks - 1) % ranks);
  // [/copy]

  upcxx::barrier();  // the left neighbour writes here next
  // [batch]
  upcxx::promise<> all;
  {
    atl::copy_batch together;  // #include <atoll/copy_batch.hpp>
    for (int i = 0; i < 100; i += 10) {
      upcxx::copy(mine + i, theirs + i, 1, upcxx::operation_cx::as_promise(all));
    }
  }
  all.finalize().wait();
  // [/batch]

  upcxx::barrier();  // the left neighbour has copied
  // [pin]
  std::vector<double> field(100);
  {
    auto const pinned =  // #include <atoll/pin.hpp>
        atl::pin(field.data(), field.size() * sizeof(double));
    for (int step = 0; step < 10; ++step) {
      for (double& x : field) x += 1;
      upcxx::copy(field.data(), mine, 100).wait();
      upcxx::copy(mine, field.data(), 100).wait();
    }
  }  // unpinned, before `field` is freed or grows
  // [/pin]
  UPCXX_ASSERT_ALWAYS(field[99] == 10);

  // [any]
  upcxx::global_ptr<double, upcxx::memory_kind::any> somewhere = mine;
  UPCXX_ASSERT_ALWAYS(somewhere.dynamic_kind() == kind && somewhere.where() == me);
  UPCXX_ASSERT_ALWAYS(
      upcxx::dynamic_kind_cast<upcxx::memory_kind::host>(somewhere) == nullptr);
  // [/any]

  upcxx::barrier();
  gpu.deallocate(mine);
  gpu.destroy();  // collective, before finalize
  upcxx::finalize();
}
