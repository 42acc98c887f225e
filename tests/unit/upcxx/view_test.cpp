#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "serialization_support.hpp"
#include "upcxx/view.hpp"

namespace {

using test::message;
using upcxx::deserializing_iterator;
using upcxx::make_view;
using upcxx::view;

struct alignas(256) wide {
  int v = 0;
};
struct empty {};

/// Writes more than it reads.
struct reads_half {
  int v = 0;
  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, reads_half const& o) {
      w.write(o.v);
      w.write(std::string(static_cast<std::size_t>(o.v), 'x'));
    }
    template <typename Reader, typename Storage>
    static reads_half* deserialize(Reader& r, Storage s) {
      return s.construct(reads_half{r.template read<int>()});
    }
  };
};

/// What a view arrives as, with its message.
template <typename View>
struct received {
  explicit received(View const& sent, std::size_t head = 0) : m(head) {
    m.w.write(sent);
    m.w.write('!');
    auto r = m.reader(head);
    v = r.template read<View>();
    EXPECT_EQ(r.template read<char>(), '!') << "what follows the view";
    EXPECT_EQ(r.offset(), m.w.size());
    auto s = m.reader(head);
    upcxx::detail::skip<View>(s);
    EXPECT_EQ(s.template read<char>(), '!') << "what follows the skipped view";
  }
  message m;
  upcxx::deserialized_type_t<View> v;
};

TEST(view, types) {
  std::vector<int> v;
  std::list<std::string> l;
  int a[3] = {};
  static_assert(std::is_same_v<decltype(make_view(v)), view<int, std::vector<int>::const_iterator>>);
  static_assert(
      std::is_same_v<decltype(make_view(l)), view<std::string, std::list<std::string>::const_iterator>>);
  static_assert(std::is_same_v<decltype(make_view(a, a + 3)), view<int, int*>>);
  static_assert(std::is_same_v<decltype(make_view(a, a + 3)), view<int>>);
  static_assert(std::is_same_v<decltype(make_view(const_cast<int const*>(a), const_cast<int const*>(a))),
                               view<int, int const*>>);
  static_assert(std::is_same_v<view<std::string>, view<std::string, deserializing_iterator<std::string>>>);
  static_assert(std::is_same_v<view<int>::iterator, int const*>);
  static_assert(upcxx::is_serializable<view<int>>::value &&
                !upcxx::is_trivially_serializable<view<int>>::value);
  static_assert(upcxx::is_serializable<view<std::string>>::value);
  static_assert(std::is_same_v<deserializing_iterator<test::as_double>::value_type, double>);
  static_assert(std::is_default_constructible_v<view<std::string>> &&
                std::is_copy_assignable_v<view<std::string>>);
  static_assert(std::is_default_constructible_v<view<int>> &&
                std::is_default_constructible_v<view<int, std::list<int>::iterator>>);
  static_assert(std::input_iterator<deserializing_iterator<std::string>>);
}

TEST(view, of_trivial_elements_arrives_in_place_with_random_access) {
  std::vector<int> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 0);
  received const r(make_view(numbers), 5);
  view<int> const v = r.v;
  EXPECT_EQ(v.size(), 100u);
  EXPECT_FALSE(v.empty());
  EXPECT_TRUE(std::equal(v.begin(), v.end(), numbers.begin()));
  EXPECT_TRUE(std::equal(v.rbegin(), v.rend(), numbers.rbegin()));
  EXPECT_EQ(v[3], 3);
  EXPECT_EQ(v.at(99), 99);
  EXPECT_EQ(v.front(), 0);
  EXPECT_EQ(v.back(), 99);
  EXPECT_EQ(v.data(), &*v.cbegin());
  EXPECT_EQ(v.cend() - v.cbegin(), 100);
  EXPECT_EQ(v.crend() - v.crbegin(), 100);
  EXPECT_THROW((void)v.at(100), std::out_of_range);
  auto const* const bytes = reinterpret_cast<std::byte const*>(v.data());
  EXPECT_TRUE(bytes > r.m.w.begin() && bytes < r.m.w.begin() + r.m.w.size()) << "no copy was made";
  const_cast<int&>(v[3]) = 33;  // explicitly allowed
  EXPECT_EQ(v[3], 33);
}

TEST(view, of_part_of_any_container) {
  std::list<int> const list{1, 2, 3, 4};
  received const middle(make_view(std::next(list.begin()), std::prev(list.end()), 2));
  EXPECT_EQ(std::vector<int>(middle.v.begin(), middle.v.end()), (std::vector<int>{2, 3}));
  std::vector<bool> const bits{true, false, true};
  received const b(make_view(bits));
  EXPECT_EQ(std::vector<bool>(b.v.begin(), b.v.end()), bits);
  std::map<int, std::string> const map{{1, "a"}, {2, "b"}};
  received const m(make_view(map));
  std::map<int, std::string> copy;
  for (auto const& element : m.v) copy.insert(element);
  EXPECT_EQ(copy, map);
  std::map<int, double> const plain{{1, 1.5}, {2, 2.5}};
  received const p(make_view(plain));
  EXPECT_EQ(p.v[1].second, 2.5);
}

TEST(view, may_be_empty) {
  std::vector<std::string> const none;
  std::vector<double> const nothing;
  EXPECT_EQ(received(make_view(none)).v.size(), 0u);
  received const r(make_view(none));
  EXPECT_TRUE(r.v.begin() == r.v.end());
  received const t(make_view(nothing));
  EXPECT_TRUE(t.v.empty() && t.v.begin() == t.v.end());
  EXPECT_EQ(received(view<int>()).v.size(), 0u);
  EXPECT_EQ(received(view<std::string>()).v.size(), 0u);
  EXPECT_TRUE(view<std::string>().begin() == view<std::string>().end());
}

