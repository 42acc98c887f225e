// Misuse of atomic domains and of non-contiguous transfers that checked builds must find; the argument
// chooses. See CMakeLists.txt for what must be reported.

#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {

using upcxx::atomic_domain;
using upcxx::atomic_op;
using upcxx::global_ptr;
constexpr auto relaxed = std::memory_order_relaxed;

void domain_not_destroyed() { atomic_domain<int> domain({atomic_op::load}); }

void domain_used_after_destroy() {
  auto const p = upcxx::new_<int>(0);
  atomic_domain<int> domain({atomic_op::load});
  domain.destroy();
  domain.load(p, relaxed).wait();
}

void operation_not_in_domain() {
  auto const p = upcxx::new_<int>(0);
  atomic_domain<int> domain({atomic_op::load, atomic_op::add});
  domain.fetch_add(p, 1, relaxed).wait();
}

void order_not_allowed() {
  auto const p = upcxx::new_<int>(0);
  atomic_domain<int> domain({atomic_op::load});
  // A variable, since compilers see constants that are wrong.
  auto order = std::memory_order_release;
  asm("" : "+r"(order));
  domain.load(p, order).wait();
}

void no_operations() { atomic_domain<int> domain(std::vector<atomic_op>{}); }

void bitwise_on_floating_point() { atomic_domain<double> domain({atomic_op::add, atomic_op::bit_or}); }

void domains_differ() {
  atomic_domain<int> domain({upcxx::rank_me() == 1 ? atomic_op::store : atomic_op::load});
}

void target_misaligned() {
  auto const p = upcxx::new_array<int>(4);
  atomic_domain<long> domain({atomic_op::load});
  domain.load(upcxx::reinterpret_pointer_cast<long>(p + 1), relaxed).wait();
}

void target_outside_heap() {
  auto const p = upcxx::new_array<int>(4);
  atomic_domain<int> domain({atomic_op::load});
  domain.load(p + (1 << 28), relaxed).wait();
}

void target_outside_team() {
  auto const p = upcxx::broadcast(upcxx::new_<int>(4), 1).wait();
  upcxx::team alone = upcxx::world().split(upcxx::rank_me(), 0);
  atomic_domain<int> domain({atomic_op::load}, alone);
  if (upcxx::rank_me() == 0) domain.load(p, relaxed).wait();
  upcxx::barrier();
}

void runs_of_unequal_length() {
  auto const p = upcxx::new_array<int>(8);
  int source[8] = {};
  std::pair<int*, int> const from[] = {{source, 4}, {source + 4, 3}};
  std::pair<global_ptr<int>, int> const to[] = {{p, 8}};
  upcxx::rput_irregular(from, from + 2, to, to + 1).wait();
}

void runs_of_several_owners() {
  auto const p = upcxx::new_<int>(1);
  global_ptr<int> const from[] = {upcxx::broadcast(p, 0).wait(), upcxx::broadcast(p, 1).wait()};
  int dest[2];
  int* const to[] = {dest};
  upcxx::rget_regular(from, from + 2, 1, to, to + 1, 2).wait();
}

void run_is_null() {
  auto const p = upcxx::new_<int>(1);
  int const* const from[] = {nullptr};
  upcxx::rput_regular(from, from + 1, 0, &p, &p + 1, 0).wait();
}

void box_outside_heap() {
  auto const p = upcxx::new_array<int>(8);
  std::vector<int> to(1 << 20);
  // Elements where bytes are meant.
  upcxx::rget_strided<2>(p, {{4, 1 << 24}}, to.data(), {{4, 32}}, {{8, 1 << 15}}).wait();
}

void box_overlaps_itself() {
  auto const p = upcxx::new_array<int>(8);
  int source[8] = {};
  upcxx::rput_strided<1>(source, {{4}}, p, {{1}}, {{8}}).wait();
}

constexpr std::pair<std::string_view, void (*)()> cases[] = {
    {"domain_not_destroyed", domain_not_destroyed},
    {"domain_used_after_destroy", domain_used_after_destroy},
    {"operation_not_in_domain", operation_not_in_domain},
    {"order_not_allowed", order_not_allowed},
    {"no_operations", no_operations},
    {"bitwise_on_floating_point", bitwise_on_floating_point},
    {"domains_differ", domains_differ},
    {"target_misaligned", target_misaligned},
    {"target_outside_heap", target_outside_heap},
    {"target_outside_team", target_outside_team},
    {"runs_of_unequal_length", runs_of_unequal_length},
    {"runs_of_several_owners", runs_of_several_owners},
    {"run_is_null", run_is_null},
    {"box_outside_heap", box_outside_heap},
    {"box_overlaps_itself", box_overlaps_itself},
};

}  // namespace

int main(int argc, char** argv) {
  upcxx::init();
  for (auto const& [name, run] : cases) {
    if (argc > 1 && name == argv[1]) run();
  }
  upcxx::finalize();
}
