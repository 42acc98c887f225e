#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>

#include "serialization_support.hpp"

namespace {

using test::as_double;
using test::from_int;
using test::message;
using test::round_trip;

struct never_assigned {
  int const id;
  int value;
  friend bool operator==(never_assigned const&, never_assigned const&) = default;
};
static_assert(!std::is_copy_assignable_v<never_assigned>);

struct alignas(128) wide {
  int v = 0;
  friend bool operator==(wide const&, wide const&) = default;
};

template <typename T>
void expect_same_after_round_trip(T const& object) {
  static_assert(std::is_same_v<upcxx::deserialized_type_t<T>, T>);
  EXPECT_TRUE(round_trip(object) == object);
  // Between other things, and twice.
  message m(3);
  m.w.write('a');
  m.w.write(object);
  m.w.write('b');
  m.w.write(object);
  upcxx::detail::reader r = m.reader(3);
  EXPECT_EQ(r.read<char>(), 'a');
  EXPECT_TRUE(r.read<T>() == object);
  upcxx::detail::reader before = r;
  EXPECT_EQ(r.read<char>(), 'b');
  EXPECT_TRUE(r.read<T>() == object);
  EXPECT_EQ(r.offset(), m.w.size());
  upcxx::detail::skip<char>(before);
  upcxx::detail::skip<T>(before);
  EXPECT_EQ(before.offset(), m.w.size());
}

TEST(serialized_containers, sequences) {
  expect_same_after_round_trip(std::vector<int>{});
  expect_same_after_round_trip(std::vector<int>{1, 2, 3});
  expect_same_after_round_trip(std::vector<double>(100000, 1.5));
  expect_same_after_round_trip(std::vector<bool>{true, false, false, true, true, false, true, false, true});
  expect_same_after_round_trip(std::vector<std::string>{"", "short", std::string(1000, 'l')});
  expect_same_after_round_trip(std::vector<std::vector<std::vector<char>>>{{{'a'}, {}}, {}, {{'b', 'c'}}});
  expect_same_after_round_trip(std::vector<std::pair<int, char>>{{1, 'a'}, {2, 'b'}});
  expect_same_after_round_trip(std::vector<wide>(3));
  expect_same_after_round_trip(std::vector<never_assigned>{{1, 2}, {3, 4}});
  expect_same_after_round_trip(std::deque<int>{1, 2, 3});
  expect_same_after_round_trip(std::deque<std::string>{"a", "b"});
  expect_same_after_round_trip(std::list<short>{1, 2, 3});
  expect_same_after_round_trip(std::list<std::list<std::string>>{{"a"}, {}});
  expect_same_after_round_trip(std::vector<from_int>{from_int(1), from_int(2)});
  expect_same_after_round_trip(std::array<std::vector<int>, 3>{{{1}, {}, {2, 3}}});
  expect_same_after_round_trip(std::array<from_int, 2>{from_int(1), from_int(2)});
  expect_same_after_round_trip(std::array<std::string, 0>{});
}

TEST(serialized_containers, strings) {
  expect_same_after_round_trip(std::string());
  expect_same_after_round_trip(std::string("with a \0 inside", 15));
  expect_same_after_round_trip(std::string(100000, 'x'));
  expect_same_after_round_trip(std::wstring(L"wide"));
  expect_same_after_round_trip(std::u16string(u"sixteen"));
  expect_same_after_round_trip(std::u32string(U"thirty-two"));
}

TEST(serialized_containers, ordered_and_unordered) {
  expect_same_after_round_trip(std::set<int>{3, 1, 2});
  expect_same_after_round_trip(std::set<std::string, std::greater<>>{"a", "b"});
  expect_same_after_round_trip(std::multiset<int>{1, 1, 2});
  expect_same_after_round_trip(std::map<int, std::string>{{1, "a"}, {2, "b"}});
  expect_same_after_round_trip(
      std::map<std::string, std::map<int, std::vector<std::string>>>{{"x", {{1, {"y"}}}}, {"z", {}}});
  expect_same_after_round_trip(std::multimap<int, char>{{1, 'b'}, {1, 'a'}, {2, 'c'}});
  expect_same_after_round_trip(std::unordered_set<std::string>{"a", "b", "c"});
  expect_same_after_round_trip(std::unordered_multiset<int>{1, 1, 2, 2, 2});
  expect_same_after_round_trip(std::unordered_map<std::string, int>{{"a", 1}, {"b", 2}});
  expect_same_after_round_trip(std::unordered_multimap<int, std::string>{{1, "a"}, {1, "b"}, {2, "c"}});
}

TEST(serialized_containers, products) {
  expect_same_after_round_trip(std::pair<int, std::string>(1, "a"));
  expect_same_after_round_trip(std::pair<int const, std::string const>(1, "a"));
  expect_same_after_round_trip(std::tuple<>());
  expect_same_after_round_trip(std::tuple<char, double, std::string, std::vector<int>>('a', 1.5, "b", {1}));
  expect_same_after_round_trip(std::tuple<from_int>(from_int(3)));
  int i = 4;
  std::string const s = "text";
  EXPECT_EQ(round_trip(std::tuple<int&, std::string const&, char&&>(i, s, 'c')),
            (std::tuple<int, std::string, char>(4, "text", 'c')));
  EXPECT_EQ(round_trip(std::pair<int&, std::string const&>(i, s)), (std::pair<int, std::string>(4, "text")));
  auto const moved = round_trip(std::tuple<std::string, std::unique_ptr<int>*>("only", nullptr));
  EXPECT_EQ(std::get<0>(moved), "only");
}

TEST(serialized_containers, asymmetric_elements_give_mapped_containers) {
  EXPECT_EQ(round_trip(std::vector<as_double>{{1}, {2}}), (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(round_trip(std::list<std::deque<as_double>>{{{1}}, {}}),
            (std::list<std::deque<double>>{{1.5}, {}}));
  EXPECT_EQ(round_trip(std::set<as_double>{{2}, {1}}), (std::set<double>{1.5, 2.5}));
  EXPECT_EQ((round_trip(std::map<as_double, as_double, std::greater<as_double>>{{{1}, {2}}, {{3}, {4}}})),
            (std::map<double, double, std::greater<double>>{{1.5, 2.5}, {3.5, 4.5}}));
  EXPECT_EQ(round_trip(std::unordered_multiset<as_double>{{1}, {1}}),
            (std::unordered_multiset<double>{1.5, 1.5}));
  EXPECT_EQ(round_trip(std::unordered_map<as_double, int>{{{1}, 5}}),
            (std::unordered_map<double, int>{{1.5, 5}}));
  EXPECT_EQ(round_trip(std::pair<as_double const, int const>({1}, 2)),
            (std::pair<double const, int const>(1.5, 2)));
  EXPECT_EQ(round_trip(std::array<as_double, 2>{{{1}, {2}}}), (std::array<double, 2>{1.5, 2.5}));
  as_double const one{1};
  EXPECT_EQ(round_trip(std::tuple<as_double const&, int>(one, 2)), (std::tuple<double, int>(1.5, 2)));
  EXPECT_EQ(round_trip(std::reference_wrapper<as_double const>(one)), 1.5);
  EXPECT_EQ(round_trip(std::vector<std::reference_wrapper<as_double const>>{one}), std::vector<double>{1.5});
}

struct modulo_less {
  int modulus = 1;
  std::string name;
  explicit modulo_less(int m, std::string n) : modulus(m), name(std::move(n)) {}
  bool operator()(int a, int b) const { return a % modulus < b % modulus; }
  UPCXX_SERIALIZED_VALUES(modulus, name)
};
struct salted_hash {
  std::size_t salt;
  std::size_t operator()(int i) const { return static_cast<std::size_t>(i) * salt; }
};
struct salted_equal {
  int salt;
  bool operator()(int a, int b) const { return a % salt == b % salt; }
};
template <typename T>
struct tagged_allocator {
  using value_type = T;
  int tag;
  explicit tagged_allocator(int t) : tag(t) {}
  template <typename U>
  tagged_allocator(tagged_allocator<U> const& o) : tag(o.tag) {}
  T* allocate(std::size_t n) { return std::allocator<T>().allocate(n); }
  void deallocate(T* p, std::size_t n) { std::allocator<T>().deallocate(p, n); }
  friend bool operator==(tagged_allocator const& a, tagged_allocator const& b) { return a.tag == b.tag; }
};

TEST(serialized_containers, functors_and_allocators_with_state_travel) {
  std::set<int, modulo_less> const set({3, 14, 25}, modulo_less(10, "ten"));
  auto const s = round_trip(set);
  EXPECT_EQ(s.key_comp().modulus, 10);
  EXPECT_EQ(s.key_comp().name, "ten");
  EXPECT_TRUE(std::equal(s.begin(), s.end(), set.begin(), set.end()));

  std::unordered_map<int, char, salted_hash, salted_equal> const map({{3, 'a'}, {14, 'b'}}, 8, salted_hash{7},
                                                                     salted_equal{10});
  auto const m = round_trip(map);
  EXPECT_EQ(m.hash_function().salt, 7u);
  EXPECT_EQ(m.key_eq().salt, 10);
  EXPECT_EQ(m.at(14), 'b');

  std::vector<std::string, tagged_allocator<std::string>> const v({"a", "b"},
                                                                  tagged_allocator<std::string>(42));
  EXPECT_EQ(round_trip(v).get_allocator().tag, 42);
  EXPECT_EQ(round_trip(v), v);
  std::basic_string<char, std::char_traits<char>, tagged_allocator<char>> const text(
      "text", tagged_allocator<char>(43));
  EXPECT_EQ(round_trip(text).get_allocator().tag, 43);
  EXPECT_EQ(round_trip(text), text);
  std::map<int, int, std::less<int>, tagged_allocator<std::pair<int const, int>>> const t(
      {{1, 2}}, tagged_allocator<std::pair<int const, int>>(44));
  EXPECT_EQ(round_trip(t).get_allocator().tag, 44);
}

int allocations = 0;
template <typename T>
struct counting {
  using value_type = T;
  T* allocate(std::size_t n) {
    ++allocations;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) { std::allocator<T>().deallocate(p, n); }
  friend bool operator==(counting, counting) { return true; }
};

TEST(serialized_containers, a_block_of_trivial_elements_is_allocated_once_and_copied) {
  static_assert(upcxx::detail::copies_from_message<double> &&
                upcxx::detail::copies_from_message<std::pair<int, double>>);
  std::vector<double, counting<double>> const v(1 << 17, 2.5);
  message m;
  m.w.write(v);
  auto r = m.reader();
  allocations = 0;
  auto const arrived = r.read<std::vector<double, counting<double>>>();
  EXPECT_EQ(allocations, 1);
  EXPECT_EQ(arrived.back(), 2.5);
}

#if !defined(UPCXX_CODEMODE) || !UPCXX_CODEMODE
TEST(serialized_containers_death, absurd_counts_are_refused_before_memory_is_allocated) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  message m;
  m.w.write(std::size_t(1) << 40);
  m.w.write(1);
  EXPECT_DEATH((void)(m.reader().read<std::map<int, int>>()), "cannot hold 1099511627776 more item");
  EXPECT_DEATH((void)(m.reader().read<std::unordered_set<double>>()), "cannot hold 1099511627776 more item");
}
#endif

}  // namespace
