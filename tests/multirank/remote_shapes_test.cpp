// Runs and boxes that are larger than what travels in one message between hosts, cut in all ways.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <atoll/strided.hpp>

#include "common.hpp"

using upcxx::global_ptr;

namespace {

using byte = std::uint8_t;
using remote_shapes_test = multirank::fixture;

/// Objects of a size that divides no power of two.
struct odd {
  byte bytes[13];
};

TEST_F(remote_shapes_test, runs_of_any_length_arrive_where_they_belong) {
  constexpr std::size_t objects = 60'000;  // 780 kB
  multirank::shared_array<odd> heap(2 * objects);
  std::vector<odd> source(objects);
  std::vector<odd> back(objects);
  multirank::fill_pattern(source.data()->bytes, objects * sizeof(odd), me, 3);
  // Cut differently on either side; runs of nothing are among them; places on the far side are shuffled.
  std::mt19937 random(static_cast<unsigned>(17 + me));
  auto const cuts = [&](std::size_t most) {
    std::vector<std::size_t> lengths;
    for (std::size_t left_over = objects; left_over > 0;) {
      std::size_t const length = std::min<std::size_t>(random() % most, left_over);
      lengths.push_back(length);
      left_over -= length;
    }
    return lengths;
  };
  for (std::size_t const most : {std::size_t{3}, std::size_t{400}, objects}) {
    std::vector<std::pair<odd const*, std::size_t>> private_runs;
    odd const* next = source.data();
    for (std::size_t const length : cuts(most + 1)) {
      private_runs.emplace_back(next, length);
      next += length;
    }
    std::vector<std::size_t> lengths = cuts(most + 2);
    std::vector<std::size_t> order(lengths.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::pair<global_ptr<odd>, std::size_t>> shared_runs(lengths.size());
    std::ptrdiff_t place = 0;
    for (std::size_t const i : order) {
      shared_runs[i] = {heap.at(right) + place, lengths[i]};
      place += static_cast<std::ptrdiff_t>(lengths[i]) + (most < 10 ? 0 : 1);  // gaps, where they fit
    }
    upcxx::barrier();
    upcxx::rput_irregular(private_runs.begin(), private_runs.end(), shared_runs.begin(), shared_runs.end())
        .wait();
    std::fill(back.begin(), back.end(), odd{});
    std::vector<std::pair<odd*, std::size_t>> into;
    odd* out = back.data();
    for (std::size_t const length : cuts(most + 5)) {
      into.emplace_back(out, length);
      out += length;
    }
    upcxx::rget_irregular(shared_runs.begin(), shared_runs.end(), into.begin(), into.end()).wait();
    EXPECT_EQ(std::memcmp(back.data(), source.data(), objects * sizeof(odd)), 0) << "runs of up to " << most;
    upcxx::barrier();
  }
}

TEST_F(remote_shapes_test, boxes_of_all_forms_arrive_where_they_belong) {
  // Extents, and sizes of the arrays around them on either side. Pieces cut each at another dimension.
  struct form {
    std::size_t extents[3];
    std::size_t around[3];
    std::size_t around_there[3];
  };
  form const forms[] = {{{5, 6, 7}, {6, 7, 8}, {9, 6, 7}},
                        {{20'000, 3, 2}, {20'000, 4, 2}, {20'001, 3, 3}},
                        {{1, 300, 200}, {2, 300, 200}, {3, 301, 201}},
                        {{60, 60, 30}, {60, 60, 30}, {60, 60, 30}},
                        {{40, 50, 60}, {41, 51, 61}, {42, 53, 62}}};
  constexpr std::size_t room = 2'000'000;
  multirank::shared_array<std::uint32_t> heap(room);
  std::vector<std::uint32_t> source(room);
  std::vector<std::uint32_t> back(room);
  for (std::size_t i = 0; i < room; ++i)
    source[i] = static_cast<std::uint32_t>(i * 2654435761U) + static_cast<unsigned>(me);
  for (form const& f : forms) {
    for (bool const reversed : {false, true}) {
      auto const strides = [&](std::size_t const(&around)[3], bool backwards) {
        std::array<std::ptrdiff_t, 3> s{};
        std::ptrdiff_t next = sizeof(std::uint32_t);
        for (std::size_t d = 0; d < 3; ++d) {
          s[d] = backwards && d == 1 ? -next : next;
          next *= static_cast<std::ptrdiff_t>(around[d]);
        }
        return s;
      };
      auto const base = [&](std::size_t const(&around)[3], bool backwards) {
        return backwards ? static_cast<std::ptrdiff_t>(around[0] * (f.extents[1] - 1)) : std::ptrdiff_t{0};
      };
      auto const here = strides(f.around, false);
      auto const there = strides(f.around_there, reversed);
      std::array<std::size_t, 3> const extents{f.extents[0], f.extents[1], f.extents[2]};
      upcxx::barrier();
      auto const far = heap.at(right) + base(f.around_there, reversed);
      upcxx::rput_strided<3>(source.data(), here, far, there, extents).wait();
      std::fill(back.begin(), back.end(), 0U);
      upcxx::rget_strided<3>(far, there, back.data(), here, extents).wait();
      bool same = true;
      for (std::size_t k = 0; k < extents[2]; ++k) {
        for (std::size_t j = 0; j < extents[1]; ++j) {
          std::size_t const row = f.around[0] * (j + f.around[1] * k);
          same = same && std::equal(&back[row], &back[row] + extents[0], &source[row]);
        }
      }
      EXPECT_TRUE(same) << extents[0] << 'x' << extents[1] << 'x' << extents[2]
                        << (reversed ? " reversed" : "");
      // What lies there is what was put, also seen by its owner.
      upcxx::barrier();
      std::uint32_t const* const landed = heap.local() + base(f.around_there, reversed);
      EXPECT_EQ(landed[0] - static_cast<unsigned>(left), source[0] - static_cast<unsigned>(me));
      // And between two other ranks.
      std::ptrdiff_t const half = static_cast<std::ptrdiff_t>(room) / 2;
      std::size_t const counts[] = {extents[0] * sizeof(std::uint32_t), extents[1], extents[2]};
      atl::copy_strided(heap.at(right) + half, here.data() + 1,
                        global_ptr<std::uint32_t const>(heap.at(left) + base(f.around_there, reversed)),
                        there.data() + 1, counts, 3)
          .wait();
      upcxx::barrier();
      std::uint32_t const shift = static_cast<unsigned>((me + 3 * n - 3) % n) - static_cast<unsigned>(me);
      std::uint32_t const* const third = heap.local() + half;
      same = true;
      for (std::size_t k = 0; k < extents[2]; ++k) {
        for (std::size_t j = 0; j < extents[1]; ++j) {
          std::size_t const row = f.around[0] * (j + f.around[1] * k);
          for (std::size_t i = 0; i < extents[0]; ++i)
            same = same && third[row + i] == source[row + i] + shift;
        }
      }
      EXPECT_TRUE(same) << "between two others, " << extents[0] << 'x' << extents[1] << 'x' << extents[2];
    }
  }
}

}  // namespace
