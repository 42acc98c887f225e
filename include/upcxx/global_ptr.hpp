#pragma once

/// Global pointers: addresses of objects in the shared memory of any process (specification, chapter 3).
///
/// A global pointer holds the rank of the owner, which of the owner's segments is meant, the kind of memory
/// and an address in the owner's terms: for host memory the offset in the owner's region, for devices the
/// device address. The same bits mean the same object in every process. Null is all zero, whatever the type.
///
/// Everything here is pure arithmetic, makes no progress, and may be called by any thread.

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>  // also declares std::hash, at a fifth of <functional>'s cost
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <atoll/engine/host_map.hpp>
#include <upcxx/fwd.hpp>

namespace atl::rt {

/// Text of a global pointer; equal for equal pointers and different for different ones.
struct global_ptr_text {
  char characters[80];  ///< ends with 0
};
ATOLL_EXPORT global_ptr_text describe_global_ptr(std::uint64_t owner, std::uint64_t address) noexcept;

}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE {

namespace detail {

/// What a program passes to say that it knows what it does: see <atoll/global_ptr_of.hpp>.
struct internal_only {};

/// The way of the library's own headers to the parts of a global pointer.
struct global_ptr_access {
  /// Rank, segment and kind in one word, in this order from the low end: 32, 16 and 8 bits, then 8 zero bits.
  ATOLL_ANYWHERE static constexpr std::uint64_t pack(std::uint32_t rank, std::uint16_t segment,
                                                     memory_kind kind) noexcept {
    return rank | std::uint64_t{segment} << 32 | std::uint64_t{static_cast<std::uint8_t>(kind)} << 48;
  }
  template <typename T, memory_kind Kind>
  ATOLL_ANYWHERE static constexpr global_ptr<T, Kind> make(std::uint64_t owner,
                                                           std::uint64_t address) noexcept {
    return address == 0 ? global_ptr<T, Kind>() : global_ptr<T, Kind>(owner, address);
  }
  /// Pointer to host memory at `offset` in the region of `rank`.
  template <typename T>
  ATOLL_ANYWHERE static constexpr global_ptr<T> make_host(std::uint32_t rank, std::uint64_t offset) noexcept {
    return global_ptr<T>(pack(rank, 0, memory_kind::host), offset);
  }
  /// Pointer to device memory; `segment` tells the owner's device segments apart.
  template <typename T, memory_kind Kind>
  ATOLL_ANYWHERE static constexpr global_ptr<T, Kind> make_device(std::uint32_t rank, std::uint16_t segment,
                                                                  memory_kind kind,
                                                                  std::uint64_t device_address) noexcept {
    return make<T, Kind>(pack(rank, segment, kind), device_address);
  }
  template <typename T, memory_kind Kind>
  ATOLL_ANYWHERE static constexpr std::uint64_t owner(global_ptr<T, Kind> const& pointer) noexcept {
    return pointer.owner_;
  }
  template <typename T, memory_kind Kind>
  ATOLL_ANYWHERE static constexpr std::uint64_t address(global_ptr<T, Kind> const& pointer) noexcept {
    return pointer.address_;
  }
  template <typename T, memory_kind Kind>
  ATOLL_ANYWHERE static constexpr std::uint32_t rank(global_ptr<T, Kind> const& pointer) noexcept {
    return static_cast<std::uint32_t>(pointer.owner_);
  }
  template <typename T, memory_kind Kind>
  ATOLL_ANYWHERE static constexpr std::uint16_t segment(global_ptr<T, Kind> const& pointer) noexcept {
    return static_cast<std::uint16_t>(pointer.owner_ >> 32);
  }
};

/// Distance in bytes by which static_cast<To*> moves a From*. Found by casting an address that no object
/// has, so nothing may be read there: not by a virtual base, and not by a sanitizer that looks
/// for the dynamic type.
template <typename To, typename From>
__attribute__((no_sanitize("undefined"))) std::uint64_t static_cast_distance() noexcept {
  constexpr std::uintptr_t nowhere = std::uintptr_t{1} << 30;
  auto* const from = reinterpret_cast<From*>(nowhere);
  auto const* const to = static_cast<To*>(from);
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(to)) - nowhere;
}

template <typename To, typename From>
concept static_castable = requires(From* pointer) {
  static_cast<To*>(pointer);
};
template <typename To, typename From>
concept reinterpret_castable = requires(From* pointer) {
  reinterpret_cast<To*>(pointer);
};
template <typename To, typename From>
concept const_castable = requires(From* pointer) {
  const_cast<To*>(pointer);
};

template <typename To, typename From>
constexpr bool moves_by_static_cast() noexcept {
  if constexpr (std::is_class_v<To> && std::is_class_v<From>) {
    return !std::is_same_v<std::remove_cv_t<To>, std::remove_cv_t<From>>;
  } else {
    return false;
  }
}

/// To is a base of From that only the object itself can find (or that is ambiguous: no cast then anyway).
template <typename To, typename From>
constexpr bool is_virtual_upcast() noexcept {
  if constexpr (moves_by_static_cast<To, From>()) {
    return std::is_base_of_v<To, From> && !static_castable<From const volatile, To>;
  } else {
    return false;
  }
}

}  // namespace detail

