// Class serialisation over the wire: inheritance, bases, arrays, sequences, in-place reading
// (digest chapters 3, 4).

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "common.hpp"

namespace {

template <class T>
upcxx::deserialized_type_t<T> echo(int target, T const& value) {
  return upcxx::rpc(
             target, [](upcxx::deserialized_type_t<T> const& arrived) { return arrived; }, value)
      .wait_reference();
}

class private_constructors {
 public:
  static private_constructors make(int i, std::string s) { return private_constructors(i, std::move(s)); }
  bool operator==(private_constructors const& o) const { return i_ == o.i_ && s_ == o.s_; }
  UPCXX_SERIALIZED_VALUES(i_, s_)

 private:
  private_constructors(int i, std::string s) : i_(i), s_(std::move(s)) {}
  int i_;
  std::string s_;
};

class private_default {
 public:
  static private_default make(int v) {
    private_default p;
    p.v_ = v;
    return p;
  }
  int get() const { return v_; }
  UPCXX_SERIALIZED_FIELDS(v_)

 private:
  private_default() = default;
  int v_ = 0;
};

struct base {
  std::string text = "unset";
  std::int64_t number = 0;
  char tail = 0;  // leaves padding that a derived class may fill
  UPCXX_SERIALIZED_FIELDS(text, number, tail)
};
struct inherits_fields : base {
  int extra = 99;
};
struct with_base : base {
  char in_tail_padding = 'p';
  std::vector<int> v;
  UPCXX_SERIALIZED_FIELDS(UPCXX_SERIALIZED_BASE(base), in_tail_padding, v)
};
struct empty_base {
  UPCXX_SERIALIZED_FIELDS()
};
struct with_empty_base : empty_base {
  int first = 5;
  UPCXX_SERIALIZED_FIELDS(UPCXX_SERIALIZED_BASE(empty_base), first)
};
struct values_with_base : base {
  int i;
  values_with_base(base&& b, int x) : base(std::move(b)), i(x) {}
  UPCXX_SERIALIZED_VALUES(UPCXX_SERIALIZED_BASE(base), i)
};
struct deleted : base {
  int d = 0;
  UPCXX_SERIALIZED_DELETE()
};
struct enabled_again : deleted {
  int e = 1;
  UPCXX_SERIALIZED_FIELDS(d, e)
};

struct base_with_code {
  int a = 0;
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, base_with_code const& o) {
      w.write(o.a);
    }
    template <class Reader>
    static base_with_code* deserialize(Reader& r, void* storage) {
      base_with_code* b = ::new (storage) base_with_code;
      b->a = r.template read<int>() + 1;
      return b;
    }
  };
};
struct inherits_code : base_with_code {
  int b = 7;
};

/// Writes element by element, reads as a sequence, and the other way round.
struct crossed {
  std::vector<std::uint16_t> odd_sized;
  std::vector<std::string> strings;
  double grid[2][3] = {};
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, crossed const& c) {
      w.write(static_cast<char>('!'));
      w.write(c.odd_sized.size());
      for (auto x : c.odd_sized) {
        w.write(x);
      }
      w.write(c.strings.size());
      w.write_sequence(c.strings.begin(), c.strings.end(), c.strings.size());
      w.write(c.grid);
    }
    template <class Reader>
    static crossed* deserialize(Reader& r, void* storage) {
      auto* c = ::new (storage) crossed;
      if (r.template read<char>() != '!') {
        return c;
      }
      c->odd_sized.resize(r.template read<std::size_t>());
      r.template read_sequence_into<std::uint16_t>(c->odd_sized.data(), c->odd_sized.size());
      std::size_t const n = r.template read<std::size_t>();
      for (std::size_t i = 0; i < n; ++i) {
        c->strings.push_back(r.template read<std::string>());
      }
      r.template read_into<double[2][3]>(&c->grid);
      return c;
    }
  };
};

/// Reads over live objects.
struct overwritten {
  std::string one = "previous value, long enough to own memory";
  std::string many[3] = {"a", "b", "c"};
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, overwritten const& o) {
      w.write(o.one);
      std::size_t const n = w.write_sequence(std::begin(o.many), std::end(o.many));
      w.write(n);
    }
    template <class Reader, class Storage>
    static overwritten* deserialize(Reader& r, Storage&& storage) {
      overwritten* o = storage.construct();
      r.template read_overwrite<std::string>(o->one);
      r.template read_sequence_overwrite<std::string>(o->many, 3);
      if (r.template read<std::size_t>() != 3) {
        o->one = "wrong count";
      }
      return o;
    }
  };
};

