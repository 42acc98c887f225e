#pragma once

/// Declares the public types without defining them, for headers that only name them.

#include <cstddef>
#include <cstdint>

#include <upcxx/detail/config.hpp>

namespace upcxx::inline UPCXX_MODE {

/// Number of a process within a team.
using intrank_t = std::int32_t;

/// Where the memory behind a global pointer lives. The values are part of the layout of `global_ptr`.
enum class memory_kind : std::uint8_t { any = 0, host = 1, cuda_device = 2, hip_device = 3, ze_device = 4 };

template <typename T, memory_kind Kind = memory_kind::host>
struct global_ptr;

template <typename... T>
class future;
template <typename... T>
class promise;

class persona;
class persona_scope;

class team;
class team_id;
template <typename T>
class dist_object;
template <typename T>
struct dist_id;

template <typename T>
struct is_trivially_serializable;
template <typename T>
struct is_serializable;
template <typename T>
struct serialization;
template <typename T>
struct serialization_traits;

template <typename T>
class deserializing_iterator;

namespace detail {
class writer;
class reader;

/// What a received view iterates with: the buffer itself, or deserialization on demand.
template <typename T, bool Trivial>
struct view_default_iterator;
}  // namespace detail

template <typename T>
using view_default_iterator_t =
    typename detail::view_default_iterator<T, is_trivially_serializable<T>::value>::type;

template <typename T, typename IterType = view_default_iterator_t<T>>
class view;

}  // namespace upcxx::inline UPCXX_MODE
