#pragma once

/// The macros of class serialization.
///
/// Each leaves a nested type `upcxx_serialization`, so that C++ name lookup does the work: the most derived
/// class wins, derived classes inherit, and two mechanisms in one class are a redefinition. What is listed is
/// passed to a visitor by a generic lambda, since classes inside functions cannot have member templates. The
/// lambda evaluates the list within one full expression: temporaries in it live until the visitor returns.
///
/// Every expansion ends in a member function, after which a semicolon may or may not follow.

#include <cstddef>
#include <type_traits>

#include <upcxx/detail/serialization/traits.hpp>
#include <upcxx/detail/std_parts.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// Stands for the base class subobject `B` in a list of fields or values.
template <typename B>
class base_ref {
 public:
  explicit base_ref(B const& base) noexcept : base_(std::addressof(base)) {
    static_assert(std::is_class_v<B>, "UPCXX_SERIALIZED_BASE needs the name of a base class");
  }

  B const& get() const noexcept { return *base_; }
  /// The base of an object that is being deserialized, and so is not const.
  B& get_mutable() const noexcept { return const_cast<B&>(*base_); }

 private:
  B const* base_;
};

template <typename T>
inline constexpr bool is_base_ref = false;
template <typename B>
inline constexpr bool is_base_ref<base_ref<B>> = true;

}  // namespace upcxx::inline UPCXX_MODE::detail

// decltype(a), decltype(b), ... for up to 341 arguments.
#define ATOLL_PP_PARENTHESES ()
#define ATOLL_PP_SCAN(...) ATOLL_PP_SCAN4(ATOLL_PP_SCAN4(ATOLL_PP_SCAN4(ATOLL_PP_SCAN4(__VA_ARGS__))))
#define ATOLL_PP_SCAN4(...) ATOLL_PP_SCAN3(ATOLL_PP_SCAN3(ATOLL_PP_SCAN3(ATOLL_PP_SCAN3(__VA_ARGS__))))
#define ATOLL_PP_SCAN3(...) ATOLL_PP_SCAN2(ATOLL_PP_SCAN2(ATOLL_PP_SCAN2(ATOLL_PP_SCAN2(__VA_ARGS__))))
#define ATOLL_PP_SCAN2(...) ATOLL_PP_SCAN1(ATOLL_PP_SCAN1(ATOLL_PP_SCAN1(ATOLL_PP_SCAN1(__VA_ARGS__))))
#define ATOLL_PP_SCAN1(...) __VA_ARGS__
#define ATOLL_PP_DECLTYPES(...) __VA_OPT__(ATOLL_PP_SCAN(ATOLL_PP_DECLTYPE_STEP(__VA_ARGS__)))
#define ATOLL_PP_DECLTYPE_STEP(first, ...) \
  decltype(first) __VA_OPT__(, ATOLL_PP_DECLTYPE_AGAIN ATOLL_PP_PARENTHESES(__VA_ARGS__))
#define ATOLL_PP_DECLTYPE_AGAIN() ATOLL_PP_DECLTYPE_STEP

/// In the public section of a class: objects are serialized by the named non-static data members and
/// UPCXX_SERIALIZED_BASE(...)s. The receiver default-constructs an object (the constructor may be private)
/// and replaces these members; the others keep what the constructor gave them.
#define UPCXX_SERIALIZED_FIELDS(...)                                                                     \
  friend struct ::upcxx::detail::access;                                                                 \
  struct upcxx_serialization : ::upcxx::detail::fields_mechanism {};                                     \
  auto atoll_serialized_parts_() {                                                                       \
    return [this](auto&& atoll_visitor_) -> decltype(auto) {                                             \
      (void)this;                                                                                        \
      return atoll_visitor_(::upcxx::detail::type_list<ATOLL_PP_DECLTYPES(__VA_ARGS__)>() __VA_OPT__(, ) \
                                __VA_ARGS__);                                                            \
    };                                                                                                   \
  }

/// In the public section of a class: objects are serialized as the values of these expressions, which may use
/// what a const member function may use. The receiver passes them, as rvalues and in order, to a constructor
/// (which may be private).
#define UPCXX_SERIALIZED_VALUES(...)                                 \
  friend struct ::upcxx::detail::access;                             \
  struct upcxx_serialization : ::upcxx::detail::values_mechanism {}; \
  auto atoll_serialized_parts_() const {                             \
    return [this](auto&& atoll_visitor_) -> decltype(auto) {         \
      (void)this;                                                    \
      return atoll_visitor_(__VA_ARGS__);                            \
    };                                                               \
  }

/// In the public section of a class: it is not serializable, whatever its bases are.
#define UPCXX_SERIALIZED_DELETE()                                     \
  struct upcxx_serialization : ::upcxx::detail::deleted_mechanism {}; \
  static constexpr bool atoll_serialized_parts_() { return false; }

/// Among the arguments of UPCXX_SERIALIZED_FIELDS or _VALUES: the subobject of a base class.
#define UPCXX_SERIALIZED_BASE(...) (::upcxx::detail::base_ref<__VA_ARGS__>(*this))
