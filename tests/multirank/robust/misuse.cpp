// Programs that make one mistake each; the first argument names it. All of them must be reported by checked
// builds (code mode debug), with a line of the mistake's entry in the table. misuse_test.py knows the words.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {

using upcxx::global_ptr;
using upcxx::rank_me;
using upcxx::rank_n;

/// Where only one rank makes the mistake, the others wait for what will not come.
bool culprit() { return rank_me() == rank_n() - 1; }

/// Pointers whose value the compiler cannot see.
template <class T>
T hidden(T value) {
  asm volatile("" : : "r"(&value) : "memory");
  return value;
}

struct [[gnu::packed]] wide {
  double words[16];
};

struct thrower {
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer&, thrower const&) {
      throw std::runtime_error("from serialize");
    }
    template <class Reader, class Storage>
    static thrower* deserialize(Reader&, Storage storage) {
      return storage.construct();
    }
  };
};

/// Returns nothing where it should build an object.
struct forgetful {
  std::string text;
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, forgetful const& f) {
      w.write(f.text);
    }
    template <class Reader, class Storage>
    static forgetful* deserialize(Reader& r, Storage) {
      r.template read<std::string>();
      return nullptr;
    }
  };
};

/// Reads more than it writes.
struct lopsided {
  int a = 1;
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, lopsided const& x) {
      w.write(x.a);
    }
    template <class Reader, class Storage>
    static lopsided* deserialize(Reader& r, Storage storage) {
      int const a = r.template read<int>();
      return storage.construct(a + static_cast<int>(r.template read<std::string>().size()));
    }
  };
  lopsided() = default;
  explicit lopsided(int a_) : a(a_) {}
};

/// What is in a heap that ends is not forgotten to be freed.
void end_with_heap() {
  for (int i = 0; i < 20; ++i) (void)upcxx::new_array<double>(1000);
  upcxx::experimental::destroy_heap();
  upcxx::experimental::restore_heap();
}

struct mistake {
  char const* name;
  void (*make)();
};

