#pragma once

/// Compares functions as we declare them with functions as their vendor does: passed in the same way.

#include <type_traits>

namespace atl::memory {

template <class Ours, class Theirs>
constexpr bool passed_alike =
    sizeof(Ours) == sizeof(Theirs) &&
    std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>&& std::is_class_v<Ours> == std::is_class_v<Theirs>;

template <class Ours, class... A, class Theirs, class... B>
constexpr bool alike(Ours (*)(A...), Theirs (*)(B...)) {
  if constexpr (sizeof...(A) == sizeof...(B)) {
    return sizeof(Ours) == sizeof(Theirs) && (passed_alike<A, B> && ...);
  }
  return false;
}

}  // namespace atl::memory
