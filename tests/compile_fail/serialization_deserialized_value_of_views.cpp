// expect: deserialized_value: what arrives would contain a view of memory that ends with this call
#include <vector>

#include <upcxx/serialization.hpp>
#include <upcxx/view.hpp>

template <typename T>
void round_trip() {
  upcxx::serialization_traits<T>::deserialized_value(T());
}

void test() {
  round_trip<std::vector<std::vector<int>>>();
#ifndef CONTROL
  round_trip<std::vector<upcxx::view<int>>>();
#endif
}
