// The kinds hip and ze, over fakes of their drivers: copies between the devices and the hosts of all ranks,
// and of the two kinds, each with a call at the target.

#include <numeric>

#include "multirank/common.hpp"

namespace {

using upcxx::memory_kind;
using any_ptr = upcxx::global_ptr<int, memory_kind::any>;

constexpr std::size_t count = 50000;
int arrived;

template <class Device>
class hip_ze : public testing::Test {};
using devices = testing::Types<upcxx::hip_device, upcxx::ze_device>;
TYPED_TEST_SUITE(hip_ze, devices);

TYPED_TEST(hip_ze, copies_reach_every_rank_and_call_there) {
  ASSERT_GT(TypeParam::device_n(), 0) << TypeParam::kind_info();
  auto gpu = upcxx::make_gpu_allocator<TypeParam>(2 * count * sizeof(int) + 4096);
  auto const mine = gpu.template allocate<int>(count);
  auto const landing = gpu.template allocate<int>(count);
  upcxx::dist_object<any_ptr> landings(any_ptr{landing});
  auto const host = upcxx::new_array<int>(count);
  upcxx::dist_object<any_ptr> hosts(any_ptr{host});
  for (int distance = 0; distance < upcxx::rank_n(); ++distance) {
    int const to = (upcxx::rank_me() + distance) % upcxx::rank_n();
    int const from = (upcxx::rank_me() + upcxx::rank_n() - distance) % upcxx::rank_n();
    any_ptr const there = landings.fetch(to).wait();
    any_ptr const source = hosts.fetch(from).wait();
    std::vector<int> block(count);
    std::iota(block.begin(), block.end(), upcxx::rank_me() * 1000);
    arrived = 0;
    upcxx::barrier();
    upcxx::copy(block.data(), any_ptr{mine}, count).wait();
    upcxx::copy(any_ptr{mine}, there, count,
                upcxx::operation_cx::as_future() | upcxx::remote_cx::as_rpc([] { ++arrived; }))
        .wait();
    while (arrived == 0) upcxx::progress();
    upcxx::copy(any_ptr{landing}, any_ptr{host}, count).wait();
    upcxx::barrier();
    std::vector<int> expected(count);
    std::iota(expected.begin(), expected.end(), from * 1000);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), host.local()));
    upcxx::copy(source, any_ptr{mine}, count).wait();  // a peer's host memory to the own device
    std::fill(block.begin(), block.end(), -1);
    upcxx::copy(any_ptr{mine}, block.data(), count).wait();
    int const before = (from + upcxx::rank_n() - distance) % upcxx::rank_n();
    EXPECT_EQ(block[0], before * 1000);
    EXPECT_EQ(block[count - 1], before * 1000 + static_cast<int>(count) - 1);
    upcxx::barrier();
  }
  upcxx::delete_array(host);
  gpu.destroy();
}

TEST(hip_ze_together, copies_between_the_kinds_are_whole) {
  auto hip = upcxx::make_gpu_allocator<upcxx::hip_device>(count * sizeof(int));
  auto ze = upcxx::make_gpu_allocator<upcxx::ze_device>(count * sizeof(int));
  any_ptr const on_hip = hip.allocate<int>(count);
  upcxx::dist_object<any_ptr> on_ze(any_ptr{ze.allocate<int>(count)});
  any_ptr const there = on_ze.fetch((upcxx::rank_me() + 1) % upcxx::rank_n()).wait();
  std::vector<int> in(count);
  std::vector<int> out(count);
  std::iota(in.begin(), in.end(), upcxx::rank_me());
  upcxx::copy(in.data(), on_hip, count).wait();
  upcxx::copy(on_hip, there, count).wait();
  upcxx::copy(there, out.data(), count).wait();
  EXPECT_EQ(in, out);
  upcxx::barrier();
  hip.destroy();
  ze.destroy();
}

}  // namespace