constexpr mistake mistakes[] = {
    // --- transfers
    {"rput_null", [] { upcxx::rput(1, hidden(global_ptr<int>())).wait(); }},
    {"rput_beyond",
     [] {
       auto const p = upcxx::new_array<int>(4);
       std::vector<int> const v(1 << 20);
       upcxx::rput(v.data(), p, std::size_t{1} << 40).wait();
     }},
    {"rput_moved_too_far",
     [] {
       auto const p = upcxx::new_array<int>(4);
       upcxx::rput(1, p + (std::ptrdiff_t{1} << 40)).wait();
     }},
    {"rput_null_source",
     [] {
       int const* const nothing = hidden(static_cast<int const*>(nullptr));
       upcxx::rput(nothing, upcxx::new_array<int>(4), 4).wait();
     }},
    {"rget_null_destination",
     [] {
       int* const nothing = hidden(static_cast<int*>(nullptr));
       upcxx::rget(upcxx::new_array<int>(4), nothing, 0).wait();
     }},
    {"rget_garbage",
     [] {
       global_ptr<int> p;
       std::uint64_t const bits[2] = {0x0001'0000'1234'5678, 0x77777770};
       std::memcpy(static_cast<void*>(&p), bits, sizeof p);
       (void)upcxx::rget(p).wait();
     }},
    {"copy_misaligned",
     [] {
       auto const c = upcxx::new_array<char>(64);
       double x = 1;
       upcxx::copy(&x, upcxx::reinterpret_pointer_cast<double>(c + 1), 1).wait();
     }},
    {"put_to_freed",
     [] {
       auto const p = upcxx::new_array<int>(1000);
       upcxx::delete_array(p);
       upcxx::rput(1, p + 10).wait();
     }},
    {"get_more_than_allocated",
     [] {
       auto const p = upcxx::new_array<int>(1000);
       std::vector<int> v(1200);
       upcxx::rget(p, v.data(), v.size()).wait();
     }},
    {"put_onto_itself",
     [] {
       auto const p = upcxx::new_array<int>(8);
       upcxx::rput(p.local(), p + 1, 7).wait();
     }},
    {"put_from_other_thread",
     [] {
       auto const p = upcxx::new_<int>(0);
       std::thread([p] { upcxx::rput(1, p).wait(); }).join();
     }},
    // --- global pointers
    {"rank_after_finalize",
     [] {
       upcxx::finalize();
       (void)upcxx::rank_me();
     }},
    {"arithmetic_on_null", [] { (void)(hidden(global_ptr<int>()) + 3); }},
    {"to_global_ptr_of_stack",
     [] {
       int on_stack = 0;
       (void)upcxx::to_global_ptr(&on_stack);
     }},
    {"owner_address_from_other_thread",
     [] {
       upcxx::dist_object<global_ptr<int>> const all(upcxx::new_<int>(1));
       auto const p = all.fetch((rank_me() + 1) % rank_n()).wait();
       upcxx::barrier();
       if (culprit()) std::thread([p] { (void)atl::owner_address(p); }).join();
     }},
    // --- allocation
    {"delete_twice",
     [] {
       auto const p = upcxx::new_<int>(1);
       upcxx::delete_(p);
       upcxx::delete_(p);
     }},
    {"allocate_on_other_thread", [] { std::thread([] { (void)upcxx::new_<int>(1); }).join(); }},
    {"allocate_alignment", [] { (void)upcxx::allocate(64, hidden(std::size_t{48})); }},
    {"delete_foreign",
     [] {
       upcxx::dist_object<global_ptr<int>> const all(upcxx::new_<int>(1));
       auto const p = all.fetch((rank_me() + 1) % rank_n()).wait();
       upcxx::barrier();
       upcxx::delete_(p);
     }},
    {"delete_inside",
     [] {
       auto const p = upcxx::new_array<int>(100);
       upcxx::delete_array(p + 50);
     }},
    {"delete_as_larger",
     [] { upcxx::delete_(upcxx::reinterpret_pointer_cast<wide>(upcxx::new_<char>('a'))); }},
    {"delete_array_of_new", [] { upcxx::delete_array(upcxx::new_<int>(1)); }},
    {"delete_of_new_array", [] { upcxx::delete_(upcxx::new_array<int>(1)); }},
    {"delete_of_counted_array", [] { upcxx::delete_(upcxx::new_array<std::string>(1)); }},
    {"delete_of_allocate", [] { upcxx::delete_(upcxx::allocate<int>()); }},
    {"deallocate_of_new_array", [] { upcxx::deallocate(upcxx::new_array<int>(4)); }},
    {"deallocate_of_other_form", [] { upcxx::deallocate(upcxx::allocate<int>(4).local()); }},
    {"allocate_after_finalize",
     [] {
       upcxx::finalize();
       (void)upcxx::allocate<int>(4);
     }},
    {"deallocate_malloc",
     [] {
       std::vector<char> v(10);
       upcxx::deallocate(v.data());
     }},
    // --- futures and promises
    {"result_too_early",
     [] {
       upcxx::promise<int> const p;
       (void)p.get_future().result();
     }},
    {"wait_for_ever", [] { upcxx::future<>().wait(); }},
    {"wait_for_dead_promise",
     [] {
       upcxx::future<int> const f = upcxx::promise<int>().get_future();
       (void)f.wait();
     }},
    {"wait_in_callback",
     [] { upcxx::rpc((rank_me() + 1) % rank_n(), [] { upcxx::rpc(rank_me(), [] {}).wait(); }).wait(); }},
    {"wait_on_other_thread",
     [] {
       upcxx::persona p;
       upcxx::future<int> const f = p.lpc([] { return 1; }).then([](int i) { return i + 1; });
       std::thread([f] { (void)upcxx::when_all(f, f).wait(); }).join();
     }},
    {"fulfill_twice",
     [] {
       upcxx::promise<int> const p(2);
       p.fulfill_result(1);
       p.fulfill_result(2);
     }},
    {"fulfill_too_much", [] { upcxx::promise<>(2).fulfill_anonymous(3); }},
    {"require_after_finalize",
     [] {
       upcxx::promise<> const p;
       p.finalize().wait();
       (void)upcxx::operation_cx::as_promise(p);
     }},
    {"exception_in_then",
     [] {
       upcxx::promise<> const p;
       upcxx::future<> const f = p.get_future().then([] { throw std::runtime_error("from then"); });
       p.finalize();
     }},
    {"exception_in_then_now",
     [] { upcxx::make_future(1).then([](int) -> int { throw std::runtime_error("from then"); }).wait(); }},
    // --- calls
    {"rpc_to_no_rank", [] { upcxx::rpc_ff(hidden(rank_n() + 3), [] {}); }},
    {"rpc_names_team_elsewhere",
     [] {
       upcxx::team mine = upcxx::world().split(rank_me(), 0);
       if (culprit())
         upcxx::rpc(
             0, [](upcxx::team const&) {}, mine)
             .wait();
       upcxx::barrier();
     }},
    {"rpc_names_object_elsewhere",
     [] {
       upcxx::team mine = upcxx::world().split(rank_me(), 0);
       upcxx::dist_object<int> object(1, mine);
       if (culprit())
         upcxx::rpc_ff(
             0, [](upcxx::dist_object<int>&) {}, object);
       upcxx::barrier();
     }},
    {"rpc_to_no_member", [] { upcxx::rpc_ff(upcxx::local_team(), hidden(-1), [] {}); }},
    {"builds_nothing",
     [] {
       upcxx::rpc(
           0, [](forgetful const&) {}, forgetful{"text"})
           .wait();
     }},
    {"throws_while_serializing_result", [] { upcxx::rpc(0, [] { return thrower{}; }).wait(); }},
    {"reads_too_much",
     [] {
       upcxx::rpc(
           0, [](lopsided const&) {}, lopsided{})
           .wait();
     }},
    {"view_of_wrong_size",
     [] {
       std::vector<int> const v(3);
       upcxx::rpc_ff(
           0, [](upcxx::view<int>) {}, upcxx::make_view(v.begin(), v.end(), 4));
     }},
    {"exception_in_rpc",
     [] {
       if (culprit()) upcxx::rpc_ff(0, [] { throw std::runtime_error("from the callback"); });
     }},
    // --- collectives
    {"barrier_in_callback", [] { upcxx::rpc(rank_me(), [] { upcxx::barrier(); }).wait(); }},
    {"reduce_in_callback",
     [] {
       upcxx::current_persona().lpc_ff([] { (void)upcxx::reduce_all(1, upcxx::op_fast_add); });
       upcxx::progress();
     }},
    {"root_of_no_member", [] { upcxx::broadcast(1, hidden(rank_n())).wait(); }},
    {"exception_in_reduction",
     [] {
       try {
         upcxx::reduce_all(1, [](int, int) -> int { throw std::runtime_error("from the operation"); }).wait();
       } catch (...) {
         std::fputs("it must not arrive here\n", stderr);
       }
     }},
    {"reduce_overlapping",
     [] {
       int v[8] = {};
       upcxx::reduce_all(v, v + 4, 5, upcxx::op_fast_add).wait();
     }},
    {"rank_of_no_job", [] { (void)upcxx::local_team().from_world(hidden(-3), 0); }},
    {"discharge_in_callback", [] { upcxx::rpc(rank_me(), [] { upcxx::discharge(); }).wait(); }},
    {"collective_without_master",
     [] {
       if (culprit()) std::thread([] { upcxx::barrier_async().wait(); }).join();
     }},
    // --- distributed objects
    {"dist_object_not_here",
     [] {
       upcxx::dist_id<int> const nobody;
       (void)nobody.here();
     }},
    {"dist_object_destroyed",
     [] {
       auto x = std::make_unique<upcxx::dist_object<int>>(1);
       if (!culprit()) x.reset();
       upcxx::barrier();
       if (culprit()) {
         upcxx::rpc(
             0, [](upcxx::dist_object<int>&) {}, *x)
             .wait();
       }
     }},
    {"dist_object_moved_from",
     [] {
       upcxx::dist_object<int> x(1);
       upcxx::dist_object<int> const y(std::move(x));
       (void)x.fetch(0);
     }},
    {"dist_object_of_ended_team",
     [] {
       upcxx::team all = upcxx::world().split(0, rank_me());
       upcxx::dist_object<int> const x(1, all);
       all.destroy();
       (void)x.fetch(0);
     }},
    {"dist_object_of_ended_period",
     [] {
       upcxx::dist_object<int> const x(1);
       upcxx::finalize();
       upcxx::init();
       (void)x.id();
     }},
    // --- personas
    {"persona_held_elsewhere",
     [] {
       upcxx::persona_scope const mine(upcxx::master_persona());
       std::thread([] { upcxx::persona_scope const theirs(upcxx::master_persona()); }).join();
     }},
    {"scopes_out_of_order",
     [] {
       upcxx::persona a;
       upcxx::persona b;
       auto first = std::make_unique<upcxx::persona_scope>(a);
       auto const second = std::make_unique<upcxx::persona_scope>(b);
       first.reset();
     }},
    {"persona_with_work",
     [] {
       upcxx::persona p;
       p.lpc_ff([] {});
     }},
    {"persona_with_operation",
     [] {
       upcxx::persona p;
       upcxx::persona_scope const scope(p);
       upcxx::persona mine;
       upcxx::persona_scope const inner(mine);
       (void)p.lpc([] {});
       (void)upcxx::master_persona().lpc([] {});
     }},
    {"thread_with_work", [] { std::thread([] { upcxx::default_persona().lpc_ff([] {}); }).join(); }},
    {"thread_with_operation", [] { std::thread([] { (void)upcxx::master_persona().lpc([] {}); }).join(); }},
    {"thread_with_master",
     [] {
       upcxx::finalize();
       std::thread([] { upcxx::init(); }).join();
     }},
    {"liberate_twice",
     [] {
       upcxx::liberate_master_persona();
       upcxx::liberate_master_persona();
     }},
    {"team_after_finalize",
     [] {
       upcxx::team all = upcxx::world().split(0, 0);
       upcxx::finalize();
       all.destroy();
     }},
    {"domain_after_finalize",
     [] {
       upcxx::atomic_domain<int> domain({upcxx::atomic_op::load});
       upcxx::finalize();
       domain.destroy();
     }},
    {"domain_in_callback",
     [] {
       upcxx::rpc(rank_me(), [] { upcxx::atomic_domain<int> const domain({upcxx::atomic_op::load}); }).wait();
     }},
    {"finalize_without_master",
     [] {
       upcxx::liberate_master_persona();
       upcxx::finalize();
     }},
    {"finalize_twice",
     [] {
       upcxx::finalize();
       upcxx::finalize();
     }},
    // --- the environment
    {"os_env",
     [] {
       ::setenv("MISUSE_NUMBER", "twelve", 1);
       (void)upcxx::experimental::os_env<int>("MISUSE_NUMBER");
     }},
    // --- no mistakes that stop the job: what finalize says
    {"never_constructed",
     [] {
       if (rank_me() != 0) return;
       upcxx::dist_object<int> here(1);
       upcxx::rpc_ff(
           1, [](upcxx::dist_object<int>&, std::vector<int> const&) {}, here, std::vector<int>(1000));
     }},
    {"leak",
     [] {
       end_with_heap();
       if (rank_me() == 1) (void)upcxx::new_array<double>(1000);
       (void)upcxx::new_<int>(1);
     }},
};

}  // namespace

int main(int argc, char** argv) {
  upcxx::init();
  for (mistake const& m : mistakes) {
    if (argc < 2 || std::strcmp(m.name, argv[1]) != 0) continue;
    m.make();
    if (upcxx::initialized()) {
      upcxx::barrier();
      upcxx::finalize();
    }
    return 0;
  }
  std::fprintf(stderr, "no such case\n");
  return 2;
}
