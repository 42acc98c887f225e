// expect: reduce_.*_nontrivial: a view, or what contains one, would look into a message that nobody keeps
#include <utility>

#include <upcxx/upcxx.hpp>

template <typename T>
void first_of(T const& value) {
  upcxx::experimental::reduce_all_nontrivial(value, [](T a, T) { return a; }).wait();
}

void test() {
  first_of(std::pair<int, std::string>());
#ifndef CONTROL
  first_of(std::pair<int, upcxx::view<int>>());
#endif
}
