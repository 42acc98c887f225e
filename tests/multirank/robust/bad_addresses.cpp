// Global pointers, and ranks, that lead nowhere, to another host: the first argument says which. In opt mode, where nothing is
// checked before the owner of the memory looks.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <atoll/engine/rma.hpp>
#include <upcxx/upcxx.hpp>

namespace {

using upcxx::global_ptr;

constexpr std::ptrdiff_t far = std::ptrdiff_t{1} << 30;

void make_mistake(std::string const& which, global_ptr<long> there,
                  upcxx::atomic_domain<long> const& domain) {
  std::vector<long> values(200'000);
  if (which == "put") {
    upcxx::rput(5L, there + far).wait();
  } else if (which == "get") {
    upcxx::rget(there - 8'000'000 / 8).wait();
  } else if (which == "late_piece") {
    auto const last = static_cast<std::ptrdiff_t>(upcxx::shared_segment_size() / sizeof(long));
    upcxx::rput(values.data(), there + last - 100'000, values.size()).wait();
  } else if (which == "large_get") {
    upcxx::rget(there + far, values.data(), values.size()).wait();
  } else if (which == "large_no_memory") {
    upcxx::rget(there + 6'000'000 / 8, values.data(), values.size()).wait();
  } else if (which == "large_to_null") {
    upcxx::rput(values.data(), global_ptr<long>(nullptr), values.size()).wait();
  } else if (which == "no_memory") {
    upcxx::rget(there + 6'000'000 / 8).wait();
  } else if (which == "null") {
    upcxx::rget(global_ptr<long>(nullptr), values.data(), 4).wait();
  } else if (which == "box") {
    upcxx::rput_strided<2>(values.data(), {{8, 80}}, there, {{8, -80'000}}, {{10, 1000}}).wait();
  } else if (which == "run") {
    std::vector<global_ptr<long>> places{there, there + 8, there + far};
    std::vector<long*> into{&values[0], &values[1], &values[2]};
    upcxx::rget_regular(places.begin(), places.end(), 1, into.begin(), into.end(), 1).wait();
  } else if (which == "null_run" || which == "run_elsewhere") {
    bool const null = which == "null_run";
    std::vector<global_ptr<long>> places{null ? there : upcxx::new_<long>(0), null ? nullptr : there};
    std::vector<long*> from{&values[0], &values[1]};
    upcxx::rput_regular(from.begin(), from.end(), 1, places.begin(), places.end(), 1).wait();
  } else if (which == "copy") {
    upcxx::copy(there + far, there, 3).wait();
  } else if (which == "atomic") {
    domain.fetch_add(there + far, 1, std::memory_order_relaxed).wait();
  } else if (which == "put_among_others") {
    upcxx::promise<> all;
    for (int i = 0; i < 5; ++i)
      upcxx::rput(5L, there + (i == 3 ? far : i), upcxx::operation_cx::as_promise(all));
    all.finalize().wait();
  } else if (which == "atomic_among_others") {
    upcxx::promise<> all;
    for (int i = 0; i < 5; ++i) {
      upcxx::rput(5L, there, upcxx::operation_cx::as_promise(all));
      domain.fetch_add(there + (i == 3 ? far : i), 1, values.data(), std::memory_order_relaxed,
                       upcxx::operation_cx::as_promise(all));
    }
    all.finalize().wait();
  } else if (which == "part") {
    // By way of a rank of the same host, if there is one.
    auto const rank = static_cast<std::uint32_t>(upcxx::rank_n() == 4 ? 1 : 0);
    using atl::engine::flagged_puts;
    flagged_puts puts(rank, 1, flagged_puts::room(64));
    std::memset(puts.add({0, std::uint64_t{1} << 40}, 64, {0, std::uint64_t{1} << 40}), 0, 64);
    puts.send();
    upcxx::barrier();
  } else if (which == "misaligned") {
    auto const odd = upcxx::reinterpret_pointer_cast<long>(upcxx::reinterpret_pointer_cast<char>(there) + 3);
    domain.fetch_add(odd, 1, std::memory_order_relaxed).wait();
  } else if (which == "rank") {
    upcxx::rpc(upcxx::rank_n(), [] {}).wait();
  } else if (which == "negative_rank") {
    upcxx::rpc_ff(-1, [] {});
  } else {
    std::exit(0);  // the test that expects a failure sees this
  }
}

}  // namespace

int main(int, char** argv) {
  upcxx::init();
  {
    upcxx::atomic_domain<long> domain({upcxx::atomic_op::fetch_add});
    auto const there = upcxx::broadcast(upcxx::new_array<long>(100), 0).wait();
    // On the last host.
    if (upcxx::rank_me() == upcxx::rank_n() - 1) make_mistake(argv[1], there, domain);
    upcxx::barrier();
    domain.destroy();
  }
  upcxx::finalize();
}
