// Boxes between any two memories, over simulated devices, the fake CUDA driver and GPUs.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include <atoll/pin.hpp>
#include <atoll/stream.hpp>
#include <atoll/strided.hpp>

#include "multirank/kinds/any_memory.hpp"
#include "multirank/kinds/nearly_full_heap.hpp"

namespace {

using upcxx::operation_cx;
using upcxx::remote_cx;
using upcxx::source_cx;

/// Strides of which are no multiples of its size.
using triple = std::array<std::int16_t, 3>;

/// A box that has room in half of a place.
template <std::size_t Dim>
struct box_end {
  std::array<std::ptrdiff_t, Dim> strides{};
  std::ptrdiff_t base = 0;  ///< bytes from the half's begin

  box_end(std::minstd_rand& numbers, std::array<std::size_t, Dim> const& extents, bool repeats) {
    std::array<std::size_t, Dim> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), numbers);
    std::ptrdiff_t next = sizeof(triple) + 2 * static_cast<std::ptrdiff_t>(numbers() % 2);
    for (std::size_t const d : order) {
      strides[d] = next;
      next *= static_cast<std::ptrdiff_t>(extents[d] + numbers() % 2 + (extents[d] == 0 ? 1 : 0));
      if (repeats && numbers() % 4 == 0) {
        strides[d] = 0;
      } else if (numbers() % 3 == 0 && extents[d] != 0) {
        base += strides[d] * static_cast<std::ptrdiff_t>(extents[d] - 1);
        strides[d] = -strides[d];
      }
    }
  }
};

template <std::size_t Dim, class F>
void for_each_index(std::array<std::size_t, Dim> const& extents, F&& f) {
  std::array<std::size_t, Dim> index{};
  for (std::size_t const e : extents) {
    if (e == 0) return;
  }
  for (;;) {
    f(index);
    std::size_t d = 0;
    for (; d < Dim; ++d) {
      if (++index[d] < extents[d]) break;
      index[d] = 0;
    }
    if (d == Dim) return;
  }
}

}  // namespace

class strided_copy_test : public any_memory_fixture {
 protected:
  /// copy(source, strides, dest, strides, extents), after which the data are in place.
  template <std::size_t Dim, class Copy>
  void expect_boxes(int rounds, Copy&& copy) {
    constexpr std::size_t half = words / 2;
    for (int round = 0; round < rounds; ++round) {
      std::minstd_rand numbers(static_cast<unsigned>(round * 8 + static_cast<int>(Dim) + 1));  // of all ranks
      auto const any_rank = [&] { return static_cast<int>(numbers() % static_cast<unsigned>(n)); };
      int const owner = any_rank();
      int const other = any_rank();
      int const copier = numbers() % 3 == 0 ? any_rank() : numbers() % 2 == 0 ? owner : other;
      std::size_t const from = numbers() % places;
      std::size_t const to = numbers() % places;
      std::array<std::size_t, Dim> extents{};
      for (auto& e : extents) e = numbers() % 16 == 0 ? 0 : 1 + numbers() % (Dim > 3 ? 3 : 5);
      box_end<Dim> const source(numbers, extents, true);
      box_end<Dim> const dest(numbers, extents, false);
      fill(round);
      auto expected = words_of(other, to, round);
      auto const read_from = words_of(owner, from, round);
      for_each_index(extents, [&](std::array<std::size_t, Dim> const& index) {
        std::ptrdiff_t at = dest.base;
        std::ptrdiff_t there = source.base;
        for (std::size_t d = 0; d < Dim; ++d) {
          at += static_cast<std::ptrdiff_t>(index[d]) * dest.strides[d];
          there += static_cast<std::ptrdiff_t>(index[d]) * source.strides[d];
        }
        std::memcpy(expected.data() + half + at / 2, read_from.data() + there / 2, sizeof(triple));
      });
      upcxx::barrier();
      if (me == copier) {
        copy(upcxx::reinterpret_pointer_cast<triple const>(memory(owner, from) + source.base / 2),
             source.strides,
             upcxx::reinterpret_pointer_cast<triple>(memory(other, to) + half + dest.base / 2), dest.strides,
             extents);
      }
      upcxx::barrier();
      if (me == other) {
        EXPECT_TRUE(read(to) == expected) << "round " << round << ", " << Dim << " dimensions, from place "
                                          << from << " of rank " << owner << " to " << to << " by " << copier;
      }
      upcxx::barrier();
    }
  }
  template <class Copy>
  void expect_boxes_of_all_dimensions(Copy const& copy) {
    expect_boxes<0>(1, copy);
    expect_boxes<1>(4, copy);
    expect_boxes<2>(6, copy);
    expect_boxes<3>(4, copy);
    expect_boxes<5>(2, copy);  // more than kernels know
  }
};

