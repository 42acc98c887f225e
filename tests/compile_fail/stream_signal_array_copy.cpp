// expect: (deleted|implicitly deleted|call to deleted)
#include <atoll/signal_array.hpp>
#include <upcxx/upcxx.hpp>

atl::signal_array<upcxx::memory_kind::host> both(atl::signal_array<upcxx::memory_kind::host>& signals) {
#ifndef CONTROL
  return atl::signal_array<upcxx::memory_kind::host>(signals);
#else
  return std::move(signals);
#endif
}
