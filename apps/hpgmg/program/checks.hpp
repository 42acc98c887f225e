#pragma once

/// Is the result right?

#include "program/record.hpp"

namespace hpgmg {

/// Compares a finished run with the public reference's results for the same problem, as far as they are
/// known; without, only whether the residual fell.
std::vector<check_result> compare(run_record const& run);

}  // namespace hpgmg
