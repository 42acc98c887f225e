// rpc: every kind of argument (communication digest, chapters 2 to 8).

#include <algorithm>
#include <array>
#include <bitset>
#include <complex>
#include <cstdlib>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "common.hpp"

namespace {

/// Sends the values together to the right neighbour, which returns them; the way there and back
/// must preserve each, whatever its neighbours in the message are. (One call for many types:
/// each call takes long to compile.)
template <class... T>
void expect_round_trip(int target, T const&... values) {
  upcxx::future<std::tuple<T...>> f = upcxx::rpc(
      target, [](T const&... arrived) { return std::tuple<T...>(arrived...); }, values...);
  EXPECT_TRUE(f.wait_reference() == std::tuple<T...>(values...));
}

/// The same for one value in all ways in which an argument can be given and taken.
template <class T>
void expect_every_way(int target, T const& value) {
  upcxx::future<T> f = upcxx::rpc(
      target, [](T const& arrived) { return arrived; }, value);
  EXPECT_TRUE(f.wait_reference() == value);
  // As an rvalue, taken by value.
  T copy(value);
  EXPECT_TRUE(upcxx::rpc(
                  target, [](T arrived) { return arrived; }, std::move(copy))
                  .wait() == value);
  // Between other arguments, which must not be disturbed.
  EXPECT_TRUE(upcxx::rpc(
                  target,
                  [](char before, T&& arrived, double after) {
                    return std::make_pair(before == 'b' && after == 2.5, std::move(arrived));
                  },
                  'b', value, 2.5)
                  .wait() == std::make_pair(true, value));
}

enum class colour : short { red = -5, blue = 1000 };
struct plain {
  int a;
  char b;
  double c;
  friend bool operator==(plain const& x, plain const& y) { return x.a == y.a && x.b == y.b && x.c == y.c; }
};
struct nothing {
  friend bool operator==(nothing const&, nothing const&) { return true; }
};

struct modulo_less {
  int modulus = 1;
  bool operator()(int a, int b) const { return a % modulus < b % modulus; }
};
struct seeded_hash {
  std::size_t seed = 0;
  std::size_t operator()(int x) const { return static_cast<std::size_t>(x) * 31 + seed; }
};

struct fields {
  int id = 0;
  std::string name;
  std::vector<std::map<int, std::string>> nested;
  int matrix[2][3] = {};
  std::string not_sent = "default";
  UPCXX_SERIALIZED_FIELDS(id, name, nested, matrix)
};

class values {
 public:
  values(std::string const& s, float f) : text_(s), number_(f) {}
  bool operator==(values const& o) const { return text_ == o.text_ && number_ == o.number_; }
  UPCXX_SERIALIZED_VALUES(text_, static_cast<float>(number_))

 private:
  std::string text_;
  double number_;
};

/// Moves, never copies.
class move_only {
 public:
  explicit move_only(int v) : value_(new int(v)) {}
  move_only(move_only&& o) noexcept : value_(std::exchange(o.value_, nullptr)) {}
  move_only& operator=(move_only&& o) noexcept {
    std::swap(value_, o.value_);
    return *this;
  }
  ~move_only() { delete value_; }
  int get() const { return value_ == nullptr ? -1 : *value_; }
  UPCXX_SERIALIZED_VALUES(get())

 private:
  int* value_;
};

/// Neither copies nor moves; arrives as a string (asymmetric, classic form of deserialize).
class pinned {
 public:
  explicit pinned(std::string s) : text_(std::move(s)) {}
  pinned(pinned const&) = delete;
  pinned& operator=(pinned const&) = delete;

  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, pinned const& p) {
      w.write(p.text_);
    }
    template <class Reader>
    static std::string* deserialize(Reader& r, void* storage) {
      std::string s = r.template read<std::string>();
      return ::new (storage) std::string(s + s);
    }
  };

 private:
  std::string text_;
};

/// The form of deserialize that constructs through a storage handle.
struct stored {
  int a;
  std::string b;
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, stored const& s) {
      w.write(s.b);
      w.write(s.a);
    }
    template <class Reader, class Storage>
    static stored* deserialize(Reader& r, Storage storage) {
      std::string b = r.template read<std::string>();
      int a = r.template read<int>();
      return storage.construct(stored{a, std::move(b)});
    }
  };
  bool operator==(stored const& o) const { return a == o.a && b == o.b; }
};

