#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "serialization_support.hpp"

namespace {

using test::message;
using test::round_trip;

// --- UPCXX_SERIALIZED_FIELDS
// ------------------------------------------------------------------------------------------

class private_everything {
 public:
  UPCXX_SERIALIZED_FIELDS(number_, words_, grid_)

  static std::unique_ptr<private_everything> make() {
    std::unique_ptr<private_everything> o(new private_everything);
    o->number_ = 7;
    o->words_ = {"a", "b"};
    o->grid_[1][2] = "corner";
    o->unlisted_ = 9;
    return o;
  }
  void check() const {
    EXPECT_EQ(number_, 7);
    EXPECT_EQ(words_, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(grid_[1][2], "corner");
    EXPECT_EQ(grid_[0][0], "default") << "arrays are replaced as a whole";
    EXPECT_EQ(unlisted_, 1) << "members that are not listed keep what the default constructor gave them";
  }

 private:
  private_everything() { grid_[0][0] = "default"; }

  int number_ = 0;
  std::vector<std::string> words_{"default", "default", "default"};
  std::string grid_[2][3];
  int unlisted_ = 1;
};

TEST(serialized_fields, with_private_constructor_arrays_and_unlisted_members) {
  round_trip(*private_everything::make()).check();
}

class in_private_section {
  int v_ = 0;
  UPCXX_SERIALIZED_FIELDS(v_)

 public:
  explicit in_private_section(int v = 0) : v_(v) {}
  int v() const { return v_; }
};

TEST(serialized_fields, in_a_private_section_are_found_too) {
  static_assert(!upcxx::is_trivially_serializable<in_private_section>::value);
  EXPECT_EQ(round_trip(in_private_section(4)).v(), 4);
}

TEST(serialized_fields, destroy_the_default_value_exactly_once) {
  struct holder {
    test::counted one{1};
    test::counted many[3];
    UPCXX_SERIALIZED_FIELDS(one, many)
  };
  int const before = test::counted::alive;
  {
    holder h;
    h.one.value = 5;
    h.many[2].value = 6;
    holder const arrived = round_trip(h);
    EXPECT_EQ(arrived.one.value, 5);
    EXPECT_EQ(arrived.many[2].value, 6);
  }
  EXPECT_EQ(test::counted::alive, before);
}

struct nothing {
  int kept = 3;
  UPCXX_SERIALIZED_FIELDS()
};
struct nothing_of_value {
  UPCXX_SERIALIZED_VALUES();
};

TEST(serialized_fields, may_be_empty_and_take_no_bytes) {
  message m;
  m.w.write(nothing());
  m.w.write(nothing_of_value());
  EXPECT_EQ(m.w.size(), 0u);
  EXPECT_EQ(round_trip(nothing{5}).kept, 3);
  EXPECT_EQ(round_trip(std::vector<nothing>(5)).size(), 5u);
  EXPECT_EQ(round_trip(std::vector<nothing_of_value>(6)).size(), 6u);
}

template <typename T, std::size_t N>
struct templated {
  T values[N]{};
  std::vector<T> more;
  UPCXX_SERIALIZED_FIELDS(values, more);  // with a semicolon
};
template <typename T>
struct templated_derived : templated<T, 2> {
  T last{};
  UPCXX_SERIALIZED_FIELDS(UPCXX_SERIALIZED_BASE(templated<T, 2>), last)
};
template <typename T>
struct names_inherited : templated<T, 2> {
  UPCXX_SERIALIZED_FIELDS(this->values, this->more)
};

TEST(serialized_fields, of_class_templates) {
  templated_derived<std::string> o;
  o.values[1] = "one";
  o.more = {"two"};
  o.last = "three";
  auto const arrived = round_trip(o);
  EXPECT_EQ(arrived.values[1], "one");
  EXPECT_EQ(arrived.more, o.more);
  EXPECT_EQ(arrived.last, "three");
  names_inherited<int> n;
  n.values[0] = 4;
  n.more = {5, 6};
  EXPECT_EQ(round_trip(n).values[0], 4);
  EXPECT_EQ(round_trip(n).more, n.more);
}

#define EIGHT(x) x##0, x##1, x##2, x##3, x##4, x##5, x##6, x##7
struct hundred {
  std::string EIGHT(a), EIGHT(b), EIGHT(c), EIGHT(d), EIGHT(e), EIGHT(f), EIGHT(g), EIGHT(h), EIGHT(i),
      EIGHT(j);
  int EIGHT(k), EIGHT(l);
  UPCXX_SERIALIZED_FIELDS(EIGHT(a), EIGHT(b), EIGHT(c), EIGHT(d), EIGHT(e), EIGHT(f), EIGHT(g), EIGHT(h),
                          EIGHT(i), EIGHT(j), EIGHT(k), EIGHT(l))
};
struct hundred_values {
  template <typename... T>
  explicit hundred_values(T... v) : sum((0 + ... + v)) {}
  int a = 1, sum = 0;
#define SIXTEEN a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a
  UPCXX_SERIALIZED_VALUES(SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN)
};

TEST(serialized_fields, many_arguments) {
  hundred o;
  o.a0 = "first";
  o.j7 = "last string";
  o.l7 = 12;
  hundred const arrived = round_trip(o);
  EXPECT_EQ(arrived.a0, "first");
  EXPECT_EQ(arrived.j7, "last string");
  EXPECT_EQ(arrived.l7, 12);
  EXPECT_EQ(round_trip(hundred_values(1)).sum, 96);
}

TEST(serialized_fields, in_classes_inside_functions) {
  struct local {
    std::string s;
    int i;
    UPCXX_SERIALIZED_FIELDS(s, i)
  };
  struct local_values {
    int i;
    std::string s;
    UPCXX_SERIALIZED_VALUES(i + 1, s)
  };
  EXPECT_EQ(round_trip(local{"x", 2}).s, "x");
  EXPECT_EQ(round_trip(local_values{2, "y"}).i, 3);
}

struct tree {
  int value = 0;
  std::vector<tree> children;
  std::map<std::string, tree> named;
  UPCXX_SERIALIZED_FIELDS(value, children, named)
};

TEST(serialized_fields, recursive_classes) {
  tree t;
  t.children.resize(3);
  t.children[1].children.resize(2);
  t.children[1].children[1].value = 5;
  t.named["x"].value = 6;
  tree const arrived = round_trip(t);
  EXPECT_EQ(arrived.children.at(1).children.at(1).value, 5);
  EXPECT_EQ(arrived.named.at("x").value, 6);
}

struct with_mutable_and_overloaded_address {
  struct tricky {
    int v = 0;
    tricky* operator&() = delete;
    tricky const* operator&() const = delete;
    UPCXX_SERIALIZED_FIELDS(v)
  };
  mutable int counter = 1;
  tricky t;
  UPCXX_SERIALIZED_FIELDS(counter, t)
};

TEST(serialized_fields, mutable_members_and_overloaded_address_of) {
  with_mutable_and_overloaded_address o;
  o.counter = 4;
  o.t.v = 5;
  EXPECT_EQ(round_trip(o).counter, 4);
  EXPECT_EQ(round_trip(o).t.v, 5);
}

// --- Bases
// ------------------------------------------------------------------------------------------------------------

struct empty_base {};
struct empty_nontrivial_base {
  empty_nontrivial_base() noexcept {}
  ~empty_nontrivial_base() {}
  UPCXX_SERIALIZED_FIELDS()
};
class padded_base {  // 9 bytes of data in 16; not an aggregate, so derived classes use the padding
 public:
  std::int64_t wide = 0;
  char narrow = 0;

