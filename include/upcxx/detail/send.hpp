#pragma once

/// Serialising objects into the buffer of an outgoing message.
///
/// Where the size is known to be bounded, the buffer is negotiated first and the objects serialise straight
/// into it. Otherwise they start in a small buffer on the stack; when that is full, the message moves to
/// transport memory that grows by doubling.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <atoll/engine/am.hpp>
#include <atoll/transport/growing.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/runtime.hpp>
#include <upcxx/serialization.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

template <class T>
inline constexpr bool elements_may_follow = false;
template <class T>
requires requires { codec_of<T>::may_follow; }
inline constexpr bool elements_may_follow<T> = codec_of<T>::may_follow;

/// A message being written. Sends itself on `commit`; gives its buffer back if it is destroyed before.
class outgoing_message {
 public:
  /// `bound`: upper bound of the end position, or npos if unknown.
  outgoing_message(std::int32_t target, std::size_t bound, atl::engine::pressure when_full,
                   atl::engine::lane way)
      : target_(target), when_full_(when_full), way_(way) {
    if (bound != npos) {
      atl::engine::am_begin(out_, target, bound, when_full, message_alignment, way);
      engaged_ = true;
    }
  }
  outgoing_message(outgoing_message const&) = delete;
  outgoing_message& operator=(outgoing_message const&) = delete;
  ~outgoing_message() {
    if (engaged_) atl::engine::am_cancel(out_);
  }

  /// Writes objects from position `start`; what lies before is the caller's, who uses put_word. `last`: they stay
  /// until commit(), so the elements of a large vector or view that comes last may be copied only then, and read by
  /// the target meanwhile.
  template <class... T>
  void write(std::size_t start, bool last, T const&... objects) {
    writer w(begin(), start, engaged_ ? out_.capacity : sizeof scratch_, &grow, this);
    if constexpr (sizeof...(T) != 0) write_each(w, last, objects...);
    bytes_ = w.size();
  }
  void put_word(std::size_t position, std::uint64_t word) {
    std::memcpy(begin() + position, &word, sizeof word);
  }

  /// Sends what was written. After this call nothing of the object is used.
  void commit(atl::engine::message_kind kind, std::uint64_t token) {
    if (!engaged_) engage(bytes_, message_alignment, bytes_);
    engaged_ = false;
    if (!tail_.empty()) [[unlikely]]
      return atl::engine::am_commit_copying(out_, kind, token, bytes_, tail_);
    atl::engine::am_commit(out_, kind, token, bytes_);
  }
  /// Makes sure that commit() cannot throw any more.
  void secure() {
    if (!engaged_) engage(bytes_, message_alignment, bytes_);
  }

 private:
  std::byte* begin() { return engaged_ ? out_.begin : scratch_; }

  template <class First, class... Rest>
  void write_each(writer& w, bool last, First const& first, Rest const&... rest) {
    if constexpr (sizeof...(Rest) != 0) {
      detail::serialize(w, first);
      write_each(w, last, rest...);
    } else if constexpr (elements_may_follow<First>) {
      auto const elements = codec_of<First>::elements(first);
      // A message whose size is not known beforehand may yet move.
      if (!last || !engaged_ || elements.size() < atl::transport::grows_from)
        return detail::serialize(w, first);
      codec_of<First>::write_but_elements(w, first);
      tail_ = elements;
    } else {
      detail::serialize(w, first);
    }
  }

  void engage(std::size_t used, std::size_t alignment, std::size_t capacity) {
    if (engaged_) {
      engaged_ = false;  // if growing throws, the buffer is gone
      atl::engine::am_grow(out_, used, capacity, alignment, when_full_);
    } else {
      atl::engine::am_begin(out_, target_, capacity, when_full_, alignment, way_);
      // Never more than the scratch holds, but the compiler cannot know that.
      std::size_t const written = used < sizeof scratch_ ? used : sizeof scratch_;
      std::memcpy(out_.begin + atl::engine::header_bytes, scratch_ + atl::engine::header_bytes,
                  written - atl::engine::header_bytes);
    }
    engaged_ = true;
  }

  static std::byte* grow(void* self, std::byte*, std::size_t used, std::size_t needed, std::size_t alignment,
                         std::size_t* capacity) {
    auto* const m = static_cast<outgoing_message*>(self);
    std::size_t const enough = needed > 2 * used ? needed : 2 * used;
    m->engage(used, alignment, enough);
    *capacity = m->out_.capacity;
    return m->out_.begin;
  }

  atl::engine::outgoing out_;
  std::int32_t target_;
  atl::engine::pressure when_full_;
  atl::engine::lane way_;
  bool engaged_ = false;
  std::size_t bytes_ = 0;
  std::span<std::byte const> tail_;  ///< still to be copied to the end of the buffer
  // Not initialised: only what is written of it is read.
  alignas(message_alignment) std::byte scratch_[1024];
};

/// Reads the objects of an arrived message from position `start`.
inline reader read_from(atl::engine::message const* m, std::size_t start) noexcept {
  reader r(m->base, start, m->bytes);
  if (m->growing) [[unlikely]]
    r.expect_growth();
  return r;
}

/// Outside callbacks a message may wait for room; inside one it is kept instead.
inline atl::engine::pressure current_pressure() {
  return atl::rt::in_restricted_context() ? atl::engine::pressure::park : atl::engine::pressure::wait;
}

/// Where the objects of a request or reply begin: after the engine's header, and after the cookie
/// if there is one.
inline constexpr std::size_t without_cookie = atl::engine::header_bytes;
inline constexpr std::size_t with_cookie = atl::engine::header_bytes + sizeof(std::uint64_t);

}  // namespace upcxx::inline UPCXX_MODE::detail
