// Every form of completion with atomic operations (communication digest, chapter 10).

#include <optional>

#include "completion_forms_cases.hpp"

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

using atomics = testing::Types<fetch_add, fetch_max_into_memory>;
INSTANTIATE_TYPED_TEST_SUITE_P(atomics, completion_test, atomics);

}  // namespace multirank::forms
