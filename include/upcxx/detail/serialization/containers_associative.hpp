#pragma once

/// Codecs of sets and maps, ordered and unordered: their functors and allocator, count,
/// elements in order of iteration.

#include <cstddef>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <upcxx/detail/serialization/containers_sequence.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// How elements of a set travel.
template <typename Key>
struct set_element {
  static constexpr bool serializable = detail::serializable<Key>();
  static constexpr std::size_t static_bound() { return static_bound_v<Key>; }
  static constexpr std::size_t minimum() { return minimum_wire_size<Key>(); }
  static constexpr std::size_t bound(std::size_t at, Key const& key) { return detail::bound_after(at, key); }
  static void write(writer& w, Key const& key) { detail::serialize(w, key); }
  template <typename D>
  static void append(reader& r, D& container) {
    container.emplace_hint(container.end(), detail::read_value<Key>(r));
  }
};

/// How elements of a map travel: apart, since a pair with a const key could not be moved from.
template <typename Key, typename T>
struct map_element {
  static constexpr bool serializable = detail::serializable<Key>() && detail::serializable<T>();
  static constexpr std::size_t static_bound() {
    return detail::add_bounds(static_bound_v<Key>, static_bound_v<T>);
  }
  static constexpr std::size_t minimum() { return minimum_wire_size<Key>() + minimum_wire_size<T>(); }
  static constexpr std::size_t bound(std::size_t at, std::pair<Key const, T> const& element) {
    return detail::serialized_bound(at, element.first, element.second);
  }
  static void write(writer& w, std::pair<Key const, T> const& element) {
    detail::serialize(w, element.first);
    detail::serialize(w, element.second);
  }
  template <typename D>
  static void append(reader& r, D& container) {
    auto key = detail::read_value<Key>(r);
    container.emplace_hint(container.end(), std::move(key), detail::read_value<T>(r));
  }
};

template <typename Element, typename Container>
constexpr std::size_t node_container_bound(std::size_t at, Container const& object) {
  if (at == npos) return npos;
  if constexpr (Element::static_bound() != npos) {
    return at + object.size() * Element::static_bound();
  } else {
    if (object.size() > 64) return npos;  // visiting many nodes costs more than growing a buffer
    for (auto const& element : object) {
      at = Element::bound(at, element);
      if (at == npos) break;
    }
    return at;
  }
}

template <typename Container, typename D, typename Element, typename Compare, typename Allocator>
struct ordered_codec : reads_by_value<ordered_codec<Container, D, Element, Compare, Allocator>, D> {
  static constexpr bool serializable =
      Element::serializable && detail::serializable<Compare>() && detail::serializable<Allocator>();
  using deserialized_type = D;
  static constexpr std::size_t static_bound = npos;

  static constexpr std::size_t bound(std::size_t at, Container const& object) {
    at = detail::serialized_bound(at, object.key_comp(), object.get_allocator());
    return detail::node_container_bound<Element>(bound_of_count(at), object);
  }
  static void write(writer& w, Container const& object) {
    detail::serialize(w, object.key_comp());
    detail::serialize(w, object.get_allocator());
    detail::write_count(w, object.size());
    for (auto const& element : object) Element::write(w, element);
  }
  static D value(reader& r) {
    auto const compare = detail::read_value<Compare>(r);
    auto const allocator = detail::read_value<Allocator>(r);
    std::size_t const count = detail::read_count(r, Element::minimum());
    D result(compare, allocator);
    for (std::size_t i = 0; i < count; ++i) Element::append(r, result);
    return result;
  }
};

template <typename Container, typename D, typename Element, typename Hash, typename Equal, typename Allocator>
struct unordered_codec : reads_by_value<unordered_codec<Container, D, Element, Hash, Equal, Allocator>, D> {
  static constexpr bool serializable = Element::serializable && detail::serializable<Hash>() &&
                                       detail::serializable<Equal>() && detail::serializable<Allocator>();
  using deserialized_type = D;
  static constexpr std::size_t static_bound = npos;

  static constexpr std::size_t bound(std::size_t at, Container const& object) {
    at = detail::serialized_bound(at, object.hash_function(), object.key_eq(), object.get_allocator());
    return detail::node_container_bound<Element>(bound_of_count(at), object);
  }
  static void write(writer& w, Container const& object) {
    detail::serialize(w, object.hash_function());
    detail::serialize(w, object.key_eq());
    detail::serialize(w, object.get_allocator());
    detail::write_count(w, object.size());
    for (auto const& element : object) Element::write(w, element);
  }
  static D value(reader& r) {
    auto const hash = detail::read_value<Hash>(r);
    auto const equal = detail::read_value<Equal>(r);
    auto const allocator = detail::read_value<Allocator>(r);
    std::size_t const count = detail::read_count(r, Element::minimum());
    D result(count, hash, equal, allocator);
    for (std::size_t i = 0; i < count; ++i) Element::append(r, result);
    return result;
  }
};

template <typename K, typename C, typename A>
struct std_codec<std::set<K, C, A>>
    : ordered_codec<std::set<K, C, A>, std::set<mapped_t<K>, mapped_t<C>, mapped_t<A>>, set_element<K>, C,
                    A> {};
template <typename K, typename C, typename A>
struct std_codec<std::multiset<K, C, A>>
    : ordered_codec<std::multiset<K, C, A>, std::multiset<mapped_t<K>, mapped_t<C>, mapped_t<A>>,
                    set_element<K>, C, A> {};
template <typename K, typename T, typename C, typename A>
struct std_codec<std::map<K, T, C, A>>
    : ordered_codec<std::map<K, T, C, A>, std::map<mapped_t<K>, mapped_t<T>, mapped_t<C>, mapped_t<A>>,
                    map_element<K, T>, C, A> {};
template <typename K, typename T, typename C, typename A>
struct std_codec<std::multimap<K, T, C, A>>
    : ordered_codec<std::multimap<K, T, C, A>,
                    std::multimap<mapped_t<K>, mapped_t<T>, mapped_t<C>, mapped_t<A>>, map_element<K, T>, C,
                    A> {};

template <typename K, typename H, typename E, typename A>
struct std_codec<std::unordered_set<K, H, E, A>>
    : unordered_codec<std::unordered_set<K, H, E, A>,
                      std::unordered_set<mapped_t<K>, mapped_t<H>, mapped_t<E>, mapped_t<A>>, set_element<K>,
                      H, E, A> {};
template <typename K, typename H, typename E, typename A>
struct std_codec<std::unordered_multiset<K, H, E, A>>
    : unordered_codec<std::unordered_multiset<K, H, E, A>,
                      std::unordered_multiset<mapped_t<K>, mapped_t<H>, mapped_t<E>, mapped_t<A>>,
                      set_element<K>, H, E, A> {};
template <typename K, typename T, typename H, typename E, typename A>
struct std_codec<std::unordered_map<K, T, H, E, A>>
    : unordered_codec<std::unordered_map<K, T, H, E, A>,
                      std::unordered_map<mapped_t<K>, mapped_t<T>, mapped_t<H>, mapped_t<E>, mapped_t<A>>,
                      map_element<K, T>, H, E, A> {};
template <typename K, typename T, typename H, typename E, typename A>
struct std_codec<std::unordered_multimap<K, T, H, E, A>>
    : unordered_codec<
          std::unordered_multimap<K, T, H, E, A>,
          std::unordered_multimap<mapped_t<K>, mapped_t<T>, mapped_t<H>, mapped_t<E>, mapped_t<A>>,
          map_element<K, T>, H, E, A> {};

}  // namespace upcxx::inline UPCXX_MODE::detail