TEST_F(strided_copy_test, boxes_go_from_any_memory_to_any_other) {
  expect_boxes_of_all_dimensions([]<std::size_t Dim>(auto source, std::array<std::ptrdiff_t, Dim> from,
                                                     auto dest, std::array<std::ptrdiff_t, Dim> to,
                                                     std::array<std::size_t, Dim> extents) {
    atl::copy_strided<Dim>(source, from, dest, to, extents).wait();
  });
}

TEST_F(strided_copy_test, boxes_go_in_the_order_of_a_stream) {
  auto const s = atl::make_stream(gpu_);
  expect_boxes_of_all_dimensions([&s]<std::size_t Dim>(auto source, std::array<std::ptrdiff_t, Dim> from,
                                                       auto dest, std::array<std::ptrdiff_t, Dim> to,
                                                       std::array<std::size_t, Dim> extents) {
    atl::copy_strided<Dim>(source, from, dest, to, extents, atl::on_stream(s));
    atl::wait(s);
  });
}

// Columns of a matrix of 8 x 8 ints, in memories whose kind is known.
TEST_F(strided_copy_test, pointers_may_be_raw_and_of_a_known_kind) {
  constexpr std::ptrdiff_t row = 8 * sizeof(int);
  std::vector<int> values(64);
  std::iota(values.begin(), values.end(), me * 100);
  upcxx::global_ptr<int> const heap = upcxx::new_array<int>(64);
  auto const landings = of_all(filled(64, -1));
  auto const theirs = landings[right_index()];
  // Column 7, backwards, to a column on the neighbour's device; that of this rank's device to a row, and to a column of a heap.
  atl::copy_strided<1>(values.data() + 63, {{-row}}, theirs + 2, {{row}}, {{8}}).wait();
  upcxx::barrier();
  auto const mine = landings[static_cast<std::size_t>(me)];
  std::vector<int> got(8, -5);
  atl::copy_strided<1>(mine + 2, {{row}}, got.data(), {{sizeof(int)}}, {{8}}).wait();
  std::fill(heap.local(), heap.local() + 64, -2);
  atl::copy_strided<1>(mine + 2, {{row}}, heap + 63, {{-row}}, {{8}}).wait();
  std::ptrdiff_t const strides[] = {row};
  std::size_t const extents[] = {8};
  std::vector<int> again(64, -3);
  atl::copy_strided<1>(upcxx::global_ptr<int const>(heap) + 7, strides, again.data(), strides, extents)
      .wait();
  atl::copy_strided<1>(again.data(), {{row}}, again.data() + 7, {{row}}, {{8}}).wait();
  for (std::size_t i = 0; i < 8; ++i) {
    int const last = left * 100 + 7 + 8 * (7 - static_cast<int>(i));
    EXPECT_EQ(got[i], last);
    EXPECT_EQ(heap.local()[7 + 8 * (7 - i)], last);
    EXPECT_EQ(heap.local()[6 + 8 * i], -2);
    EXPECT_EQ(again[7 + 8 * (7 - i)], last);
    EXPECT_EQ(again[1 + 8 * i], -3);
  }
  upcxx::barrier();
  upcxx::delete_array(heap);
  gpu_.deallocate(mine);
}

