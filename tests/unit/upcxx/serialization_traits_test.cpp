#include <gtest/gtest.h>

#include <bitset>
#include <complex>
#include <functional>
#include <memory>

#include "serialization_support.hpp"
#include "upcxx/view.hpp"

using upcxx::deserialized_type_t;
using upcxx::is_serializable;
using upcxx::is_trivially_serializable;

namespace {

template <typename T>
constexpr bool trivial = is_trivially_serializable<T>::value;
template <typename T>
constexpr bool possible = is_serializable<T>::value;
template <typename T, typename U>
constexpr bool arrives_as = std::is_same_v<deserialized_type_t<T>, U>;

struct plain {
  int a;
  double b;
};
struct with_string {
  std::string s;
};
struct fields {
  int a;
  UPCXX_SERIALIZED_FIELDS(a)
};
struct deleted {
  int a;
  UPCXX_SERIALIZED_DELETE()
};
struct deleted_again : fields {
  UPCXX_SERIALIZED_DELETE();
};
struct below_deleted : deleted_again {};
struct enabled_again : deleted_again {
  UPCXX_SERIALIZED_FIELDS(a);
};
struct member_has_mechanism {
  fields f;
};
struct half_custom {
  int a;
  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, half_custom const& o) {
      w.write(o.a);
    }
  };
};
struct other_fields {
  int b;
  UPCXX_SERIALIZED_FIELDS(b)
};
struct two_bases : fields, other_fields {};
struct two_bases_chosen : fields, other_fields {
  UPCXX_SERIALIZED_FIELDS(UPCXX_SERIALIZED_BASE(fields), UPCXX_SERIALIZED_BASE(other_fields))
};
class hidden_mechanism {
  struct upcxx_serialization {};

 public:
  int a;
};
union number {
  int i;
  float f;
};
enum class colour { red };

/// Not trivially copyable, but declared to be bytes.
struct declared_bytes {
  declared_bytes() = default;
  declared_bytes(declared_bytes const& o) : v(o.v) {}
  declared_bytes& operator=(declared_bytes const&) = default;
  ~declared_bytes() {}
  int v = 0;
  UPCXX_SERIALIZED_DELETE()
};
struct declared_not_bytes {
  int v;
};
struct specialised {
  int v;
};
template <typename T>
struct box {
  T v;
};
struct inherits_specialised : specialised {};

using captures_nothing = decltype([] { return 1; });
using captures_string = decltype([s = std::string("x")] { return s.size(); });

}  // namespace

namespace upcxx {
template <>
struct is_trivially_serializable<declared_bytes> {
  static constexpr bool value = true;
};
template <>
struct is_trivially_serializable<declared_not_bytes> : std::false_type {};
template <>
struct serialization<specialised> {
  template <typename Writer>
  static void serialize(Writer& w, specialised const& o) {
    w.write(o.v);
  }
  template <typename Reader>
  static specialised* deserialize(Reader& r, void* storage) {
    return ::new (storage) specialised{r.template read<int>()};
  }
};
template <typename T>
struct serialization<box<T>> {
  template <typename Writer>
  static void serialize(Writer& w, box<T> const& o) {
    w.write(o.v);
  }
  template <typename Reader, typename Storage>
  static box<deserialized_type_t<T>>* deserialize(Reader& r, Storage const& storage) {
    return storage.construct(box<deserialized_type_t<T>>{r.template read<T>()});
  }
};
}  // namespace upcxx

