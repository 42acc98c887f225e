#pragma once

/// Views: sequences that are sent without their container and received without building one.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <upcxx/detail/std_parts.hpp>
#include <upcxx/serialization.hpp>

namespace atl::serialization {
/// `view::at` with a bad index. Throws std::out_of_range.
[[noreturn]] ATOLL_EXPORT ATOLL_COLD void throw_view_range(std::size_t index, std::size_t size);
}  // namespace atl::serialization

namespace upcxx::inline UPCXX_MODE {

/// Iterates over elements that are still serialized, in the buffer of the rpc that brought them. Each
/// dereference deserializes anew; copies are independent; the buffer lives as the view does.
template <typename T>
class deserializing_iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = deserialized_type_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = value_type*;
  using reference = value_type;

  deserializing_iterator() noexcept = default;

  /// The current element, by value.
  value_type operator*() const {
    detail::reader r = element();
    return detail::read_value<T>(r);
  }

  /// Constructs the current element in raw memory (see `read_into` about typed pointers) or in an optional.
  template <typename Place>
  deserialized_type_t<T>* deserialize_into(Place* storage) const {
    return element().template read_into<T>(storage);
  }
  template <typename U>
  deserialized_type_t<T>* deserialize_into(std::optional<U>& storage) const {
    return element().template read_into<T>(storage);
  }
  /// Replaces an existing object, given by address, by itself, or in an optional.
  template <typename Target>
  deserialized_type_t<T>* deserialize_overwrite(Target&& target) const {
    return element().template read_overwrite<T>(std::forward<Target>(target));
  }

  deserializing_iterator& operator++() noexcept {
    offset_ = detail::align_up(element_end(), alignof(std::uint64_t));
    return *this;
  }
  deserializing_iterator operator++(int) noexcept {
    deserializing_iterator before = *this;
    ++*this;
    return before;
  }

  friend bool operator==(deserializing_iterator const& a, deserializing_iterator const& b) noexcept {
    return a.base_ + a.offset_ == b.base_ + b.offset_;
  }
  friend bool operator!=(deserializing_iterator const& a, deserializing_iterator const& b) noexcept {
    return !(a == b);
  }
  /// Order in the view that both iterate over.
  friend std::strong_ordering operator<=>(deserializing_iterator const& a,
                                          deserializing_iterator const& b) noexcept {
    return a.base_ + a.offset_ <=> b.base_ + b.offset_;
  }

 private:
  template <typename>
  friend struct detail::codec;

  deserializing_iterator(std::byte const* base, std::size_t offset) noexcept : base_(base), offset_(offset) {}

  /// Each element is preceded by its size, so that it can be passed over unread, or half read.
  std::size_t element_end() const noexcept {
    detail::reader r(base_, offset_);
    auto const bytes = static_cast<std::size_t>(detail::read_value<std::uint64_t>(r));
    return r.offset() + bytes;
  }
  detail::reader element() const noexcept {
    return detail::reader(base_, offset_ + sizeof(std::uint64_t), element_end());
  }

  std::byte const* base_ = nullptr;
  std::size_t offset_ = 0;  ///< of the element's size
};

namespace detail {
template <typename T, bool Trivial>
struct view_default_iterator {
  using type = deserializing_iterator<T>;
};
template <typename T>
struct view_default_iterator<T, true> {
  using type = T*;
};

/// Makes views out of their parts.
struct view_access {
  template <typename View, typename Iter>
  static View make(Iter begin, Iter end, std::size_t size) {
    return View(std::move(begin), std::move(end), size);
  }
};
}  // namespace detail

/// A sequence that somebody else owns. As an argument of an rpc its elements are serialized out of the
/// iterators, and the callback gets a `view<T>` over the received buffer, which lives until the callback
/// returns or, if it returns a future, until that is ready.
template <typename T, typename IterType>
class view {
 public:
  using value_type = T;
  using iterator = IterType;
  using const_iterator = IterType;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  view() : begin_(), end_(), size_(0) {}

  iterator begin() const { return begin_; }
  iterator end() const { return end_; }
  size_type size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

