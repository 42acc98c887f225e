// expect: one of these types cannot be copied
#include <upcxx/future.hpp>

struct move_only {
  move_only(move_only&&) = default;
};

void right(upcxx::future<move_only> f, upcxx::future<> g) { when_all(f, g); }
#ifndef CONTROL
void wrong(upcxx::future<move_only> f, upcxx::future<int> g) { when_all(f, g); }
#endif
