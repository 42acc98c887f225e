#pragma once

/// Function tokens: names of functions that mean the same in every process of the job.
///
/// A token holds 32 bits of module hash (the module's build id, else a hash of its content, with its file
/// name mixed in, so that copies of a library differ) and 32 bits of offset inside the module. It needs no
/// registration and no per-peer state, so shared libraries,
/// position independence and address randomisation just work.
///
/// A library stays loaded, whoever closes it, once a token of one of its functions was made or resolved in the
/// process. Others may be unloaded, and something else may take their places.

#include <atomic>
#include <cstdint>

#include <atoll/base/config.hpp>

namespace atl::engine {

using function_token = std::uint64_t;

/// Token of a function of any module loaded in this process. Stops with a message if no module contains it.
ATOLL_EXPORT function_token token_of(void const* function);

/// Address of a token's function in this process. Loads nothing; stops with a message that names the module's
/// hash if that module is not loaded here.
ATOLL_EXPORT void* resolve(function_token token);

/// The same for the token of a message: the error also has the name that the module has on the sender.
ATOLL_EXPORT void* resolve_from(function_token token, std::int32_t source);

/// Token of one instantiated function, looked up once per module. `Function` must have hidden visibility, so
/// that the address lies in the module that uses it.
template <auto Function>
struct token_cache {
  [[gnu::visibility("hidden")]] static inline std::atomic<function_token> value{0};

  static function_token get() {
    function_token token = value.load(std::memory_order_relaxed);
    if (token == 0) [[unlikely]] {
      token = token_of(reinterpret_cast<void const*>(Function));
      value.store(token, std::memory_order_relaxed);
    }
    return token;
  }
};

}  // namespace atl::engine
