// std::optional, variant, unique_ptr, forward_list, filesystem::path, and what travels as bytes. What a program says
// of these and of all other types of the standard itself comes first.

#include <gtest/gtest.h>

#include <bitset>
#include <chrono>
#include <complex>
#include <filesystem>
#include <forward_list>
#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "serialization_support.hpp"

namespace {

using test::as_double;
using test::from_int;
using test::immovable;
using test::message;
using test::round_trip;

/// Alone, and between other things.
template <typename T, typename Equal = std::equal_to<>>
void expect_same(T const& object, Equal equal = {}) {
  static_assert(std::is_same_v<upcxx::deserialized_type_t<T>, T>);
  EXPECT_TRUE(equal(round_trip(object), object));
  message m(3);
  m.w.write('a');
  m.w.write(object);
  m.w.write('b');
  std::size_t const bound = upcxx::detail::bound_after(1, object);
  if (bound != upcxx::detail::npos) {
    message alone(1);
    alone.w.write(object);
    EXPECT_LE(alone.w.size(), bound);
    if (upcxx::detail::static_bound_v<T> != upcxx::detail::npos) {
      EXPECT_LE(alone.w.size(), 1 + upcxx::detail::static_bound_v<T>);
    }
  }
  upcxx::detail::reader r = m.reader(3);
  EXPECT_EQ(r.read<char>(), 'a');
  upcxx::detail::reader before = r;
  EXPECT_TRUE(equal(r.read<T>(), object));
  EXPECT_EQ(r.read<char>(), 'b');
  upcxx::detail::skip<T>(before);
  EXPECT_EQ(before.read<char>(), 'b');
}

auto const same_pointee = [](auto const& a, auto const& b) {
  return (a == nullptr) == (b == nullptr) && (a == nullptr || *a == *b);
};

TEST(serialized_values, optional) {
  expect_same(std::optional<int>(7));
  expect_same(std::optional<int>());
  expect_same(std::optional<std::string>("text"));
  expect_same(std::optional<std::string>());
  expect_same(std::optional<std::pair<int, char>>({1, 'a'}));
  expect_same(std::optional<std::optional<std::string>>(std::optional<std::string>()));
  expect_same(std::vector<std::optional<from_int>>{from_int(1), {}, from_int(3)});
  static_assert(upcxx::is_trivially_serializable<std::optional<int>>::value);
  static_assert(!upcxx::is_trivially_serializable<std::optional<std::string>>::value);
  EXPECT_EQ(round_trip(std::optional<as_double>(as_double{1})), std::optional<double>(1.5));
  EXPECT_EQ(round_trip(std::optional<as_double>()), std::nullopt);
}

TEST(serialized_values, optional_of_what_cannot_be_moved) {
  message m;
  std::optional<immovable> const some(std::in_place, 5);
  m.w.write(some);
  m.w.write(std::optional<immovable>());
  upcxx::detail::reader r = m.reader();
  alignas(std::optional<immovable>) std::byte raw[2][sizeof(std::optional<immovable>)];
  EXPECT_EQ((*r.read_into<std::optional<immovable>>(static_cast<void*>(raw[0])))->value, 5);
  EXPECT_FALSE(r.read_into<std::optional<immovable>>(static_cast<void*>(raw[1]))->has_value());
}

TEST(serialized_values, variant) {
  using some = std::variant<int, std::string, std::vector<std::string>, from_int, std::monostate, int>;
  expect_same(some(std::in_place_index<0>, 3));
  expect_same(some("text"));
  expect_same(some(std::vector<std::string>{"a", std::string(500, 'b')}));
  expect_same(some(from_int(4)));
  expect_same(some(std::monostate()));
  expect_same(some(std::in_place_index<5>, 3));
  expect_same(std::variant<char, double>(2.5));
  expect_same(std::vector<std::variant<double, std::pair<char, short>>>{1.5, std::pair<char, short>('a', 2)});
  static_assert(upcxx::is_trivially_serializable<std::variant<char, double>>::value);
  EXPECT_EQ((round_trip(std::variant<as_double, std::string>(as_double{1}))),
            (std::variant<double, std::string>(1.5)));
}

struct throws_when_moved {
  std::string text;
  throws_when_moved() = default;
  throws_when_moved(throws_when_moved&&) { throw 1; }
  UPCXX_SERIALIZED_FIELDS(text)
};

TEST(serialized_values, a_variant_without_value_throws_at_the_sender) {
  std::variant<std::string, throws_when_moved> v;
  EXPECT_THROW((v.emplace<1>(throws_when_moved())), int);
  ASSERT_TRUE(v.valueless_by_exception());
  message m;
  EXPECT_THROW(m.w.write(v), std::bad_variant_access);
}

/// Owns the next of its kind, and cannot be moved.
struct node {
  int value = 0;
  std::unique_ptr<node> next;
  node() = default;
  explicit node(int v) : value(v) {}
  node(node const&) = delete;
  node& operator=(node const&) = delete;
  UPCXX_SERIALIZED_FIELDS(value, next)
};

struct from_a_pool {
  int value = 0;
  static inline int alive = 0;
  static void* operator new(std::size_t bytes) {
    ++alive;
    return ::operator new(bytes);
  }
  static void operator delete(void* p) {
    --alive;
    ::operator delete(p);
  }
};

struct polymorphic {
  int value = 0;
  virtual ~polymorphic() = default;
  UPCXX_SERIALIZED_FIELDS(value)
};

TEST(serialized_values, unique_ptr) {
  expect_same(std::make_unique<int>(3), same_pointee);
  expect_same(std::unique_ptr<int>(), same_pointee);
  expect_same(std::make_unique<std::string>("text"), same_pointee);
  expect_same(std::unique_ptr<from_int const>(new from_int(5)), same_pointee);
  EXPECT_EQ(*round_trip(std::make_unique<as_double>(as_double{2})), 2.5);
  auto list = std::make_unique<node>(1);
  list->next = std::make_unique<node>(2);
  list->next->next = std::make_unique<node>(3);
  auto const arrived = round_trip(list);
  EXPECT_EQ(arrived->next->next->value, 3);
  EXPECT_EQ(arrived->next->next->next, nullptr);
  EXPECT_EQ(round_trip(std::make_unique<from_a_pool>(from_a_pool{6}))->value, 6);
  EXPECT_EQ(from_a_pool::alive, 0);
  static_assert(!upcxx::is_serializable<std::unique_ptr<int[]>>::value);
  static_assert(!upcxx::is_serializable<std::unique_ptr<polymorphic>>::value);
  static_assert(!upcxx::is_serializable<std::unique_ptr<int, void (*)(int*)>>::value);
  static_assert(!upcxx::is_serializable<std::shared_ptr<int>>::value);
}

TEST(serialized_values, forward_list_and_path) {
  expect_same(std::forward_list<int>{1, 2, 3});
  expect_same(std::forward_list<int>{});
  expect_same(std::forward_list<std::string>{"b", "a"});
  expect_same(std::map<int, std::forward_list<from_int>>{{1, {from_int(1), from_int(2)}}});
  EXPECT_EQ(round_trip(std::forward_list<as_double>{{2}, {1}}), (std::forward_list<double>{2.5, 1.5}));
  expect_same(std::filesystem::path("/some/where/file.txt"));
  expect_same(std::vector<std::filesystem::path>{"a", "", "b/c"});
}

TEST(serialized_values, numbers_bits_and_times_are_bytes) {
  using namespace std::chrono;
  expect_same(std::complex<double>(1, -2));
  expect_same(std::complex<float>(1, -2));
  expect_same(std::bitset<100>("1011"));
  expect_same(milliseconds(5));
  expect_same(duration<double, std::ratio<60>>(1.5));
  expect_same(system_clock::now());
  expect_same(time_point<steady_clock, seconds>(seconds(9)));
  expect_same(std::vector<nanoseconds>{nanoseconds(1), nanoseconds(2)});
  static_assert(upcxx::is_trivially_serializable<std::complex<double>>::value &&
                upcxx::is_trivially_serializable<std::bitset<100>>::value &&
                upcxx::is_trivially_serializable<steady_clock::time_point>::value);
}

/// Trivially copyable, with a way of its own to travel.
struct counts_its_journeys {
  int value;
  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, counts_its_journeys const& o) {
      w.write(o.value + 1);
    }
    template <typename Reader, typename Storage>
    static counts_its_journeys* deserialize(Reader& r, Storage storage) {
      return storage.construct(counts_its_journeys{r.template read<int>()});
    }
  };
};

