#pragma once

/// 1 and 0 in turn: a row of cells of one colour, from either end.

namespace hpgmg {

inline constexpr int longest_row = 512;
extern double const* const colours;  ///< longest_row + 1 numbers, the first is 1

}  // namespace hpgmg
