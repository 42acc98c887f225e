// Long copies of private memory to devices: through buffers that the driver reads by itself, later than the call returns.

#include "base/streaming_copy_cold.hpp"
#include "unit/memory/cuda_fixture.hpp"

namespace atl::memory {
namespace {

constexpr std::size_t whole_page = 4096;
constexpr std::size_t buffers = 3;
constexpr std::size_t longest_piece = 4 * mib;

std::vector<std::byte> staged_values(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<std::byte>(i * 7 + i / 253 + seed);
  return values;
}

class private_staging_test : public cuda_test {
 protected:
  void start(gpu::gpu_kind& kind, device_segment const& to, std::size_t at, std::byte const* from,
             std::size_t bytes) {
    records_.push_back(std::make_unique<watched>());
    records_.back()->order = &order_;
    kind.copy(end(to, at), host(const_cast<std::byte*>(from)), bytes, 0, records_.back().get(), nullptr);
  }
  void finish_all(gpu::gpu_kind& kind) { wait(kind, order_, records_.size()); }
  void expect_there(gpu::gpu_kind& kind, device_segment const& in, std::size_t at,
                    std::vector<std::byte> const& values) {
    std::vector<std::byte> back(values.size());
    move(kind, host(back.data()), end(in, at), back.size());
    EXPECT_TRUE(back == values);
  }

  std::vector<int> order_;
  std::vector<std::unique_ptr<watched>> records_;
};

TEST_F(private_staging_test, the_source_may_change_when_the_call_returns) {
  auto const kind = open();
  auto const segment = kind->create(0, 4 * mib, nullptr);
  auto const values = staged_values(mib + 12345, 1);  // a piece for each buffer
  auto source = values;
  fake_->hold(true);
  std::uint64_t const before = fake_->copies;
  start(*kind, *segment, 0, source.data(), source.size());
  EXPECT_EQ(fake_->copies - before, std::uint64_t{buffers});
  std::fill(source.begin(), source.end(), std::byte{0});
  fake_->hold(false);
  finish_all(*kind);
  expect_there(*kind, *segment, 0, values);
}

TEST_F(private_staging_test, buffers_are_used_again_when_they_have_been_read) {
  auto const kind = open();
  auto const segment = kind->create(0, 32 * mib, nullptr);
  auto const long_one = staged_values((buffers + 1) * longest_piece + 1, 2);
  auto const short_one = staged_values(gpu::private_staging::least, 3);
  for (std::size_t const shift : {std::size_t{0}, std::size_t{3}}) {
    std::vector<std::byte> source(shift);
    source.insert(source.end(), long_one.begin(), long_one.end());
    start(*kind, *segment, 0, source.data() + shift, long_one.size());
    for (std::size_t i = 0; i < 3 * buffers; ++i)
      start(*kind, *segment, 24 * mib + i * short_one.size(), short_one.data(), short_one.size());
    finish_all(*kind);
    expect_there(*kind, *segment, 0, long_one);
    for (std::size_t i = 0; i < 3 * buffers; ++i)
      expect_there(*kind, *segment, 24 * mib + i * short_one.size(), short_one);
  }
}

TEST_F(private_staging_test, what_is_short_or_pinned_is_the_drivers) {
  auto const kind = open();
  auto const segment = kind->create(0, 8 * mib, nullptr);
  auto const copies_of = [&](std::byte const* from, std::size_t bytes) {
    std::uint64_t const before = fake_->copies;
    start(*kind, *segment, 0, from, bytes);
    return fake_->copies - before;
  };
  std::vector<std::byte> memory(5 * mib);
  auto* const begin = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(memory.data()) + whole_page - 1) / whole_page * whole_page);
  EXPECT_EQ(copies_of(begin, 2 * mib), 3U);  // each half of what is left, down to 512 KiB
  EXPECT_EQ(copies_of(begin, gpu::private_staging::least - 1), 1U);
  memory_range const middle{begin + mib, mib};
  ASSERT_EQ(kind->pin(middle, middle), "");
  EXPECT_EQ(copies_of(middle.begin, mib), 1U);
  EXPECT_EQ(copies_of(begin, 4 * mib), 2U + 1 + 3);
  finish_all(*kind);
  ASSERT_TRUE(kind->unpin(middle));
  // By somebody else, of whom only the driver knows.
  cuda::context current = nullptr;
  ASSERT_EQ(cu_.primary_retain(&current, 0), cuda::success);
  ASSERT_EQ(cu_.context_push(current), cuda::success);
  ASSERT_EQ(cu_.host_register(begin, 4 * mib, 0), cuda::success);
  EXPECT_EQ(copies_of(begin, 4 * mib), 1U);
  finish_all(*kind);
  ASSERT_EQ(cu_.host_unregister(begin), cuda::success);
  ASSERT_EQ(cu_.context_pop(&current), cuda::success);
  cu_.primary_release(0);
}

TEST_F(private_staging_test, without_buffers_the_driver_does_all) {
  auto const kind = open("refuse=register");
  auto const segment = kind->create(0, 4 * mib, nullptr);
  auto const values = staged_values(3 * mib, 4);
  std::uint64_t const before = fake_->copies;
  start(*kind, *segment, 0, values.data(), values.size());
  EXPECT_EQ(fake_->copies - before, 1U);
  finish_all(*kind);
  expect_there(*kind, *segment, 0, values);
}

TEST(StreamingCopyCold, WritesWhatItReadsAndNoMore) {
  constexpr std::size_t most = 19 * whole_page + 100;
  alignas(whole_page) static std::byte to[most + 64];
  auto const from = staged_values(most + 64, 5);
  // Around groups of four pages.
  for (std::size_t const bytes :
       {std::size_t{0}, std::size_t{1}, 4 * whole_page - 1, 4 * whole_page, 4 * whole_page + 1,
        8 * whole_page - 1, 8 * whole_page, 12 * whole_page + 77, 16 * whole_page, most}) {
    for (std::size_t const shift : {0U, 1U, 8U, 63U}) {
      // The second is not where a line begins.
      for (std::byte* const place : {to, to + 16}) {
        std::fill(std::begin(to), std::end(to), std::byte{0xee});
        streaming_copy_cold(place, from.data() + shift, bytes);
        EXPECT_EQ(std::memcmp(place, from.data() + shift, bytes), 0) << bytes << " from " << shift;
        EXPECT_EQ(place[bytes], std::byte{0xee});
      }
    }
  }
}

}  // namespace
}  // namespace atl::memory
