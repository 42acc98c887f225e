// What ranks of simulated hosts may do among those of their host, whatever carries messages between hosts. The layout
// that the test was started with is in ATOLL_SIM_HOSTS; the expected hosts, a digit for each rank, are the argument.

#include <cstdio>
#include <string>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {

int failures = 0;

void check(bool holds, char const* what, int line) {
  if (holds) return;
  std::fprintf(stderr, "rank %d, line %d: %s\n", upcxx::rank_me(), line, what);
  ++failures;
}
#define CHECK(condition) check(condition, #condition, __LINE__)

std::vector<int> ranks_on(std::string const& host_of, char host) {
  std::vector<int> found;
  for (int r = 0; r < static_cast<int>(host_of.size()); ++r) {
    if (host_of[static_cast<std::size_t>(r)] == host) found.push_back(r);
  }
  return found;
}

void check_places(std::string const& host_of, std::vector<int> const& mine) {
  int const me = upcxx::rank_me();
  upcxx::team& local = upcxx::local_team();
  CHECK(upcxx::rank_n() == static_cast<int>(host_of.size()));
  CHECK(local.rank_n() == static_cast<int>(mine.size()));
  CHECK(local[local.rank_me()] == me);
  CHECK(upcxx::local_team_position().first == host_of[static_cast<std::size_t>(me)] - '0');
  for (int r = 0; r < upcxx::rank_n(); ++r) {
    bool const here = host_of[static_cast<std::size_t>(r)] == host_of[static_cast<std::size_t>(me)];
    CHECK(upcxx::local_team_contains(r) == here);
    CHECK((local.from_world(r, -1) >= 0) == here);
  }
  for (int i = 0; i < local.rank_n(); ++i) {
    CHECK(local[i] == mine[static_cast<std::size_t>(i)]);
    CHECK(local.from_world(mine[static_cast<std::size_t>(i)]) == i);
  }
}

/// A ring of the host: memory, messages, atomics, collectives.
void check_inside() {
  upcxx::team& local = upcxx::local_team();
  int const me = upcxx::rank_me();
  upcxx::global_ptr<long> const own = upcxx::new_array<long>(1000);
  CHECK(own.where() == me && own.is_local());
  CHECK(upcxx::to_global_ptr(own.local() + 3) == own + 3);
  own.local()[0] = me;
  for (int i = 0; i < local.rank_n(); ++i) {
    auto const theirs = upcxx::broadcast(own, i, local).wait();
    CHECK(theirs.where() == local[i] && theirs.is_local());
    CHECK(*theirs.local() == local[i]);
    CHECK(upcxx::to_global_ptr(theirs.local() + 999) == theirs + 999);
    CHECK(upcxx::rget(theirs).wait() == local[i]);
    upcxx::rput(static_cast<long>(me), theirs + 1 + local.rank_me()).wait();
    CHECK(upcxx::rpc(local, i, [] { return upcxx::rank_me(); }).wait() == local[i]);
    std::vector<long> const large(300'000, me);  // no message that fits a ring
    CHECK(upcxx::rpc(
              local, i, [](std::vector<long> const& v) { return v.back() + upcxx::rank_me(); }, large)
              .wait() == me + local[i]);
  }
  upcxx::barrier(local);
  for (int i = 0; i < local.rank_n(); ++i) CHECK(own.local()[1 + i] == local[i]);
  CHECK(upcxx::reduce_all(1, upcxx::op_fast_add, local).wait() == local.rank_n());

  upcxx::team half = local.split(local.rank_me() % 2, -local.rank_me());
  CHECK(upcxx::reduce_all(local.rank_me() % 2, upcxx::op_fast_max, half).wait() == local.rank_me() % 2);
  upcxx::dist_object<int> value(me * 10, half);
  CHECK(value.fetch(half.rank_n() - 1).wait() == half[half.rank_n() - 1] * 10);
  upcxx::barrier(half);
  half.destroy();

  upcxx::barrier(local);
  upcxx::delete_array(own);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::string const host_of = argv[1];
  upcxx::init();
  auto const mine = ranks_on(host_of, host_of.at(static_cast<std::size_t>(upcxx::rank_me())));
  check_places(host_of, mine);
  check_inside();
  upcxx::finalize();
  return failures == 0 ? 0 : 1;
}
