#pragma once

/// experimental::relocation: the modules (program, shared libraries) whose functions can be called remotely.
///
/// Functions of every loaded module can be, wherever it lies in memory and without announcement; nothing
/// needs to be verified first. What programs of other implementations call works here too, and the tables
/// show what there is.

#include <cstdint>
#include <iosfwd>

#include <atoll/engine/token.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/exceptions.hpp>

namespace atl::rt {
ATOLL_EXPORT bool enforce_verification(bool enforce) noexcept;
ATOLL_EXPORT bool verification_enforced() noexcept;
/// Looks at the loaded modules again.
ATOLL_EXPORT void refresh_modules();
/// `output` null: std::cerr.
ATOLL_EXPORT void write_pointer(void const* function, std::ostream* output);
ATOLL_EXPORT void write_modules(std::ostream* output);
ATOLL_EXPORT void write_token_cache(std::ostream* output);
}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE::experimental::relocation {

/// Checks that the module in which `function` lies is the same on all ranks. Collective over world(). Throws
/// segment_verification_error on all ranks if it is not.
///
/// @progress  user.
template <typename Function>
void verify_segment(Function* function) {
  auto const mine =
      static_cast<std::uint32_t>(atl::engine::token_of(reinterpret_cast<void const*>(function)) >> 32);
  std::uint32_t const extremes[2] = {mine, ~mine};
  std::uint32_t most[2];
  reduce_all(extremes, most, 2, op_fast_max).wait();
  if (most[0] != static_cast<std::uint32_t>(~most[1])) {
    throw segment_verification_error("verify_segment: the function's module differs between ranks");
  }
}

/// Takes notice of all modules that are loaded now. Collective over world().
///
/// @progress  user.
inline void verify_all() {
  atl::rt::refresh_modules();
  barrier();
}

/// Sets whether only verified modules may be called, and returns what was set. All count as verified.
inline bool enforce_verification(bool enforce) { return atl::rt::enforce_verification(enforce); }
inline bool verification_enforced() { return atl::rt::verification_enforced(); }

/// Says in which module a function lies, and what its token is; on standard error without a stream.
template <typename Function>
void debug_write_ptr(Function* function) {
  atl::rt::write_pointer(reinterpret_cast<void const*>(function), nullptr);
}
template <typename Function>
void debug_write_ptr(Function* function, std::ostream& output) {
  atl::rt::write_pointer(reinterpret_cast<void const*>(function), &output);
}

/// Lists the loaded modules: addresses, hash, modes, file.
inline void debug_write_segment_table() { atl::rt::write_modules(nullptr); }
inline void debug_write_segment_table(std::ostream& output) { atl::rt::write_modules(&output); }

/// Says what the calling thread remembers for the next call.
inline void debug_write_cache() { atl::rt::write_token_cache(nullptr); }
inline void debug_write_cache(std::ostream& output) { atl::rt::write_token_cache(&output); }

}  // namespace upcxx::inline UPCXX_MODE::experimental::relocation

namespace upcxx::inline UPCXX_MODE::experimental {
namespace relo = relocation;
}
