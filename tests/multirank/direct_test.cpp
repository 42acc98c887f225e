// Contiguous transfers as networks do them by themselves: large ones, which are cut where blocks of the owner's memory
// end, and keys of that memory, which come later than the first transfer and end with the heap.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <upcxx/experimental/heap.hpp>

#include "common.hpp"

using upcxx::global_ptr;
using upcxx::operation_cx;
using upcxx::remote_cx;
using upcxx::source_cx;

namespace {

using byte = std::uint8_t;

/// In which heaps get memory.
constexpr std::size_t block = std::size_t{2} << 20;

class direct_test : public multirank::fixture {
 protected:
  /// Puts and gets back a pattern, with a byte before and behind that must stay.
  void there_and_back(multirank::shared_array<byte>& landing, std::size_t at, std::size_t size, int salt) {
    auto const there = landing.at(right) + static_cast<std::ptrdiff_t>(at);
    multirank::fill_pattern(source.data(), size, me, salt);
    upcxx::barrier();
    // Where the left neighbour writes.
    std::size_t const mine = exchange_position(at);
    landing.local()[mine - 1] = landing.local()[mine + size] = multirank::guard_byte;
    upcxx::barrier();
    upcxx::rput(source.data(), there, size).wait();
    upcxx::barrier();
    ASSERT_EQ(multirank::first_mismatch(landing.local() + mine, size, left, salt), size) << at;
    ASSERT_EQ(landing.local()[mine - 1], multirank::guard_byte);
    ASSERT_EQ(landing.local()[mine + size], multirank::guard_byte);
    std::memset(source.data(), 0xdd, size);
    source[size] = multirank::guard_byte;
    upcxx::rget(there, source.data(), size).wait();
    ASSERT_EQ(multirank::first_mismatch(source.data(), size, me, salt), size) << at;
    ASSERT_EQ(source[size], multirank::guard_byte);
    upcxx::barrier();
  }
  /// The position that the left neighbour has chosen here.
  std::size_t exchange_position(std::size_t mine) const {
    upcxx::dist_object<std::size_t> chosen(mine);
    std::size_t const theirs = chosen.fetch(left).wait();
    upcxx::barrier();
    return theirs;
  }
  /// Of an array there, up to where the block ends in which it begins.
  static std::size_t rest_of_block(global_ptr<byte> array) {
    return upcxx::rpc(
               array.where(),
               [](global_ptr<byte> p) { return block - reinterpret_cast<std::uintptr_t>(p.local()) % block; },
               array)
        .wait();
  }