TEST(serialized_values, what_the_held_class_says_is_heeded_though_it_is_trivially_copyable) {
  static_assert(!upcxx::is_trivially_serializable<std::optional<counts_its_journeys>>::value);
  EXPECT_EQ(round_trip(std::optional(counts_its_journeys{1}))->value, 2);
  using either = std::variant<counts_its_journeys, char>;
  EXPECT_EQ(std::get<0>(round_trip(either(counts_its_journeys{1}))).value, 2);
}

// --- specialisations of a program

/// What all of them do: the object does not travel, but a constant arrives.
struct mine {
  int value = 0;
};

template <typename T, typename Result>
struct always {
  template <typename Writer>
  static void serialize(Writer& w, T const&) {
    w.write('x');
  }
  template <typename Reader, typename Storage>
  static T* deserialize(Reader& r, Storage storage) {
    EXPECT_EQ(r.template read<char>(), 'x');
    return storage.construct(Result()());
  }
};
template <typename T>
struct empty_one {
  T operator()() const { return T(); }
};

/// For what a container has beside its elements.
struct my_order : std::less<int> {};
struct my_hash : std::hash<int> {};
struct my_traits : std::char_traits<char> {};
using my_string = std::basic_string<char, my_traits>;

}  // namespace

// As programs write them: for some types, and for every instance with a certain part.
template <>
struct upcxx::serialization<std::optional<mine>>
    : always<std::optional<mine>, empty_one<std::optional<mine>>> {};
