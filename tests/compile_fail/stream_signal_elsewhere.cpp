// expect: as_signal needs on_stream
#include <atoll/stream.hpp>
#include <upcxx/upcxx.hpp>

void send(atl::stream const& s, upcxx::global_ptr<int> from, upcxx::global_ptr<int> to,
          upcxx::global_ptr<std::uint64_t> news) {
  auto const told = atl::remote_cx::as_signal(news, 1, atl::signal_op::add);
  upcxx::copy(from, to, 1, atl::on_stream(s) | told);
#ifndef CONTROL
  upcxx::copy(from, to, 1, told);
#endif
}
