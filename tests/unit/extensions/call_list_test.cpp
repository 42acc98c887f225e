// Calls of two ranks in their order, told of in whatever portions.

#include <atoll/extensions/stream/call_list.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using atl::detail::call_list;
using atl::detail::call_run;
using atl::detail::stream_call;
using atl::detail::stream_call_text;

constexpr std::uint64_t many = 20 * call_list::most;

call_run numbered(std::uint64_t i) { return call_run({stream_call::operation::gather_all, 4, i % 7, -1, 1}); }

/// Moves all that was not told to the other side.
void tell(call_list& untold, call_list& theirs) {
  for (call_run const& each : untold.take()) theirs.add(each);
}

TEST(call_list, takes_as_little_room_for_any_number_of_calls) {
  call_list own;
  for (std::uint64_t i = 0; i < many; ++i) own.add(numbered(i));
  std::uint64_t calls = 0;
  auto const runs = own.take();
  for (call_run const& each : runs) calls += each.count;
  EXPECT_EQ(runs.size(), call_list::most);
  EXPECT_EQ(calls, many);
  EXPECT_TRUE(own.empty());
}

TEST(call_list, equal_calls_are_equal_in_whatever_portions_they_come) {
  for (std::uint64_t const portion : {std::uint64_t{1}, std::uint64_t{37}, call_list::most + 100, many}) {
    for (std::uint64_t const behind : {std::uint64_t{0}, std::uint64_t{5}, many / 2, many}) {
      call_list own;
      call_list theirs;
      call_list untold;
      std::uint64_t compared = 0;
      for (std::uint64_t i = 0; i < many + behind; ++i) {
        if (i < many) own.add(numbered(i));
        if (i >= behind) untold.add(numbered(i - behind));
        if (i % portion == 0) tell(untold, theirs);
        ASSERT_FALSE(call_list::differ(own, theirs, compared));
      }
      tell(untold, theirs);
      EXPECT_FALSE(call_list::differ(own, theirs, compared));
      EXPECT_EQ(compared, many) << portion << ' ' << behind;
    }
  }
}

TEST(call_list, one_that_differs_is_found_among_those_that_came_with_it) {
  for (std::uint64_t const odd : {std::uint64_t{0}, std::uint64_t{500}, many / 2, many - 1}) {
    call_list own;
    call_list theirs;
    call_list untold;
    std::uint64_t compared = 0;
    for (std::uint64_t i = 0; i < many; ++i) {
      own.add(numbered(i));
      untold.add(numbered(i == odd ? i + 1 : i));
    }
    tell(untold, theirs);
    ASSERT_TRUE(call_list::differ(own, theirs, compared)) << odd;
    EXPECT_EQ(own.front().count, theirs.front().count);
    EXPECT_LE(compared, odd);
    EXPECT_GT(compared + own.front().count, odd);
    EXPECT_EQ(own.front().count == 1, odd < call_list::most - 1);
  }
}

TEST(call_list, reductions_are_told_apart_by_what_combines_what) {
  using function = stream_call::function;
  using type = stream_call::type;
  auto const by = [](function f, type t) {
    return call_run({stream_call::operation::reduce_all, 4, 10, -1, 0, f, t});
  };
  call_run const sum = by(function::plus, type::floating);
  EXPECT_NE(sum, by(function::least, type::floating));
  EXPECT_NE(sum, by(function::plus, type::signed_integer));
  EXPECT_NE(sum.digest, by(function::least, type::floating).digest);
  EXPECT_NE(sum.digest, by(function::plus, type::signed_integer).digest);
  EXPECT_STREQ(stream_call_text(sum.first).text, "reduce_all by plus of 10 floating elements of 4 bytes");
  EXPECT_STREQ(stream_call_text(by(function::other, type::other).first).text,
               "reduce_all by another operation of 10 other elements of 4 bytes");
}

TEST(call_list, their_order_counts) {
  call_list own;
  call_list theirs;
  std::uint64_t compared = 0;
  for (std::uint64_t i = 0; i < many; ++i) {
    own.add(numbered(i));
    theirs.add(numbered(i == many - 2 ? many - 1 : i == many - 1 ? many - 2 : i));
  }
  EXPECT_TRUE(call_list::differ(own, theirs, compared));
}

}  // namespace
