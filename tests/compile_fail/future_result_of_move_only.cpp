// expect: use result_reference
#include <upcxx/future.hpp>

struct move_only {
  move_only(move_only&&) = default;
  int value;
};

int right(upcxx::future<move_only> f) { return f.result_reference().value; }
#ifndef CONTROL
int wrong(upcxx::future<move_only> f) { return f.result().value; }
#endif
