// Device objects and allocators (parallel digest, 7.2, 7.3). Over simulated devices, two of each kind in
// every rank; and over a CUDA driver, real or fake, with simulated hip devices beside it.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>

#include "multirank/common.hpp"
#include "multirank/kinds/fake_driver.hpp"

namespace {

using upcxx::cuda_device;
using upcxx::device_allocator;
using upcxx::entry_barrier;
using upcxx::gpu_device;
using upcxx::hip_device;
using upcxx::memory_kind;
using upcxx::ze_device;

using cuda_allocator = device_allocator<cuda_device>;

constexpr std::size_t mib = std::size_t{1} << 20;

int served;

/// Whether the cuda devices are simulated, and so are two of each kind.
bool simulated() { return cuda_device::kind_info().find("simulated") != std::string::npos; }

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t lines = 0;
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

static_assert(std::is_final_v<cuda_device> && std::is_final_v<hip_device> && std::is_final_v<ze_device>);
static_assert(std::is_abstract_v<gpu_device> && std::has_virtual_destructor_v<gpu_device>);
static_assert(std::is_base_of_v<gpu_device, ze_device> && std::is_final_v<cuda_allocator>);
static_assert(!std::is_copy_constructible_v<cuda_device> &&
              std::is_nothrow_move_constructible_v<cuda_device>);
static_assert(std::is_same_v<cuda_device::pointer<int>, int*> && std::is_same_v<cuda_device::id_type, int>);
static_assert(cuda_device::kind == memory_kind::cuda_device && hip_device::kind == memory_kind::hip_device &&
              ze_device::kind == memory_kind::ze_device);
static_assert(cuda_device::invalid_device_id < 0 && cuda_device::auto_device_id < 0 &&
              cuda_device::invalid_device_id != cuda_device::auto_device_id);
static_assert(std::is_same_v<upcxx::gpu_default_device, cuda_device> &&
              std::is_same_v<upcxx::gpu_heap_allocator, cuda_allocator>);
static_assert(cuda_device::null_pointer<int>() == nullptr && cuda_device::default_alignment<char>() >= 16);
static_assert(UPCXX_KIND_CUDA >= 202103L && UPCXX_KIND_HIP >= 202203L && UPCXX_KIND_ZE >= 202303L &&
              UPCXX_CUDA_ENABLED);

}  // namespace

using device_test = multirank::fixture;

TEST_F(device_test, devices_open_move_and_close) {
  int const devices = cuda_device::device_n();
  EXPECT_EQ(hip_device::device_n(), 2);
  EXPECT_NE(cuda_device::uuid(0), hip_device::uuid(0));
  EXPECT_NE(hip_device::uuid(0), hip_device::uuid(1));
  if (simulated()) {
    EXPECT_EQ(devices, 2);
    EXPECT_EQ(ze_device::device_n(), 2);
  } else {
    EXPECT_GT(devices, 0);
    EXPECT_NE(cuda_device::kind_info().find("CUDA driver"), std::string::npos);
  }
  EXPECT_TRUE(devices == 1 || cuda_device::uuid(0) != cuda_device::uuid(1));

  cuda_device none;
  EXPECT_FALSE(none.is_active());
  EXPECT_EQ(none.device_id(), cuda_device::invalid_device_id);
  none.destroy();  // takes part

  cuda_device first(me % devices);
  cuda_device invalid(cuda_device::invalid_device_id);
  EXPECT_TRUE(first.is_active());
  EXPECT_EQ(first.device_id(), me % devices);
  EXPECT_FALSE(invalid.is_active());
  cuda_device second(std::move(first));
  EXPECT_FALSE(first.is_active());  // NOLINT
  invalid = std::move(second);
  EXPECT_TRUE(invalid.is_active() && !second.is_active());  // NOLINT
  std::unique_ptr<gpu_device> any = std::make_unique<cuda_device>(std::move(invalid));
  EXPECT_EQ(any->kind(), memory_kind::cuda_device);
  EXPECT_EQ(any->device_id(), me % devices);
  any->destroy(entry_barrier::none);
  EXPECT_FALSE(any->is_active());
}

