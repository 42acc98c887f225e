// expect: a promise without values is promise<>
#include <upcxx/future.hpp>

void right(upcxx::promise<> const& p) { p.fulfill_anonymous(1); }
#ifndef CONTROL
void wrong(upcxx::promise<void> const& p) { p.fulfill_anonymous(1); }
#endif
