#pragma once

/// Codecs of std::basic_string, std::vector, std::deque, std::list and std::forward_list: allocator, count,
/// elements.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <forward_list>
#include <list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <upcxx/detail/serialization/codec.hpp>
#include <upcxx/detail/serialization/std_utility.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

inline void write_count(writer& w, std::size_t count) { trivial_codec<std::size_t>::write(w, count); }
inline std::size_t read_count(reader& r, std::size_t minimum_item_bytes) {
  std::size_t const count = trivial_codec<std::size_t>::value(r);
  r.expect(count, minimum_item_bytes);
  return count;
}
constexpr std::size_t bound_of_count(std::size_t at) {
  return at == npos ? npos : align_up(at, alignof(std::size_t)) + sizeof(std::size_t);
}

/// Elements that a container may copy straight from the message as if it were an array of them.
template <typename T>
inline constexpr bool copies_from_message =
    is_trivially_serializable<T>::value && !std::is_empty_v<T> && std::is_trivially_copy_constructible_v<T> &&
    std::is_trivially_destructible_v<T>;

/// The elements of a block in the message.
template <typename T>
T const* elements_in_place(reader& r, std::size_t count) {
  return reinterpret_cast<T const*>(detail::take_block<T>(r, count));
}

/// Elements that lie in a message when they are not all there yet.
template <typename D, typename T, typename Allocator>
D value_of_growing(reader& r, std::size_t count, Allocator const& allocator) {
  T const* const first = detail::elements_in_place<T>(r, count);
  std::size_t const begin = r.offset() - count * sizeof(T);
  D result(allocator);
  result.reserve(count);
  for (std::size_t have = 0; have < count;) {
    // Pieces may end in the middle of an element, and what is there may reach beyond these.
    std::size_t const there = r.await_beyond(begin + (have + 1) * sizeof(T) - 1) - begin;
    std::size_t const now = std::min(there / sizeof(T), count);
    result.insert(result.end(), first + have, first + now);
    have = now;
  }
  return result;
}

template <typename Container, typename D, typename T, typename Allocator>
struct sequence_codec : reads_by_value<sequence_codec<Container, D, T, Allocator>, D> {
  static constexpr bool serializable = detail::serializable<T>() && detail::serializable<Allocator>();
  using deserialized_type = D;
  static constexpr std::size_t static_bound = npos;

  static constexpr std::size_t bound(std::size_t at, Container const& object) {
    return detail::range_bound<T>(detail::bound_of_count(detail::bound_after(at, object.get_allocator())),
                                  object, object.size());
  }

  static void write(writer& w, Container const& object) {
    detail::serialize(w, object.get_allocator());
    detail::write_count(w, object.size());
    detail::write_range<T>(w, object.begin(), object.end(), object.size());
  }

  /// May the elements be copied after everything else, when the message has been shown to its target? Growing a
  /// container asks for assignment.
  static constexpr bool may_follow =
      copies_from_message<T> && std::is_copy_assignable_v<T> && std::is_move_assignable_v<T> &&
      is_block_of<T, decltype(std::declval<Container const&>().begin())> && requires(D & d) {
    d.reserve(1);
  };
  static std::span<std::byte const> elements(Container const& object) requires(may_follow) {
    return std::as_bytes(std::span<T const>(object.data(), object.size()));
  }
  /// Everything but the elements, for which there is room at the end then.
  static void write_but_elements(writer& w, Container const& object) requires(may_follow) {
    detail::serialize(w, object.get_allocator());
    detail::write_count(w, object.size());
    w.place(object.size() * sizeof(T), alignof(T));
  }

