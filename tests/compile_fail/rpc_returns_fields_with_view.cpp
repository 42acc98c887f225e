// expect: a callback cannot return a view, nor what contains one
#include <memory>
#include <vector>

#include <upcxx/upcxx.hpp>

struct node {
  std::vector<node> children;
  std::unique_ptr<node> next;
  UPCXX_SERIALIZED_FIELDS(children, next)
};
// Copies what the view shows.
struct numbers {
  std::vector<int> all;
  numbers() = default;
  explicit numbers(upcxx::view<int> v) : all(v.begin(), v.end()) {}
  UPCXX_SERIALIZED_VALUES(upcxx::make_view(all))
};
struct with_base : numbers {
  node nodes[2];
  UPCXX_SERIALIZED_FIELDS(UPCXX_SERIALIZED_BASE(numbers), nodes)
};

struct record {
  int number = 0;
  upcxx::view<int> shown[2];
  UPCXX_SERIALIZED_FIELDS(number, shown)
};
struct below : record {};

void test() {
  auto f = upcxx::rpc(
      0, [](std::vector<below> const&) { return std::make_pair(1, with_base()); }, std::vector<below>(2));
#ifndef CONTROL
  auto g = upcxx::rpc(0, [] { return std::make_pair(1, std::vector<below>(2)); });
#endif
}
