// What a network writes into devices is flushed before anybody hears of it, where the network does it itself. Simulated devices
// count; linked with the library's objects, to look.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "../common.hpp"
#include "engine/copies/copies.hpp"
#include "engine/progress/guard.hpp"
#include "memory/sim/sim_segment.hpp"

namespace {

constexpr std::size_t count = 100'000;

/// This rank's only segment.
atl::engine::segment const& own_segment() {
  auto& segments = atl::engine::device_copies::here().segments();
  std::uint16_t number = 1;
  while (segments.own(number) == nullptr) ++number;
  return *segments.own(number);
}

std::uint64_t flushes() {
  return static_cast<atl::memory::sim::sim_segment const&>(*own_segment().memory).flushes();
}

/// Most memory that this process has had so far, in bytes.
std::size_t peak_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "VmHWM:") {
  }
  std::size_t kilobytes = 0;
  status >> kilobytes;
  return kilobytes << 10;
}

class network_devices_test : public multirank::fixture {};

TEST_F(network_devices_test, data_are_flushed_before_they_are_announced) {
  char const* const set = std::getenv("ATOLL_NETWORK_DEVICE_MEMORY");
  bool const staged = set != nullptr && std::strcmp(set, "no") == 0;
  auto gpu = upcxx::make_gpu_allocator(std::size_t{1} << 20);
  auto const mine = gpu.allocate<int>(count);
  using pointer = decltype(gpu.allocate<int>(count));
  upcxx::dist_object<pointer> all(mine);
  auto const theirs = all.fetch((me + 1) % n).wait();
  static int seen;
  seen = -1;
  upcxx::barrier();

  // A put: the owner's device has them when the call runs there.
  std::vector<int> const data(count, me + 7);
  upcxx::copy(data.data(), theirs, count, upcxx::operation_cx::as_future() | upcxx::remote_cx::as_rpc([] {
                                            seen = static_cast<int>(flushes());
                                          }))
      .wait();
  multirank::spin_until([] { return seen >= 0; });
  EXPECT_EQ(seen == 0, staged) << seen;
  upcxx::barrier();

  // A get into a device: this rank's has them when the copy is complete.
  auto const landing = gpu.allocate<int>(count);
  std::uint64_t const before = flushes();
  upcxx::copy(theirs, landing, count).wait();
  EXPECT_EQ(flushes() == before, staged);
  std::vector<int> back(count);
  upcxx::copy(landing, back.data(), count).wait();
  EXPECT_EQ(back, data);  // of two ranks each has written to the other
  upcxx::barrier();
  gpu.destroy();
}

TEST_F(network_devices_test, who_asks_for_a_key_again_is_known_once) {
  auto gpu = upcxx::make_gpu_allocator(4096);
  auto const mine = gpu.allocate<int>(1);
  upcxx::dist_object<decltype(mine)> all(mine);
  auto const theirs = all.fetch((me + 1) % n).wait();
  std::uint16_t const number = own_segment().known.name.number;
  upcxx::dist_object<std::uint16_t> numbers(number);
  std::uint16_t const their_number = numbers.fetch((me + 1) % n).wait();
  upcxx::barrier();
  atl::engine::device_keys& keys = *atl::engine::device_copies::here().keys();
  for (int i = 0; i < 30; ++i) {
    int value = i;
    upcxx::copy(&value, theirs, 1).wait();
    // As if it had given way to others.
    atl::engine::guard const held;
    if (auto* const known = keys.peers().find((me + 1) % n, their_number)) keys.peers().drop(known);
  }
  upcxx::barrier();
  EXPECT_LE(keys.holders(number), 1u);
  gpu.destroy();
}

TEST_F(network_devices_test, many_copies_take_little_private_memory_on_either_side) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  auto gpu = upcxx::make_gpu_allocator(3 * bytes);
  auto const mine = gpu.allocate<char>(bytes);
  auto const landing = gpu.allocate<char>(bytes);
  upcxx::dist_object<decltype(mine)> all(mine);
  auto const theirs = all.fetch((me + 1) % n).wait();
  std::vector<char> here(bytes, 1);
  upcxx::copy(here.data(), mine, bytes).wait();
  upcxx::copy(here.data(), landing, bytes).wait();
  upcxx::barrier();
  std::size_t const before = peak_memory();
  for (bool const to_host : {true, false}) {
    upcxx::promise<> done;
    auto const with = upcxx::operation_cx::as_promise(done);
    for (int i = 0; i < 200; ++i) {
      if (to_host) {
        upcxx::copy(theirs, here.data(), bytes, with);
      } else {
        upcxx::copy(theirs, landing, bytes, with);
      }
    }
    done.finalize().wait();
    upcxx::barrier();
    EXPECT_LT(peak_memory() - before, 80 * bytes) << (to_host ? "to the host" : "to a device");
  }
  gpu.destroy();
}

}  // namespace
