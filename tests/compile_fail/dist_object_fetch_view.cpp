// expect: dist_object::fetch: T is or contains a view
#include <vector>

#include <upcxx/upcxx.hpp>

using views = std::vector<upcxx::view<int>>;

void right(upcxx::dist_object<std::vector<int>>& d) { d.fetch(0); }
void held(upcxx::dist_object<views>& d) { d->clear(); }
#ifndef CONTROL
void wrong(upcxx::dist_object<views>& d) { d.fetch(0); }
#endif
