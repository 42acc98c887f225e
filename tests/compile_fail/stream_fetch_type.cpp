// expect: a signal is a std::uint64_t; use upcxx::copy
#include <atoll/stream.hpp>
#include <upcxx/upcxx.hpp>

#ifndef CONTROL
using word = int;
#else
using word = std::uint64_t;
#endif

void look(atl::stream const& s, upcxx::global_ptr<word> signal, word* into) { atl::fetch(s, signal, into); }
