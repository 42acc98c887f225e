#include "plugin.hpp"

#include <string>
#include <vector>

#include <upcxx/upcxx.hpp>

namespace {

int local_function(std::vector<int> const& v) { return static_cast<int>(v.size()) + PLUGIN_OFFSET; }

struct functor {
  int state;
  std::string operator()(std::string const& s) const { return s + std::to_string(state + PLUGIN_OFFSET); }
};

int arrivals = 0;

}  // namespace

extern "C" int plugin_rpc(int rank, int argument) {
  return upcxx::rpc(
             rank, [](int x) { return x * 10 + upcxx::rank_me() + PLUGIN_OFFSET; }, argument)
      .wait();
}

extern "C" int plugin_add(int a, int b) { return a + b + PLUGIN_OFFSET; }

extern "C" int plugin_many(int rank, int argument) {
  int failures = 0;
  std::vector<int> const numbers(static_cast<std::size_t>(argument), 1);
  failures += upcxx::rpc(rank, local_function, numbers).wait() == argument + PLUGIN_OFFSET ? 0 : 1;
  std::string const text = upcxx::rpc(rank, functor{argument}, std::string("s")).wait();
  failures += text == "s" + std::to_string(argument + PLUGIN_OFFSET) ? 0 : 1;
  int const around = upcxx::rpc(
                         rank,
                         [](int back) {
                           return upcxx::rpc(
                               back, [](int x) { return x + PLUGIN_OFFSET; }, upcxx::rank_me());
                         },
                         upcxx::rank_me())
                         .wait();
  failures += around == rank + PLUGIN_OFFSET ? 0 : 1;
  upcxx::dist_object<upcxx::global_ptr<int>> cells(upcxx::new_<int>(0));
  upcxx::global_ptr<int> const cell = cells.fetch(rank).wait();
  upcxx::barrier();
  arrivals = 0;
  upcxx::barrier();
  upcxx::rput(argument, cell, upcxx::remote_cx::as_rpc([] { ++arrivals; }));
  while (arrivals == 0) {
    upcxx::progress();
  }
  upcxx::barrier();
  failures += *cells->local() == argument ? 0 : 1;
  upcxx::delete_(*cells);
  return failures;
}