 private:
  friend struct detail::view_access;
  view(IterType begin, IterType end, size_type size)
      : begin_(std::move(begin)), end_(std::move(end)), size_(size) {}

  IterType begin_;
  IterType end_;
  size_type size_;
};

/// A view of contiguous elements. Access is const; a receiver that owns no other copy may cast that away and
/// modify the elements in the buffer.
template <typename T>
class view<T, T*> {
 public:
  using value_type = T;
  using pointer = T*;
  using const_pointer = T const*;
  using reference = T&;
  using const_reference = T const&;
  using const_iterator = T const*;
  using iterator = const_iterator;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using reverse_iterator = const_reverse_iterator;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  view() noexcept : data_(nullptr), size_(0) {}

  const_iterator begin() const noexcept { return data_; }
  const_iterator cbegin() const noexcept { return data_; }
  const_iterator end() const noexcept { return data_ + size_; }
  const_iterator cend() const noexcept { return data_ + size_; }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  const_reverse_iterator crbegin() const noexcept { return rbegin(); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }
  const_reverse_iterator crend() const noexcept { return rend(); }

  bool empty() const noexcept { return size_ == 0; }
  size_type size() const noexcept { return size_; }

  const_reference operator[](size_type n) const noexcept {
    ATOLL_CHECK(n < size_, "view: the index is beyond the end");
    return data_[n];
  }
  /// @throws std::out_of_range unless n < size().
  const_reference at(size_type n) const {
    if (n >= size_) atl::serialization::throw_view_range(n, size_);
    return data_[n];
  }
  const_reference front() const noexcept { return (*this)[0]; }
  const_reference back() const noexcept { return (*this)[size_ - 1]; }
  const_pointer data() const noexcept { return data_; }

 private:
  friend struct detail::view_access;
  view(T* begin, T*, size_type size) noexcept : data_(begin), size_(size) {}

  T* data_;
  size_type size_;
};

/// A view of the elements in [begin, end), which must stay as they are until they are serialized: until the
/// rpc that sends the view returns. `size`, if given, is the true distance.
template <typename IterType>
view<typename std::iterator_traits<IterType>::value_type, IterType> make_view(
    IterType begin, IterType end, typename std::iterator_traits<IterType>::difference_type size) {
  using element = typename std::iterator_traits<IterType>::value_type;
  static_assert(detail::require_serializable<element>::value);
#if ATOLL_CHECKED
  if constexpr (std::is_base_of_v<std::forward_iterator_tag,
                                  typename std::iterator_traits<IterType>::iterator_category>) {
    ATOLL_CHECK(std::distance(begin, end) == size,
                "make_view: there are %td elements, but the size is given as %td",
                static_cast<std::ptrdiff_t>(std::distance(begin, end)), static_cast<std::ptrdiff_t>(size));
  }
#endif
  return detail::view_access::make<view<element, IterType>>(std::move(begin), std::move(end),
                                                            static_cast<std::size_t>(size));
}
template <typename IterType>
view<typename std::iterator_traits<IterType>::value_type, IterType> make_view(IterType begin, IterType end) {
  auto const size = std::distance(begin, end);
  return upcxx::make_view(std::move(begin), std::move(end), size);
}

/// A view of all elements of a container.
template <typename Container>
view<typename Container::value_type, typename Container::const_iterator> make_view(
    Container const& container) {
  return upcxx::make_view(
      container.cbegin(), container.cend(),
      static_cast<typename std::iterator_traits<typename Container::const_iterator>::difference_type>(
          container.size()));
}

namespace detail {

template <typename Iter>
inline constexpr bool is_deserializing_iterator = false;
template <typename T>
inline constexpr bool is_deserializing_iterator<deserializing_iterator<T>> = true;

/// count, then
///   trivial elements: the elements as they are in memory, used in place by the receiver;
///   others: bytes until the end of the view, then for each element its size, and itself.
template <typename T, typename Iter>
struct codec<view<T, Iter>> : reads_by_value<codec<view<T, Iter>>, view<T>> {
  static constexpr bool serializable = detail::serializable<T>();
  using deserialized_type = view<T>;
  static constexpr std::size_t static_bound = npos;
  static constexpr bool in_place = is_trivially_serializable<T>::value;
  using element = std::remove_const_t<T>;