  static D value(reader& r) {
    auto const allocator = detail::read_value<Allocator>(r);
    std::size_t const count = detail::read_count(r, minimum_wire_size<T>());
    if constexpr (may_follow) {
      if (r.growing()) [[unlikely]]
        return detail::value_of_growing<D, T>(r, count, allocator);
    }
    if constexpr (copies_from_message<T>) {
      T const* const first = detail::elements_in_place<T>(r, count);
      return D(first, first + count, allocator);  // one allocation, one copy, nothing filled first
    } else {
      D result(allocator);
      if constexpr (requires { result.reserve(count); }) result.reserve(count);
      for (std::size_t i = 0; i < count; ++i) result.emplace_back(detail::read_value<T>(r));
      return result;
    }
  }
};

template <typename T, typename A>
struct std_codec<std::vector<T, A>>
    : sequence_codec<std::vector<T, A>, std::vector<mapped_t<T>, mapped_t<A>>, T, A> {};
template <typename T, typename A>
struct std_codec<std::deque<T, A>>
    : sequence_codec<std::deque<T, A>, std::deque<mapped_t<T>, mapped_t<A>>, T, A> {};
template <typename T, typename A>
struct std_codec<std::list<T, A>>
    : sequence_codec<std::list<T, A>, std::list<mapped_t<T>, mapped_t<A>>, T, A> {};

template <typename T, typename A>
struct std_codec<std::forward_list<T, A>>
    : reads_by_value<std_codec<std::forward_list<T, A>>, std::forward_list<mapped_t<T>, mapped_t<A>>> {
  using list = std::forward_list<T, A>;
  static constexpr bool serializable = detail::serializable<T>() && detail::serializable<A>();
  using deserialized_type = std::forward_list<mapped_t<T>, mapped_t<A>>;
  static constexpr std::size_t static_bound = npos;
  static constexpr std::size_t bound(std::size_t, list const&) { return npos; }  // its length takes a walk

  static void write(writer& w, list const& object) {
    detail::serialize(w, object.get_allocator());
    auto const count = static_cast<std::size_t>(std::distance(object.begin(), object.end()));
    write_count(w, count);
    detail::write_range<T>(w, object.begin(), object.end(), count);
  }
  static deserialized_type value(reader& r) {
    deserialized_type result(detail::read_value<A>(r));
    std::size_t const count = detail::read_count(r, minimum_wire_size<T>());
    auto last = result.before_begin();
    for (std::size_t i = 0; i < count; ++i) last = result.emplace_after(last, detail::read_value<T>(r));
    return result;
  }
};

/// Characters are bytes whatever their traits are.
template <typename Char, typename Traits, typename A>
struct std_codec<std::basic_string<Char, Traits, A>>
    : reads_by_value<std_codec<std::basic_string<Char, Traits, A>>,
                     std::basic_string<Char, Traits, mapped_t<A>>> {
  using string = std::basic_string<Char, Traits, A>;
  static constexpr bool serializable = detail::serializable<A>();
  using deserialized_type = std::basic_string<Char, Traits, mapped_t<A>>;
  static constexpr std::size_t static_bound = npos;

  static constexpr std::size_t bound(std::size_t at, string const& object) {
    at = detail::bound_of_count(detail::bound_after(at, object.get_allocator()));
    return at == npos ? npos : align_up(at, alignof(Char)) + object.size() * sizeof(Char);
  }

  static void write(writer& w, string const& object) {
    detail::serialize(w, object.get_allocator());
    detail::write_count(w, object.size());
    if (!object.empty()) {
      std::memcpy(w.place(object.size() * sizeof(Char), alignof(Char)), object.data(),
                  object.size() * sizeof(Char));
    }
  }

  static deserialized_type value(reader& r) {
    auto const allocator = detail::read_value<A>(r);
    std::size_t const count = read_count(r, sizeof(Char));
    if (count == 0) return deserialized_type(allocator);
    return deserialized_type(reinterpret_cast<Char const*>(r.take(count, sizeof(Char), alignof(Char))), count,
                             allocator);
  }

  static void skip(reader& r) {
    detail::skip<A>(r);
    if (std::size_t const count = read_count(r, sizeof(Char))) r.take(count, sizeof(Char), alignof(Char));
  }
};

}  // namespace upcxx::inline UPCXX_MODE::detail
