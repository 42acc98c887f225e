#pragma once

/// Random values of many serializable types, and what they must arrive as.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <upcxx/serialization.hpp>

#include "driver.hpp"

namespace fuzz {

template <class T>
T make(choices& c);

struct nothing {
  friend bool operator==(nothing, nothing) { return true; }
};

/// More alignment than messages have by themselves.
struct alignas(128) aligned {
  std::uint64_t word;
  friend bool operator==(aligned const&, aligned const&) = default;
};

/// Has room behind `c` that a derived class may use.
struct base {
  base() = default;
  double d = 0;
  char c = 0;
  friend bool operator==(base const&, base const&) = default;
  UPCXX_SERIALIZED_FIELDS(d, c)
};

struct derived : base {
  char in_padding = 1;
  std::string text;
  short grid[2][3] = {};
  std::string names[2];
  friend bool operator==(derived const&, derived const&) = default;
  static derived random(choices& c) {
    derived v;
    v.d = make<float>(c);
    v.c = make<char>(c);
    v.in_padding = make<char>(c);
    v.text = make<std::string>(c);
    for (auto& row : v.grid) {
      for (auto& e : row) e = make<short>(c);
    }
    for (auto& name : v.names) name = make<std::string>(c);
    return v;
  }
  UPCXX_SERIALIZED_FIELDS(text, UPCXX_SERIALIZED_BASE(base), grid, in_padding, names)
};

/// Private and without a default constructor.
class closed {
 public:
  static closed random(choices& c) { return closed(make<char>(c), make<std::vector<std::string>>(c)); }
  friend bool operator==(closed const&, closed const&) = default;
  UPCXX_SERIALIZED_VALUES(id_, names_)

 private:
  closed(char id, std::vector<std::string> names) : id_(id), names_(std::move(names)) {}
  char id_;
  std::vector<std::string> names_;
};

/// Writes a count into a place that it reserved before.
struct custom {
  std::vector<std::uint16_t> numbers;
  char tail[3] = {};
  friend bool operator==(custom const&, custom const&) = default;
  static custom random(choices& c) {
    custom v{make<std::vector<std::uint16_t>>(c), {}};
    for (char& t : v.tail) t = make<char>(c);
    return v;
  }
  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, custom const& o) {
      auto count = w.template reserve<std::uint32_t>();
      auto const n = w.write_sequence(o.numbers.begin(), o.numbers.end());
      w.write(o.tail);
      w.commit(std::move(count), static_cast<std::uint32_t>(n));
    }
    template <typename Reader, typename Storage>
    static custom* deserialize(Reader& r, Storage storage) {
      custom v;
      v.numbers.resize(r.template read<std::uint32_t>());
      r.template read_sequence_into<std::uint16_t>(v.numbers.data(), v.numbers.size());
      r.template read_into<char[3]>(&v.tail);
      return storage.construct(std::move(v));
    }
  };
};
/// Arrives as a `custom`.
struct sliced : custom {
  static sliced random(choices& c) { return sliced{custom::random(c)}; }
};

/// Arrives as text, by the older form of deserialize.
struct number {
  int value = 0;
  static number random(choices& c) { return {make<int>(c)}; }
  friend auto operator<=>(number const&, number const&) = default;
  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, number const& o) {
      w.write(std::to_string(o.value));
    }
    template <typename Reader>
    static std::string* deserialize(Reader& r, void* storage) {
      return ::new (storage) std::string(r.template read<std::string>());
    }
  };
};

/// Bytes by declaration, though it has a constructor and a destructor.
struct declared {
  explicit declared(std::uint64_t v = 0) : value(v) {}
  declared(declared const& o) : value(o.value) {}
  declared& operator=(declared const&) = default;
  ~declared() { value = 0; }
  static declared random(choices& c) { return declared(c.bits()); }
  friend bool operator==(declared const& a, declared const& b) { return a.value == b.value; }
  std::uint64_t value;
};

template <class T>
struct tree {
  T value{};
  std::vector<tree> children;
  friend bool operator==(tree const&, tree const&) = default;
  static tree random(choices& c, int depth = 0) {
    tree t{make<T>(c), {}};
    for (std::uint64_t n = depth < 3 ? c.below(4) : 0; n != 0; --n)
      t.children.push_back(random(c, depth + 1));
    return t;
  }
  UPCXX_SERIALIZED_FIELDS(value, children)
};