TEST_F(device_test, an_allocator_hands_out_its_segment_and_takes_it_back) {
  hip_device device(1);
  device_allocator<hip_device> allocator(device, mib);
  EXPECT_TRUE(allocator.is_active());
  EXPECT_EQ(allocator.device_id(), 1);
  EXPECT_EQ(allocator.segment_size(), mib);
  EXPECT_EQ(allocator.segment_used(), 0u);

  auto const p = allocator.allocate<int>(100);
  static_assert(std::is_same_v<decltype(p), upcxx::global_ptr<int, memory_kind::hip_device> const>);
  ASSERT_TRUE(p);
  EXPECT_EQ(p.where(), me);
  EXPECT_EQ(p.dynamic_kind(), memory_kind::hip_device);
  EXPECT_FALSE(p.is_local());
  EXPECT_GE(allocator.segment_used(), 400u);
  int* const raw = device_allocator<hip_device>::local(p);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(raw) % 256, 0u);
  EXPECT_EQ(allocator.to_global_ptr(raw), p);
  EXPECT_EQ(allocator.to_global_ptr(raw + 7) - p, 7);
  EXPECT_EQ(device_allocator<hip_device>::device_id(p + 3), 1);
  EXPECT_EQ(allocator.local(p + 3), raw + 3);

  EXPECT_EQ(allocator.local(upcxx::global_ptr<int, memory_kind::hip_device>()), nullptr);
  EXPECT_FALSE(allocator.to_global_ptr<int>(nullptr));
  EXPECT_EQ(allocator.device_id(upcxx::global_ptr<int, memory_kind::hip_device>()),
            hip_device::invalid_device_id);
  allocator.deallocate(upcxx::global_ptr<int, memory_kind::hip_device>());
  auto const aligned = allocator.allocate<char>(3, 8192);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(allocator.local(aligned)) % 8192, 0u);
  EXPECT_FALSE(allocator.allocate<char>(2 * mib));
  EXPECT_FALSE(allocator.allocate<int>(SIZE_MAX / 2));
  allocator.deallocate(aligned);
  allocator.deallocate(p);
  EXPECT_EQ(allocator.segment_used(), 0u);

  upcxx::global_ptr<int, memory_kind::any> const wide = allocator.allocate<int>(1);
  EXPECT_EQ(wide.dynamic_kind(), memory_kind::hip_device);
  EXPECT_TRUE(upcxx::dynamic_kind_cast<memory_kind::hip_device>(wide));
  EXPECT_FALSE(upcxx::dynamic_kind_cast<memory_kind::cuda_device>(wide));
  EXPECT_EQ(upcxx::static_kind_cast<memory_kind::hip_device>(wide), wide);

  device_allocator<hip_device> moved(std::move(allocator));
  EXPECT_FALSE(allocator.is_active());  // NOLINT
  EXPECT_EQ(allocator.device_id(), hip_device::invalid_device_id);
  EXPECT_EQ(allocator.segment_size(), 0u);
  device_allocator<hip_device> assigned;
  assigned = std::move(moved);
  EXPECT_TRUE(assigned.is_active());
  device.destroy(entry_barrier::internal);
  EXPECT_FALSE(assigned.is_active());
}

TEST_F(device_test, one_device_may_be_opened_twice_and_pointers_tell_the_segments_apart) {
  cuda_device one(0);
  cuda_device two(0);
  cuda_allocator a(one, 4096);
  cuda_allocator b(two, 8192);
  upcxx::heap_allocator& base = b;
  auto const p = a.allocate<int>();
  auto const q = base.allocate<int>();
  static_assert(std::is_same_v<decltype(q), upcxx::global_ptr<int, memory_kind::any> const>);
  EXPECT_TRUE(q != p);
  EXPECT_EQ(base.kind(), memory_kind::cuda_device);
  EXPECT_EQ(base.segment_size(), 8192u);
  base.deallocate(q);
  a.destroy();
  EXPECT_FALSE(a.is_active());
  EXPECT_TRUE(one.is_active() && b.is_active());
  one.destroy();
  base.destroy(entry_barrier::none);
  two.destroy();
}

TEST_F(device_test, copies_of_no_elements_may_begin_where_an_array_ends) {
  auto allocator = upcxx::make_gpu_allocator<cuda_device>(4096, 0);
  auto const end = allocator.allocate<int>(1024) + 1024;  // and the segment's
  upcxx::dist_object<upcxx::global_ptr<int, memory_kind::cuda_device>> ends(end);
  auto const theirs = ends.fetch(right).wait();
  int here = 7;
  upcxx::copy(end, &here, 0).wait();
  upcxx::copy(&here, end, 0).wait();
  upcxx::copy(theirs, end, 0).wait();
  upcxx::copy(end, theirs, 0).wait();
  EXPECT_EQ(here, 7);
  upcxx::barrier();
  allocator.destroy();
}

