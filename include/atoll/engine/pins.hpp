#pragma once

/// Private memory of the program that devices reach directly.

#include <cstddef>
#include <cstdint>

#include <atoll/base/config.hpp>

namespace atl::engine {

struct pin_name {
  std::uint64_t number = 0;  ///< 0: of nothing
  std::uint32_t life = 0;    ///< of the library
};

/// Pins memory for all devices that this process uses, now and later, until unpin_memory() or finalize.
/// What a driver refuses stays as it is, and the first refusal is a warning.
ATOLL_EXPORT pin_name pin_memory(void* begin, std::size_t bytes);
/// Waits, with internal progress, for the copies of it that are under way. Nothing if finalize has ended the pin.
ATOLL_EXPORT void unpin_memory(pin_name pin);
/// Whether all devices in use, and there are some, reach all of it directly.
ATOLL_EXPORT bool is_pinned(pin_name pin);

}  // namespace atl::engine
