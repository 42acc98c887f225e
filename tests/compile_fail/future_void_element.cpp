// expect: a future without values is future<>
#include <upcxx/future.hpp>

upcxx::future<> right;
#ifndef CONTROL
upcxx::future<void> wrong;
#endif
