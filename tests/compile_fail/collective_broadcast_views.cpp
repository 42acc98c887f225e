// expect: broadcast_nontrivial: a view, or what contains one, would look into a message that nobody keeps
#include <vector>

#include <upcxx/upcxx.hpp>

void test(std::vector<int> const& numbers) {
  upcxx::experimental::broadcast_nontrivial(numbers, 0).wait();
#ifndef CONTROL
  upcxx::experimental::broadcast_nontrivial(upcxx::make_view(numbers), 0).wait();
#endif
}