/// Several reservations, committed out of order.
struct reserved {
  int a = 0, b = 0;
  std::list<char> chars;
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, reserved const& o) {
      auto first = w.template reserve<double>();
      auto second = w.template reserve<char>();
      auto third = w.template reserve<std::int64_t>();
      std::int64_t const n = static_cast<std::int64_t>(w.write_sequence(o.chars.begin(), o.chars.end()));
      w.commit(std::move(third), n);
      w.commit(std::move(first), o.a + 0.5);
      w.commit(std::move(second), static_cast<char>(o.b));
    }
    template <class Reader>
    static reserved* deserialize(Reader& r, void* storage) {
      auto* o = ::new (storage) reserved;
      o->a = static_cast<int>(r.template read<double>() - 0.5);
      o->b = r.template read<char>();
      std::int64_t const n = r.template read<std::int64_t>();
      for (std::int64_t i = 0; i < n; ++i) {
        o->chars.push_back(r.template read<char>());
      }
      return o;
    }
  };
};

template <class T, int N>
struct templated {
  T value{};
  std::vector<T> many;
  UPCXX_SERIALIZED_FIELDS(value, many);  // with a semicolon, as published examples have it
};

/// Arrives as a `second_form`, which itself arrives as a string: one level at a time.
struct second_form {
  int v;
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, second_form const& o) {
      w.write(o.v);
    }
    template <class Reader>
    static std::string* deserialize(Reader& r, void* storage) {
      return ::new (storage) std::string(std::to_string(r.template read<int>()));
    }
  };
};
struct first_form {
  int v;
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, first_form const& o) {
      w.write(o.v);
    }
    template <class Reader>
    static second_form* deserialize(Reader& r, void* storage) {
      return ::new (storage) second_form{r.template read<int>() * 2};
    }
  };
};

}  // namespace

using serialization_test = multirank::fixture;

TEST_F(serialization_test, constructors_may_be_private) {
  auto const v = private_constructors::make(5, "five");
  EXPECT_TRUE(echo(right, v) == v);
  EXPECT_EQ(echo(right, private_default::make(8)).get(), 8);
  auto const list = echo(right, std::list<private_constructors>{v, v});
  EXPECT_EQ(list.size(), 2u);
  EXPECT_TRUE(list.back() == v);
}

TEST_F(serialization_test, inherited_fields_rebuild_the_derived_class) {
  inherits_fields d;
  d.text = "text";
  d.number = 1LL << 40;
  d.extra = 1;
  static_assert(std::is_same_v<upcxx::deserialized_type_t<inherits_fields>, inherits_fields>);
  inherits_fields const back = echo(right, d);
  EXPECT_EQ(back.text, "text");
  EXPECT_EQ(back.number, 1LL << 40);
  EXPECT_EQ(back.extra, 99) << "what is not listed has its default";
}

TEST_F(serialization_test, bases_and_members_in_their_padding_both_arrive) {
  with_base d;
  d.text = "base text that is long enough to own memory";
  d.number = -1;
  d.tail = 't';
  d.in_tail_padding = 'Z';
  d.v = {1, 2, 3};
  with_base const back = echo(right, d);
  EXPECT_EQ(back.text, d.text);
  EXPECT_EQ(back.number, -1);
  EXPECT_EQ(back.tail, 't');
  EXPECT_EQ(back.in_tail_padding, 'Z');
  EXPECT_EQ(back.v, d.v);
  with_empty_base e;
  e.first = 0x01020304;
  EXPECT_EQ(echo(right, e).first, 0x01020304);
  base b;
  b.text = "moved into the constructor";
  values_with_base const w(std::move(b), 3);
  values_with_base const w2 = echo(right, w);
  EXPECT_EQ(w2.text, "moved into the constructor");
  EXPECT_EQ(w2.i, 3);
}

TEST_F(serialization_test, deleted_serialisation_can_be_enabled_again) {
  static_assert(!upcxx::is_serializable<deleted>::value);
  static_assert(upcxx::is_serializable<enabled_again>::value);
  enabled_again x;
  x.d = 4;
  x.e = 5;
  enabled_again const back = echo(right, x);
  EXPECT_EQ(back.d * 10 + back.e, 45);
}

TEST_F(serialization_test, inherited_code_rebuilds_what_it_returns) {
  static_assert(std::is_same_v<upcxx::deserialized_type_t<inherits_code>, base_with_code>);
  inherits_code d;
  d.a = 10;
  EXPECT_EQ(upcxx::rpc(
                right, [](base_with_code const& b) { return b.a; }, d)
                .wait(),
            11);
}

