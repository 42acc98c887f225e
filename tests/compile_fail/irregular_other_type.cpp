// expect: both lists must be of the same type of object
#include <utility>
#include <vector>

#include <atoll/irregular.hpp>
#include <upcxx/upcxx.hpp>

template <class T>
using runs = std::vector<std::pair<upcxx::global_ptr<T, upcxx::memory_kind::any>, int>>;

void f(runs<int const> const& from, runs<int> const& to, runs<unsigned> const& wrong) {
  (void)atl::copy_irregular(from.begin(), from.end(), to.begin(), to.end());
#ifndef CONTROL
  (void)atl::copy_irregular(from.begin(), from.end(), wrong.begin(), wrong.end());
#endif
  static_cast<void>(wrong);
}