template <typename T>
struct upcxx::serialization<std::variant<mine, T>>
    : always<std::variant<mine, T>, empty_one<std::variant<mine, T>>> {};
template <typename A>
struct upcxx::serialization<std::forward_list<mine, A>>
    : always<std::forward_list<mine, A>, empty_one<std::forward_list<mine, A>>> {};
template <typename D>
struct upcxx::serialization<std::unique_ptr<mine, D>>
    : always<std::unique_ptr<mine, D>, empty_one<std::unique_ptr<mine, D>>> {};
template <typename Period>
struct upcxx::serialization<std::chrono::duration<short, Period>>
    : always<std::chrono::duration<short, Period>, empty_one<std::chrono::duration<short, Period>>> {};
template <typename Clock>
struct upcxx::serialization<std::chrono::time_point<Clock, std::chrono::duration<short>>>
    : always<std::chrono::time_point<Clock, std::chrono::duration<short>>,
             empty_one<std::chrono::time_point<Clock, std::chrono::duration<short>>>> {};
template <>
struct upcxx::serialization<std::complex<long double>>
    : always<std::complex<long double>, empty_one<std::complex<long double>>> {};
template <>
struct upcxx::serialization<std::bitset<7>> : always<std::bitset<7>, empty_one<std::bitset<7>>> {};
// Those that the specification lists.
template <typename A>
struct upcxx::serialization<std::vector<mine, A>>
    : always<std::vector<mine, A>, empty_one<std::vector<mine, A>>> {};
template <>
struct upcxx::serialization<std::deque<mine>> : always<std::deque<mine>, empty_one<std::deque<mine>>> {};
template <>
struct upcxx::serialization<std::list<mine>> : always<std::list<mine>, empty_one<std::list<mine>>> {};
template <>
struct upcxx::serialization<my_string> : always<my_string, empty_one<my_string>> {};
template <typename K>
struct upcxx::serialization<std::set<K, my_order>>
    : always<std::set<K, my_order>, empty_one<std::set<K, my_order>>> {};
template <typename K>
struct upcxx::serialization<std::map<K, mine>> : always<std::map<K, mine>, empty_one<std::map<K, mine>>> {};
template <typename K>
struct upcxx::serialization<std::unordered_multiset<K, my_hash>>
    : always<std::unordered_multiset<K, my_hash>, empty_one<std::unordered_multiset<K, my_hash>>> {};
