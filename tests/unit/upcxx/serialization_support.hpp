#pragma once

/// A message in private memory, written and read as an rpc would do it.

#include <cstddef>
#include <cstring>

#include "upcxx/serialization.hpp"

namespace test {

class message {
 public:
  /// `head` bytes at the start belong to somebody else, as the header of a message would.
  explicit message(std::size_t head = 0)
      : w(small_, head, sizeof(small_), atl::serialization::heap_buffer::grow, &large_) {}

  upcxx::detail::writer w;

  /// A reader of what was written so far.
  upcxx::detail::reader reader(std::size_t head = 0) const {
    return upcxx::detail::reader(w.begin(), head, w.size());
  }

 private:
  alignas(64) std::byte small_[64];  // small, so that growth happens in most tests
  atl::serialization::heap_buffer large_;
};

/// What arrives.
template <typename T>
auto round_trip(T const& object) {
  return upcxx::serialization_traits<T>::deserialized_value(object);
}

/// An object without copy, move and default construction.
struct immovable {
  explicit immovable(int v) : value(v) {}
  immovable(immovable const&) = delete;
  immovable& operator=(immovable const&) = delete;
  int value;

  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, immovable const& o) {
      w.write(o.value);
    }
    template <typename Reader, typename Storage>
    static immovable* deserialize(Reader& r, Storage storage) {
      return storage.construct(r.template read<int>());
    }
  };
};

/// Arrives as a double: the new form of an asymmetric class.
struct as_double {
  int value = 0;
  friend bool operator<(as_double a, as_double b) { return a.value < b.value; }
  friend bool operator>(as_double a, as_double b) { return a.value > b.value; }
  friend bool operator==(as_double a, as_double b) { return a.value == b.value; }

  struct upcxx_serialization {
    template <typename Writer>
    static void serialize(Writer& w, as_double const& o) {
      w.write(o.value);
    }
    template <typename Reader, typename Storage>
    static double* deserialize(Reader& r, Storage&& storage) {
      return storage.construct(r.template read<int>() + 0.5);
    }
  };
};

/// Counts living objects.
struct counted {
  counted() { ++alive; }
  explicit counted(int v) : value(v) { ++alive; }
  counted(counted const& o) : value(o.value) { ++alive; }
  counted(counted&& o) noexcept : value(o.value) { ++alive; }
  counted& operator=(counted const&) = default;
  ~counted() { --alive; }
  int value = 0;
  static inline int alive = 0;

  UPCXX_SERIALIZED_FIELDS(value)
};

/// No default constructor.
class from_int {
 public:
  explicit from_int(int v) : value_(v) {}
  int value() const { return value_; }
  friend bool operator==(from_int const&, from_int const&) = default;

  UPCXX_SERIALIZED_VALUES(value_)

 private:
  int value_;
};

}  // namespace test

template <>
struct std::hash<test::as_double> {
  std::size_t operator()(test::as_double o) const noexcept { return static_cast<std::size_t>(o.value); }
};