TEST_F(serialization_test, sequences_and_single_items_are_interchangeable) {
  for (std::size_t const length : {0, 1, 2, 3, 7, 1000}) {
    crossed c;
    for (std::size_t i = 0; i < length; ++i) {
      c.odd_sized.push_back(static_cast<std::uint16_t>(i * 7));
      c.strings.push_back(std::string(i % 20, 's'));
    }
    c.grid[1][2] = 6.5;
    std::vector<crossed> const sent{c, c};
    std::vector<crossed> const back = echo(right, sent);
    ASSERT_EQ(back.size(), 2u);
    EXPECT_EQ(back[1].odd_sized, c.odd_sized);
    EXPECT_EQ(back[1].strings, c.strings);
    EXPECT_EQ(back[1].grid[1][2], 6.5);
  }
}

TEST_F(serialization_test, live_objects_can_be_overwritten) {
  overwritten o;
  o.one = "new";
  o.many[1] = "changed, and much longer than the small buffer of a string";
  overwritten const back = echo(right, o);
  EXPECT_EQ(back.one, "new");
  EXPECT_EQ(back.many[0], "a");
  EXPECT_EQ(back.many[1], o.many[1]);
  EXPECT_EQ(back.many[2], "c");
}

TEST_F(serialization_test, reservations_may_be_committed_in_any_order) {
  reserved o;
  o.a = 12;
  o.b = 'b';
  o.chars = {'x', 'y', 'z'};
  auto const back = echo(right, std::map<int, reserved>{{1, o}, {2, reserved()}});
  EXPECT_EQ(back.at(1).a, 12);
  EXPECT_EQ(back.at(1).b, 'b');
  EXPECT_EQ(back.at(1).chars, o.chars);
  EXPECT_TRUE(back.at(2).chars.empty());
}

TEST_F(serialization_test, templates_and_empty_classes_travel) {
  templated<std::string, 3> t;
  t.value = "v";
  t.many = {"m", "n"};
  auto const back = echo(right, t);
  EXPECT_EQ(back.value, "v");
  EXPECT_EQ(back.many, t.many);
  std::vector<empty_base> const nothing(1000);
  EXPECT_EQ(echo(right, nothing).size(), 1000u);
}

TEST_F(serialization_test, chained_asymmetric_types_are_mapped_one_level_at_a_time) {
  static_assert(std::is_same_v<upcxx::deserialized_type_t<first_form>, second_form>);
  static_assert(std::is_same_v<upcxx::deserialized_type_t<second_form>, std::string>);
  // There: first to second. Back: second to string.
  auto f = upcxx::rpc(
      right, [](second_form&& arrived) { return std::move(arrived); }, first_form{21});
  static_assert(std::is_same_v<decltype(f), upcxx::future<std::string>>);
  EXPECT_EQ(f.wait(), "42");
  auto g = upcxx::rpc(
      right, [](std::vector<second_form> const& v) { return v.at(1).v; }, std::vector<first_form>{{1}, {2}});
  EXPECT_EQ(g.wait(), 4);
  upcxx::dist_object<first_form> d(first_form{me});
  auto h = d.fetch(right);
  static_assert(std::is_same_v<decltype(h), upcxx::future<second_form>>);
  EXPECT_EQ(h.wait_reference().v, 2 * right);
  upcxx::barrier();
}

TEST_F(serialization_test, values_of_the_standard_travel_there_and_back) {
  using words = std::forward_list<std::string>;
  using either = std::variant<int, words>;
  auto const answer = upcxx::rpc(
      right,
      [](std::optional<std::string>&& some, either const& one, std::unique_ptr<words> owned,
         std::filesystem::path const& path, std::chrono::milliseconds time) {
        owned->push_front(*some);
        return std::make_tuple(std::optional<std::string>(), std::get<words>(one), std::move(owned),
                               path / "file", time * 2);
      },
      std::optional<std::string>("text"), either(words{"a", "b"}), std::make_unique<words>(words{"c"}),
      std::filesystem::path("folder"), std::chrono::milliseconds(4));
  auto const& [none, list, owned, path, time] = answer.wait_reference();
  EXPECT_FALSE(none.has_value());
  EXPECT_EQ(list, (words{"a", "b"}));
  EXPECT_EQ(*owned, (words{"text", "c"}));
  EXPECT_EQ(path, "folder/file");
  EXPECT_EQ(time.count(), 8);
}

TEST_F(serialization_test, local_classes_can_be_serialised_by_values) {
  struct local {
    int a;
    std::string b;
    local(int x, std::string y) : a(x), b(std::move(y)) {}
    UPCXX_SERIALIZED_VALUES(a, b)
  };
  EXPECT_EQ(echo(right, local(3, "b")).b, "b");
}