/// Serialised by a specialisation outside of the class, as a sequence with a reserved count.
struct outside {
  std::list<int> numbers;
  bool operator==(outside const& o) const { return numbers == o.numbers; }
};

/// Not trivially copyable for C++, declared trivially serialisable by its author.
struct declared_trivial {
  int v = 0;
  declared_trivial() = default;
  explicit declared_trivial(int x) : v(x) {}
  declared_trivial(declared_trivial const& o) : v(o.v) {}
  declared_trivial& operator=(declared_trivial const&) = default;
  bool operator==(declared_trivial const& o) const { return v == o.v; }
};

}  // namespace

namespace upcxx {
template <>
struct serialization<outside> {
  template <class Writer>
  static void serialize(Writer& w, outside const& o) {
    auto count = w.template reserve<std::size_t>();
    std::size_t const n = w.write_sequence(o.numbers.begin(), o.numbers.end());
    w.commit(std::move(count), n);
  }
  template <class Reader>
  static outside* deserialize(Reader& r, void* storage) {
    std::size_t const n = r.template read<std::size_t>();
    outside* o = ::new (storage) outside;
    for (std::size_t i = 0; i < n; ++i) {
      o->numbers.push_back(r.template read<int>());
    }
    return o;
  }
};
template <>
struct is_trivially_serializable<declared_trivial> {
  static constexpr bool value = true;
};
}  // namespace upcxx

using rpc_argument_test = multirank::fixture;

TEST_F(rpc_argument_test, scalars_keep_every_bit) {
  expect_every_way(right, plain{1, 'b', 3.5});
  expect_round_trip(right, true, 'c', std::int8_t{-128}, std::uint16_t{65535},
                    std::numeric_limits<std::int64_t>::min(), u'\x1234',
                    std::numeric_limits<std::uint64_t>::max(), 1.0f / 3, -1e-320, nothing(), 1.0L / 3);
  int x;  // the bits of its address travel, whatever they are worth there
  expect_round_trip(right, colour::red, std::complex<float>(1, -2), std::bitset<100>("1011"), nothing(), &x,
                    std::array<int, 5>{1, 2, 3, 4, 5});
}

TEST_F(rpc_argument_test, pairs_tuples_and_arrays_travel_element_by_element) {
  expect_every_way(right, std::make_pair(std::string("a"), std::vector<int>{1, 2}));
  expect_round_trip(right, std::make_pair(1, 2.5), std::make_tuple(), std::make_tuple(1, 'x', 2.0),
                    std::make_tuple(std::string("long enough to leave the small buffer"), 5,
                                    std::make_pair(1, std::string("nested"))),
                    std::array<std::string, 3>{"a", "", "ccc"});
  static_assert(upcxx::is_trivially_serializable<std::pair<int, double>>::value);
  static_assert(upcxx::is_trivially_serializable<std::tuple<int, char>>::value);
  static_assert(!upcxx::is_trivially_serializable<std::pair<int, std::string>>::value);
  static_assert(!upcxx::is_trivially_serializable<std::array<fields, 1>>::value);
  // Pairs of references arrive as pairs of values.
  std::string s = "referenced";
  int v = 9;
  std::string const got =
      upcxx::rpc(
          right, [](std::pair<std::string, int>&& p) { return p.first + std::to_string(p.second); },
          std::pair<std::string&, int const&>(s, v))
          .wait();
  EXPECT_EQ(got, "referenced9");
}

TEST_F(rpc_argument_test, strings_of_all_lengths_and_widths_travel) {
  for (std::size_t const length : {0, 1, 15, 16, 17, 1000, 100000}) {
    std::string s(length, 'x');
    for (std::size_t i = 0; i < length; ++i) {
      s[i] = static_cast<char>(multirank::pattern(me, i));
    }
    expect_every_way(right, s);
  }
  expect_round_trip(right, std::u16string(u"wide \x4E00"), std::u32string(U"wider"), std::wstring(L"widest"),
                    std::string("with\0zero", 9));
}