 private:
  [[maybe_unused]] char unused_ = 0;
};
struct padded_nontrivial_base : padded_base {
  padded_nontrivial_base() noexcept {}
  padded_nontrivial_base(padded_nontrivial_base const& o) : padded_base(o) {}
  padded_nontrivial_base& operator=(padded_nontrivial_base const&) = delete;
  ~padded_nontrivial_base() { wide = -1; }
  UPCXX_SERIALIZED_FIELDS(wide, narrow)
};

template <typename... B>
struct derived : B... {
  char in_padding = 1;
  char also_in_padding = 2;
  std::string text;
};
struct below_trivial : derived<empty_base, padded_base> {
  UPCXX_SERIALIZED_FIELDS(UPCXX_SERIALIZED_BASE(empty_base), in_padding, UPCXX_SERIALIZED_BASE(padded_base),
                          text)
};
struct below_nontrivial : derived<empty_nontrivial_base, padded_nontrivial_base> {
  UPCXX_SERIALIZED_FIELDS(in_padding, text, UPCXX_SERIALIZED_BASE(padded_nontrivial_base),
                          UPCXX_SERIALIZED_BASE(empty_nontrivial_base))
};
static_assert(sizeof(derived<padded_base>) == sizeof(padded_base) + sizeof(std::string),
              "the test needs members in the base's tail padding");

TEST(serialized_base, of_fields_leaves_members_in_tail_padding_alone) {
  below_trivial t;
  t.wide = 5;
  t.narrow = 'n';
  t.in_padding = 10;
  t.also_in_padding = 20;
  t.text = "text";
  auto const a = round_trip(t);
  EXPECT_EQ(a.wide, 5);
  EXPECT_EQ(a.narrow, 'n');
  EXPECT_EQ(a.in_padding, 10) << "listed before the base";
  EXPECT_EQ(a.also_in_padding, 2) << "not listed";
  EXPECT_EQ(a.text, "text");

  below_nontrivial n;
  n.wide = 6;
  n.narrow = 'm';
  n.in_padding = 11;
  n.also_in_padding = 21;
  n.text = "more text";
  auto const b = round_trip(n);
  EXPECT_EQ(b.wide, 6);
  EXPECT_EQ(b.narrow, 'm');
  EXPECT_EQ(b.in_padding, 11);
  EXPECT_EQ(b.also_in_padding, 2);
  EXPECT_EQ(b.text, "more text");
}

struct empty_first : empty_base {
  char first = 'x';
  UPCXX_SERIALIZED_FIELDS(first, UPCXX_SERIALIZED_BASE(empty_base))
};
struct empty_nontrivial_first : empty_nontrivial_base {
  char first = 'x';
  UPCXX_SERIALIZED_FIELDS(first, UPCXX_SERIALIZED_BASE(empty_nontrivial_base))
};
struct overlapping_members {
  [[no_unique_address]] empty_base nothing;
  [[no_unique_address]] padded_base padded;
  char in_padding = 'd';
  UPCXX_SERIALIZED_FIELDS(in_padding, nothing, padded)
};

TEST(serialized_base, empty_bases_and_overlapping_members_overwrite_nothing) {
  empty_first a;
  a.first = 'a';
  EXPECT_EQ(round_trip(a).first, 'a');
  empty_nontrivial_first b;
  b.first = 'b';
  EXPECT_EQ(round_trip(b).first, 'b');
  overlapping_members c;
  c.in_padding = 'c';
  c.padded.wide = 8;
  EXPECT_EQ(round_trip(c).in_padding, 'c');
  EXPECT_EQ(round_trip(c).padded.wide, 8);
}

class private_base : std::vector<int> {
 public:
  private_base() = default;
  explicit private_base(int n) : std::vector<int>(3, n) {}
  int at(std::size_t i) const { return std::vector<int>::at(i); }
  using base = std::vector<int>;
  UPCXX_SERIALIZED_FIELDS(UPCXX_SERIALIZED_BASE(base))
};
struct value_base {
  explicit value_base(int value) : v(value) {}
  value_base(value_base&& o) noexcept : v(std::exchange(o.v, -1)) {}
  value_base(value_base const&) = delete;
  virtual ~value_base() = default;
  int v;
  UPCXX_SERIALIZED_VALUES(v)
};
struct value_derived : value_base {
  value_derived(value_base&& b, std::string text) : value_base(std::move(b)), s(std::move(text)) {}
  std::string s;
  UPCXX_SERIALIZED_VALUES(UPCXX_SERIALIZED_BASE(value_base), s)
};

TEST(serialized_base, private_bases_and_bases_as_values) {
  EXPECT_EQ(round_trip(private_base(4)).at(2), 4);
  value_derived const d(value_base(3), "s");
  auto const arrived = round_trip(d);
  EXPECT_EQ(arrived.v, 3) << "polymorphic and movable: fine as a value";
  EXPECT_EQ(arrived.s, "s");
}

// --- UPCXX_SERIALIZED_VALUES
// ------------------------------------------------------------------------------------------

class point {
 public:
  static point make(double x, double y) { return point(static_cast<float>(x), static_cast<float>(y)); }
  double x() const { return x_; }
  double y() const { return y_; }
  UPCXX_SERIALIZED_VALUES(float(x_), static_cast<float>(y_))

