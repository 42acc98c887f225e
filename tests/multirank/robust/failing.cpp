// Jobs that fail, each in its own way; the first argument chooses. See CMakeLists.txt
// for what must be reported.

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {

long received = 0;
bool gone_on = false;
int peer = 0;
upcxx::global_ptr<long> peer_words;

/// All ranks flood all others; one of them is killed half way, as by the kernel's out-of-memory killer.
void killed_in_flood() {
  std::vector<char> block(20000, 'x');
  for (int i = 0; i < 4000; ++i) {
    for (int r = 0; r < upcxx::rank_n(); ++r) {
      upcxx::rpc_ff(
          r, [](upcxx::view<char> v) { received += static_cast<long>(v.size()); }, upcxx::make_view(block));
    }
    if (upcxx::rank_me() == 1 && i == 300) {
      ::kill(::getpid(), SIGKILL);
    }
    if (i % 10 == 0) {
      upcxx::progress();
    }
  }
  upcxx::barrier();
}

/// A rank dies while everybody else is inside a collective.
void killed_in_barrier() {
  if (upcxx::rank_me() == upcxx::rank_n() - 1) {
    ::kill(::getpid(), SIGKILL);
  }
  upcxx::barrier();
}

/// The same after the others have waited for so long that they sleep.
void killed_while_others_sleep() {
  if (upcxx::rank_me() == upcxx::rank_n() - 1) {
    ::usleep(100'000);
    ::kill(::getpid(), SIGKILL);
  }
  upcxx::barrier();
}

void heap_exhausted() {
  if (upcxx::rank_me() == 0) {
    (void)upcxx::new_array<char>(std::size_t{1} << 40);
  }
  upcxx::barrier();
}

void assertion() {
  UPCXX_ASSERT_ALWAYS(upcxx::rank_me() != 1, "the answer is " << 40 + 2 << " on rank " << upcxx::rank_me());
  upcxx::barrier();
}

void exception_in_callback() {
  if (upcxx::rank_me() == 0) {
    upcxx::rpc_ff(1 % upcxx::rank_n(), [] { throw std::runtime_error("thrown in a callback"); });
  }
  upcxx::barrier();
}

/// A value that cannot be serialised, or not be read again.
struct reluctant {
  int value;
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, reluctant const& object) {
      if (object.value == 1) throw std::runtime_error("cannot be packed");
      w.write(object.value);
    }
    template <class Reader, class Storage>
    static reluctant* deserialize(Reader& r, Storage storage) {
      int const value = r.template read<int>();
      if (value == 2) throw std::runtime_error("cannot be unpacked");
      return storage.construct(reluctant{value});
    }
  };
};

/// In collectives of values that must be serialised.
void exception_in_packing() {
  auto const either = [](reluctant a, reluctant) { return a; };
  try {
    (void)upcxx::experimental::reduce_all_nontrivial(reluctant{upcxx::rank_me()}, either).wait();
  } catch (std::exception const&) {
    std::printf("caught\n");
  }
}

void exception_in_unpacking() {
  try {
    (void)upcxx::experimental::broadcast_nontrivial(reluctant{2}, 0).wait();
  } catch (std::exception const&) {
    std::printf("caught\n");
  }
}

void collective_in_callback() {
  upcxx::rpc(upcxx::rank_me(), [] { (void)upcxx::barrier_async(); }).wait();
}

void wait_in_callback() {
  upcxx::rpc(upcxx::rank_me(), [] { upcxx::rpc(0, [] {}).wait(); }).wait();
}

void exit_without_finalize() {
  if (upcxx::rank_me() == 1) {
    std::exit(0);
  }
  upcxx::barrier();
}

void hangs() {
  upcxx::promise<> const never;
  upcxx::barrier();
  if (upcxx::rank_me() == 0) {
    never.get_future().wait();
  }
  upcxx::barrier();
}

/// Rank 1, of another host, stands still while rank 0 awaits what only it can do. Rank 0 asks for the table of what ranks do itself, as
/// its own time is the only one that is known to be right.
void peer_stands_still() {
  if (upcxx::rank_me() != 0) {
    auto const words = upcxx::new_array<long>(2);
    upcxx::rpc(
        0, [](int process, upcxx::global_ptr<long> at) { peer = process, peer_words = at; }, ::getpid(),
        words)
        .wait();
    ::raise(SIGSTOP);
    return;
  }
  // Until then it needs an answer.
  for (std::string state; state != "T";) {
    upcxx::progress();
    if (peer != 0) std::ifstream("/proc/" + std::to_string(peer) + "/stat").ignore(1000, ')') >> state;
  }
  upcxx::future<long> const got = upcxx::rget(peer_words);
  upcxx::future<> const put = upcxx::rput(1L, peer_words + 1);
  ::kill(::getppid(), SIGQUIT);
  upcxx::when_all(got, put).wait();
}

