// upcxx_memberof and upcxx_memberof_general (core digest, 3.11), and the assertion macros.

#include <array>
#include <string>

#include "common.hpp"

namespace {

using upcxx::global_ptr;

struct inner {
  short s;
  double values[4];
};
struct outer {
  int first;
  inner in;
  int grid[2][3];
  int const fixed = 9;
  char last;
};
static_assert(std::is_standard_layout_v<outer>);

class mixed_access {
 public:
  int a = 1;
  int value_of_b() const { return b; }

 private:
  int b = 2;

 public:
  std::string c = "c";
  int array[5] = {0, 1, 2, 3, 4};
};
static_assert(!std::is_standard_layout_v<mixed_access>);

struct root {
  long r = 5;
  virtual ~root() = default;
};
struct left_side : virtual root {
  int l = 6;
};
struct right_side : virtual root {
  int q = 7;
};
struct diamond : left_side, right_side {
  int d = 8;
};

template <class T>
auto member_in_template(global_ptr<T> p) {
  return upcxx_memberof(p, first);
}

}  // namespace

using memberof_test = multirank::fixture;

TEST_F(memberof_test, members_of_remote_standard_layout_objects_are_addressable) {
  multirank::shared_array<outer> cells(2);
  new (cells.local()) outer{1000 + me, {5, {0, 1, 2, 3}}, {{1, 2, 3}, {4, 5, 6}}, 9, 'z'};
  upcxx::barrier();
  global_ptr<outer> const p = cells.at(right);
  auto first = upcxx_memberof(p, first);
  auto last = upcxx_memberof(p, last);
  auto nested = upcxx_memberof(p, in.s);
  auto element = upcxx_memberof(p, in.values[2]);
  auto array = upcxx_memberof(p, in.values);
  auto grid = upcxx_memberof(p, grid);
  auto fixed = upcxx_memberof(p, fixed);
  static_assert(std::is_same_v<decltype(first), global_ptr<int>>);
  static_assert(std::is_same_v<decltype(nested), global_ptr<short>>);
  static_assert(std::is_same_v<decltype(element), global_ptr<double>>);
  static_assert(std::is_same_v<decltype(array), global_ptr<double>>);
  static_assert(std::is_same_v<decltype(grid), global_ptr<int>>);
  static_assert(std::is_same_v<decltype(fixed), global_ptr<int const>>);
  EXPECT_EQ(first.where(), right);
  EXPECT_EQ(upcxx::rget(first).wait(), 1000 + right);
  EXPECT_EQ(upcxx::rget(last).wait(), 'z');
  EXPECT_EQ(upcxx::rget(nested).wait(), 5);
  EXPECT_EQ(upcxx::rget(element).wait(), 2.0);
  EXPECT_EQ(upcxx::rget(array + 3).wait(), 3.0);
  EXPECT_EQ(upcxx::rget(grid + 5).wait(), 6);
  EXPECT_EQ(upcxx::rget(fixed).wait(), 9);
  EXPECT_TRUE(member_in_template(p) == first);
  upcxx::rput(-1 - me, first).wait();
  upcxx::barrier();
  EXPECT_EQ(cells.local()->first, -1 - left);
  EXPECT_EQ(cells.local()->in.s, 5);
}

TEST_F(memberof_test, constness_of_the_object_propagates) {
  multirank::shared_array<outer> cells(1);
  global_ptr<outer const> const p = cells.at(right);
  static_assert(std::is_same_v<decltype(upcxx_memberof(p, first)), global_ptr<int const>>);
  static_assert(std::is_same_v<decltype(upcxx_memberof(p, in.values)), global_ptr<double const>>);
  EXPECT_TRUE(upcxx_memberof(p, first) == upcxx_memberof(cells.at(right), first));
}

TEST_F(memberof_test, the_pointer_expression_is_evaluated_once) {
  multirank::shared_array<outer> cells(3);
  global_ptr<outer> p = cells.at(right);
  auto first = upcxx_memberof(p++, first);
  EXPECT_TRUE(p == cells.at(right) + 1);
  EXPECT_TRUE(first == upcxx_memberof(cells.at(right), first));
  auto general = upcxx_memberof_general(p++, last);
  EXPECT_TRUE(p == cells.at(right) + 2);
  general.wait();
  upcxx::barrier();
}

TEST_F(memberof_test, general_form_reaches_members_of_any_class) {
  global_ptr<mixed_access> mine = upcxx::new_<mixed_access>();
  global_ptr<diamond> shape = upcxx::new_<diamond>();
  mine.local()->a = 100 + me;
  shape.local()->r = 500 + me;
  upcxx::dist_object<global_ptr<mixed_access>> all_mixed(mine);
  upcxx::dist_object<global_ptr<diamond>> all_shapes(shape);
  for (int r = 0; r < n; ++r) {
    global_ptr<mixed_access> const m = all_mixed.fetch(r).wait();
    upcxx::future<global_ptr<int>> a = upcxx_memberof_general(m, a);
    EXPECT_EQ(upcxx::rget(a.wait()).wait(), 100 + r);
    static_assert(
        std::is_same_v<decltype(upcxx_memberof_general(m, c)), upcxx::future<global_ptr<std::string>>>);
    EXPECT_EQ(upcxx::rget(upcxx_memberof_general(m, array).wait() + 3).wait(), 3);
    EXPECT_EQ(upcxx_memberof_general(m, c).wait().where(), r);
    // A member of a virtual base: only the object itself knows where it is.
    global_ptr<diamond> const d = all_shapes.fetch(r).wait();
    upcxx::future<global_ptr<long>> base_member = upcxx_memberof_general(d, r);
    EXPECT_EQ(upcxx::rget(base_member.wait()).wait(), 500 + r);
    EXPECT_EQ(upcxx::rget(upcxx_memberof_general(d, d).wait()).wait(), 8);
  }
  upcxx::barrier();
  upcxx::delete_(mine);
  upcxx::delete_(shape);
}

TEST_F(memberof_test, assertions_that_hold_do_nothing) {
  int evaluations = 0;
  auto message = [&evaluations] {
    ++evaluations;
    return "never shown";
  };
  UPCXX_ASSERT_ALWAYS(1 + 1 == 2);
  UPCXX_ASSERT_ALWAYS(me >= 0, message());
  UPCXX_ASSERT_ALWAYS(n > 0, "a chain " << message() << ' ' << 5);
  UPCXX_ASSERT(n > 0);
  UPCXX_ASSERT(n > 0, "text " << message());
  (n > 0 ? UPCXX_ASSERT_ALWAYS(true) : UPCXX_ASSERT_ALWAYS(false));  // an expression of type void
  static_assert(std::is_void_v<decltype(UPCXX_ASSERT_ALWAYS(true, "x"))>);
  EXPECT_EQ(evaluations, 0);
}

TEST_F(memberof_test, debug_assertions_evaluate_their_test_only_in_checked_builds) {
  int evaluations = 0;
  [[maybe_unused]] auto test = [&evaluations] { return ++evaluations > 0; };
  UPCXX_ASSERT(test());
#if defined(UPCXX_CODEMODE) && UPCXX_CODEMODE
  EXPECT_EQ(evaluations, 0);
#else
  EXPECT_EQ(evaluations, 1);
#endif
}
