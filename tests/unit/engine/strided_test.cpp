// Boxes of random shape, order and sign against a plain recursive loop.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include <atoll/engine/strided.hpp>

namespace {

using std::ptrdiff_t;
using std::size_t;

struct layout {
  std::vector<ptrdiff_t> strides;
  ptrdiff_t base = 0;  ///< of index 0
  size_t bytes = 0;    ///< of memory
};

struct shape {
  size_t element;
  std::vector<size_t> extents;
};

/// The plain loop.
void copy_plainly(std::byte* dest, layout const& to, std::byte const* source, layout const& from,
                  shape const& s, size_t dimension = 0) {
  if (dimension == s.extents.size()) {
    std::memcpy(dest, source, s.element);
    return;
  }
  for (size_t i = 0; i < s.extents[dimension]; ++i) {
    auto const index = static_cast<ptrdiff_t>(i);
    copy_plainly(dest + index * to.strides[dimension], to, source + index * from.strides[dimension], from, s,
                 dimension + 1);
  }
}

class random_boxes : public testing::Test {
 protected:
  size_t below(size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random); }

  shape random_shape() {
    constexpr size_t elements[] = {1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 40, 100};
    constexpr size_t extents[] = {0, 1, 1, 2, 3, 4, 5, 7};
    shape s{elements[below(std::size(elements))], {}};
    for (size_t d = below(6); d > 0; --d) {
      size_t const extent = extents[below(std::size(extents))];
      s.extents.push_back(extent == 0 && below(4) != 0 ? 2 : extent);
    }
    return s;
  }

  /// Dimensions in any order and direction, with gaps of any size (none, often) that need not be multiples of
  /// the element. A source may have strides of 0.
  layout random_layout(shape const& s, bool may_repeat) {
    layout l;
    l.strides.resize(s.extents.size());
    std::vector<size_t> order(s.extents.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (below(2) != 0) std::shuffle(order.begin(), order.end(), random);
    size_t extent_bytes = s.element;
    for (size_t const d : order) {
      size_t const stride = extent_bytes + (below(3) == 0 ? below(2 * s.element + 3) : 0);
      if (may_repeat && below(8) == 0) continue;  // stride 0
      extent_bytes = stride * std::max<size_t>(s.extents[d], 1);
      l.strides[d] = static_cast<ptrdiff_t>(stride);
      if (below(3) == 0) {
        l.strides[d] = -l.strides[d];
        l.base += static_cast<ptrdiff_t>(stride * (std::max<size_t>(s.extents[d], 1) - 1));
      }
    }
    l.bytes = extent_bytes;
    return l;
  }

  std::mt19937_64 random{20230901};
};

TEST_F(random_boxes, equal_the_plain_loop_and_leave_gaps_alone) {
  for (int round = 0; round < 20000; ++round) {
    shape const s = random_shape();
    layout const to = random_layout(s, false);
    layout const from = random_layout(s, true);
    std::vector<std::byte> source(from.bytes);
    for (auto& b : source) b = static_cast<std::byte>(below(255) + 1);
    std::vector<std::byte> expected(to.bytes, std::byte{0});
    std::vector<std::byte> result = expected;
    copy_plainly(expected.data() + to.base, to, source.data() + from.base, from, s);
    atl::engine::copy_strided(result.data() + to.base, to.strides.data(), source.data() + from.base,
                              from.strides.data(), s.extents.data(), s.extents.size(), s.element);
    ASSERT_EQ(result, expected) << "round " << round << ", element " << s.element << ", extents "
                                << testing::PrintToString(s.extents) << ", destination "
                                << testing::PrintToString(to.strides) << ", source "
                                << testing::PrintToString(from.strides);
    if (s.extents.size() > atl::engine::prepared_box::most_dimensions) continue;
    // Prepared for memory 8 bytes before, which need not be there.
    std::fill(result.begin(), result.end(), std::byte{0});
    atl::engine::prepared_box box;
    bool const any = atl::engine::prepare_box(box, result.data() + to.base - 8, to.strides.data(),
                                              source.data() + from.base - 8, from.strides.data(),
                                              s.extents.data(), s.extents.size(), s.element);
    if (any) atl::engine::copy_prepared(&box, 1, 8, 8);
    ASSERT_EQ(result, expected) << "prepared, round " << round;
  }
}

TEST(strided, more_dimensions_than_the_engine_counts_at_once) {
  constexpr size_t dimensions = 20;  // of extent 2 where the bit is set, else 1
  constexpr unsigned set = 0b1010'0000'1100'1001'0111;
  std::vector<size_t> extents(dimensions, 1);
  std::vector<ptrdiff_t> up(dimensions);
  std::vector<ptrdiff_t> down(dimensions);
  ptrdiff_t elements = 1;
  for (size_t d = 0; d < dimensions; ++d) {
    if ((set >> d & 1U) == 0) continue;
    extents[d] = 2;
    up[d] = elements * 4;
    elements *= 2;
  }
  for (size_t d = 0; d < dimensions; ++d) down[d] = -up[d];
  auto const n = static_cast<size_t>(elements);
  std::vector<std::uint32_t> source(n);
  std::iota(source.begin(), source.end(), 1U);
  std::vector<std::uint32_t> result(n);
  atl::engine::copy_strided(reinterpret_cast<std::byte*>(result.data()), up.data(),
                            reinterpret_cast<std::byte const*>(&source.back()), down.data(), extents.data(),
                            dimensions, 4);
  std::reverse(source.begin(), source.end());
  EXPECT_EQ(result, source);
}

}  // namespace
