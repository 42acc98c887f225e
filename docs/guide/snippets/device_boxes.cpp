// Snippets of transfers on devices that are not contiguous. ATOLL_SIM_DEVICES=1 gives every machine a device.
#include <cstddef>
#include <utility>
#include <vector>

#include <atoll/irregular.hpp>
#include <atoll/stream.hpp>
#include <atoll/strided.hpp>
#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  int const left = (me + ranks - 1) % ranks;
  constexpr std::ptrdiff_t rows = 6, columns = 8;
  auto gpu = upcxx::make_gpu_allocator(1 << 20);
  constexpr auto kind = upcxx::gpu_default_device::kind;
  auto const mine = gpu.allocate<double>(rows * columns);
  upcxx::dist_object<upcxx::global_ptr<double, kind>> grids(mine);
  auto const theirs = grids.fetch((me + 1) % ranks).wait();
  std::vector<double> on_host(rows * columns);
  for (int i = 0; i < rows * columns; ++i)
    on_host[static_cast<std::size_t>(i)] = 100 * me + i;
  upcxx::copy(on_host.data(), mine, rows * columns).wait();
  upcxx::barrier();

  // [strided]
  // Column 7 on my device into column 0 on the right neighbour's.
  constexpr std::ptrdiff_t row = columns * sizeof(double);
  atl::copy_strided<1>(mine + 7, {{row}}, theirs, {{row}}, {{rows}},
                       upcxx::remote_cx::as_rpc([] { /* it is in place */ }) |
                           upcxx::operation_cx::as_future())
      .wait();
  // The neighbour's lower right block of 3 x 4, packed in an array here.
  std::vector<double> block(12);
  atl::copy_strided<2>(theirs + 3 * columns + 4, {{sizeof(double), row}},
                       block.data(), {{sizeof(double), 4 * sizeof(double)}},
                       {{4, 3}})
      .wait();
  // [/strided]
  UPCXX_ASSERT_ALWAYS(block[5] == 100 * ((me + 1) % ranks) + 4 * columns + 5);
  upcxx::barrier();

  // [irregular]
  // Three blocks out of both grids, packed into one on the host.
  std::vector<std::pair<upcxx::global_ptr<double, kind>, std::size_t>> const
      sources{{mine + 1, 2}, {theirs + 11, 3}, {mine + 21, 1}};
  std::vector<double> packed(6);
  std::vector<std::pair<double*, std::size_t>> const target{{packed.data(), 6}};
  atl::copy_irregular(sources.begin(), sources.end(), target.begin(), target.end())
      .wait();
  // [/irregular]
  UPCXX_ASSERT_ALWAYS(packed[3] == 100 * ((me + 1) % ranks) + 12);
  UPCXX_ASSERT_ALWAYS(packed[5] == 100 * me + 21);
  upcxx::barrier();

  // [stream]
  auto const s = atl::make_stream(gpu);  // or a cudaStream_t
  // kernel<<<grid, block, 0, s>>>(gpu.local(mine));
  atl::copy_strided<1>(mine + 7, {{row}}, theirs, {{row}}, {{rows}},
                       atl::on_stream(s));  // after the kernel
  // [/stream]
  atl::wait(s);
  upcxx::barrier();
  upcxx::copy(mine, on_host.data(), rows * columns).wait();
  UPCXX_ASSERT_ALWAYS(on_host[3 * columns] == 100 * left + 3 * columns + 7);
  upcxx::barrier();
  gpu.deallocate(mine);
  gpu.destroy();
  upcxx::finalize();
}