TEST_F(strided_copy_test, all_that_asks_hears_of_it_also_if_the_box_is_empty) {
  static int arrived;
  arrived = 0;
  upcxx::barrier();
  auto const s = atl::make_stream(gpu_);
  auto const words_of_all = of_all(filled<std::uint64_t>(1, 0));
  auto const their_word = words_of_all[right_index()];
  auto const blocks = of_all(filled(100, me));
  auto const from = blocks[static_cast<std::size_t>(me)];
  auto const to = blocks[right_index()] + 50;
  upcxx::promise<> promise;
  int lpcs = 0;
  std::uint64_t signals = 0;
  for (std::size_t const rows : {5, 0}) {
    auto const copy = [&](auto&& cx) {
      return atl::copy_strided<2>(from, {{4, 20}}, to, {{4, 40}}, {{2, rows}},
                                  std::forward<decltype(cx)>(cx));
    };
    auto [left_source, complete] =
        copy(source_cx::as_future() | operation_cx::as_future() | operation_cx::as_promise(promise) |
             source_cx::as_lpc(upcxx::current_persona(), [&lpcs] { ++lpcs; }) |
             remote_cx::as_rpc([](int by) { arrived += by + 1; }, me));
    upcxx::when_all(left_source, complete).wait();
    copy(source_cx::as_buffered() | operation_cx::as_future()).wait();
    copy(atl::on_stream(s) | atl::remote_cx::as_signal(their_word, ++signals));
    copy(atl::on_stream(s) | operation_cx::as_future() | remote_cx::as_rpc([] { ++arrived; })).wait();
    atl::wait(s, words_of_all[static_cast<std::size_t>(me)], signals);
    atl::wait(s);
  }
  promise.finalize().wait();
  multirank::spin_until([&] { return lpcs == 2 && arrived == 2 * (left + 1) + 2; });
  upcxx::barrier();
  auto const found = content(from, 100);
  for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(found[50 + i], i % 10 < 2 ? left : me) << i;
  upcxx::barrier();
}

TEST_F(strided_copy_test, no_room_in_the_middle_of_a_box_leaves_it_unmade) {
  struct alignas(4096) page {
    int first;
  };
  std::vector<page> host(2, page{-1});
  // For one of two runs the host is asked.
  auto const pinned = atl::pin(host.data(), sizeof(page));
  auto const numbers = filled(2, me);
  auto const s = atl::make_stream(gpu_);
  auto const copy = [&] {
    atl::copy_strided<1>(numbers, {{sizeof(int)}}, &host[0].first, {{sizeof(page)}}, {{2}},
                         atl::on_stream(s));
  };
  {
    nearly_full_heap const full(0);
    EXPECT_THROW(copy(), upcxx::bad_shared_alloc);
  }
  atl::wait(s);
  EXPECT_EQ(host[0].first, -1);
  copy();
  atl::wait(s);
  EXPECT_EQ(host[0].first, me);
  EXPECT_EQ(host[1].first, me);
}

/// Counted by the fake driver.
TEST_F(strided_copy_test, a_box_between_devices_is_one_kernel_whoever_has_them) {
  fake_cuda::control* const fake = counting_driver();
  if (fake == nullptr) GTEST_SKIP() << "not over the fake driver, or devices do not reach each other";
  auto const blocks = of_all(filled(200, me));
  auto const mine = blocks[static_cast<std::size_t>(me)];
  auto const theirs = blocks[right_index()];
  auto const s = atl::make_stream(gpu_);
  constexpr std::ptrdiff_t row = 10 * sizeof(int);
  auto const expect_kernels = [fake](std::uint64_t kernels, auto const& copy) {
    std::uint64_t const copies = fake->copies;
    std::uint64_t const before = fake->kernels;
    copy();
    EXPECT_EQ(fake->copies, copies);
    EXPECT_EQ(fake->kernels, before + kernels);
  };
  expect_kernels(1, [&] { atl::copy_strided<1>(mine, {{row}}, theirs + 101, {{row}}, {{10}}).wait(); });
  upcxx::barrier();
  expect_kernels(1, [&] { atl::copy_strided<1>(theirs, {{row}}, mine + 102, {{row}}, {{10}}).wait(); });
  expect_kernels(1, [&] {
    atl::copy_strided<1>(theirs, {{row}}, mine + 103, {{row}}, {{10}}, atl::on_stream(s));
    atl::wait(s);
  });
  auto const found = content(mine, 200);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(found[100 + 10 * i], me);
    EXPECT_EQ(found[101 + 10 * i], left);
    EXPECT_EQ(found[102 + 10 * i], right);
    EXPECT_EQ(found[103 + 10 * i], right);
  }
  upcxx::barrier();
}
