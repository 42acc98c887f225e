#pragma once

/// The two ends of a message: what user code knows as Writer and Reader.
///
/// A message is one flat buffer. Every item starts at the next multiple of its alignment, counted from the
/// start of the buffer, and nothing stands between items: no tags, no lengths, so that a sequence and its
/// elements written one by one are the same bytes. The owner of a buffer keeps its start aligned to at least
/// `message_alignment`, and to `writer::max_alignment()` where that is more, on both sides; then items can be
/// used in place.

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <atoll/base/round_up.hpp>
#include <atoll/transport/growing.hpp>
#include <upcxx/detail/serialization/traits.hpp>
#include <upcxx/detail/std_parts.hpp>

namespace atl::serialization {

/// Called when a writer's buffer is full, or not aligned enough. Returns memory that is aligned
/// to `alignment`, has room for at least `needed` bytes (the true room goes to `*capacity`),
/// and starts with the first `used` bytes of `old`. What happens to `old` is the hook's affair.
/// May throw what an exhausted injection throws.
using grow_function = std::byte* (*)(void* context, std::byte* old, std::size_t used, std::size_t needed,
                                     std::size_t alignment, std::size_t* capacity);

/// Private memory that grows as a writer needs it.
class ATOLL_EXPORT heap_buffer {
 public:
  heap_buffer() noexcept = default;
  /// Not while a writer uses either.
  heap_buffer(heap_buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}
  heap_buffer& operator=(heap_buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~heap_buffer();

  /// The hook to give to a writer, with the address of this object as its context. It copies what the writer
  /// filled so far, also from a buffer that is not ours, and at least doubles.
  static std::byte* grow(void* self, std::byte* old, std::size_t used, std::size_t needed,
                         std::size_t alignment, std::size_t* capacity);

  std::byte* data() const noexcept { return data_; }  ///< null before the first growth
  std::size_t capacity() const noexcept { return capacity_; }

  /// Hands the memory over, which std::free releases.
  std::byte* release() noexcept;

 private:
  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
};

/// A message ends before what the receiver was told to read from it; ends the job.
[[noreturn]] ATOLL_EXPORT ATOLL_COLD void message_too_short(std::size_t position, std::size_t count,
                                                            std::size_t item_bytes, std::size_t end) noexcept;
/// A writer without a growth hook met its end; ends the job.
[[noreturn]] ATOLL_EXPORT ATOLL_COLD void buffer_too_small(std::size_t needed, std::size_t capacity) noexcept;

}  // namespace atl::serialization

namespace upcxx::inline UPCXX_MODE::detail {

/// Every message buffer starts at a multiple of this.
inline constexpr std::size_t message_alignment = 64;

using atl::align_up;

/// What trivially serializable types take in a message. An empty class has no state and takes nothing.
template <typename T>
inline constexpr std::size_t wire_size = std::is_empty_v<T> ? 0 : sizeof(T);
template <typename T>
inline constexpr std::size_t wire_alignment = std::is_empty_v<T> ? 1 : alignof(T);

/// Raw memory for one `U`, as the second parameter of `deserialize`.
template <typename U>
class raw_storage {
 public:
  explicit raw_storage(void* where) noexcept : where_(where) {}

  /// Builds the `U` and returns it. Call it once.
  template <typename... Args>
  U* construct(Args&&... args) const {
    return access::construct<U>(where_, std::forward<Args>(args)...);
  }
  /// Is that where construct() builds?
  [[nodiscard]] bool holds(U const* object) const noexcept { return object == where_; }

 private:
  void* where_;
};

/// Becomes what a function returns, in the place where it is needed.
template <typename Function>
struct result_of {
  Function const& function;
  operator decltype(std::declval<Function const&>()())() const { return function(); }
};

/// The same over an optional, which then owns the object.
template <typename U>
class optional_storage {
 public:
  explicit optional_storage(std::optional<U>& where) noexcept : where_(&where) {}

  template <typename... Args>
  U* construct(Args&&... args) const {
    if constexpr (std::is_constructible_v<U, Args...>) {
      return std::addressof(where_->emplace(std::forward<Args>(args)...));
    } else {  // a private constructor, or braces: the optional cannot call it, but it can take its result
      auto const make = [&]() -> U { return access::make<U>(std::forward<Args>(args)...); };
      return std::addressof(where_->emplace(result_of<decltype(make)>{make}));
    }
  }
  [[nodiscard]] bool holds(U const* object) const noexcept {
    return where_->has_value() && object == std::addressof(**where_);
  }