 private:
  point(float&& a, float&& b) : x_(a), y_(b) {}
  double x_, y_;
};

struct temporaries {
  explicit temporaries(int value) : v(value) {}
  temporaries(std::string s, std::vector<int> many, int const largest, double d)
      : v(largest), text(std::move(s)), numbers(std::move(many)), half(d) {}
  int v;
  std::string text;
  std::vector<int> numbers;
  double half = 0;
  std::string make() const { return std::string(100, 'x'); }

  UPCXX_SERIALIZED_VALUES(make(), std::vector<int>(3, v), std::max(int(v), 3), test::as_double{v})
};

struct move_only_argument {
  explicit move_only_argument(std::string const&) = delete;
  explicit move_only_argument(std::string&& text) : s(std::move(text)) {}
  std::string s;
  UPCXX_SERIALIZED_VALUES(s);
};

struct aggregate {
  int a;
  std::string b;
  unsigned bits : 3;
  UPCXX_SERIALIZED_VALUES(a, b, bits)
};

TEST(serialized_values, of_any_expression_reach_the_constructor_as_rvalues_in_order) {
  EXPECT_EQ(round_trip(point::make(1.5, 2.5)).y(), 2.5);
  temporaries const t = round_trip(temporaries(2));
  EXPECT_EQ(t.text, std::string(100, 'x'));
  EXPECT_EQ(t.numbers, (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(t.v, 3) << "a reference to a temporary of the expression";
  EXPECT_EQ(t.half, 2.5) << "asymmetric";
  EXPECT_EQ(round_trip(move_only_argument(std::string("m"))).s, "m");
  EXPECT_EQ(round_trip(aggregate{1, "b", 5}).bits, 5u);
}

TEST(serialized_values, build_immovable_objects_in_place) {
  struct pinned {
    explicit pinned(int value) : v(value) {}
    pinned(pinned const&) = delete;
    int v;
    UPCXX_SERIALIZED_VALUES(v)
  };
  message m;
  m.w.write(pinned(4));
  m.w.write(pinned(5));
  auto r = m.reader();
  alignas(pinned) std::byte raw[sizeof(pinned)];
  EXPECT_EQ(r.read_into<pinned>(raw)->v, 4);
  std::optional<pinned> o;
  EXPECT_EQ(r.read_into<pinned>(o)->v, 5);
}

// --- Custom
// -----------------------------------------------------------------------------------------------------------

struct old_form {
  int a;
  std::string c;
  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, old_form const& o) {
      w.write(o.a);
      auto count = w.template reserve<std::size_t>();
      w.commit(count, w.write_sequence(o.c.begin(), o.c.end()));
    }
    template <typename Reader>
    static old_form* deserialize(Reader& r, void* storage) {
      int const a = r.template read<int>();
      std::string c(r.template read<std::size_t>(), '\0');
      r.template read_sequence_into<char>(c.data(), c.size());
      return ::new (storage) old_form{a, std::move(c)};
    }
  };
};
class old_form_private {
  explicit old_form_private(int value, std::nullptr_t) : v(value) {}

