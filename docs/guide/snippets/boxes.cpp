// Snippets of the page on transfers that are not contiguous.
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  int const left = (me + ranks - 1) % ranks;
  constexpr std::ptrdiff_t rows = 6, columns = 8;
  upcxx::dist_object<upcxx::global_ptr<double>> grids(
      upcxx::new_array<double>(rows * columns));
  double* const mine = grids->local();
  for (int i = 0; i < rows * columns; ++i) mine[i] = 100 * me + i;
  upcxx::global_ptr<double> const theirs = grids.fetch((me + 1) % ranks).wait();
  upcxx::barrier();

  // [strided]
  // My column 7 into column 0 of the right neighbour: elements a row apart, on both
  // sides.
  constexpr std::ptrdiff_t row = columns * sizeof(double);
  upcxx::rput_strided<1>(mine + 7, {{row}}, theirs, {{row}}, {{std::size_t{rows}}})
      .wait();
  // [/strided]
  upcxx::barrier();
  UPCXX_ASSERT_ALWAYS(mine[3 * columns] == 100 * left + 3 * columns + 7);
  upcxx::barrier();

  // [regular]
  // Three blocks of two elements each, out of the neighbour's grid into one array.
  std::array<upcxx::global_ptr<double>, 3> const from{theirs + 1, theirs + 11,
                                                      theirs + 21};
  std::vector<double> packed(6);
  std::array<double*, 1> const to{packed.data()};
  upcxx::rget_regular(from.begin(), from.end(), 2, to.begin(), to.end(), 6).wait();
  // [/regular]
  UPCXX_ASSERT_ALWAYS(packed[2] == 100 * ((me + 1) % ranks) + 11);
  upcxx::barrier();

  // [irregular]
  std::vector<std::pair<double const*, std::size_t>> const sources{
      {packed.data(), 5}, {packed.data() + 5, 1}};
  std::vector<std::pair<upcxx::global_ptr<double>, std::size_t>> const targets{
      {theirs + 40, 2}, {theirs + 44, 4}};
  upcxx::rput_irregular(sources.begin(), sources.end(), targets.begin(),
                        targets.end())
      .wait();
  // [/irregular]
  upcxx::barrier();
  UPCXX_ASSERT_ALWAYS(mine[45] == 100 * me + 12);
  upcxx::barrier();
  upcxx::delete_array(*grids);
  upcxx::finalize();
}