/// Global pointer to constant objects; base of the pointer to mutable ones, so that the latter converts to it
/// also where a template deduces its arguments. See the primary template below.
template <typename T, memory_kind Kind>
struct global_ptr<T const, Kind> {
  static_assert(!std::is_volatile_v<T>, "global_ptr<T>: T must not be volatile");

  using element_type = T const;
  using pointer_type = T const*;
  /// Memory that pointers of this type may refer to.
  static constexpr memory_kind kind = Kind;

  /// Null. May be called before init and after finalize.
  ATOLL_ANYWHERE constexpr global_ptr(std::nullptr_t = nullptr) noexcept {}
  /// From a pointer of any kind.
  template <memory_kind From>
  requires(Kind == memory_kind::any && From != memory_kind::any) ATOLL_ANYWHERE
      constexpr global_ptr(global_ptr<T const, From> other) noexcept
      : owner_(detail::global_ptr_access::owner(other)),
        address_(detail::global_ptr_access::address(other)) {}

  /// atl::global_ptr_of and atl::owner_address by the names that published libraries use; <upcxx/upcxx.hpp> or
  /// <atoll/global_ptr_of.hpp> defines them.
  global_ptr(detail::internal_only, intrank_t rank, T const* address);
  [[nodiscard]] T const* raw_internal(detail::internal_only) const;

  [[nodiscard]] ATOLL_ANYWHERE constexpr bool is_null() const noexcept { return address_ == 0; }
  ATOLL_ANYWHERE constexpr explicit operator bool() const noexcept { return address_ != 0; }

  /// Kind of the memory referred to; `host` for null of kind `any`.
  [[nodiscard]] constexpr memory_kind dynamic_kind() const noexcept {
    if constexpr (Kind != memory_kind::any) {
      return Kind;
    } else {
      return is_null() ? memory_kind::host : static_cast<memory_kind>(owner_ >> 48);
    }
  }

  /// World rank of the owner; 0 for null.
  [[nodiscard]] ATOLL_ANYWHERE constexpr intrank_t where() const noexcept {
    return static_cast<intrank_t>(owner_);
  }

  /// True if this process can load and store there: null, and host memory of the local team. False for device
  /// memory, also one's own.
  [[nodiscard]] bool is_local() const noexcept {
    return is_null() || (dynamic_kind() == memory_kind::host &&
                         atl::engine::hosts.is_local(static_cast<std::uint32_t>(owner_)));
  }

  /// Address in this process; null for null. Requires is_local().
  [[nodiscard]] T const* local() const noexcept { return static_cast<T const*>(local_address()); }