/// Ranks that do not agree on a collective, in ways that show up in different places.
void collectives_differ(std::string const& how) {
  int const me = upcxx::rank_me();
  long value = me;
  std::vector<long> many(1000, me);
  upcxx::team all = upcxx::world().split(0, -me);
  if (how == "kind") {  // both inside shared memory
    if (me == 1) {
      upcxx::barrier(all);
    } else {
      upcxx::reduce_all(value, upcxx::op_fast_add, all).wait();
    }
  } else if (how == "root") {
    upcxx::broadcast(value, me == 1 ? 1 : 0).wait();
  } else if (how == "count") {
    upcxx::reduce_one(many.data(), many.data(), me == 1 ? 999 : 1000, upcxx::op_fast_add, 0).wait();
  } else if (how == "order") {
    if (me == 1) {
      upcxx::barrier();
      upcxx::broadcast(value, 1).wait();
    } else {
      upcxx::broadcast(value, 1).wait();
      upcxx::barrier();
    }
  } else if (how == "silent") {  // nobody sends anything: found by who has waited long
    if (me == 0) {
      upcxx::barrier();
    } else {
      upcxx::broadcast(value, 0).wait();
    }
  } else if (how == "number") {  // nobody sends anything, and the ranks have got differently far
    if (me == 0) {
      upcxx::broadcast(value, 0).wait();
      upcxx::barrier();
    } else {
      upcxx::broadcast(value, 1 - me % 2).wait();
    }
  } else if (how == "operation") {
    if (me == 1) {
      upcxx::reduce_all(value, upcxx::op_fast_max).wait();
    } else {
      upcxx::reduce_all(value, upcxx::op_fast_add).wait();
    }
  } else if (how == "element") {  // as many bytes, and an operation that nobody knows
    auto const sum = [](auto a, auto b) { return a + b; };
    std::vector<int> halves(2 * many.size(), me);
    if (me == 1) {
      upcxx::reduce_all(halves.data(), halves.data(), halves.size(), sum).wait();
    } else {
      upcxx::reduce_all(many.data(), many.data(), many.size(), sum).wait();
    }
  } else if (how == "unseen") {  // nobody waits for anybody: found in the next one
    if (me == 1) {
      upcxx::broadcast(value, 1).wait();
    } else {
      upcxx::reduce_one(value, upcxx::op_fast_add, 1).wait();
    }
  } else if (how == "domain") {  // a call that consists of collectives
    if (me == 1) {
      upcxx::barrier();
    } else {
      upcxx::atomic_domain<long> domain({upcxx::atomic_op::load});
      domain.destroy();
    }
  } else if (how == "end") {  // one barrier more
    all.destroy();
    if (me != 1) upcxx::barrier();
    return;
  }
  upcxx::barrier();
}

/// Rank 1 never starts what the others wait for.
void collective_left_out() {
  upcxx::team all = upcxx::world().split(0, upcxx::rank_me());
  upcxx::future<int> sum = upcxx::make_future(0);
  upcxx::promise<> const never;
  if (upcxx::rank_me() != 1) sum = upcxx::reduce_all(1, upcxx::op_fast_add, all);
  if (upcxx::rank_me() != 1) sum.wait();
  never.get_future().wait();
}