 private:
  std::optional<U>* where_;
};

template <typename S>
inline constexpr bool is_storage_handle = false;
template <typename U>
inline constexpr bool is_storage_handle<raw_storage<U>> = true;
template <typename U>
inline constexpr bool is_storage_handle<optional_storage<U>> = true;

template <typename T>
inline constexpr bool is_optional = false;
template <typename U>
inline constexpr bool is_optional<std::optional<U>> = true;

/// Appends objects to a message.
class writer {
 public:
  using grow_function = atl::serialization::grow_function;

  /// Writes into `begin[offset, capacity)`; what lies before `offset` is the caller's.
  /// `begin` is aligned to `message_alignment`. With `grow` null the capacity must suffice.
  writer(std::byte* begin, std::size_t offset, std::size_t capacity, grow_function grow,
         void* context) noexcept
      : begin_(begin), used_(offset), capacity_(capacity), grow_(grow), context_(context) {}

  writer(writer const&) = delete;
  writer& operator=(writer const&) = delete;

  std::byte* begin() const noexcept { return begin_; }
  std::size_t size() const noexcept { return used_; }  ///< bytes used, counted from the start of the buffer
  std::size_t capacity() const noexcept { return capacity_; }
  /// What the start of the buffer must be aligned to at the receiver.
  std::size_t max_alignment() const noexcept { return alignment_; }

  /// Room for `bytes` at the next multiple of `alignment`. Valid until the next call.
  std::byte* place(std::size_t bytes, std::size_t alignment) {
    std::size_t const at = align_up(used_, alignment);
    // The first comparison of alignments is known when compiling, and almost always settles it.
    if (at + bytes > capacity_ || (alignment > message_alignment && alignment > alignment_)) [[unlikely]] {
      make_room(at + bytes, alignment);
    }
    used_ = at + bytes;
    return begin_ + at;
  }

  /// Makes the buffer at least this large, so that what is known to come does not grow it in steps.
  void ensure_capacity(std::size_t total) {
    if (total > capacity_) make_room(total, alignment_);
  }

  /// Writes one object, or an array of any rank. The type must be Serializable (arrays: their elements).
  template <typename T>
  void write(T const& object);

  /// Writes the elements of a sequence, converted to the iterator's value type, with nothing around them, and
  /// returns how many there were. `count`, where given, must be the true distance.
  template <typename Iter>
  std::size_t write_sequence(Iter begin, Iter end);
  template <typename Iter>
  std::size_t write_sequence(Iter begin, Iter end, std::size_t count);

  /// A place in the message to be filled by `commit`.
  template <typename T>
  class reserve_handle {
   public:
    reserve_handle(reserve_handle&&) = default;
    reserve_handle& operator=(reserve_handle&&) = default;

   private:
    friend class writer;
    reserve_handle(writer const* owner, std::size_t at) noexcept : owner_(owner), at_(at) {}

    writer const* owner_;
    std::size_t at_;
  };

  /// Sets aside room for one TriviallySerializable `T`. Commit it before the function that called
  /// this returns.
  template <typename T>
  reserve_handle<T> reserve() {
    static_assert(is_trivially_serializable<T>::value,
                  "reserve<T>: T must be TriviallySerializable, its size must be known before its value");
    place(wire_size<T>, wire_alignment<T>);
    ++reserved_;
    return reserve_handle<T>(this, used_ - wire_size<T>);
  }

  template <typename T>
  void commit(reserve_handle<T>&& handle, std::type_identity_t<T> const& object) {
    commit(handle, object);
  }
  template <typename T>
  void commit(reserve_handle<T>& handle, std::type_identity_t<T> const& object) {
    ATOLL_CHECK(handle.owner_ == this, "commit: the handle is of another writer, or was committed before");
    if constexpr (wire_size<T> != 0) {
      std::memcpy(begin_ + handle.at_, std::addressof(object), wire_size<T>);
    }
    handle.owner_ = nullptr;
    --reserved_;
  }

  /// Reservations that are not committed.
  int reserved() const noexcept { return reserved_; }

 private:
  [[gnu::noinline]] void make_room(std::size_t needed, std::size_t alignment) {
    if (alignment > alignment_) alignment_ = alignment;
    if (grow_ == nullptr) atl::serialization::buffer_too_small(needed, capacity_);
    begin_ = grow_(context_, begin_, used_, needed, alignment_, &capacity_);
  }