 public:
  static old_form_private make(int v) { return old_form_private(v, nullptr); }
  int v;
  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, old_form_private const& o) {
      w.write(o.v);
    }
    template <typename Reader>
    static old_form_private* deserialize(Reader& reader, void* storage) {
      return ::new (storage) old_form_private(reader.template read<int>(), nullptr);
    }
  };
};
template <int Form>
struct new_form {
  int v;
  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, new_form const& o) {
      w.write(o.v);
    }
    template <typename Reader, typename Storage>
    static new_form* deserialize(Reader& r, Storage s) requires(Form == 0) {
      return s.construct(r.template read<int>());
    }
    template <typename Reader, typename Storage>
    static new_form* deserialize(Reader& r, Storage&& s) requires(Form == 1) {
      return s.construct(new_form{r.template read<int>()});
    }
    template <typename Reader, typename Storage>
    static auto deserialize(Reader& r, Storage const& s) requires(Form == 2) {
      return s.construct(r.template read<int>());
    }
    template <typename Reader, typename Storage>
    static std::string* deserialize(Reader& r, Storage s) requires(Form == 3) {
      r.template read<int>();
      return s.construct("from storage");
    }
  };
};

TEST(custom_serialization, old_and_new_forms) {
  EXPECT_EQ(round_trip(old_form{1, "text"}).c, "text");
  EXPECT_EQ(round_trip(old_form_private::make(4)).v, 4);
  EXPECT_EQ(round_trip(new_form<0>{2}).v, 2);
  EXPECT_EQ(round_trip(new_form<1>{3}).v, 3);
  EXPECT_EQ(round_trip(new_form<2>{4}).v, 4);
  EXPECT_EQ(round_trip(new_form<3>{5}), "from storage");
  message m;
  m.w.write(old_form{1, "text"});
  std::optional<old_form> o;
  EXPECT_EQ(m.reader().read_into<old_form>(o)->c, "text");
}

struct chained {
  int v;
  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, chained const& o) {
      w.write(o.v);
    }
    template <typename Reader, typename Storage>
    static test::as_double* deserialize(Reader& r, Storage s) {
      return s.construct(test::as_double{r.template read<int>()});
    }
  };
};

