// Every form of completion with non-contiguous transfers (communication digest, chapter 10).

#include "completion_forms_cases.hpp"

namespace multirank::forms {

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

using vis = testing::Types<rput_in_runs, rget_as_box>;
INSTANTIATE_TYPED_TEST_SUITE_P(vis, completion_test, vis);

}  // namespace multirank::forms