  /// Arithmetic as on T const*: within one array, or by 0. T must be complete.
  [[nodiscard]] ATOLL_ANYWHERE constexpr global_ptr operator+(std::ptrdiff_t diff) const noexcept {
    return {owner_, moved(diff)};
  }
  [[nodiscard]] ATOLL_ANYWHERE constexpr global_ptr operator-(std::ptrdiff_t diff) const noexcept {
    return {owner_, moved_back(diff)};
  }
  ATOLL_ANYWHERE constexpr global_ptr& operator+=(std::ptrdiff_t diff) noexcept {
    address_ = moved(diff);
    return *this;
  }
  ATOLL_ANYWHERE constexpr global_ptr& operator-=(std::ptrdiff_t diff) noexcept {
    address_ = moved_back(diff);
    return *this;
  }
  ATOLL_ANYWHERE constexpr global_ptr& operator++() noexcept { return *this += 1; }
  ATOLL_ANYWHERE constexpr global_ptr& operator--() noexcept { return *this -= 1; }
  ATOLL_ANYWHERE constexpr global_ptr operator++(int) noexcept {
    global_ptr const before = *this;
    *this += 1;
    return before;
  }
  ATOLL_ANYWHERE constexpr global_ptr operator--(int) noexcept {
    global_ptr const before = *this;
    *this -= 1;
    return before;
  }
  /// Elements between two pointers into one array; 0 for equal pointers.
  [[nodiscard]] constexpr std::ptrdiff_t operator-(global_ptr rhs) const noexcept {
    ATOLL_CHECK(owner_ == rhs.owner_,
                "global_ptr: difference of pointers into memory of different ranks or devices");
    return static_cast<std::ptrdiff_t>(address_ - rhs.address_) / static_cast<std::ptrdiff_t>(sizeof(T));
  }

  /// Total order over all pointers of a type; within an array the order of the elements. Null comes first.
  [[nodiscard]] ATOLL_ANYWHERE constexpr bool operator==(global_ptr rhs) const noexcept {
    return owner_ == rhs.owner_ && address_ == rhs.address_;
  }
  [[nodiscard]] constexpr std::strong_ordering operator<=>(global_ptr rhs) const noexcept {
    if (owner_ != rhs.owner_) return owner_ <=> rhs.owner_;
    return address_ <=> rhs.address_;
  }

 private:
  friend struct detail::global_ptr_access;
  friend struct global_ptr<T, Kind>;

  ATOLL_ANYWHERE constexpr global_ptr(std::uint64_t owner, std::uint64_t address) noexcept
      : owner_(owner), address_(address) {}

  [[nodiscard]] void* local_address() const noexcept {
    ATOLL_CHECK(
        is_local(),
        "global_ptr::local: %s is not in host memory that this process can access; use rget, rput, copy "
        "or rpc, or ask is_local() first",
        atl::rt::describe_global_ptr(owner_, address_).characters);
    if (is_null()) return nullptr;
    return atl::engine::hosts.to_address(static_cast<std::uint32_t>(owner_), address_);
  }
  [[nodiscard]] ATOLL_ANYWHERE constexpr std::uint64_t moved(std::ptrdiff_t diff) const noexcept {
    ATOLL_CHECK(diff == 0 || !is_null(), "global_ptr: arithmetic on null: only 0 may be added");
    return address_ + static_cast<std::uint64_t>(diff) * sizeof(T);
  }
  [[nodiscard]] ATOLL_ANYWHERE constexpr std::uint64_t moved_back(std::ptrdiff_t diff) const noexcept {
    ATOLL_CHECK(diff == 0 || !is_null(), "global_ptr: arithmetic on null: only 0 may be added");
    return address_ - static_cast<std::uint64_t>(diff) * sizeof(T);
  }

  // In memory (little endian): rank 4 bytes, segment 2, kind 1, 0; then the address.
  std::uint64_t owner_ = 0;
  std::uint64_t address_ = 0;
};

/// Pointer to a T in the shared memory of some process, valid in every process of the job.
///
/// T may be incomplete except for arithmetic and member access; it may be const, not volatile, no reference.
/// `Kind` restricts the memory that can be meant; `memory_kind::any` restricts nothing. There is no
/// dereference: use local() where is_local(), else rget, rput, copy, rpc or atomics.
template <typename T, memory_kind Kind>
struct global_ptr : global_ptr<T const, Kind> {
 private:
  using base = global_ptr<T const, Kind>;

 public:
  using element_type = T;
  using pointer_type = T*;