TEST(custom_serialization, asymmetric_types_map_once) {
  static_assert(std::is_same_v<upcxx::deserialized_type_t<chained>, test::as_double>);
  EXPECT_EQ(round_trip(chained{3}).value, 3);
}

struct outer {
  std::unique_ptr<int> number;
  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, outer const& o) {
      bool const has = o.number != nullptr;
      w.write(has);
      if (has) w.write(*o.number);
    }
    template <typename Reader, typename Storage>
    static outer* deserialize(Reader& r, Storage s) {
      outer o;
      if (r.template read<bool>()) o.number = std::make_unique<int>(r.template read<int>());
      return s.construct(std::move(o));
    }
  };
};

TEST(custom_serialization, of_move_only_types_in_containers) {
  std::vector<outer> v(3);
  v[1].number = std::make_unique<int>(8);
  auto const arrived = round_trip(v);
  ASSERT_EQ(arrived.size(), 3u);
  EXPECT_EQ(arrived[0].number, nullptr);
  EXPECT_EQ(*arrived[1].number, 8);
}

// --- Inheritance
// ------------------------------------------------------------------------------------------------------

class fields_base {
 public:
  int a = 1;
  UPCXX_SERIALIZED_FIELDS(a, hidden_, protected_)
  int hidden() const { return hidden_; }
  void set(int v) { hidden_ = protected_ = v; }

 protected:
  int protected_ = 2;

 private:
  int hidden_ = 2;
};
struct inherits_fields : fields_base {
  int a = 100;  // hides fields_base::a, which stays the one that is serialized
  int b = 5;
};
struct inherits_values : point {
  explicit inherits_values(point p) : point(p) {}
  inherits_values(float a, float b) : point(point::make(a, b)), extra(1) {}
  int extra = 0;
};
struct inherits_custom : old_form {
  explicit inherits_custom(old_form f) : old_form(std::move(f)) {}
  int extra = 0;
};
struct overrides : inherits_custom {
  overrides() : inherits_custom({}) {}
  int more = 0;
  UPCXX_SERIALIZED_FIELDS(a, more)
};

TEST(serialization_inheritance, fields_and_values_give_the_derived_class) {
  inherits_fields f;
  f.set(7);
  f.fields_base::a = 8;
  f.a = 9;
  f.b = 9;
  inherits_fields const arrived = round_trip(f);
  EXPECT_EQ(arrived.hidden(), 7);
  EXPECT_EQ(arrived.fields_base::a, 8);
  EXPECT_EQ(arrived.a, 100);
  EXPECT_EQ(arrived.b, 5) << "the derived class's own members are not listed";
  inherits_values const v = round_trip(inherits_values(point::make(1, 2)));
  EXPECT_EQ(v.y(), 2);
  EXPECT_EQ(v.extra, 1);
}

TEST(serialization_inheritance, nested_types_give_the_base_and_can_be_overridden) {
  static_assert(std::is_same_v<upcxx::deserialized_type_t<inherits_custom>, old_form>);
  EXPECT_EQ(round_trip(inherits_custom(old_form{3, "c"})).c, "c");
  overrides o;
  o.a = 4;
  o.more = 5;
  EXPECT_EQ(round_trip(o).more, 5);
}

// --- Types that are bytes by declaration
// ------------------------------------------------------------------------------

struct handle {
  explicit handle(int value) : v(value) {}
  handle(handle const& o) : v(o.v) {}
  handle& operator=(handle const&) = default;
  ~handle() { ++destroyed; }
  int v;
  static inline int destroyed = 0;
};

}  // namespace

template <>
struct upcxx::is_trivially_serializable<handle> : std::true_type {};

namespace {

TEST(trivial_by_declaration, are_copied_as_bytes_and_not_destroyed_by_the_library) {
  handle const h(6);
  std::vector<handle> const many(3, h);
  int const before = handle::destroyed;
  message m;
  m.w.write(h);
  m.w.write(h);
  m.w.write(many);
  EXPECT_EQ(handle::destroyed, before);
  auto r = m.reader();
  {
    upcxx::detail::deserialized_tuple<handle, handle&> arguments(r);
    EXPECT_EQ(arguments.get<0>().v, 6);
    EXPECT_EQ(arguments.get<1>().v, 6);
  }
  EXPECT_EQ(handle::destroyed, before);
  EXPECT_EQ(r.read<std::vector<handle>>().at(2).v, 6);
}

}  // namespace