TEST_F(device_test, destroy_waits_for_copies_that_are_under_way) {
  auto allocator = upcxx::make_gpu_allocator<cuda_device>(4096, 0);
  auto const p = allocator.allocate<int>(2);
  int const value = 100 + me;
  int back = 0;
  upcxx::copy(&value, p, 1).wait();
  upcxx::copy(p, p + 1, 1).wait();
  auto const done = upcxx::copy(p + 1, &back, 1);
  allocator.destroy(entry_barrier::none);
  EXPECT_EQ(back, value);
  done.wait();
}

TEST_F(device_test, destroy_runs_no_callbacks_unless_its_entry_barrier_may) {
  for (entry_barrier const level : {entry_barrier::internal, entry_barrier::none}) {
    auto allocator = upcxx::make_gpu_allocator<cuda_device>(4096, 0);
    auto const p = allocator.allocate<int>();
    static bool called;
    called = false;
    upcxx::barrier();
    upcxx::rpc_ff(me, [] { called = true; });
    auto const done = upcxx::copy(&me, p, 1);
    allocator.destroy(level);
    EXPECT_FALSE(called);
    done.wait();
    EXPECT_TRUE(called);
    upcxx::barrier();
  }
}

TEST_F(device_test, destroy_follows_copies_that_only_their_target_heard_of) {
  static int arrived;
  arrived = 0;
  for (int round = 1; round <= 50; ++round) {
    auto allocator = upcxx::make_gpu_allocator<cuda_device>(4096, 0);
    auto const mine = allocator.allocate<int>(2);
    upcxx::dist_object<upcxx::global_ptr<int, memory_kind::cuda_device>> all(mine + 1);
    auto const theirs = all.fetch(right).wait();
    upcxx::copy(mine, theirs, 1, upcxx::remote_cx::as_rpc([] { ++arrived; }));
    while (arrived < round) upcxx::progress();
    allocator.destroy();
  }
}

TEST_F(device_test, processes_without_a_device_take_part) {
  cuda_device device(me == 0 ? 0 : cuda_device::invalid_device_id);
  cuda_allocator allocator(device, me == 0 ? 4096 : 0);
  EXPECT_EQ(allocator.is_active(), me == 0);
  upcxx::dist_object<upcxx::global_ptr<int, memory_kind::cuda_device>> shared(
      me == 0 ? allocator.allocate<int>() : nullptr);
  auto const p = shared.fetch(0).wait();
  EXPECT_EQ(p.where(), 0);
  int value = 100 + me;
  int back = 0;
  for (int turn = 0; turn < n; ++turn) {
    if (turn == me) {
      upcxx::copy(&value, p, 1).wait();
      upcxx::copy(p, &back, 1).wait();
    }
    upcxx::barrier();
  }
  EXPECT_EQ(back, value);
  device.destroy();
}

TEST_F(device_test, failure_on_one_rank_throws_on_all_which_serve_calls_meanwhile) {
  cuda_device device(0);
  upcxx::rpc_ff(right, [] { ++served; });
  bool const fails = me == n - 1;
  try {
    cuda_allocator const allocator(device, fails ? std::size_t{1} << 40 : mib);
    ADD_FAILURE() << "1 TiB";
  } catch (upcxx::bad_segment_alloc const& problem) {
    std::string const text = problem.what();
    EXPECT_NE(text.find(fails ? "1 TiB" : "rank " + std::to_string(n - 1)), std::string::npos) << text;
    static_assert(std::is_base_of_v<std::bad_alloc, upcxx::bad_segment_alloc>);
  }
  if (upcxx::local_team_contains(left)) {  // between hosts the call may come later than all of this
    EXPECT_EQ(served, 1);
  }
  multirank::spin_until([] { return served == 1; });
  EXPECT_TRUE(device.is_active());
  cuda_allocator again(device, mib);  // the device is as good as new
  EXPECT_TRUE(again.is_active());
  EXPECT_THROW(upcxx::make_gpu_allocator(me == 0 ? std::size_t{1} << 40 : mib), upcxx::bad_segment_alloc);
  device.destroy();
}

TEST_F(device_test, make_gpu_allocator_opens_and_closes_the_device_and_spreads_over_devices) {
  auto a = upcxx::make_gpu_allocator(mib);
  static_assert(std::is_same_v<decltype(a), upcxx::gpu_heap_allocator>);
  auto b = upcxx::make_gpu_allocator<cuda_device>(mib);
  auto c = upcxx::make_gpu_allocator<hip_device>(4096, 1);
  EXPECT_EQ(c.device_id(), 1);
  upcxx::dist_object<int> mine(a.device_id());
  EXPECT_TRUE(cuda_device::device_n() == 1 || a.device_id() != b.device_id());
  upcxx::team const& host = upcxx::local_team();
  if (host.rank_me() + 1 < host.rank_n() && cuda_device::device_n() > 1) {
    EXPECT_NE(mine.fetch(host[host.rank_me() + 1]).wait(), a.device_id());
  }
  upcxx::barrier();
  upcxx::heap_allocator* const all[] = {&a, &b, &c};
  for (auto* each : all) {
    each->destroy();
    EXPECT_FALSE(each->is_active());
  }
}