  ATOLL_ANYWHERE constexpr global_ptr(std::nullptr_t = nullptr) noexcept {}
  template <memory_kind From>
  requires(Kind == memory_kind::any && From != memory_kind::any) ATOLL_ANYWHERE
      constexpr global_ptr(global_ptr<T, From> other) noexcept
      : base(detail::global_ptr_access::owner(other), detail::global_ptr_access::address(other)) {}

  global_ptr(detail::internal_only, intrank_t rank, T* address);
  [[nodiscard]] T* raw_internal(detail::internal_only) const;

  [[nodiscard]] T* local() const noexcept { return static_cast<T*>(this->local_address()); }

  using base::operator-;  // the difference of two pointers
  [[nodiscard]] ATOLL_ANYWHERE constexpr global_ptr operator+(std::ptrdiff_t diff) const noexcept {
    return {this->owner_, this->moved(diff)};
  }
  [[nodiscard]] ATOLL_ANYWHERE constexpr global_ptr operator-(std::ptrdiff_t diff) const noexcept {
    return {this->owner_, this->moved_back(diff)};
  }
  ATOLL_ANYWHERE constexpr global_ptr& operator+=(std::ptrdiff_t diff) noexcept {
    base::operator+=(diff);
    return *this;
  }
  ATOLL_ANYWHERE constexpr global_ptr& operator-=(std::ptrdiff_t diff) noexcept {
    base::operator-=(diff);
    return *this;
  }
  ATOLL_ANYWHERE constexpr global_ptr& operator++() noexcept { return *this += 1; }
  ATOLL_ANYWHERE constexpr global_ptr& operator--() noexcept { return *this -= 1; }
  ATOLL_ANYWHERE constexpr global_ptr operator++(int) noexcept {
    global_ptr const before = *this;
    *this += 1;
    return before;
  }
  ATOLL_ANYWHERE constexpr global_ptr operator--(int) noexcept {
    global_ptr const before = *this;
    *this -= 1;
    return before;
  }

 private:
  friend struct detail::global_ptr_access;

  ATOLL_ANYWHERE constexpr global_ptr(std::uint64_t owner, std::uint64_t address) noexcept
      : base(owner, address) {}
};

template <typename T, memory_kind Kind>
struct global_ptr<T&, Kind> {
  static_assert(!std::is_reference_v<T&>, "global_ptr<T>: T must not be a reference; drop the &");
};
template <typename T, memory_kind Kind>
struct global_ptr<T&&, Kind> {
  static_assert(!std::is_reference_v<T&&>, "global_ptr<T>: T must not be a reference; drop the &&");
};

static_assert(sizeof(global_ptr<int>) == 16 && alignof(global_ptr<int>) == 8);
static_assert(sizeof(global_ptr<int const, memory_kind::any>) == 16);
static_assert(std::is_trivially_copyable_v<global_ptr<int>> && std::is_standard_layout_v<global_ptr<int>>);
static_assert(std::is_trivially_destructible_v<global_ptr<int>>);
static_assert(std::is_convertible_v<global_ptr<int>, global_ptr<int const>> &&
              !std::is_convertible_v<global_ptr<int const>, global_ptr<int>>);

template <typename T, memory_kind Kind>
[[nodiscard]] ATOLL_ANYWHERE constexpr global_ptr<T, Kind> operator+(std::ptrdiff_t diff,
                                                                     global_ptr<T, Kind> pointer) noexcept {
  return pointer + diff;
}

/// Global pointer to an object in the shared heap of some process of the local team, also at a peer's
/// address. Null gives null. Any other address is an error; see try_global_ptr.
template <typename T>
[[nodiscard]] global_ptr<T> to_global_ptr(T* pointer) noexcept {
  if (pointer == nullptr) return nullptr;
  auto const place = atl::engine::hosts.from_address(pointer);
  ATOLL_CHECK(place.has_value(),
              "to_global_ptr: the address is in no shared heap of this host; objects there come "
              "from new_, new_array or allocate (try_global_ptr gives null instead)");
  return detail::global_ptr_access::make_host<T>(place->rank, place->offset);
}

/// The same, but null for addresses outside the shared heaps of the local team.
template <typename T>
[[nodiscard]] global_ptr<T> try_global_ptr(T* pointer) noexcept {
  if (pointer == nullptr) return nullptr;
  auto const place = atl::engine::hosts.from_address(pointer);
  if (!place.has_value()) return nullptr;
  return detail::global_ptr_access::make_host<T>(place->rank, place->offset);
}

