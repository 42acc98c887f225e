#pragma once

/// Storage in the calling process' own shared heap (specification, chapter 4).
///
/// None of these functions makes progress or is collective; all may be called in callbacks too, and by any
/// thread in the par thread mode (in seq: by the one that holds the master persona). Only the process that
/// allocated may free, by the counterpart of the function that it used: new_ / delete_, new_array /
/// delete_array, and each form of allocate with its form of deallocate.

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <atoll/engine/host_map.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/global_ptr.hpp>

namespace atl::rt {

/// One allocation in the own heap: its address here, and its offset in the own region.
struct heap_place {
  void* address = nullptr;  ///< null: no room
  std::uint64_t offset = 0;
};
ATOLL_EXPORT heap_place heap_allocate(std::size_t bytes, std::size_t alignment) noexcept;

/// Gives memory back. What is no allocation of this process ends the job with a message that names `caller`;
/// after finalize nothing happens.
ATOLL_EXPORT void heap_deallocate(void* address, char const* caller) noexcept;
ATOLL_EXPORT void heap_deallocate(std::uint32_t rank, std::uint64_t offset, char const* caller) noexcept;

/// For checked builds: ends the job unless an allocation of this process of at least `bytes` starts there.
ATOLL_EXPORT void heap_check(std::uint32_t rank, std::uint64_t offset, std::size_t bytes,
                             char const* caller) noexcept;

/// The functions that allocate; each has a counterpart that frees.
enum class heap_form : std::uint8_t { object, array, bytes, elements };
/// For checked builds: what the program got at `offset` came from that function.
ATOLL_EXPORT void heap_note(std::uint64_t offset, heap_form form) noexcept;
/// For checked builds: ends the job if what is freed came from another one.
ATOLL_EXPORT void heap_expect(std::uint32_t rank, std::uint64_t offset, heap_form form) noexcept;
ATOLL_EXPORT void heap_expect(void const* address, heap_form form) noexcept;

/// An allocation that gives null found no room. If there is no heap at all, as the library is not initialised,
/// it says so: checked builds end the job, others warn once.
ATOLL_EXPORT ATOLL_COLD void heap_absent(char const* caller, bool checked) noexcept;

/// Throws bad_shared_alloc with the state of the heap. `bytes` is SIZE_MAX where the size overflowed.
[[noreturn]] ATOLL_EXPORT ATOLL_COLD void throw_bad_shared_alloc(std::size_t bytes, std::size_t alignment);

ATOLL_EXPORT std::int64_t heap_size() noexcept;
ATOLL_EXPORT std::int64_t heap_used() noexcept;

}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE {

namespace detail {

template <typename T>
[[nodiscard]] global_ptr<T> own_pointer(std::uint64_t offset) noexcept {
  return global_ptr_access::make_host<T>(atl::engine::hosts.own_rank(), offset);
}

/// Checked builds remember which function an allocation came from, and stop if another's counterpart frees it.
inline void note_form([[maybe_unused]] std::uint64_t offset,
                      [[maybe_unused]] atl::rt::heap_form form) noexcept {
#if ATOLL_CHECKED
  atl::rt::heap_note(offset, form);
#endif
}
template <typename T>
void expect_form([[maybe_unused]] global_ptr<T> const& pointer,
                 [[maybe_unused]] atl::rt::heap_form form) noexcept {
#if ATOLL_CHECKED
  atl::rt::heap_expect(global_ptr_access::rank(pointer), global_ptr_access::address(pointer), form);
#endif
}

/// Memory of the own heap for `caller`, a function that gives null where there is no room.
[[nodiscard]] inline atl::rt::heap_place room_or_null(std::size_t bytes, std::size_t alignment,
                                                      char const* caller) noexcept {
  check_heap_use(caller);
  atl::rt::heap_place const place = atl::rt::heap_allocate(bytes, alignment);
  if (place.address == nullptr) atl::rt::heap_absent(caller, ATOLL_CHECKED != 0);
  return place;
}
/// For one that throws.
[[nodiscard]] inline atl::rt::heap_place room_or_throw(std::size_t bytes, std::size_t alignment,
                                                       [[maybe_unused]] char const* caller) {
  check_heap_use(caller);
  atl::rt::heap_place const place = atl::rt::heap_allocate(bytes, alignment);
  if (place.address == nullptr) {
    if constexpr (ATOLL_CHECKED != 0) atl::rt::heap_absent(caller, true);
    atl::rt::throw_bad_shared_alloc(bytes, alignment);
  }
  return place;
}
/// For the forms of allocate.
[[nodiscard]] inline atl::rt::heap_place allocated(std::size_t bytes, std::size_t alignment,
                                                   atl::rt::heap_form form) noexcept {
  ATOLL_CHECK(alignment != 0 && (alignment & (alignment - 1)) == 0,
              "allocate: the alignment of %zu bytes is no power of two", alignment);
  atl::rt::heap_place const place = room_or_null(bytes, alignment, "allocate");
  if (place.address != nullptr) note_form(place.offset, form);
  return place;
}

/// Frees an allocation on the way out of a scope, unless told to keep it.
class allocation_guard {
 public:
  allocation_guard(void* address, char const* caller) noexcept : address_(address), caller_(caller) {}
  allocation_guard(allocation_guard const&) = delete;
  allocation_guard& operator=(allocation_guard const&) = delete;
  ~allocation_guard() {
    if (address_ != nullptr) atl::rt::heap_deallocate(address_, caller_);
  }
  void keep() noexcept { address_ = nullptr; }

 private:
  void* address_;
  char const* caller_;
};

/// Elements that are to be destroyed, last one first, whatever happens.
template <typename T>
struct pending_destruction {
  T* first;
  std::size_t count;

  pending_destruction(T* begin, std::size_t n) noexcept : first(begin), count(n) {}
  pending_destruction(pending_destruction const&) = delete;
  pending_destruction& operator=(pending_destruction const&) = delete;
  ~pending_destruction() { run(); }
  void run() {
    while (count > 0) first[--count].~T();
  }
};

template <typename T, typename... Args>
concept newable = requires(void* place, Args&&... args) {
  ::new (place) T(static_cast<Args&&>(args)...);
};
template <typename T>
concept default_newable = requires(void* place) {
  ::new (place) T;
};

template <typename T, typename... Args>
[[nodiscard]] global_ptr<T> construct(atl::rt::heap_place place, Args&&... args) {
  allocation_guard guard(place.address, "new_");
  ::new (place.address) T(static_cast<Args&&>(args)...);
  guard.keep();
  note_form(place.offset, atl::rt::heap_form::object);
  return detail::own_pointer<T>(place.offset);
}

template <typename T, typename... Args>
constexpr void check_new() noexcept {
  static_assert(!std::is_array_v<T>, "new_<T>: T must not be an array type; use new_array<Element>(n)");
  static_assert(!std::is_reference_v<T> && !std::is_void_v<T>, "new_<T>: T must be an object type");
  static_assert(std::is_array_v<T> || newable<T, Args...>,
                "new_<T>(args...): T cannot be constructed by T(args...) with these arguments");
}

/// How an array is laid out: where destructors are to be run, the count stands before the first element,
/// since the allocator only knows a size that may have been rounded up.
template <typename T>
struct array_layout {
  static constexpr bool counted = !std::is_trivially_destructible_v<T>;
  static constexpr std::size_t alignment = alignof(T) > alignof(std::size_t) ? alignof(T)
                                                                             : alignof(std::size_t);
  static constexpr std::size_t header = !counted                           ? 0
                                        : alignof(T) > sizeof(std::size_t) ? alignof(T)
                                                                           : sizeof(std::size_t);
  /// SIZE_MAX where the sum overflows: no heap has that much.
  static constexpr std::size_t bytes(std::size_t n) noexcept {
    std::size_t total = 0;
    return __builtin_mul_overflow(n, sizeof(T), &total) || __builtin_add_overflow(total, header, &total)
               ? SIZE_MAX
               : total;
  }
  static std::size_t& count_of(void* first) noexcept { return static_cast<std::size_t*>(first)[-1]; }
};

template <typename T>
constexpr void check_new_array() noexcept {
  static_assert(!std::is_array_v<T>, "new_array<T>: T must not be an array type itself");
  static_assert(std::is_array_v<T> || default_newable<T>,
                "new_array<T>(n): T has no default constructor (or is a constant without initial value); use "
                "allocate<T>(n) and construct the elements in place");
}

template <typename T>
[[nodiscard]] global_ptr<T> construct_array(atl::rt::heap_place place, std::size_t n) {
  using layout = array_layout<T>;
  allocation_guard guard(place.address, "new_array");
  void* const storage = static_cast<std::byte*>(place.address) + layout::header;
  if constexpr (layout::counted) layout::count_of(storage) = n;
  if constexpr (!std::is_trivially_default_constructible_v<T>) {
    using mutable_type = std::remove_cv_t<T>;
    pending_destruction<mutable_type> done(static_cast<mutable_type*>(storage), 0);
    for (; done.count < n; ++done.count) ::new (static_cast<mutable_type*>(storage) + done.count) T;
    done.count = 0;
  }
  guard.keep();
  detail::note_form(place.offset + layout::header, atl::rt::heap_form::array);
  return detail::own_pointer<T>(place.offset + layout::header);
}

}  // namespace detail

/// Allocates and constructs T(args...): new_<int>() is 0.
/// @throws  bad_shared_alloc when the heap is exhausted, and what the constructor throws
///          (the memory is free then).
template <typename T, typename... Args>
ATOLL_NODISCARD_MEMORY global_ptr<T> new_(Args&&... args) {
  detail::check_new<T, Args...>();
  return detail::construct<T>(detail::room_or_throw(sizeof(T), alignof(T), "new_"),
                              static_cast<Args&&>(args)...);
}
/// The same, but null when the heap is exhausted; nothing is constructed then.
template <typename T, typename... Args>
ATOLL_NODISCARD_MEMORY global_ptr<T> new_(std::nothrow_t const&, Args&&... args) {
  detail::check_new<T, Args...>();
  atl::rt::heap_place const place = detail::room_or_null(sizeof(T), alignof(T), "new_");
  if (place.address == nullptr) return nullptr;
  return detail::construct<T>(place, static_cast<Args&&>(args)...);
}

/// Destroys and frees what new_ of exactly this type made in this process. Null is ignored.
template <typename T>
void delete_(global_ptr<T> pointer) {
  static_assert(sizeof(T) > 0, "delete_: T must be complete");
  static_assert(!std::is_array_v<T> && std::is_destructible_v<T>,
                "delete_: T must be destructible and no array");
  if (pointer.is_null()) return;
  detail::check_heap_use("delete_");
  detail::expect_form(pointer, atl::rt::heap_form::object);
#if ATOLL_CHECKED
  atl::rt::heap_check(detail::global_ptr_access::rank(pointer), detail::global_ptr_access::address(pointer),
                      sizeof(T), "delete_");
#endif
  T* const object = pointer.local();
  detail::allocation_guard const free_later(const_cast<std::remove_cv_t<T>*>(object), "delete_");
  object->~T();
}

/// Allocates `n` elements and default-initialises them, like new T[n]: class types by their default
/// constructor, while numbers are left as they are. `n` may be 0, which gives a pointer of its own.
/// @throws  bad_shared_alloc when the heap is exhausted or the size overflows, and what a constructor throws
///          (elements made so far are destroyed, last one first, and the memory is free then).
template <typename T>
ATOLL_NODISCARD_MEMORY global_ptr<T> new_array(std::size_t n) {
  detail::check_new_array<T>();
  using layout = detail::array_layout<T>;
  return detail::construct_array<T>(detail::room_or_throw(layout::bytes(n), layout::alignment, "new_array"),
                                    n);
}
/// The same, but null when the heap is exhausted.
template <typename T>
ATOLL_NODISCARD_MEMORY global_ptr<T> new_array(std::size_t n, std::nothrow_t const&) {
  detail::check_new_array<T>();
  using layout = detail::array_layout<T>;
  atl::rt::heap_place const place = detail::room_or_null(layout::bytes(n), layout::alignment, "new_array");
  if (place.address == nullptr) return nullptr;
  return detail::construct_array<T>(place, n);
}

/// Destroys, last one first, and frees what new_array of this type made in this process. Null is ignored.
template <typename T>
void delete_array(global_ptr<T> pointer) {
  static_assert(sizeof(T) > 0, "delete_array: T must be complete");
  static_assert(!std::is_array_v<T> && std::is_destructible_v<T>,
                "delete_array: T must be destructible and no array");
  if (pointer.is_null()) return;
  using layout = detail::array_layout<T>;
  using mutable_type = std::remove_cv_t<T>;
  detail::check_heap_use("delete_array");
  detail::expect_form(pointer, atl::rt::heap_form::array);
#if ATOLL_CHECKED
  atl::rt::heap_check(detail::global_ptr_access::rank(pointer),
                      detail::global_ptr_access::address(pointer) - layout::header, layout::header,
                      "delete_array");
#endif
  if constexpr (layout::counted) {
    auto* const first = const_cast<mutable_type*>(pointer.local());
    void* const block = reinterpret_cast<std::byte*>(first) - layout::header;
    detail::allocation_guard const free_later(block, "delete_array");
    detail::pending_destruction<mutable_type> elements(first, layout::count_of(first));
    elements.run();
  } else {
    atl::rt::heap_deallocate(detail::global_ptr_access::rank(pointer),
                             detail::global_ptr_access::address(pointer), "delete_array");
  }
}

/// At least `size` bytes, not initialised; null when the heap is exhausted. `alignment` is a power of two.
ATOLL_NODISCARD_MEMORY inline void* allocate(std::size_t size,
                                             std::size_t alignment = alignof(std::max_align_t)) noexcept {
  return detail::allocated(size, alignment, atl::rt::heap_form::bytes).address;
}
/// Memory for `n` objects of type T, not constructed; null when the heap is exhausted.
template <typename T>
ATOLL_NODISCARD_MEMORY global_ptr<T> allocate(std::size_t n = 1,
                                              std::size_t alignment = alignof(T)) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(n, sizeof(T), &bytes)) bytes = SIZE_MAX;  // no heap has that much
  atl::rt::heap_place const place = detail::allocated(bytes, alignment, atl::rt::heap_form::elements);
  return place.address == nullptr ? nullptr : detail::own_pointer<T>(place.offset);
}

