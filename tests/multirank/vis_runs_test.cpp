// rput and rget, _irregular and _regular: lists of every sort, runs that do not match, completion.

#include <algorithm>
#include <array>
#include <forward_list>
#include <list>
#include <numeric>
#include <random>
#include <tuple>

#include "common.hpp"

namespace user {
/// A run of a program's own making, with a get that is found in its namespace.
struct run {
  int const* from;
  short length;
};
template <std::size_t I>
auto get(run const& r) {
  if constexpr (I == 0) {
    return r.from;
  } else {
    return r.length;
  }
}
}  // namespace user

namespace {

using upcxx::global_ptr;

constexpr std::size_t size = 3000;

struct arrays {
  arrays() : landing(size), mine(size), back(size, -1) {
    std::fill_n(landing.local(), size, -1);
    std::iota(mine.begin(), mine.end(), upcxx::rank_me() * 10000);
    upcxx::barrier();
  }
  multirank::shared_array<int> landing;
  std::vector<int> mine;
  std::vector<int> back;
};

/// Cuts [0, total) of an array into runs of random lengths, some empty, in random order.
template <class Pointer>
std::vector<std::pair<Pointer, std::size_t>> cut(Pointer array, std::size_t total, std::mt19937& random) {
  std::vector<std::pair<Pointer, std::size_t>> runs;
  for (std::size_t from = 0; from < total;) {
    std::size_t const length =
        std::min<std::size_t>(random() % 3 == 0 ? random() % 60 : random() % 4, total - from);
    runs.emplace_back(array + static_cast<std::ptrdiff_t>(from), length);
    from += length;
  }
  std::shuffle(runs.begin(), runs.end(), random);
  return runs;
}

/// Indices of an array in the order in which the runs name them.
template <class Pointer>
std::vector<std::size_t> indices(std::vector<std::pair<Pointer, std::size_t>> const& runs, Pointer array) {
  std::vector<std::size_t> all;
  for (auto const& [from, length] : runs) {
    for (std::size_t i = 0; i < length; ++i) all.push_back(static_cast<std::size_t>(from - array) + i);
  }
  return all;
}

}  // namespace

using vis_runs_test = multirank::fixture;

TEST_F(vis_runs_test, elements_pair_up_in_order_however_the_runs_are_cut) {
  arrays a;
  std::mt19937 random(static_cast<unsigned>(42 + me));
  auto const dest = a.landing.at(right);
  for (int round = 0; round < 40; ++round) {
    std::size_t const total = random() % size;
    auto const from = cut<int const*>(a.mine.data(), total, random);
    auto const to = cut(dest, total, random);
    upcxx::rput_irregular(from.begin(), from.end(), to.begin(), to.end()).wait();
    auto const source = indices<int const*>(from, a.mine.data());
    auto const target = indices(to, dest);
    std::vector<int> seen(size);
    upcxx::rget(dest, seen.data(), size).wait();
    int wrong = 0;
    for (std::size_t i = 0; i < total; ++i) wrong += seen[target[i]] != a.mine[source[i]] ? 1 : 0;
    EXPECT_EQ(wrong, 0) << "put, round " << round;

    auto const into = cut(a.back.data(), total, random);
    upcxx::rget_irregular(to.begin(), to.end(), into.begin(), into.end()).wait();
    auto const got = indices(into, a.back.data());
    for (std::size_t i = 0; i < total; ++i) wrong += a.back[got[i]] != a.mine[source[i]] ? 1 : 0;
    EXPECT_EQ(wrong, 0) << "get, round " << round;
  }
}

TEST_F(vis_runs_test, lists_of_every_sort_are_taken) {
  arrays a;
  auto const dest = a.landing.at(right);
  int* const mine = a.mine.data();
  std::list<std::tuple<int*, int, char>> const three{{mine, 2, 'a'}, {mine + 10, 1, 'b'}};
  std::pair<global_ptr<int>, std::size_t> plain[] = {{dest + 1, 3}};
  upcxx::rput_irregular(three.begin(), three.end(), plain, plain + 1).wait();

  std::forward_list<user::run> const own{{mine + 20, 1}, {mine + 30, 2}};
  std::array<std::tuple<global_ptr<int>, unsigned>, 2> const tuples{{{dest + 5, 2}, {dest + 8, 1}}};
  upcxx::rput_irregular(own.begin(), own.end(), tuples.begin(), tuples.end()).wait();

  int const* const sources[] = {mine + 40, mine + 50, mine + 60};
  std::list<global_ptr<int>> const targets{dest + 20, dest + 30};
  upcxx::rput_regular(sources, sources + 3, 4, targets.begin(), targets.end(), 6).wait();

  global_ptr<int const> const read[] = {dest + 20, dest + 33};
  std::vector<int*> write{a.back.data() + 1, a.back.data() + 3, a.back.data() + 9};
  upcxx::rget_regular(read, read + 2, 3, write.begin(), write.end(), 2).wait();
  EXPECT_EQ(
      (std::vector<int>(a.back.begin(), a.back.begin() + 11)),
      (std::vector<int>{-1, mine[40], mine[41], mine[42], mine[61], -1, -1, -1, -1, mine[62], mine[63]}));
  upcxx::barrier();
  int const* const got = a.landing.local();
  auto const v = [&](int i) { return left * 10000 + i; };
  EXPECT_EQ((std::vector<int>(got, got + 10)),
            (std::vector<int>{-1, v(0), v(1), v(10), -1, v(20), v(30), -1, v(31), -1}));
  EXPECT_EQ((std::vector<int>(got + 20, got + 37)),
            (std::vector<int>{v(40), v(41), v(42), v(43), v(50), v(51), -1, -1, -1, -1, v(52), v(53), v(60),
                              v(61), v(62), v(63), -1}));
}