  std::vector<byte> source = std::vector<byte>((std::size_t{20} << 20) + 1);
};

TEST_F(direct_test, transfers_of_any_size_bring_every_byte) {
  constexpr std::size_t most = 20'000'000;
  multirank::shared_array<byte> landing(most + 2);
  int salt = 0;
  for (std::size_t const size :
       {std::size_t{8191}, std::size_t{8192}, std::size_t{65536}, std::size_t{65537}, 8 * std::size_t{65536},
        8 * std::size_t{65536} + 1, block, 3 * block - 7, most}) {
    there_and_back(landing, 1, size, ++salt);
  }
}

TEST_F(direct_test, blocks_may_end_anywhere_in_a_transfer) {
  multirank::shared_array<byte> landing(3 * block);
  std::size_t const edge = rest_of_block(landing.at(right));
  int salt = 0;
  // All ranks go through the same number of steps, wherever their neighbour's blocks end.
  for (std::size_t const size : {std::size_t{1}, std::size_t{70'000}, block - 1, block + 1}) {
    for (std::size_t const before : {std::size_t{0}, std::size_t{1}, size - 1, size}) {
      std::size_t at = edge + block - before;
      if (at + size + 1 > 3 * block) at = 1;
      there_and_back(landing, at, size, ++salt % 7);
    }
  }
}

TEST_F(direct_test, many_of_all_sizes_are_under_way_and_calls_find_their_data) {
  static int arrived;
  static int wrong;
  arrived = wrong = 0;
  constexpr int count = 24;
  constexpr std::size_t most = 700'000;
  multirank::shared_array<byte> landing(count * most);
  std::minstd_rand random(static_cast<unsigned>(3 + me));
  std::vector<std::size_t> sizes(count);
  for (std::size_t& each : sizes) each = 1 + random() % most;
  upcxx::promise<> done;
  for (int i = 0; i < count; ++i) {
    std::size_t const size = sizes[static_cast<std::size_t>(i)];
    byte* const mine = source.data() + most * static_cast<std::size_t>(i);
    auto const place = landing.at(right) + static_cast<std::ptrdiff_t>(most) * i;
    multirank::fill_pattern(mine, size, me, i);
    upcxx::rput(mine, place, size,
                source_cx::as_promise(done) | operation_cx::as_promise(done) |
                    remote_cx::as_rpc(
                        [](global_ptr<byte> p, std::size_t bytes, int writer, int salt) {
                          ++arrived;
                          wrong += multirank::first_mismatch(p.local(), bytes, writer, salt) != bytes;
                        },
                        place, size, me, i));
  }
  done.finalize().wait();
  // And all back at once, in another order.
  std::fill(source.begin(), source.end(), byte{0});
  upcxx::promise<> back;
  for (int i = count; i-- > 0;) {
    upcxx::rget(landing.at(right) + static_cast<std::ptrdiff_t>(most) * i,
                source.data() + most * static_cast<std::size_t>(i), sizes[static_cast<std::size_t>(i)],
                operation_cx::as_promise(back));
  }
  back.finalize().wait();
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(multirank::first_mismatch(source.data() + most * i, sizes[i], me, static_cast<int>(i)),
              sizes[i])
        << i;
  }
  multirank::spin_until([] { return arrived == count; });
  EXPECT_EQ(wrong, 0);
}

TEST_F(direct_test, transfers_go_between_shared_heaps) {
  constexpr std::size_t size = block + 12345;
  multirank::shared_array<byte> from(size);
  multirank::shared_array<byte> to(size);
  multirank::fill_pattern(from.local(), size, me, 5);
  upcxx::barrier();
  upcxx::rget(from.at(left), to.local(), size).wait();
  EXPECT_EQ(multirank::first_mismatch(to.local(), size, left, 5), size);
  upcxx::barrier();
  upcxx::rput(to.local(), from.at(left), size, source_cx::as_blocking() | operation_cx::as_future()).wait();
  upcxx::barrier();
  EXPECT_EQ(multirank::first_mismatch(from.local(), size, me, 5), size);
}

TEST_F(direct_test, memory_that_is_taken_later_is_reached_as_well) {
  // Heaps take memory when they need it: here the second array is in blocks that had none when keys were asked for.
  auto first = std::make_unique<multirank::shared_array<byte>>(300'000);
  there_and_back(*first, 1, 200'000, 1);
  multirank::shared_array<byte> second(4 * block);
  there_and_back(second, 1, 4 * block - 2, 2);
  there_and_back(*first, 1, 200'000, 3);
}

TEST_F(direct_test, a_heap_that_was_made_anew_has_keys_of_its_own) {
  for (int round = 0; round < 3; ++round) {
    {
      multirank::shared_array<byte> landing(3 * block);
      for (int i = 0; i < 2; ++i)
        there_and_back(landing, 1 + static_cast<std::size_t>(round), 2 * block, round);
    }
    upcxx::experimental::destroy_heap();
    upcxx::experimental::restore_heap();
  }
}

TEST_F(direct_test, a_heap_ends_when_all_that_is_on_its_way_to_it_has_arrived) {
  for (int round = 0; round < 2; ++round) {
    upcxx::dist_object<global_ptr<byte>> mine(upcxx::new_array<byte>(3 * block));
    global_ptr<byte> const there = mine.fetch(right).wait();
    upcxx::barrier();
    upcxx::promise<> done;
    upcxx::rput(source.data(), there, 3 * block, operation_cx::as_promise(done));
    for (int i = 0; i < 20; ++i) upcxx::rput(source.data() + i, there + i, 1, operation_cx::as_promise(done));
    upcxx::experimental::destroy_heap();
    upcxx::experimental::restore_heap();
    done.finalize().wait();
  }
}

}  // namespace
