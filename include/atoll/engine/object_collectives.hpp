#pragma once

/// Collectives on objects that must be serialised. As the others (<atoll/engine/collectives.hpp>), with the
/// program's own functions at both ends.

#include <cstddef>
#include <cstdint>

#include <atoll/base/config.hpp>
#include <atoll/engine/collectives.hpp>

namespace atl::engine {

/// An object of a size that only its owner knows. `data` given to these is aligned to 64 bytes,
/// or to what `pack` reported. These run in any progress and may not throw.
struct object_functions {
  /// Serialises the object; the buffer lives until the next call or the end of the collective.
  struct packed {
    std::byte const* data;
    std::size_t bytes;
    std::size_t alignment;
  };
  packed (*pack)(void* object);
  void (*replace)(void* object, std::byte const* data, std::size_t bytes);
  void (*combine)(void* object, std::byte const* data, std::size_t bytes);
};

/// Root's object replaces every other member's.
ATOLL_EXPORT void start_broadcast_object(team_view& team, object_functions const& functions, void* object,
                                         std::int32_t root, on_done done);
/// Combines all objects on `root`, or (root < 0) everywhere.
ATOLL_EXPORT void start_reduce_object(team_view& team, object_functions const& functions, void* object,
                                      std::int32_t root, on_done done);

}  // namespace atl::engine