TEST_F(vis_runs_test, nothing_to_copy_is_complete) {
  arrays a;
  using run = std::pair<global_ptr<int>, std::size_t>;
  using source = std::pair<int const*, std::size_t>;
  std::vector<source> const no_sources;
  std::vector<run> const no_runs;
  std::vector<run> const empty_runs{{a.landing.at(right), 0}, {a.landing.at(right) + 1, 0}};
  upcxx::rput_irregular(no_sources.begin(), no_sources.end(), no_runs.begin(), no_runs.end()).wait();
  upcxx::rput_irregular(no_sources.begin(), no_sources.end(), empty_runs.begin(), empty_runs.end()).wait();
  int const* const one[] = {a.mine.data()};
  global_ptr<int> const to[] = {a.landing.at(right), a.landing.at(right) + 9};
  upcxx::rput_regular(one, one, 5, to, to + 2, 0).wait();
  upcxx::rput_regular(one, one + 1, 0, to, to, 3).wait();
  int* back[] = {a.back.data()};
  upcxx::rget_regular(to, to, 3, back, back + 1, 0).wait();
  upcxx::barrier();
  EXPECT_EQ(std::count(a.landing.local(), a.landing.local() + size, -1), static_cast<long>(size));
}

TEST_F(vis_runs_test, remote_completion_goes_to_the_owner_or_for_an_empty_list_to_the_initiator) {
  static int arrived;
  arrived = 0;
  arrays a;
  using run = std::pair<global_ptr<int>, std::size_t>;
  std::vector<std::pair<int*, std::size_t>> from{{a.mine.data(), 2}, {a.mine.data() + 4, 1}};
  std::vector<run> to{{a.landing.at(right) + 7, 0}, {a.landing.at(right) + 1, 3}};
  auto const note = upcxx::remote_cx::as_rpc(
      [](int rank, global_ptr<int> p) {
        EXPECT_EQ(p.local()[3], rank * 10000 + 4);
        ++arrived;
      },
      me, a.landing.at(right));
  static_assert(
      std::is_void_v<decltype(upcxx::rput_irregular(from.begin(), from.end(), to.begin(), to.end(), note))>);
  upcxx::rput_irregular(from.begin(), from.end(), to.begin(), to.end(), note);
  multirank::spin_until([&] { return arrived == 1; });

  // Only empty runs: the owner still. No runs: the initiator.
  static int whose;
  whose = -1;
  upcxx::barrier();
  auto const tell = [](int rank) { whose = rank; };
  to[1].second = 0;
  upcxx::rput_irregular(from.begin(), from.begin(), to.begin(), to.end(), upcxx::remote_cx::as_rpc(tell, me));
  multirank::spin_until([&] { return whose == left; });
  upcxx::barrier();
  whose = -1;
  upcxx::rput_irregular(from.begin(), from.begin(), to.begin(), to.begin(),
                        upcxx::remote_cx::as_rpc(tell, me) | upcxx::operation_cx::as_future())
      .wait();
  EXPECT_EQ(whose, -1);  // not inside the call
  multirank::spin_until([&] { return whose != -1; });
  EXPECT_EQ(whose, me);
}

TEST_F(vis_runs_test, hundreds_of_thousands_of_pieces_arrive) {
  constexpr std::size_t pieces = 200000;
  multirank::shared_array<std::uint16_t> landing(pieces * 2);
  std::vector<std::uint16_t> mine(pieces);
  std::vector<std::uint16_t const*> from(pieces);
  std::vector<global_ptr<std::uint16_t>> to(pieces);
  for (std::size_t i = 0; i < pieces; ++i) {
    mine[i] = static_cast<std::uint16_t>(i * 7 + static_cast<std::size_t>(me));
    from[i] = &mine[i];
    to[i] = landing.at(right) + static_cast<std::ptrdiff_t>(2 * (pieces - 1 - i));
  }
  upcxx::promise<> done;
  constexpr std::size_t calls = 5;
  for (std::size_t c = 0; c < calls; ++c) {
    upcxx::rput_regular(from.data(), from.data() + pieces, 1, to.data(), to.data() + pieces, 1,
                        upcxx::source_cx::as_buffered() | upcxx::operation_cx::as_promise(done));
  }
  done.finalize().wait();
  upcxx::barrier();
  int wrong = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    auto const expected = static_cast<std::uint16_t>(i * 7 + static_cast<std::size_t>(left));
    wrong += landing.local()[2 * (pieces - 1 - i)] != expected ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0);
}