/// The casts of raw pointers, on the address in the owner's memory. Null gives null.
template <typename T, typename U, memory_kind Kind>
[[nodiscard]] global_ptr<T, Kind> static_pointer_cast(global_ptr<U, Kind> pointer) noexcept {
  static_assert(
      detail::static_castable<T, U>,
      "static_pointer_cast<T>: static_cast from U* to T* is not well-formed for this global_ptr<U>");
  static_assert(
      !detail::is_virtual_upcast<T, U>(),
      "static_pointer_cast<T>: T is a virtual base, which only the object itself can find; cast the raw "
      "pointer on the owner and send the result");
  std::uint64_t address = detail::global_ptr_access::address(pointer);
  if constexpr (detail::static_castable<T, U> && detail::moves_by_static_cast<T, U>()) {
    if (address != 0) address += detail::static_cast_distance<T, U>();
  }
  return detail::global_ptr_access::make<T, Kind>(detail::global_ptr_access::owner(pointer), address);
}
template <typename T, typename U, memory_kind Kind>
[[nodiscard]] constexpr global_ptr<T, Kind> reinterpret_pointer_cast(global_ptr<U, Kind> pointer) noexcept {
  static_assert(detail::reinterpret_castable<T, U>,
                "reinterpret_pointer_cast<T>: reinterpret_cast from U* to T* is not well-formed "
                "for this global_ptr<U>");
  return detail::global_ptr_access::make<T, Kind>(detail::global_ptr_access::owner(pointer),
                                                  detail::global_ptr_access::address(pointer));
}
template <typename T, typename U, memory_kind Kind>
[[nodiscard]] constexpr global_ptr<T, Kind> const_pointer_cast(global_ptr<U, Kind> pointer) noexcept {
  static_assert(detail::const_castable<T, U>,
                "const_pointer_cast<T>: const_cast from U* to T* is not well-formed for this global_ptr<U>");
  return detail::global_ptr_access::make<T, Kind>(detail::global_ptr_access::owner(pointer),
                                                  detail::global_ptr_access::address(pointer));
}

/// Changes the kind of a pointer whose memory is known to be of kind `ToKind` (or null).
template <memory_kind ToKind, typename T, memory_kind FromKind>
[[nodiscard]] constexpr global_ptr<T, ToKind> static_kind_cast(global_ptr<T, FromKind> pointer) noexcept {
  static_assert(ToKind == FromKind || ToKind == memory_kind::any || FromKind == memory_kind::any,
                "static_kind_cast: memory of one specific kind is never of another; one of the kinds "
                "must be memory_kind::any");
  ATOLL_CHECK(pointer.is_null() || ToKind == memory_kind::any || pointer.dynamic_kind() == ToKind,
              "static_kind_cast: the memory is of another kind; use dynamic_kind_cast to find out");
  return detail::global_ptr_access::make<T, ToKind>(detail::global_ptr_access::owner(pointer),
                                                    detail::global_ptr_access::address(pointer));
}
/// The same, but null if the memory is of another kind.
template <memory_kind ToKind, typename T, memory_kind FromKind>
[[nodiscard]] constexpr global_ptr<T, ToKind> dynamic_kind_cast(global_ptr<T, FromKind> pointer) noexcept {
  static_assert(ToKind == FromKind || ToKind == memory_kind::any || FromKind == memory_kind::any,
                "dynamic_kind_cast: memory of one specific kind is never of another; one of the kinds "
                "must be memory_kind::any");
  if (ToKind != memory_kind::any && pointer.dynamic_kind() != ToKind) return nullptr;
  return detail::global_ptr_access::make<T, ToKind>(detail::global_ptr_access::owner(pointer),
                                                    detail::global_ptr_access::address(pointer));
}

/// Owner, kind, segment and address; the same text exactly for equal pointers.
template <typename Traits, typename T, memory_kind Kind>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             global_ptr<T, Kind> pointer) {
  return out << atl::rt::describe_global_ptr(detail::global_ptr_access::owner(pointer),
                                             detail::global_ptr_access::address(pointer))
                    .characters;
}

