#pragma once

namespace atl::engine {

/// Stops the job if this process has more than one copy of the library.
void require_one_copy();

}  // namespace atl::engine
