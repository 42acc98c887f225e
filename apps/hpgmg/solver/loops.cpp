// Which loops run here, and those that are done once.

#include "solver/loops.hpp"

#include <array>

#include "solver/colours.hpp"

namespace hpgmg {
namespace {

constexpr auto alternating = [] {
  std::array<double, longest_row + 1> row{};
  for (std::size_t i = 0; i < row.size(); i += 2) row[i] = 1;
  return row;
}();

}  // namespace

double const* const colours = alternating.data();

extern loop_tables const loops_generic;
extern loop_tables const loops_avx2;
extern loop_tables const loops_avx512;

std::vector<loop_tables const*> runnable_loops() {
  std::vector<loop_tables const*> sets{&loops_generic};
#if defined(HPGMG_MORE_LOOPS)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) sets.push_back(&loops_avx2);
  if (__builtin_cpu_supports("avx512f")) sets.push_back(&loops_avx512);
#endif
  return sets;
}

loop_tables const& loops() {
  static loop_tables const& found = *runnable_loops().back();
  return found;
}

void restrict_faces(box_layout const& fine, int d, double const* beta, strided_box out) {
  std::array<std::ptrdiff_t, 3> const step{1, fine.row, fine.plane};
  std::ptrdiff_t const s = step[static_cast<std::size_t>((d + 1) % 3)];
  std::ptrdiff_t const t = step[static_cast<std::size_t>((d + 2) % 3)];
  int const half = fine.n / 2;
  for (int k = 0; k < half + (d == 2 ? 1 : 0); ++k) {
    for (int j = 0; j < half + (d == 1 ? 1 : 0); ++j) {
      for (int i = 0; i < half + (d == 0 ? 1 : 0); ++i) {
        double const* const x = beta + fine.at(2 * i, 2 * j, 2 * k);
        out.p[i + out.row * j + out.plane * k] = (x[0] + x[s] + x[t] + x[s + t]) * 0.25;
      }
    }
  }
}

}  // namespace hpgmg