template <typename T>
struct upcxx::serialization<std::pair<mine, T>> : always<std::pair<mine, T>, empty_one<std::pair<mine, T>>> {
};
template <typename... T>
struct upcxx::serialization<std::tuple<mine, T...>>
    : always<std::tuple<mine, T...>, empty_one<std::tuple<mine, T...>>> {};
template <std::size_t N>
struct upcxx::serialization<std::array<mine, N>>
    : always<std::array<mine, N>, empty_one<std::array<mine, N>>> {};
template <>
struct upcxx::serialization<std::less<mine>> : always<std::less<mine>, empty_one<std::less<mine>>> {};
template <>
struct upcxx::serialization<std::reference_wrapper<mine>> {
  template <typename Writer>
  static void serialize(Writer&, std::reference_wrapper<mine> const&) {}
  template <typename Reader, typename Storage>
  static long* deserialize(Reader&, Storage storage) {
    return storage.construct(17);
  }
};

namespace {

TEST(serialized_values, a_programs_own_specialisation_wins) {
  EXPECT_FALSE(round_trip(std::optional<mine>(mine{1})).has_value());
  EXPECT_EQ((round_trip(std::variant<mine, int>(3)).index()), 0u);
  EXPECT_TRUE(round_trip(std::forward_list<mine>{{1}, {2}}).empty());
  EXPECT_EQ(round_trip(std::make_unique<mine>(mine{1})), nullptr);
  using ticks = std::chrono::duration<short>;
  EXPECT_EQ(round_trip(ticks(5)).count(), 0);
  using moment = std::chrono::time_point<std::chrono::steady_clock, ticks>;
  EXPECT_EQ(round_trip(moment(ticks(5))).time_since_epoch().count(), 0);
  EXPECT_EQ(round_trip(std::complex<long double>(1, 2)), std::complex<long double>());
  EXPECT_TRUE(round_trip(std::bitset<7>("1")).none());
  EXPECT_FALSE(round_trip(std::vector<std::optional<mine>>{mine{1}}).front().has_value());
}

TEST(serialized_values, a_programs_own_specialisation_of_containers_and_products_wins) {
  EXPECT_TRUE(round_trip(std::vector<mine>(2)).empty());
  EXPECT_TRUE(round_trip(std::deque<mine>(2)).empty());
  EXPECT_TRUE(round_trip(std::list<mine>(2)).empty());
  EXPECT_TRUE(round_trip(my_string("text")).empty());
  EXPECT_TRUE(round_trip(std::set<int, my_order>{1, 2}).empty());
  EXPECT_TRUE(round_trip(std::map<int, mine>{{1, {1}}}).empty());
  EXPECT_TRUE(round_trip(std::unordered_multiset<int, my_hash>{1, 1}).empty());
  static_assert(!upcxx::is_trivially_serializable<std::pair<mine, int>>::value &&
                !upcxx::is_trivially_serializable<std::tuple<mine, int>>::value &&
                !upcxx::is_trivially_serializable<std::array<mine, 3>>::value &&
                !upcxx::is_trivially_serializable<std::less<mine>>::value);
  EXPECT_EQ(round_trip(std::pair(mine{1}, 2)).second, 0);
  EXPECT_EQ(std::get<1>(round_trip(std::tuple(mine{1}, 2))), 0);
  EXPECT_EQ(round_trip(std::array<mine, 2>{{{1}, {2}}})[1].value, 0);
  mine object{1};
  EXPECT_EQ(round_trip(std::ref(object)), 17);
  message m;
  m.w.write(std::less<mine>());
  EXPECT_EQ(m.w.size(), 1U) << "a functor";
  // Inside what the library carries.
  EXPECT_TRUE(round_trip(std::vector<std::vector<mine>>(1, std::vector<mine>(2))).front().empty());
  EXPECT_EQ(round_trip(std::map<int, std::pair<mine, int>>{{1, {mine{1}, 2}}})[1].second, 0);
}

}  // namespace