  std::byte* begin_;
  std::size_t used_;
  std::size_t capacity_;
  std::size_t alignment_ = message_alignment;
  grow_function grow_;
  void* context_;
  int reserved_ = 0;
};

/// Takes objects out of a message, in the order in which they were written.
class reader {
 public:
  /// Reads from `base + offset`. `base` is the start of the buffer that the writer filled, aligned as it
  /// asked. `end` serves the checks of checked builds; npos if unknown.
  explicit reader(std::byte const* base, std::size_t offset = 0, std::size_t end = npos) noexcept
      : base_(base), offset_(offset), end_(end) {}

  std::byte const* base() const noexcept { return base_; }
  std::size_t offset() const noexcept { return offset_; }
  std::size_t end() const noexcept { return end_; }
  void seek(std::size_t offset) noexcept { offset_ = offset; }

  /// The next `bytes` at a multiple of `alignment`.
  std::byte const* take(std::size_t bytes, std::size_t alignment) { return take(1, bytes, alignment); }

  /// The next `count` items of `bytes` each.
  std::byte const* take(std::size_t count, std::size_t bytes, std::size_t alignment) {
    std::size_t const at = align_up(offset_, alignment);
    expect(at, count, bytes);
    offset_ = at + count * bytes;
    return base_ + at;
  }

  /// Checked builds stop unless `count` items of at least `bytes` each can follow.
  void expect(std::size_t count, std::size_t bytes) const { expect(offset_, count, bytes); }

  /// The elements of a large array at the end of a message may still be on their way (detail/send.hpp). Only the
  /// codecs that leave them behind look.
  void expect_growth() noexcept { growing_ = true; }
  bool growing() const noexcept { return growing_; }
  /// Waits for all that has been taken.
  void await_taken() const noexcept {
    for (std::size_t there = 0; there < offset_;) there = await_beyond(there);
  }
  /// Waits until more than `position` bytes of the message are there, and returns how many are.
  std::size_t await_beyond(std::size_t position) const noexcept {
    return atl::transport::await_written(base_, position);
  }

  /// Reads one object. `T` is the type that was written; what is returned is what it arrives as.
  template <typename T>
  deserialized_t<T> read();

  /// Constructs one object, or an array of them, in raw memory and returns it. No destructor runs on what was
  /// there, so a pointer to objects that have one is refused: use `read_overwrite`, or cast to `void*` if the
  /// memory is raw.
  template <typename T, typename Place>
  deserialized_array_t<T>* read_into(Place* storage);
  /// Constructs the object inside an optional, after destroying what it held.
  template <typename T, typename U>
  deserialized_t<T>* read_into(std::optional<U>& storage);
  /// Constructs the object through the storage handle that `deserialize` received.
  template <typename T, typename Storage>
  requires is_storage_handle<std::remove_cvref_t<Storage>> deserialized_t<T>
  *read_into(Storage&& storage);

  /// `count` times `read_into`; returns the first element's address.
  template <typename T, typename Place>
  deserialized_t<T>* read_sequence_into(Place* storage, std::size_t count);

  /// The next `count` objects, by value, to an output iterator.
  template <typename T, typename OutIter>
  void read_sequence_into_iterator(OutIter into, std::size_t count);

  /// Replaces an existing object, which is destroyed first. Takes its address, itself,
  /// an array or an optional.
  template <typename T, typename Target>
  deserialized_array_t<T>* read_overwrite(Target&& target);

  /// Replaces `count` existing objects; takes a pointer to the first, or their array.
  template <typename T, typename Place>
  deserialized_t<T>* read_sequence_overwrite(Place* storage, std::size_t count);

 private:
  void expect([[maybe_unused]] std::size_t at, [[maybe_unused]] std::size_t count,
              [[maybe_unused]] std::size_t bytes) const {
#if !defined(UPCXX_CODEMODE) || !UPCXX_CODEMODE
    if (end_ != npos && count != 0 && (at > end_ || (bytes != 0 && count > (end_ - at) / bytes))) {
      atl::serialization::message_too_short(at, count, bytes, end_);
    }
#endif
  }

  std::byte const* base_;
  std::size_t offset_;
  std::size_t end_;
  bool growing_ = false;
};

}  // namespace upcxx::inline UPCXX_MODE::detail
