// expect: a signal is a std::uint64_t
#include <atoll/stream.hpp>
#include <upcxx/upcxx.hpp>

#ifndef CONTROL
using word = int;
#else
using word = std::uint64_t;
#endif

void count(atl::stream const& s, upcxx::global_ptr<word, upcxx::memory_kind::cuda_device> news) {
  atl::signal(s, news, 1, atl::signal_op::add);
}
