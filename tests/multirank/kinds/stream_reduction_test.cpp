// Reductions in streams by a program that is not compiled for devices: by threads that play kernels on simulated devices, and without kernels of the program on
// all others.

#include <cstdint>
#include <optional>

#include <atoll/stream_reduction.cuh>

#include "multirank/kinds/stream_fixture.hpp"

namespace {

namespace on = atl::device;

class stream_reduction_test : public stream_fixture {
 protected:
  void SetUp() override {
    stream_fixture::SetUp();
    if (gpu_.is_active()) stream_.emplace(atl::make_stream(gpu_));
  }
  void TearDown() override {
    stream_.reset();
    stream_fixture::TearDown();
  }

  /// What a rank gives: numbers of all sizes and signs, and some that only differ in few bits.
  template <class T>
  static std::vector<T> given_by(int rank, std::size_t length) {
    std::vector<T> values(length);
    for (std::size_t i = 0; i < length; ++i) {
      auto const x = static_cast<T>((i * 7 + static_cast<std::size_t>(rank) * 13) % 101);
      values[i] = (i % 2 == 0 ? x : static_cast<T>(-x)) * static_cast<T>(i % 5 == 0 ? 1000 : 1) +
                  static_cast<T>(0.1 * rank);
    }
    return values;
  }
  template <class T, class Op>
  [[nodiscard]] std::vector<T> expected(std::size_t length, Op op) const {
    std::vector<T> total = given_by<T>(0, length);
    for (int r = 1; r < n; ++r) {
      auto const next = given_by<T>(r, length);
      for (std::size_t i = 0; i < length; ++i) total[i] = op(total[i], next[i]);
    }
    return total;
  }
  using reductions = atl::stream_reduction<upcxx::gpu_default_device>;

  /// In the order of the ranks, so that also sums of numbers with fractions are the same.
  template <class T, class Op>
  void reduce(reductions& by, std::size_t length, std::ptrdiff_t shift, Op op) {
    auto const in = gpu_.allocate<T>(length + 1);
    auto const out = gpu_.allocate<T>(length + 1);
    std::vector<T> const values = given_by<T>(me, length);
    upcxx::copy(values.data(), in + shift, length).wait();
    by.reduce_all(*stream_, in + shift, out + shift, length, op);
    int const root = static_cast<int>(length) % n;
    by.reduce_one(*stream_, root, in + shift, in + shift, length, op);
    atl::wait(*stream_);
    EXPECT_EQ(content(out + shift, length), (expected<T>(length, op))) << length << " elements";
    EXPECT_EQ(content(in + shift, length), me == root ? expected<T>(length, op) : values);
    upcxx::barrier();
    gpu_.deallocate(in);
    gpu_.deallocate(out);
  }
  template <class T>
  void reduce_in_all_ways(reductions& by) {
    struct place {
      std::size_t length;
      std::ptrdiff_t shift;  // to what is not a multiple of 16 bytes
    };
    for (auto const& [length, shift] : {place{1, 0}, place{50, 1}, place{51, 0}, place{1000, 1}}) {
      reduce<T>(by, length, shift, on::plus{});
      reduce<T>(by, length, shift, on::least{});
      reduce<T>(by, length, shift, on::greatest{});
    }
  }

  std::optional<atl::owned_stream> stream_;
};

TEST_F(stream_reduction_test, numbers_of_all_types) {
  reductions by(gpu_, upcxx::world(), 50);
  reduce_in_all_ways<float>(by);
  reduce_in_all_ways<double>(by);
  reduce_in_all_ways<std::int32_t>(by);
  reduce_in_all_ways<std::int64_t>(by);
  by.destroy();
}

/// Of all ranks together more than messages may take, where hosts combine them.
TEST_F(stream_reduction_test, arrays_larger_than_messages_may_be) {
  constexpr std::size_t length = 60'001;
  reductions by(gpu_, upcxx::world(), 50);
  auto const p = gpu_.allocate<double>(length);
  std::vector<double> const values = given_by<double>(me, length);
  upcxx::copy(values.data(), p, length).wait();
  by.reduce_all(*stream_, p, p, length, on::plus{});
  atl::wait(*stream_);
  EXPECT_EQ(content(p, length), expected<double>(length, on::plus{}));
  by.destroy();
  gpu_.deallocate(p);
}

/// Which no kernel of the library knows.
TEST_F(stream_reduction_test, an_operation_of_the_program) {
  reductions by(gpu_, upcxx::world(), 50);
  auto const in_turn = [](std::uint32_t a, std::uint32_t b) { return a * 10 + b; };
  for (std::size_t const length : {3, 70}) {
    auto const p = filled<std::uint32_t>(length, static_cast<std::uint32_t>(me) + 1);
    by.reduce_all(*stream_, p, p, length, in_turn);
    atl::wait(*stream_);
    std::uint32_t all = 1;
    for (int r = 1; r < n; ++r) all = in_turn(all, static_cast<std::uint32_t>(r) + 1);
    EXPECT_EQ(content(p, length), std::vector<std::uint32_t>(length, all));
    upcxx::barrier();
    gpu_.deallocate(p);
  }
  by.destroy();
}

}  // namespace
