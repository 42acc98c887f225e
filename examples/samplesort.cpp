// Sample sort: every rank ends with one sorted range of all numbers.
//
// Numbers travel as views, which arrive without an intermediate copy. A rank knows from a reduction
// how many to expect.
//
//   atoll run -n 4 ./samplesort [numbers per rank]

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <upcxx/upcxx.hpp>

int main(int argc, char** argv) {
  upcxx::init();
  int const per_rank = argc > 1 ? std::atoi(argv[1]) : 100000;
  if (per_rank < 1) {
    if (upcxx::rank_me() == 0) std::fprintf(stderr, "samplesort: a rank takes at least 1 number\n");
    upcxx::finalize();
    return 2;
  }
  auto const me = static_cast<std::size_t>(upcxx::rank_me());
  auto const ranks = static_cast<std::size_t>(upcxx::rank_n());

  std::mt19937_64 random(12345 + me);
  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(per_rank));
  std::generate(numbers.begin(), numbers.end(), random);
  std::sort(numbers.begin(), numbers.end());

  // Every rank proposes splitters; all gather them on rank 0, which sorts them and broadcasts every ranks-th.
  upcxx::dist_object<std::vector<std::uint64_t>> samples(upcxx::world());
  for (std::size_t i = 0; i < ranks; ++i) {
    samples->push_back(numbers[i * numbers.size() / ranks]);
  }
  std::vector<std::uint64_t> splitters(ranks);
  if (me == 0) {
    std::vector<std::uint64_t> gathered;
    for (std::size_t r = 0; r < ranks; ++r) {
      std::vector<std::uint64_t> const theirs = samples.fetch(static_cast<int>(r)).wait();
      gathered.insert(gathered.end(), theirs.begin(), theirs.end());
    }
    std::sort(gathered.begin(), gathered.end());
    for (std::size_t r = 0; r < ranks; ++r) {
      splitters[r] = gathered[r * ranks];
    }
  }
  upcxx::broadcast(splitters.data(), ranks, 0).wait();

  // Send each range to its owner.
  upcxx::dist_object<std::vector<std::uint64_t>> sorted(upcxx::world());
  upcxx::promise<> sent;
  auto begin = numbers.cbegin();
  for (std::size_t r = 0; r < ranks; ++r) {
    auto const end =
        r + 1 < ranks ? std::lower_bound(begin, numbers.cend(), splitters[r + 1]) : numbers.cend();
    upcxx::rpc(
        static_cast<int>(r), upcxx::operation_cx::as_promise(sent),
        [](upcxx::dist_object<std::vector<std::uint64_t>>& mine, upcxx::view<std::uint64_t> part) {
          mine->insert(mine->end(), part.begin(), part.end());
        },
        sorted, upcxx::make_view(begin, end));
    begin = end;
  }
  sent.finalize().wait();
  upcxx::barrier();
  std::sort(sorted->begin(), sorted->end());

  // Check: nothing is lost, and every rank begins where the previous one ends.
  std::uint64_t const before =
      upcxx::reduce_all(numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end()),
                        upcxx::op_fast_max)
          .wait();
  long const total = upcxx::reduce_all(static_cast<long>(sorted->size()), upcxx::op_fast_add).wait();
  bool correct = total == static_cast<long>(ranks) * per_rank;
  correct = correct && std::is_sorted(sorted->begin(), sorted->end());
  if (me + 1 < ranks) {
    auto const next = sorted.fetch(static_cast<int>(me) + 1).wait();
    correct = correct && (sorted->empty() || next.empty() || sorted->back() <= next.front());
  } else {
    correct = correct && sorted->back() == before;
  }
  correct = upcxx::reduce_all(correct, upcxx::op_fast_bit_and).wait();
  if (me == 0) {
    std::printf("%ld numbers on %zu ranks: %s\n", total, ranks, correct ? "sorted" : "WRONG");
  }
  upcxx::barrier();
  upcxx::finalize();
  return correct ? 0 : 1;
}