namespace {

TEST(serialization_traits, scalars_and_plain_classes_are_trivial) {
  static_assert(trivial<int> && trivial<double const> && trivial<char*> && trivial<void (*)(int)> &&
                trivial<colour>);
  static_assert(trivial<std::nullptr_t> && trivial<int plain::*> && trivial<plain> && trivial<plain const>);
  static_assert(trivial<number> && trivial<std::complex<double>> && trivial<std::bitset<70>>);
  static_assert(possible<int const> && possible<plain> && possible<number>);
  static_assert(trivial<captures_nothing> && !possible<captures_string>);
}

TEST(serialization_traits, arrays_volatile_references_void_and_functions_are_not_trivial) {
  static_assert(!trivial<int[3]> && !trivial<int const[3]> && !trivial<int[]> && !trivial<int volatile>);
  static_assert(!trivial<int const volatile> && !trivial<int&> && !trivial<int const&> && !trivial<int&&>);
  static_assert(!trivial<void> && !trivial<void()> && !trivial<plain volatile>);
  static_assert(!possible<int[3]> && !possible<int(&)[3]> && !possible<char const(&)[4]> &&
                !possible<int volatile>);
  static_assert(!possible<int volatile&> && !possible<void> && !possible<void()> && !possible<void (&)()>);
  static_assert(possible<int&> && possible<int const&> && possible<std::string&&>);
}

TEST(serialization_traits, class_mechanisms_make_serializable_and_not_trivial) {
  static_assert(!trivial<fields> && possible<fields> && !trivial<fields const> && possible<fields const>);
  static_assert(!trivial<test::as_double> && possible<test::as_double>);
  static_assert(!trivial<specialised> && possible<specialised> && possible<box<int>>);
  static_assert(trivial<inherits_specialised>, "a specialisation is not inherited");
  static_assert(!possible<with_string>);
  static_assert(trivial<member_has_mechanism>, "only the class's own mechanism counts");
}

/// Which member is there, the program knows.
union says_itself {
  int number;
  char text[4];
  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, says_itself const& o) {
      w.write(o.number + 1);
    }
    template <typename Reader, typename Storage>
    static says_itself* deserialize(Reader& r, Storage storage) {
      return storage.construct(says_itself{r.template read<int>()});
    }
  };
};
union said_from_outside {
  int number;
  char text[4];
};
union stays_here {
  int number;
  UPCXX_SERIALIZED_DELETE()
};
union plain_union {
  int number;
  char text[4];
};

}  // namespace

template <>
struct upcxx::serialization<said_from_outside> {
  template <typename Writer>
  static void serialize(Writer& w, said_from_outside const& o) {
    w.write(o.number + 2);
  }
  template <typename Reader, typename Storage>
  static said_from_outside* deserialize(Reader& r, Storage storage) {
    return storage.construct(said_from_outside{r.template read<int>()});
  }
};