namespace detail {

/// T of an expression of type global_ptr<T, Kind>, possibly a reference to it.
template <typename Pointer>
using memberof_element = typename std::remove_cvref_t<Pointer>::element_type;

/// Pointer to the member at `offset`, of type U, or to its first scalar element where U is an array.
template <typename U, bool Checked, typename T, memory_kind Kind>
[[nodiscard]] constexpr auto memberof(global_ptr<T, Kind> pointer, std::size_t offset) noexcept {
  static_assert(!Checked || std::is_standard_layout_v<T>,
                "upcxx_memberof: the type of the object must be standard-layout; use upcxx_memberof_general");
  ATOLL_CHECK(!pointer.is_null(), "upcxx_memberof: the pointer is null");
  return global_ptr_access::make<std::remove_all_extents_t<U>, Kind>(
      global_ptr_access::owner(pointer), global_ptr_access::address(pointer) + offset);
}

/// Offset of what `select` finds in an object that is nowhere: for members at a constant offset.
template <typename T, typename Select>
__attribute__((no_sanitize("undefined"))) std::size_t memberof_constant_offset(Select select) noexcept {
  constexpr std::uintptr_t nowhere = std::uintptr_t{1} << 30;
  return reinterpret_cast<std::uintptr_t>(select(reinterpret_cast<T*>(nowhere))) - nowhere;
}

}  // namespace detail
}  // namespace upcxx::inline UPCXX_MODE

/// Type of a member as seen through the pointer's constness.
#define ATOLL_MEMBEROF_TYPE(pointer, ...)               \
  ::std::remove_pointer_t<decltype(__builtin_addressof( \
      ::std::declval<::upcxx::detail::memberof_element<decltype(pointer)>*>()->__VA_ARGS__))>
/// Captureless function from T* to the address of the member; a sanitizer must not look at the object there.
#define ATOLL_MEMBEROF_SELECT(pointer, ...)                                   \
  [](::upcxx::detail::memberof_element<decltype(pointer)> * memberof_object_) \
      __attribute__((no_sanitize("undefined"))) {                             \
    return __builtin_addressof(memberof_object_->__VA_ARGS__);                \
  }

/// Global pointer to a member of the object behind a global pointer. The object's type must be
/// standard-layout; the member may be nested (`a.b`) or an element (`c[2]`); for an array, the result points
/// to its first scalar. `pointer` is evaluated once. Pure arithmetic: also for objects not yet constructed
/// and on devices.
#define upcxx_memberof(pointer, ...)                                           \
  (::upcxx::detail::memberof<ATOLL_MEMBEROF_TYPE(pointer, __VA_ARGS__), true>( \
      (pointer), __builtin_offsetof(::upcxx::detail::memberof_element<decltype(pointer)>, __VA_ARGS__)))

/// The same for types that are not standard-layout but whose member lies at a constant offset nevertheless
/// (no virtual base on the way), which the caller vouches for.
#define upcxx_experimental_memberof_unsafe(pointer, ...)                                               \
  (::upcxx::detail::memberof<ATOLL_MEMBEROF_TYPE(pointer, __VA_ARGS__), false>(                        \
      (pointer),                                                                                       \
      ::upcxx::detail::memberof_constant_offset<::upcxx::detail::memberof_element<decltype(pointer)>>( \
          ATOLL_MEMBEROF_SELECT(pointer, __VA_ARGS__))))

/// Equal pointers hash equally, also across constness and from kind `any` to a specific one.
template <typename T, upcxx::memory_kind Kind>
struct std::hash<upcxx::global_ptr<T, Kind>> {
  std::size_t operator()(upcxx::global_ptr<T, Kind> const& pointer) const noexcept {
    // Fibonacci hashing of both words; the shift brings high bits down for tables that mask the low ones.
    std::uint64_t const owner = upcxx::detail::global_ptr_access::owner(pointer) * 0x9e3779b97f4a7c15u;
    std::uint64_t const mixed =
        (upcxx::detail::global_ptr_access::address(pointer) ^ owner) * 0xd6e8feb86659fd93u;
    return static_cast<std::size_t>(mixed ^ mixed >> 32);
  }
};
