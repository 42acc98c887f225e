// Every form of completion with copies, non-contiguous transfers and atomic operations (communication digest,
// chapter 10). In host memory they complete as the transfers of completion_rma_test.cpp do,
// while the call is made.

#include <optional>

#include "completion_together_cases.hpp"

namespace multirank::forms {
namespace {

using upcxx::atomic_op;

std::optional<upcxx::atomic_domain<int>> domain;

/// Between the initialisation of the library and its end.
class domain_of_all_tests : public testing::Environment {
  void SetUp() override { domain.emplace(std::vector{atomic_op::fetch_add, atomic_op::fetch_max}); }
  void TearDown() override { domain->destroy(); }
};
[[maybe_unused]] auto* const registered = testing::AddGlobalTestEnvironment(new domain_of_all_tests);

}  // namespace

struct fetch_add : operation {
  static constexpr bool has_source = false, has_remote = false;
  using future_type = upcxx::future<int>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return domain->fetch_add(a.landing_at(a.right()) + 3, 500, std::memory_order_relaxed,
                             std::forward<Cx>(cx));
  }
  int expected() { return -1; }
  bool arrived() { return a.remote_landing()[3] == 499; }
};

struct fetch_max_into_memory : operation {
  static constexpr bool has_source = false, has_remote = false;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    *a.dest() = 0;
    return domain->fetch_max(a.landing_at(a.right()) + 3, 500, a.dest(), std::memory_order_acq_rel,
                             std::forward<Cx>(cx));
  }
  bool arrived() { return a.remote_landing()[3] == 500 && *a.dest() == -1; }
};

/// The slot in two halves, as one run at the destination.
struct rput_in_runs : operation {
  static constexpr bool has_source = true, has_remote = true;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    int const* const from[] = {a.source(), a.source() + arena::count / 2};
    upcxx::global_ptr<int> const to[] = {a.landing_at(a.right())};
    return upcxx::rput_regular(from, from + 2, arena::count / 2, to, to + 1, arena::count,
                               std::forward<Cx>(cx));
  }
  bool arrived() { return a.remote_landing() == a.my_values(); }
  int remote_rank() { return a.right(); }
};

/// The slot as a box, from its end.
struct rget_as_box : operation {
  static constexpr bool has_source = false, has_remote = false;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    auto const last = static_cast<std::ptrdiff_t>(arena::count) - 1;
    return upcxx::rget_strided<2>(a.origin_at(a.right()) + last, {{-4, -400}}, a.dest() + last, {{-4, -400}},
                                  {{100, 3}}, std::forward<Cx>(cx));
  }
  bool arrived() { return a.dest()[0] == arena::value(a.right(), 0) && a.dest()[arena::count - 1] != -1; }
};

using others = testing::Types<copy_private_to_global, copy_global_to_private, copy_global_to_global,
                              copy_empty, fetch_add, fetch_max_into_memory, rput_in_runs, rget_as_box>;
INSTANTIATE_TYPED_TEST_SUITE_P(others, completion_together_test, others);

}  // namespace multirank::forms
