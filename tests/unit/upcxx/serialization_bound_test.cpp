#include <gtest/gtest.h>

#include <memory>

#include "serialization_support.hpp"
#include "upcxx/view.hpp"

namespace {

using test::message;
using upcxx::detail::npos;
using upcxx::detail::serialized_bound;
using upcxx::detail::static_bound_v;

struct plain {
  char c;
  double d;
};
struct small_fields {
  int a = 0;
  char b[3] = {};
  UPCXX_SERIALIZED_FIELDS(a, b)
};
struct array_fields {
  double numbers[10][10] = {};
  std::less<int> nothing[3];
  UPCXX_SERIALIZED_FIELDS(numbers, nothing)
};
struct text_fields : small_fields {
  std::string s;
  std::string more[2];
  UPCXX_SERIALIZED_FIELDS(UPCXX_SERIALIZED_BASE(small_fields), s, more)
};
struct small_values {
  small_values(int, double) {}
  UPCXX_SERIALIZED_VALUES(1, 2.0)
};
struct text_values {
  explicit text_values(std::string) {}
  UPCXX_SERIALIZED_VALUES(std::string("x"))
};

/// Bounds are never too low, and for `Exact` neither too high, whatever the start.
template <bool Exact = false, typename... T>
void expect_bound(T const&... objects) {
  for (std::size_t start = 0; start < 20; ++start) {
    message m(start);
    (m.w.write(objects), ...);
    std::size_t const bound = serialized_bound(start, objects...);
    ASSERT_NE(bound, npos);
    if (Exact) {
      EXPECT_EQ(bound, m.w.size()) << "from " << start;
    } else {
      EXPECT_GE(bound, m.w.size()) << "from " << start;
      EXPECT_LE(bound, m.w.size() + 200) << "from " << start;
    }
  }
}

TEST(serialized_bound, of_trivial_types_is_exact_and_constant) {
  static_assert(serialized_bound(0, 1, 2.0, 'c') == 17);
  static_assert(serialized_bound(3, 1, 'c') == 9);
  static_assert(static_bound_v<int> == 7 && static_bound_v<plain> == 16 + 7 &&
                static_bound_v<std::less<int>> == 0);
  expect_bound<true>('a', 1, plain{'b', 2}, 'c');
  expect_bound<true>(std::pair<char, int>('a', 1), std::array<short, 3>{});
}

TEST(serialized_bound, of_strings_and_sequences) {
  expect_bound<true>(std::string("text"), std::string(), 1);
  expect_bound<true>(std::vector<int>{1, 2, 3}, std::vector<double>{});
  expect_bound<true>(std::vector<std::string>{"a", "bc", ""}, std::deque<char>{'a'});
  expect_bound<true>(std::list<short>{1, 2}, std::vector<bool>{true, false, true});
  expect_bound<true>(std::vector<std::vector<std::string>>{{"a"}, {}});
  expect_bound<true>(std::list<std::string>{"few", "elements"});
  EXPECT_EQ(serialized_bound(0, std::list<std::string>(1000)), npos) << "not worth a walk over all nodes";
  expect_bound<true>(std::list<int>(1000));
}

TEST(serialized_bound, of_products_sets_and_maps) {
  expect_bound<true>(std::pair<char, std::string>('a', "b"), std::tuple<char, std::vector<int>>('c', {1}));
  expect_bound<true>(std::array<std::string, 2>{"a", "b"});
  expect_bound(std::array<small_fields, 3>{});
  expect_bound(std::map<char, double>{{'a', 1}, {'b', 2}}, std::unordered_set<int>{1, 2});
  expect_bound(std::map<int, std::string>{{1, "a"}, {2, "b"}});
  int i = 1;
  expect_bound<true>(std::reference_wrapper<int>(i));
}

TEST(serialized_bound, of_classes) {
  static_assert(static_bound_v<small_fields> == 7 + 3 && static_bound_v<array_fields> == 800 + 7 &&
                static_bound_v<small_values> == 7 + 15);
  static_assert(static_bound_v<text_fields> == npos && static_bound_v<text_values> == npos);
  expect_bound(small_fields(), array_fields(), small_values(1, 2));
  text_fields t;
  t.s = "abc";
  t.more[1] = "defg";
  expect_bound(t, std::vector<text_fields>(3, t));
  EXPECT_EQ(serialized_bound(0, text_values("")), npos) << "the expressions are not evaluated twice";
  EXPECT_EQ(serialized_bound(0, test::immovable(1)), npos);
  EXPECT_EQ(serialized_bound(0, 1, test::immovable(1), 2), npos);
  EXPECT_EQ(serialized_bound(0, std::vector<test::immovable*>(2)), 8u + 16u);
}

TEST(serialized_bound, of_views) {
  std::vector<double> const numbers(5);
  std::list<int> const list{1, 2, 3};
  std::vector<std::string> const words{"a", "longer"};
  expect_bound<true>(upcxx::make_view(numbers), 'x');
  expect_bound<true>(upcxx::make_view(list), 'x');
  expect_bound<true>(upcxx::make_view(numbers.begin(), numbers.begin()));
  expect_bound<true>(upcxx::make_view(words));
  expect_bound(upcxx::make_view(std::vector<small_fields>(4)));
}

TEST(deserialized_tuple, builds_in_place_in_order_and_destroys) {
  int const before = test::counted::alive;
  {
    message m;
    m.w.write(1);
    m.w.write(test::counted(2));
    m.w.write(test::immovable(3));
    m.w.write(std::string("four"));
    m.w.write(test::as_double{5});
    m.w.write('6');
    auto r = m.reader();
    upcxx::detail::deserialized_tuple<int const, test::counted const&, test::immovable&, std::string,
                                      test::as_double, char>
        t(r);
    EXPECT_EQ(test::counted::alive, before + 1) << "no copies";
    static_assert(std::is_same_v<decltype(t.get<0>()), int const&>);
    static_assert(std::is_same_v<decltype(t.get<1>()), test::counted&>);
    static_assert(std::is_same_v<decltype(t.get<4>()), double&>);
    EXPECT_EQ(t.get<0>(), 1);
    EXPECT_EQ(t.get<1>().value, 2);
    EXPECT_EQ(t.get<2>().value, 3);
    EXPECT_EQ(t.get<3>(), "four");
    EXPECT_EQ(t.get<4>(), 5.5);
    EXPECT_EQ(t.get<5>(), '6');
    bool const rvalues =
        t.apply([](auto&&... part) { return (!std::is_lvalue_reference_v<decltype(part)> && ...); });
    EXPECT_TRUE(rvalues);
    EXPECT_EQ(r.offset(), m.w.size());
  }
  EXPECT_EQ(test::counted::alive, before);
}

TEST(deserialized_tuple, of_large_over_aligned_and_no_objects) {
  struct alignas(512) wide {
    int v;
  };
  struct huge {
    std::array<char, 16 << 20> bytes;
  };
  auto const object = std::make_unique<huge>();
  object->bytes.back() = 'z';
  message m;
  m.w.write('a');
  m.w.write(wide{4});
  m.w.write(*object);
  auto r = m.reader();
  using arguments = upcxx::detail::deserialized_tuple<char, wide, huge>;
  static_assert(alignof(arguments) == 512);
  auto const t = std::make_unique<arguments>(r);
  EXPECT_EQ(t->get<1>().v, 4);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&t->get<1>()) % 512, 0u);
  EXPECT_EQ(t->get<2>().bytes.back(), 'z');
  upcxx::detail::deserialized_tuple<> none(r);
  EXPECT_EQ(none.apply([] { return 3; }), 3);
}

}  // namespace
