// expect: T must not be volatile
#include <upcxx/global_ptr.hpp>

#ifndef CONTROL
upcxx::global_ptr<int volatile> p;
#endif
