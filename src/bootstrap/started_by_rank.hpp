#pragma once

/// Programs that a rank starts get its environment, that of its launcher included. They are no ranks: the launcher's service would take them for
/// the one that started them.

#include <string_view>

namespace atl::bootstrap {

/// Lets programs that this process starts know that it is the rank which the environment tells of: a rank of PMIx ("pmix") or PMI ("pmi").
void become_the_rank(std::string_view bootstrap);

/// True when another process is that rank, which has started this one or one before it. What other launchers have put beside does not count.
bool started_by_rank(std::string_view bootstrap);

}  // namespace atl::bootstrap