namespace {

TEST(serialization_traits, unions_are_classes) {
  static_assert(trivial<plain_union> && !trivial<says_itself> && !trivial<said_from_outside>);
  static_assert(possible<says_itself> && possible<said_from_outside> && !possible<stays_here>);
  EXPECT_EQ(test::round_trip(plain_union{3}).number, 3);
  EXPECT_EQ(test::round_trip(says_itself{3}).number, 4);
  EXPECT_EQ(test::round_trip(said_from_outside{3}).number, 5);
}

TEST(serialization_traits, deleted_ambiguous_hidden_and_half_mechanisms_are_not_serializable) {
  static_assert(!trivial<deleted> && !possible<deleted> && !possible<deleted_again> &&
                !possible<below_deleted>);
  static_assert(possible<enabled_again> && !trivial<enabled_again>);
  static_assert(!trivial<half_custom> && !possible<half_custom>);
  static_assert(!trivial<two_bases> && !possible<two_bases> && possible<two_bases_chosen>);
  static_assert(!trivial<hidden_mechanism> && !possible<hidden_mechanism>);
}

TEST(serialization_traits, a_specialised_trivial_trait_has_the_last_word) {
  static_assert(trivial<declared_bytes> && trivial<declared_bytes const> && possible<declared_bytes>);
  static_assert(trivial<std::pair<declared_bytes, int>> && trivial<std::array<declared_bytes, 2>>);
  static_assert(!trivial<declared_not_bytes> && !possible<declared_not_bytes>);
}

TEST(serialization_traits, products_follow_their_elements) {
  static_assert(trivial<std::pair<int, plain>> && trivial<std::pair<int const, double>>);
  static_assert(trivial<std::tuple<>> && trivial<std::tuple<int, char>>);
  static_assert(!trivial<std::pair<int&, int>> && possible<std::pair<int&, int>>);
  static_assert(!trivial<std::tuple<int, fields>> && possible<std::tuple<int, fields>>);
  static_assert(!trivial<std::array<fields, 2>> && possible<std::array<fields, 2>>,
                "trivially copyable, and yet the elements have a mechanism");
  static_assert(trivial<std::array<int, 0>>);
  static_assert(!possible<std::pair<int, with_string>> && !possible<std::array<deleted, 1>>);
  static_assert(!possible<std::tuple<int volatile>>);
}

TEST(serialization_traits, containers_follow_their_parameters) {
  static_assert(!trivial<std::vector<int>> && possible<std::vector<int>> &&
                possible<std::vector<std::vector<fields>>>);
  static_assert(possible<std::string> && possible<std::u32string> && possible<std::deque<bool>>);
  static_assert(possible<std::map<std::string, std::set<int>>> &&
                possible<std::unordered_multimap<int, fields>>);
  static_assert(!possible<std::vector<with_string>> && !possible<std::map<int, deleted>>);
  static_assert(!possible<std::vector<std::shared_ptr<int>>> && !possible<std::function<void()>>);
  struct compare_with_state {
    std::string s;
    bool operator()(int, int) const;
  };
  static_assert(!possible<std::set<int, compare_with_state>>);
}

TEST(serialization_traits, library_types_that_stay_where_they_are) {
  static_assert(!possible<upcxx::future<>> && !possible<upcxx::future<int>> &&
                !possible<upcxx::promise<int>>);
  static_assert(!possible<upcxx::persona> && !possible<upcxx::team> && !possible<upcxx::dist_object<int>>);
  static_assert(!possible<upcxx::team&> && !possible<upcxx::dist_object<int>&>);
  static_assert(!trivial<upcxx::team> && !trivial<upcxx::future<int>>);
  static_assert(possible<std::vector<upcxx::future<>*>>, "pointers are bytes");
  static_assert(!possible<upcxx::deserializing_iterator<fields>>);
}

TEST(serialization_traits, reference_wrappers_are_references) {
  static_assert(!trivial<std::reference_wrapper<int>> && possible<std::reference_wrapper<int>>);
  static_assert(!possible<std::reference_wrapper<with_string>>);
  static_assert(arrives_as<std::reference_wrapper<int const>, int>);
  static_assert(arrives_as<std::reference_wrapper<test::as_double>, double>);
}

TEST(serialization_traits, deserialized_types) {
  static_assert(arrives_as<int, int> && arrives_as<int const, int const> && arrives_as<int const&, int>);
  static_assert(arrives_as<int&&, int> && arrives_as<fields, fields> && arrives_as<test::as_double, double>);
  static_assert(arrives_as<test::as_double const, double const> &&
                arrives_as<test::as_double const&, double>);
  static_assert(arrives_as<box<test::as_double>, box<double>>);
  static_assert(arrives_as<std::vector<test::as_double>, std::vector<double>>);
  static_assert(arrives_as<std::list<std::string>, std::list<std::string>>);
  static_assert(arrives_as<std::map<test::as_double, std::vector<test::as_double>>,
                           std::map<double, std::vector<double>>>);
  static_assert(arrives_as<std::unordered_map<test::as_double, int>, std::unordered_map<double, int>>);
  static_assert(arrives_as<std::set<test::as_double, std::greater<test::as_double>>,
                           std::set<double, std::greater<double>>>);
  static_assert(arrives_as<std::pair<test::as_double const, int const>, std::pair<double const, int const>>);
  static_assert(arrives_as<std::tuple<int&, test::as_double const&, test::as_double const>,
                           std::tuple<int, double, double const>>);
  static_assert(arrives_as<std::array<test::as_double, 3>, std::array<double, 3>>);
  static_assert(arrives_as<std::allocator<test::as_double>, std::allocator<double>>);
  static_assert(arrives_as<std::hash<test::as_double>, std::hash<double>> &&
                arrives_as<std::less<int>, std::less<int>>);
  static_assert(trivial<std::less<>> && trivial<std::less<int>> && !trivial<std::less<test::as_double>>);
  static_assert(arrives_as<upcxx::view<test::as_double, test::as_double*>, upcxx::view<test::as_double>>);
  static_assert(arrives_as<upcxx::view<int, std::list<int>::iterator>, upcxx::view<int>>);
}

template <typename T>
concept has_deserialized_type = requires {
  typename upcxx::serialization_traits<T>::deserialized_type;
};

TEST(serialization_traits, are_no_hard_error_for_what_is_not_serializable) {
  static_assert(!has_deserialized_type<with_string> && !has_deserialized_type<int[2]> &&
                !has_deserialized_type<void>);
  static_assert(has_deserialized_type<int&>);
}

TEST(serialization_traits, optional_is_the_standard_one) {
  static_assert(std::is_same_v<upcxx::optional<int>, std::optional<int>>);
  upcxx::optional<int> o = upcxx::nullopt;
  EXPECT_THROW((void)o.value(), upcxx::bad_optional_access);
}

}  // namespace
