#pragma once

/// What the engine itself asks of tokens, beside <atoll/engine/token.hpp>.

#include <cstdint>

#include <atoll/engine/token.hpp>

namespace atl::engine {

/// Hash of the module whose function the calling thread resolved last; 0 if there was none.
std::uint32_t last_resolved_module() noexcept;

}  // namespace atl::engine
