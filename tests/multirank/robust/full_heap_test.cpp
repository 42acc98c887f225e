// A heap of one mebibyte, full to the last byte: everything that needs no user allocation goes on.

#include <numeric>
#include <string>

#include "../common.hpp"

using full_heap_test = multirank::fixture;

TEST_F(full_heap_test, all_communication_works_beside_a_full_heap) {
  multirank::shared_array<int> cells(100);
  std::vector<upcxx::global_ptr<char>> blocks;
  for (std::size_t bytes = 1 << 20; bytes >= 1; bytes /= 2) {
    while (auto block = upcxx::allocate<char>(bytes)) {
      blocks.push_back(block);
    }
  }
  EXPECT_FALSE(blocks.empty());
  EXPECT_THROW((void)upcxx::new_<int>(1), upcxx::bad_shared_alloc);
  upcxx::barrier();
  std::vector<std::string> words(5000, "word of rank " + std::to_string(me));
  EXPECT_EQ(upcxx::rpc(
                right, [](std::vector<std::string>&& v) { return std::move(v); }, words)
                .wait(),
            words);
  std::vector<int> numbers(2 << 20, me);  // 8 MiB, eight times the heap
  EXPECT_EQ(upcxx::rpc(
                right, [](upcxx::view<int> v) { return std::accumulate(v.begin(), v.end(), 0L); },
                upcxx::make_view(numbers))
                .wait(),
            static_cast<long>(me) * (2 << 20));
  upcxx::rput(numbers.data(), cells.at(right), 100).wait();
  upcxx::barrier();
  EXPECT_EQ(cells.local()[99], left);
  std::vector<double> sums(50000, me);
  upcxx::reduce_all(sums.data(), sums.data(), sums.size(), upcxx::op_fast_add).wait();
  EXPECT_EQ(sums.back(), n * (n - 1) / 2);
  upcxx::dist_object<std::vector<int>> d(std::vector<int>(1000, me));
  EXPECT_EQ(d.fetch(right).wait(), std::vector<int>(1000, right));
  // A remote allocation fails there and is reported as null, not as a crash.
  EXPECT_TRUE(upcxx::rpc(right, [] { return upcxx::new_array<int>(1000, std::nothrow); }).wait().is_null());
  upcxx::barrier();
  for (auto block : blocks) {
    upcxx::deallocate(block);
  }
  upcxx::global_ptr<char> large = upcxx::new_array<char>(512 << 10);
  EXPECT_TRUE(large);
  upcxx::delete_array(large);
}
