// expect: rput: T must be TriviallySerializable
#include <string>

#include <upcxx/rma.hpp>

void test(upcxx::global_ptr<int> numbers, [[maybe_unused]] upcxx::global_ptr<std::string> texts) {
  upcxx::rput(1, numbers);
#ifndef CONTROL
  upcxx::rput(std::string("text"), texts);
#endif
}