/// The same, as older programs give the alignment.
template <typename T, std::size_t Alignment>
ATOLL_NODISCARD_MEMORY global_ptr<T> allocate(std::size_t n = 1) noexcept {
  return upcxx::allocate<T>(n, Alignment);
}

/// Frees what the same form of allocate returned in this process; runs no destructors. Null is ignored.
inline void deallocate(void* address) noexcept {
  if (address == nullptr) return;
  detail::check_heap_use("deallocate");
#if ATOLL_CHECKED
  atl::rt::heap_expect(address, atl::rt::heap_form::bytes);
#endif
  atl::rt::heap_deallocate(address, "deallocate");
}
template <typename T>
void deallocate(global_ptr<T> pointer) noexcept {
  if (pointer.is_null()) return;
  detail::check_heap_use("deallocate");
  detail::expect_form(pointer, atl::rt::heap_form::elements);
  atl::rt::heap_deallocate(detail::global_ptr_access::rank(pointer),
                           detail::global_ptr_access::address(pointer), "deallocate");
}

/// Bytes of this process' shared heap, and bytes of it in use now, rounding included.
[[nodiscard]] inline std::int64_t shared_segment_size() noexcept { return atl::rt::heap_size(); }
[[nodiscard]] inline std::int64_t shared_segment_used() noexcept { return atl::rt::heap_used(); }

}  // namespace upcxx::inline UPCXX_MODE