/// team::create with lists that do not fit together; after the dot, what is different.
void lists_differ(std::string const& how) {
  using ranks = std::vector<int>;
  auto const create = [](std::vector<ranks> const& lists) {
    upcxx::team fresh = upcxx::world().create(lists[static_cast<std::size_t>(upcxx::rank_me())]);
    if (fresh.is_active()) fresh.destroy();
  };
  int const me = upcxx::rank_me();
  // Ranks that leave too early do so without the teams' ends, which would hide what is tested.
  auto const split = [](int color) -> upcxx::team& {
    return *new upcxx::team(upcxx::world().split(color, upcxx::rank_me()));
  };
  upcxx::team& all = split(0);
  if (how == "order") {
    create({{0, 1}, {1, 0}, {}});
  } else if (how == "alone") {
    create({{0, 1}, {1}, {2}});
  } else if (how == "empty") {
    create({{0, 1}, {}, {}});
  } else if (how == "long_ago") {  // and the other has called much since, over other teams
    if (me == 2) return all.destroy();
    while (me == 0 && !gone_on) upcxx::progress();  // else the other hears of it before it has
    create({{0, 1}, {1}});
    upcxx::team self = all.create(ranks{me});
    for (int i = 0; i < 40; ++i) upcxx::barrier(self);
    self.destroy();
    upcxx::rpc_ff(0, [] { gone_on = true; });
  } else if (how == "cycle") {
    create({{0, 1}, {1, 2}, {2, 0}});
  } else if (how == "one_of_three") {
    create({{0, 1, 2}, {0, 1, 2}, {0, 2, 1}});
  } else if (how == "size") {
    create({{0, 1}, {0, 1, 2}, {0, 1, 2}});
  } else if (how == "finalize") {
    if (me != 1) create({{0, 1}, {}, {}});
    return;
  } else if (how == "finalize_other_parent") {
    if (me == 0) (void)all.create(ranks{0, 1});
    return;
  } else if (how == "barrier") {  // of a team that the waiter is not in
    upcxx::team const& two = split(me == 0 ? 0 : 1);
    if (me == 0) (void)all.create(ranks{0, 1});
    if (me == 1) upcxx::barrier(two);
    return;
  } else if (how == "future") {  // the same, but it may be that nobody needs rank 0
    upcxx::team const& two = split(me == 0 ? 0 : 1);
    if (me == 0) (void)all.create(ranks{0, 1});
    if (me == 1) upcxx::barrier_async(two).wait();
    return;
  } else if (how == "two_parents") {
    upcxx::team const& again = split(0);
    if (me == 0) (void)all.create(ranks{0, 1});
    if (me == 1) (void)again.create(ranks{0, 1});
    return;
  }
  all.destroy();
  upcxx::barrier();
}

void team_not_destroyed() {
  { upcxx::team all = upcxx::world().split(0, upcxx::rank_me()); }
  upcxx::barrier();
}

void team_used_after_its_end() {
  upcxx::team all = upcxx::world().split(0, upcxx::rank_me());
  all.destroy();
  upcxx::barrier(all);
}

/// Sends a function of a library that only the sender has loaded.
void unknown_module(char const* library) {
  if (upcxx::rank_me() == 0) {
    void* handle = ::dlopen(library, RTLD_NOW);
    if (handle == nullptr) {
      std::fprintf(stderr, "%s\n", ::dlerror());
      return;
    }
    auto* run = reinterpret_cast<int (*)(int, int)>(::dlsym(handle, "plugin_rpc"));
    run(1, 5);
  }
  upcxx::barrier();
}

}  // namespace

int main(int argc, char** argv) {
  std::string const what = argc > 1 ? argv[1] : "";
  upcxx::init();
  if (what == "killed_in_flood") {
    killed_in_flood();
  } else if (what == "killed_in_barrier") {
    killed_in_barrier();
  } else if (what == "killed_while_others_sleep") {
    killed_while_others_sleep();
  } else if (what == "heap_exhausted") {
    heap_exhausted();
  } else if (what == "assertion") {
    assertion();
  } else if (what == "exception_in_callback") {
    exception_in_callback();
  } else if (what == "exception_in_packing") {
    exception_in_packing();
  } else if (what == "exception_in_unpacking") {
    exception_in_unpacking();
  } else if (what == "collective_in_callback") {
    collective_in_callback();
  } else if (what == "wait_in_callback") {
    wait_in_callback();
  } else if (what == "exit_without_finalize") {
    exit_without_finalize();
  } else if (what == "hangs") {
    hangs();
  } else if (what == "peer_stands_still") {
    peer_stands_still();
  } else if (what == "collectives_differ") {
    collectives_differ(argv[2]);
  } else if (what == "lists_differ") {
    lists_differ(argv[2]);
  } else if (what == "collective_left_out") {
    collective_left_out();
  } else if (what == "team_not_destroyed") {
    team_not_destroyed();
  } else if (what == "team_used_after_its_end") {
    team_used_after_its_end();
  } else if (what == "unknown_module") {
    unknown_module(argv[2]);
  }
  upcxx::finalize();
  return 0;
}
