#pragma once

/// Codecs of pairs, tuples, arrays, reference wrappers, allocators and the stateless functors of containers.

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <upcxx/detail/serialization/codec.hpp>
#include <upcxx/detail/std_parts.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

// --- std::pair, std::tuple: their elements in order
// -------------------------------------------------------------------

/// Elements are read into their final types first and moved into `D`, whose constructor takes them all at
/// once: that serves const elements, and leaves no order of evaluation to chance.
template <typename Product, typename D, typename... T>
struct product_codec : reads_by_value<product_codec<Product, D, T...>, D> {
  static constexpr bool serializable = (detail::serializable<T>() && ...);
  using deserialized_type = D;

  static constexpr std::size_t sum_of_bounds() {
    std::size_t sum = 0;
    ((sum = detail::add_bounds(sum, static_bound_v<T>)), ...);
    return sum;
  }
  static constexpr std::size_t static_bound = sum_of_bounds();

  static constexpr std::size_t bound(std::size_t at, Product const& object) {
    return each(object, [at](auto const&... element) { return detail::serialized_bound(at, element...); });
  }
  static void write(writer& w, Product const& object) {
    each(object, [&w](auto const&... element) { (detail::serialize(w, element), ...); });
  }
  static D value(reader& r) {
    temporary_elements elements(r);
    return elements->apply([](deserialized_t<T>&&... element) { return D(std::move(element)...); });
  }

 private:
  template <typename Function>
  static constexpr decltype(auto) each(Product const& object, Function&& function) {
    return std::apply(std::forward<Function>(function), object);
  }

  /// On the stack if small.
  class temporary_elements {
   public:
    explicit temporary_elements(reader& r) : elements_(::new (memory_.get()) deserialized_tuple<T...>(r)) {}
    temporary_elements(temporary_elements const&) = delete;
    temporary_elements& operator=(temporary_elements const&) = delete;
    ~temporary_elements() { std::destroy_at(elements_); }
    deserialized_tuple<T...>* operator->() { return elements_; }

   private:
    scratch<deserialized_tuple<T...>> memory_;
    deserialized_tuple<T...>* elements_;
  };
};

template <typename A, typename B>
struct std_codec<std::pair<A, B>>
    : product_codec<std::pair<A, B>, std::pair<mapped_t<A>, mapped_t<B>>, A, B> {};

template <typename... T>
struct std_codec<std::tuple<T...>> : product_codec<std::tuple<T...>, std::tuple<mapped_t<T>...>, T...> {};

// --- std::array
// -------------------------------------------------------------------------------------------------------

template <typename T, std::size_t N>
struct array_codec : reads_in_place<array_codec<T, N>, std::array<mapped_t<T>, N>> {
  static constexpr bool serializable = detail::serializable<T>();
  using deserialized_type = std::array<mapped_t<T>, N>;
  static constexpr std::size_t static_bound = detail::multiply_bound(static_bound_v<T>, N);

  static constexpr std::size_t bound(std::size_t at, std::array<T, N> const& object) {
    return detail::range_bound<std::remove_const_t<T>>(at, object, N);
  }
  static void write(writer& w, std::array<T, N> const& object) {
    for (T const& element : object) detail::serialize(w, element);
  }
  static deserialized_type* read(reader& r, void* raw) {
    using element = std::remove_const_t<mapped_t<T>>;
    // An array is its elements; building them where they are needs neither a default constructor nor moves.
    for (std::size_t i = 0; i < N; ++i) detail::deserialize_into<T>(r, static_cast<element*>(raw) + i);
    return std::launder(static_cast<deserialized_type*>(raw));
  }
};

template <typename T, std::size_t N>
struct std_codec<std::array<T, N>> : array_codec<T, N> {};

// --- std::reference_wrapper: what it refers to
// ------------------------------------------------------------------------

template <typename T>
struct std_codec<std::reference_wrapper<T>> {
  static constexpr bool serializable = detail::serializable<T>();
  using deserialized_type = mapped_t<T&>;
  static constexpr std::size_t static_bound = static_bound_v<T>;
  static constexpr std::size_t bound(std::size_t at, std::reference_wrapper<T> const& object) {
    return detail::bound_after<T>(at, object.get());
  }
  static void write(writer& w, std::reference_wrapper<T> const& object) {
    codec_of<T>::write(w, object.get());
  }
  static auto read(reader& r, void* raw) { return codec_of<T>::read(r, raw); }
  static auto value(reader& r) { return codec_of<T>::value(r); }
};

// --- Allocators and functors of elements that arrive as another type
// --------------------------------------------------

template <typename T>
struct std_codec<std::allocator<T>> : stateless_codec<std::allocator<T>, std::allocator<mapped_t<T>>> {};
template <typename T>
struct trivial_by_default<std::allocator<T>> : never_trivial {};

/// `less<T>` arrives as `less<U>` where `T` arrives as `U`; all else about such functors
/// is the rule for classes.
template <typename Functor, bool Asymmetric>
struct functor_trivially : std::bool_constant<!Asymmetric && std::is_trivially_copyable_v<Functor> &&
                                              !mentions_mechanism<Functor>()> {};

#define ATOLL_MAPPED_FUNCTOR(functor)                                                                    \
  template <typename T>                                                                                  \
  struct trivial_by_default<std::functor<T>> : functor_trivially<std::functor<T>, asymmetric<T>()> {};   \
  template <typename T>                                                                                  \
  struct std_codec<std::functor<T>>                                                                      \
      : std::conditional_t<asymmetric<T>(), stateless_codec<std::functor<T>, std::functor<mapped_t<T>>>, \
                           no_codec> {};
ATOLL_MAPPED_FUNCTOR(hash)
ATOLL_MAPPED_FUNCTOR(equal_to)
ATOLL_MAPPED_FUNCTOR(not_equal_to)
ATOLL_MAPPED_FUNCTOR(less)
ATOLL_MAPPED_FUNCTOR(greater)
ATOLL_MAPPED_FUNCTOR(less_equal)
ATOLL_MAPPED_FUNCTOR(greater_equal)
#undef ATOLL_MAPPED_FUNCTOR

}  // namespace upcxx::inline UPCXX_MODE::detail
