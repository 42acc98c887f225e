// expect: T must not be a reference; drop the &
#include <upcxx/global_ptr.hpp>

#ifndef CONTROL
upcxx::global_ptr<int&> p;
#endif