  static constexpr std::size_t bound(std::size_t at, view<T, Iter> const& object) {
    std::size_t const count = object.size();
    at = bound_of_count(at);
    if constexpr (in_place) {
      return count == 0 ? at : align_up(at, alignof(T)) + count * sizeof(T);
    } else {
      at += sizeof(std::uint64_t);
      if constexpr (static_bound_v<T> != npos) {
        return at + count * (detail::add_bounds(static_bound_v<T>, 2 * sizeof(std::uint64_t)));
      } else if constexpr (std::random_access_iterator<typename view<T, Iter>::iterator>) {
        for (element const& e : object) {
          at = detail::bound_after<T>(align_up(at, alignof(std::uint64_t)) + sizeof(std::uint64_t), e);
          if (at == npos) return npos;
        }
        return align_up(at, alignof(std::uint64_t));
      } else {
        return npos;
      }
    }
  }

  static void write(writer& w, view<T, Iter> const& object) {
    using iterator = typename view<T, Iter>::iterator;
    static_assert(!is_deserializing_iterator<iterator> || !asymmetric<T>(),
                  "a received view whose elements deserialize to another type cannot be sent on");
    std::size_t const count = object.size();
    write_count(w, count);
    if constexpr (in_place) {
      if (count == 0) return;
      std::byte* to = w.place(count * sizeof(T), alignof(T));
      if constexpr (is_block_of<element, iterator>) {
        std::memcpy(to, std::to_address(object.begin()), count * sizeof(T));
      } else {
        for (auto it = object.begin(), end = object.end(); it != end; ++it, to += sizeof(T)) {
          element const& e = *it;
          std::memcpy(to, std::addressof(e), sizeof(T));
        }
      }
    } else {
      auto total = w.reserve<std::uint64_t>();
      std::size_t const start = w.size();
      for (auto it = object.begin(), end = object.end(); it != end; ++it) {
        auto size = w.reserve<std::uint64_t>();
        std::size_t const before = w.size();
        element const& e = *it;
        codec<element>::write(w, e);
        w.commit(size, w.size() - before);
      }
      w.place(0, alignof(std::uint64_t));
      w.commit(total, w.size() - start);
    }
  }

  static constexpr bool may_follow =
      in_place && !std::is_empty_v<T> && is_block_of<element, typename view<T, Iter>::iterator>;
  static std::span<std::byte const> elements(view<T, Iter> const& object) requires(may_follow) {
    if (object.size() == 0) return {};
    return std::as_bytes(std::span<element const>(std::to_address(object.begin()), object.size()));
  }
  static void write_but_elements(writer& w, view<T, Iter> const& object) requires(may_follow) {
    detail::write_count(w, object.size());
    w.place(object.size() * sizeof(T), alignof(T));
  }

  static view<T> value(reader& r) {
    if constexpr (in_place) {
      std::size_t const count = read_count(r, sizeof(T));
      if (count == 0) return view<T>();
      // Not const: the receiver may use the buffer as its own.
      T* const first = reinterpret_cast<T*>(const_cast<std::byte*>(r.take(count, sizeof(T), alignof(T))));
      if (r.growing()) [[unlikely]]
        r.await_taken();
      return view_access::make<view<T>>(first, first + count, count);
    } else {
      std::size_t const count = read_count(r, sizeof(std::uint64_t));
      auto const bytes = static_cast<std::size_t>(read_value<std::uint64_t>(r));
      std::size_t const start = r.offset();
      r.take(bytes, 1);
      return view_access::make<view<T>>(deserializing_iterator<T>(r.base(), start),
                                        deserializing_iterator<T>(r.base(), r.offset()), count);
    }
  }

  static void skip(reader& r) { value(r); }
};

}  // namespace detail
}  // namespace upcxx::inline UPCXX_MODE
