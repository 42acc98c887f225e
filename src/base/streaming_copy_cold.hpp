#pragma once

/// Copies of memory that is in no cache to where only a device will read them.

#include <cstddef>

namespace atl {

/// memcpy for a long copy, past the caches; visible to devices that are told of it afterwards. `to` begins at a multiple of 16 bytes.
void streaming_copy_cold(std::byte* to, std::byte const* from, std::size_t bytes) noexcept;

}  // namespace atl