TEST_F(rpc_argument_test, sequences_travel) {
  std::vector<double> numbers(10000);
  std::iota(numbers.begin(), numbers.end(), 0.5);
  expect_round_trip(right, std::vector<char>(1, 'x'), numbers, std::vector<int>(),
                    std::vector<std::string>{"", "b", std::string(100, 'c')}, std::vector<bool>(),
                    std::vector<bool>{true, false, false, true, true, false, true, true, true});
  expect_round_trip(right, std::deque<int>{1, 2, 3}, std::deque<std::string>{"x", "y"},
                    std::list<int>{3, 2, 1}, std::list<std::vector<int>>{{}, {1}, {2, 3}},
                    std::vector<std::vector<std::vector<int>>>{{{1}, {}}, {}, {{2, 3}}},
                    std::vector<plain>{{1, 'a', 2}, {3, 'b', 4}}, std::vector<nothing>(7));
}

TEST_F(rpc_argument_test, associative_containers_travel) {
  std::map<int, double> large;
  for (int i = 0; i < 5000; ++i) {
    large[i * 7] = i;
  }
  expect_round_trip(right, std::set<int>{5, 1, 3}, std::set<std::string>{"z", "a"},
                    std::multiset<int>{1, 1, 2}, std::map<std::string, int>{{"one", 1}, {"two", 2}}, large,
                    std::map<int, double>(), std::multimap<int, int>{{1, 1}, {1, 2}});
  expect_round_trip(right, std::map<int, std::vector<std::pair<int, std::string>>>{{1, {{2, "x"}}}, {3, {}}},
                    std::unordered_set<int>{1, 2, 3}, std::unordered_multiset<std::string>{"a", "a"},
                    std::unordered_map<std::string, std::vector<int>>{{"k", {1, 2}}, {"l", {}}},
                    std::unordered_multimap<int, int>{{1, 1}, {1, 1}});
}

TEST_F(rpc_argument_test, comparators_and_hashes_travel_with_their_state) {
  std::set<int, modulo_less> numbers(modulo_less{10});
  numbers.insert({12, 22, 31, 5});
  EXPECT_EQ(numbers.size(), 3u);
  EXPECT_EQ(upcxx::rpc(
                right,
                [](std::set<int, modulo_less> s) {
                  s.insert(42);
                  s.insert(7);
                  return std::make_pair(s.key_comp().modulus, s.size());
                },
                numbers)
                .wait(),
            std::make_pair(10, std::size_t{4}));
  std::unordered_map<int, int, seeded_hash> hashed(8, seeded_hash{99});
  hashed[1] = 10;
  EXPECT_EQ(upcxx::rpc(
                right,
                [](std::unordered_map<int, int, seeded_hash> const& m) {
                  return static_cast<int>(m.hash_function().seed) + m.at(1);
                },
                hashed)
                .wait(),
            109);
}

TEST_F(rpc_argument_test, const_and_reference_parameters_accept_any_argument_category) {
  std::string lvalue = "lvalue";
  std::string const constant = "const";
  auto by_value = [](std::string s) { return s; };
  auto by_const_reference = [](std::string const& s) { return s; };
  auto by_rvalue = [](std::string&& s) { return std::move(s); };
  EXPECT_EQ(upcxx::rpc(right, by_value, lvalue).wait(), "lvalue");
  EXPECT_EQ(upcxx::rpc(right, by_const_reference, lvalue).wait(), "lvalue");
  EXPECT_EQ(upcxx::rpc(right, by_rvalue, lvalue).wait(), "lvalue");
  EXPECT_EQ(upcxx::rpc(right, by_value, constant).wait(), "const");
  EXPECT_EQ(upcxx::rpc(right, by_const_reference, constant).wait(), "const");
  EXPECT_EQ(upcxx::rpc(right, by_value, std::string("rvalue")).wait(), "rvalue");
  EXPECT_EQ(upcxx::rpc(right, by_rvalue, std::string("rvalue")).wait(), "rvalue");
  EXPECT_EQ(lvalue, "lvalue");
  // A reference_wrapper travels as its referent.
  EXPECT_EQ(upcxx::rpc(right, by_value, std::ref(lvalue)).wait(), "lvalue");
}

