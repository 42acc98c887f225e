#pragma once

/// Copies by loads and stores of kernels.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <atoll/base/config.hpp>
#include <atoll/extensions/device/scopes.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::device {

#ifdef __CUDACC__
/// Threads take pieces of the size in turn, four at a time: what crosses a link is long on its way.
template <class Piece, class Scope>
__device__ void copy_pieces(Scope s, char* to, char const* from, std::size_t pieces) {
  auto* const target = reinterpret_cast<Piece*>(to);
  auto const* const source = reinterpret_cast<Piece const*>(from);
  std::size_t const step = s.size();
  std::size_t i = s.rank();
  for (; i + 3 * step < pieces; i += 4 * step) {
    Piece const a = source[i];
    Piece const b = source[i + step];
    Piece const c = source[i + 2 * step];
    Piece const d = source[i + 3 * step];
    target[i] = a;
    target[i + step] = b;
    target[i + 2 * step] = c;
    target[i + 3 * step] = d;
  }
  for (; i < pieces; i += step) target[i] = source[i];
}
#endif

/// A value of at most 8 bytes as a word, and back.
template <class T>
ATOLL_ANYWHERE std::uint64_t bits_of(T const& value) {
  std::uint64_t bits = 0;
  ::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
ATOLL_ANYWHERE T from_bits(std::uint64_t bits) {
  std::remove_const_t<T> value;
  ::memcpy(&value, &bits, sizeof value);
  return value;
}

/// A value of this thread. Seen by others after a release only.
template <class T>
ATOLL_ANYWHERE void store_value(T* to, T const& value) {
  *to = value;
}

/// Threads of a scope copy, in pieces as large as both alignments allow.
template <class Scope>
ATOLL_ANYWHERE void copy_run(Scope s, void* to, void const* from, std::size_t bytes) {
  auto* const target = static_cast<char*>(to);
  auto const* const source = static_cast<char const*>(from);
#ifdef __CUDA_ARCH__
  auto const together = (reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) & 15;
  std::size_t done = 0;
  if (together == 0) {
    copy_pieces<uint4>(s, target, source, bytes / 16);
    done = bytes / 16 * 16;
  } else if (together % 8 == 0) {
    copy_pieces<std::uint64_t>(s, target, source, bytes / 8);
    done = bytes / 8 * 8;
  } else if (together % 4 == 0) {
    copy_pieces<std::uint32_t>(s, target, source, bytes / 4);
    done = bytes / 4 * 4;
  }
  copy_pieces<unsigned char>(s, target + done, source + done, bytes - done);
#else
  std::size_t const share = (bytes + s.size() - 1) / s.size();
  std::size_t const begin = s.rank() * share;
  if (begin < bytes)
    std::memcpy(target + begin, source + begin, share < bytes - begin ? share : bytes - begin);
#endif
}

}  // namespace atl::inline UPCXX_MODE::device