/// An order that only the object knows.
struct modulo_less {
  unsigned modulus = 1;
  bool operator()(unsigned a, unsigned b) const { return a % modulus < b % modulus; }
};
struct by_modulus {
  std::set<unsigned, modulo_less> numbers;
  static by_modulus random(choices& c) {
    by_modulus v{std::set<unsigned, modulo_less>(modulo_less{static_cast<unsigned>(c.between(1, 20))})};
    for (std::uint64_t n = c.below(30); n != 0; --n) v.numbers.insert(make<unsigned>(c));
    return v;
  }
  friend bool operator==(by_modulus const& a, by_modulus const& b) {
    return a.numbers == b.numbers && a.numbers.key_comp().modulus == b.numbers.key_comp().modulus;
  }
  UPCXX_SERIALIZED_FIELDS(numbers)
};

template <class T>
inline constexpr bool is_product = false;
template <class... T>
inline constexpr bool is_product<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool is_product<std::pair<A, B>> = true;

template <class... T>
std::tuple<T...> make_product(choices& c, std::type_identity<std::tuple<T...>>) {
  return std::tuple<T...>{make<std::remove_const_t<T>>(c)...};
}
template <class A, class B>
std::pair<A, B> make_product(choices& c, std::type_identity<std::pair<A, B>>) {
  return {make<std::remove_const_t<A>>(c), make<std::remove_const_t<B>>(c)};
}

template <class T>
T make(choices& c) {
  if constexpr (std::is_same_v<T, bool>) {
    return c.one_in(2);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(c.bits());
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(static_cast<std::int32_t>(c.bits())) / 8;
  } else if constexpr (std::is_same_v<T, nothing>) {
    return {};
  } else if constexpr (std::is_same_v<T, aligned>) {
    return {c.bits()};
  } else if constexpr (std::is_same_v<T, base>) {
    base b;
    b.d = make<float>(c);
    b.c = make<char>(c);
    return b;
  } else if constexpr (requires { T::random(c); }) {
    return T::random(c);
  } else if constexpr (is_product<T>) {
    return make_product(c, std::type_identity<T>{});
  } else if constexpr (requires { typename T::mapped_type; }) {
    T result;
    for (std::size_t n = c.size(80); n != 0; --n) {
      result.emplace(make<typename T::key_type>(c), make<typename T::mapped_type>(c));
    }
    return result;
  } else if constexpr (requires { typename T::key_type; }) {
    T result;
    for (std::size_t n = c.size(80); n != 0; --n) result.insert(make<typename T::key_type>(c));
    return result;
  } else if constexpr (requires(T & t) { t.push_back(make<typename T::value_type>(c)); }) {
    T result;
    for (std::size_t n = c.size(40); n != 0; --n) result.push_back(make<typename T::value_type>(c));
    return result;
  } else {
    T result;
    for (auto& e : result) e = make<typename T::value_type>(c);
    return result;
  }
}

/// Is `arrived` what `sent` must arrive as?
template <class T, class D>
bool same(T const& sent, D const& arrived) {
  if constexpr (std::is_same_v<T, D>) {
    return sent == arrived;
  } else if constexpr (std::is_same_v<T, number>) {
    return std::to_string(sent.value) == arrived;
  } else if constexpr (std::is_same_v<T, sliced>) {
    return static_cast<custom const&>(sent) == arrived;
  } else if constexpr (requires { sent.first; }) {
    return same(sent.first, arrived.first) && same(sent.second, arrived.second);
  } else if constexpr (requires { sent.size(); }) {
    if (sent.size() != arrived.size()) return false;
    auto other = arrived.begin();
    for (auto const& e : sent) {
      if (!same(e, *other++)) return false;
    }
    return true;
  } else {
    return []<std::size_t... I>(auto const& a, auto const& b, std::index_sequence<I...>) {
      return (same(std::get<I>(a), std::get<I>(b)) && ...);
    }
    (sent, arrived, std::make_index_sequence<std::tuple_size_v<T>>{});
  }
}

}  // namespace fuzz

template <>
struct upcxx::is_trivially_serializable<fuzz::declared> : std::true_type {};