TEST_F(rpc_argument_test, classes_with_macros_travel) {
  fields f;
  f.id = 5;
  f.name = "five";
  f.nested = {{{1, "one"}}, {}};
  f.matrix[1][2] = 42;
  f.not_sent = "changed";
  fields const back = upcxx::rpc(
                          right, [](fields const& x) { return x; }, f)
                          .wait();
  EXPECT_EQ(back.id, 5);
  EXPECT_EQ(back.name, "five");
  EXPECT_EQ(back.nested, f.nested);
  EXPECT_EQ(back.matrix[1][2], 42);
  EXPECT_EQ(back.not_sent, "default");
  expect_round_trip(right, values("text", 1.5f), std::vector<values>{values("a", 1), values("b", 2)});
}

TEST_F(rpc_argument_test, classes_with_custom_serialisation_travel) {
  expect_every_way(right, stored{3, "three"});
  expect_round_trip(right, std::vector<stored>{{1, "a"}, {2, ""}}, outside{{1, 2, 3}},
                    std::map<int, outside>{{1, outside{{4}}}, {2, outside{}}}, declared_trivial(77),
                    std::vector<declared_trivial>{declared_trivial(1), declared_trivial(2)});
}

TEST_F(rpc_argument_test, move_only_rvalues_travel_in_both_directions) {
  upcxx::future<move_only> f = upcxx::rpc(
      right, [](move_only m) { return move_only(m.get() + 1); }, move_only(41));
  EXPECT_EQ(f.wait_reference().get(), 42);
  move_only const lvalue(7);
  EXPECT_EQ(upcxx::rpc(
                right, [](move_only&& m) { return m.get(); }, lvalue)
                .wait(),
            7);
  std::vector<move_only> several;
  several.emplace_back(1);
  several.emplace_back(2);
  EXPECT_EQ(upcxx::rpc(
                right, [](std::vector<move_only> v) { return v.at(0).get() * 10 + v.at(1).get(); },
                std::move(several))
                .wait(),
            12);
}

TEST_F(rpc_argument_test, lvalues_need_not_be_copyable_and_may_arrive_as_another_type) {
  pinned const p("ab");
  static_assert(std::is_same_v<upcxx::deserialized_type_t<pinned>, std::string>);
  EXPECT_EQ(upcxx::rpc(
                right, [](std::string&& s) { return s; }, p)
                .wait(),
            "abab");
  // Containers map their element type.
  std::list<pinned> several;
  several.emplace_back("x");
  several.emplace_back("y");
  EXPECT_EQ(
      upcxx::rpc(
          right,
          [](std::list<std::string> const& v) { return v.front() + v.back() + std::to_string(v.size()); },
          several)
          .wait(),
      "xxyy2");
  EXPECT_EQ(upcxx::rpc(
                right, [](pinned const* unused, int) { return std::string(unused == nullptr ? "-" : "+"); },
                static_cast<pinned const*>(nullptr), 1)
                .wait(),
            "-");
}

TEST_F(rpc_argument_test, traits_tell_what_can_travel) {
  using upcxx::is_serializable;
  using upcxx::is_trivially_serializable;
  static_assert(is_trivially_serializable<int>::value && is_serializable<int>::value);
  static_assert(is_trivially_serializable<int const>::value);
  static_assert(!is_trivially_serializable<int&>::value && is_serializable<int&>::value);
  static_assert(!is_serializable<int[3]>::value);
  static_assert(!is_serializable<int volatile>::value);
  static_assert(is_serializable<std::string>::value && !is_trivially_serializable<std::string>::value);
  static_assert(!is_serializable<std::vector<upcxx::future<>>>::value);
  static_assert(!is_serializable<upcxx::future<int>>::value && !is_serializable<upcxx::promise<>>::value);
  static_assert(!is_serializable<upcxx::team>::value && !is_serializable<upcxx::dist_object<int>>::value);
  static_assert(is_serializable<fields>::value && !is_trivially_serializable<fields>::value);
  static_assert(is_trivially_serializable<declared_trivial>::value);
  static_assert(is_trivially_serializable<declared_trivial const>::value);
  static_assert(std::is_same_v<upcxx::deserialized_type_t<std::string const&>, std::string>);
  static_assert(std::is_same_v<upcxx::deserialized_type_t<std::vector<pinned>>, std::vector<std::string>>);
  // And the library agrees with itself at run time.
  EXPECT_EQ(upcxx::serialization_traits<pinned>::deserialized_value(pinned("q")), "qq");
  EXPECT_EQ(upcxx::serialization_traits<std::vector<int>>::deserialized_value({1, 2, 3}),
            (std::vector<int>{1, 2, 3}));
}
