// Calls with containers: what serializing element by element costs beside copying as many bytes.

#include <cstring>
#include <map>
#include <string>
#include <upcxx/upcxx.hpp>
#include <vector>

#include "suites.hpp"

namespace atl::bench {
namespace {

template <class Container>
void call_with(group& g, char const* key, char const* name, std::size_t bytes, Container const& sent) {
  g.once([&] {
    bool const same =
        upcxx::rpc(
            1, [](Container const& got, Container const& again) { return got == again; }, sent, sent)
            .wait();
    bool const back = upcxx::rpc(
                          1, [](Container const& got) { return got; }, sent)
                          .wait() == sent;
    if (!same || !back) wrong_data(name);
  });
  std::vector<char> const from(bytes, 'x');
  std::vector<char> to(bytes);
  row const r{.suite = "serialization",
              .key = key,
              .name = name,
              .bytes = bytes,
              .show = "bandwidth",
              .limit = "memcpy"};
  g.served(
      r,
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
          upcxx::rpc(
              1, [](Container const& got) { keep(&got); }, sent)
              .wait();
        }
      },
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
          std::memcpy(to.data(), from.data(), bytes);
          keep(to.data());
        }
      });
}

}  // namespace

/// `bytes` counts the elements: 8 a double, 16 a pair of int and double, 32 a string.
void run_serialization(group& g, suite_options const&) {
  for (std::size_t const bytes : {std::size_t{1} << 10, std::size_t{1} << 20}) {
    call_with(g, "rpc.doubles", "rpc of a vector<double>", bytes, std::vector<double>(bytes / 8, 1.5));
    std::map<int, double> map;
    for (std::size_t i = 0; i < bytes / 16; ++i) map.emplace_hint(map.end(), static_cast<int>(i), 0.5);
    call_with(g, "rpc.map", "rpc of a map<int, double>", bytes, map);
    call_with(g, "rpc.strings", "rpc of a vector<string> (32 characters each)", bytes,
              std::vector<std::string>(bytes / 32, std::string(32, 'x')));
  }
}

}  // namespace atl::bench