TEST(view, aligns_over_aligned_and_keeps_empty_elements_addressable) {
  std::vector<wide> const widest(3);
  received const w(make_view(widest), 9);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&w.v[1]) % 256, 0u);
  std::vector<empty> const empties(1000);
  received const e(make_view(empties));
  std::vector<empty> const copies(e.v.begin(), e.v.end());
  EXPECT_EQ(copies.size(), 1000u);
}

TEST(view, of_other_elements_deserializes_on_demand) {
  std::vector<std::string> const words{"one", "", std::string(100, 'x'), "four"};
  received const r(make_view(words), 3);
  view<std::string> const& v = r.v;
  EXPECT_EQ(v.size(), 4u);
  EXPECT_EQ(std::vector<std::string>(v.begin(), v.end()), words);
  EXPECT_EQ(std::vector<std::string>(v.begin(), v.end()), words) << "a second time";

  auto it = v.begin();
  ++it;
  ++it;  // past elements that nobody looked at
  EXPECT_EQ(*it, words[2]);
  EXPECT_EQ(*it, words[2]) << "dereferencing does not consume";
  auto copy = it++;
  EXPECT_EQ(*copy, words[2]);
  EXPECT_EQ(*it, words[3]);
  EXPECT_TRUE(++it == v.end());
  EXPECT_TRUE(++copy != v.end());
  EXPECT_TRUE(++copy == v.end());
}

TEST(view, iterators_of_serialized_elements_are_ordered) {
  std::vector<std::string> const words{"one", "two", "three"};
  received const r(make_view(words));
  auto const first = r.v.begin();
  auto second = first;
  ++second;
  EXPECT_TRUE(first < second && second < r.v.end() && second > first && first <= first && !(second < first));
}

TEST(view, a_sequence_is_read_into_an_iterator) {
  std::vector<std::string> const words{"one", "two", "three"};
  message m;
  m.w.write('a');
  m.w.write_sequence(words.begin(), words.end());
  auto r = m.reader();
  EXPECT_EQ(r.read<char>(), 'a');
  std::list<std::string> read{"before"};
  r.read_sequence_into_iterator<std::string>(std::back_inserter(read), 2);
  r.read_sequence_into_iterator<std::string>(read.begin(), 1);
  EXPECT_EQ(read, (std::list<std::string>{"three", "one", "two"}));
}

TEST(view, elements_go_into_storage_optionals_and_existing_objects) {
  std::vector<std::string> const words{"one", "two"};
  received const r(make_view(words));
  alignas(std::string) std::byte raw[sizeof(std::string)];
  std::string* const s = r.v.begin().deserialize_into(raw);
  EXPECT_EQ(*s, "one");
  std::destroy_at(s);
  upcxx::optional<std::string> o = "before";
  EXPECT_EQ(*std::next(r.v.begin()).deserialize_into(o), "two");
  std::string existing(1000, 'x');
  EXPECT_EQ(r.v.begin().deserialize_overwrite(existing), &existing);
  EXPECT_EQ(existing, "one");
  EXPECT_EQ(*std::next(r.v.begin()).deserialize_overwrite(&existing), "two");
  EXPECT_EQ(*r.v.begin().deserialize_overwrite(o), "one");

  test::immovable const one(7);
  received const p(make_view(&one, &one + 1));
  alignas(test::immovable) std::byte place[sizeof(test::immovable)];
  EXPECT_EQ(p.v.begin().deserialize_into(place)->value, 7);
}

TEST(view, survives_elements_that_read_less_than_they_wrote) {
  std::vector<reads_half> const v{{1}, {50}, {3}};
  received const r(make_view(v));
  std::vector<int> values;
  for (reads_half const& e : r.v) values.push_back(e.v);
  EXPECT_EQ(values, (std::vector<int>{1, 50, 3}));
}

TEST(view, of_asymmetric_elements_maps_only_what_the_iterator_gives) {
  test::as_double const values[2] = {{1}, {2}};
  received const r(make_view(values, values + 2));
  static_assert(std::is_same_v<decltype(r.v), view<test::as_double>>);
  EXPECT_EQ(std::vector<double>(r.v.begin(), r.v.end()), (std::vector<double>{1.5, 2.5}));
  test::as_double more[1] = {{3}};
  received const m(make_view(more, more + 1));  // view<T, T*> although T is not trivial
  EXPECT_EQ(*m.v.begin(), 3.5);
}

TEST(view, can_be_sent_on) {
  std::vector<std::string> const words{"one", "two"};
  received const first(make_view(words));
  received const second(first.v);
  EXPECT_EQ(std::vector<std::string>(second.v.begin(), second.v.end()), words);
  std::vector<int> const numbers{1, 2};
  received const third(make_view(numbers));
  received const fourth(third.v);
  EXPECT_EQ(fourth.v[1], 2);
}

TEST(view, inside_other_objects) {
  std::vector<int> const numbers{1, 2, 3};
  std::vector<std::string> const words{"a"};
  auto const sent = std::make_tuple(make_view(numbers), std::string("between"), make_view(words));
  message m;
  m.w.write(sent);
  auto r = m.reader();
  auto const [n, s, w] = r.read<std::remove_const_t<decltype(sent)>>();
  EXPECT_EQ(n[2], 3);
  EXPECT_EQ(s, "between");
  EXPECT_EQ(*w.begin(), "a");

  std::vector<view<int, std::vector<int>::const_iterator>> const views(2, make_view(numbers));
  received const nested(make_view(views));
  EXPECT_EQ((*std::next(nested.v.begin())).size(), 3u);
}

}  // namespace
