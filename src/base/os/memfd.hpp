#pragma once

/// Memory without a name that several processes may map.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/os/unique_fd.hpp"

namespace atl::os {

/// New anonymous file of `bytes` zero bytes, close-on-exec. Sealed against growing and shrinking,
/// so that nobody who holds the descriptor can turn accesses into bus errors; where the system forbids
/// memfd_create, an unsealed file of /dev/shm without a name. Throws startup_error.
/// `label` shows in /proc only. `huge`: of the pool of huge pages of 2 MiB.
unique_fd make_sealed_memfd(char const* label, std::size_t bytes, bool huge = false);

/// Has the system set pages aside for that part of such a file; however many signals come meanwhile. 0, or the number of what went
/// wrong.
int reserve_pages(int descriptor, std::uint64_t begin, std::uint64_t bytes) noexcept;

/// True when `descriptor` may be a file of `make_sealed_memfd`: sealed, or without a name and this user's alone.
bool is_sealed_memfd(int descriptor) noexcept;

/// `bytes` random bytes from the kernel.
void random_bytes(void* destination, std::size_t bytes);

/// `bytes` random bytes as lower-case hexadecimal digits, twice as many characters.
std::string random_hex(std::size_t bytes);

}  // namespace atl::os