TEST_F(device_test, memory_of_the_program_serves_as_a_segment_in_both_orders_of_arguments) {
  if (!simulated()) GTEST_SKIP() << "gpu_test does this with memory of the driver";
  auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const memory =
      static_cast<int*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (bool const new_order : {true, false}) {
    cuda_device device(0);
    auto allocator =
        new_order ? cuda_allocator(device, 2 * page, memory) : cuda_allocator(device, memory, 2 * page);
    auto const p = allocator.allocate<int>(10);
    EXPECT_GE(cuda_allocator::local(p), memory);
    upcxx::dist_object<upcxx::global_ptr<int, memory_kind::cuda_device>> all(p);
    int const value = 7000 + me;
    upcxx::copy(&value, all.fetch(right).wait(), 1).wait();
    upcxx::barrier();
    std::ptrdiff_t const at = cuda_allocator::local(p) - memory;
    device.destroy();
    EXPECT_EQ(memory[at], 7000 + left);
  }
  munmap(memory, 2 * page);
}

TEST_F(device_test, memory_of_the_program_is_copied_without_an_allocation) {
  if (!simulated()) GTEST_SKIP() << "the host's memory is no device's";
  auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const memory =
      static_cast<int*>(mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::ptrdiff_t const last = static_cast<std::ptrdiff_t>(page / sizeof(int)) - 2;
  cuda_device device(0);
  cuda_allocator allocator(device, page, memory);
  int const values[] = {me, me + 1};
  for (std::ptrdiff_t const at : {std::ptrdiff_t{3}, last}) {
    auto const p = allocator.to_global_ptr(memory + at);
    EXPECT_EQ(cuda_allocator::local(p), memory + at);
    upcxx::copy(values, p, 2).wait();
    int back[2] = {-1, -1};
    upcxx::copy(p, back, 2).wait();
    EXPECT_EQ(back[0], me);
    EXPECT_EQ(back[1], me + 1);
  }
  device.destroy();
  EXPECT_EQ(memory[3], me);
  EXPECT_EQ(memory[last + 1], me + 1);
  munmap(memory, page);
}

TEST_F(device_test, segments_come_and_go_without_leaving_anything) {
  std::size_t before = 0;
  for (int round = 0; round < 20; ++round) {
    auto allocator = upcxx::make_gpu_allocator(4096);
    auto const p = allocator.allocate<int>();
    upcxx::dist_object<upcxx::global_ptr<int, memory_kind::cuda_device>> all(p);
    upcxx::copy(&round, all.fetch(right).wait(), 1).wait();
    upcxx::barrier();
    int value = -1;
    upcxx::copy(p, &value, 1).wait();
    EXPECT_EQ(value, round);
    allocator.destroy();
    upcxx::barrier();
    multirank::poll(5);
    if (round == 4) before = mappings();
  }
  EXPECT_LT(mappings(), before + 10);
}

/// A context takes time and memory of its device.
TEST_F(device_test, ranks_that_use_no_device_open_none) {
  fake_cuda::control* const fake = fake_driver();
  if (fake == nullptr || fake->contexts_ever != 0) GTEST_SKIP() << "a real driver, or one with open devices";
  auto only = upcxx::make_gpu_allocator<cuda_device>(mib, me == 0 ? 0 : cuda_device::invalid_device_id);
  upcxx::dist_object<upcxx::global_ptr<int, memory_kind::cuda_device>> device(nullptr);
  if (me == 0) *device = only.allocate<int>(4);
  upcxx::dist_object<upcxx::global_ptr<int>> heap(upcxx::new_array<int>(4));
  std::fill_n(heap->local(), 4, me);
  upcxx::barrier();
  int const last = upcxx::rank_n() - 1;
  if (me == 0) upcxx::copy(heap.fetch(last).wait(), *device, 4).wait();
  upcxx::barrier();
  EXPECT_EQ(fake->contexts_ever, me == 0 ? 1 : 0);
  int found[4] = {-1, -1, -1, -1};
  upcxx::copy(device.fetch(0).wait(), found, 4).wait();
  EXPECT_EQ(found[3], last);
  upcxx::barrier();
  upcxx::delete_array(*heap);
  only.destroy();
}
