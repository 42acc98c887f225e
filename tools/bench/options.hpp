#pragma once

/// What the user asked of `atoll bench`.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atl::tools {

struct bench_options {
  std::vector<std::string> suites;
  std::vector<std::size_t> sizes;
  std::vector<std::size_t> device_sizes;  ///< of suites that copy memory of devices
  std::vector<int> ranks;
  int blocks = 25;
  bool quick = false;
  bool mpi = true;
  std::string hosts;                   ///< of suite net: "a,b"; empty: simulated ones on this machine
  std::string launcher;                ///< by which ranks get there; empty: the first there is
  std::vector<std::size_t> net_sizes;  ///< of suite net
  std::string only;                    ///< key of the only row
  std::string json;                    ///< file; "-": standard output
  std::string csv;
};

struct suite_description {
  std::string_view name;
  std::string_view help;
  bool by_default = true;  ///< runs when no suite is named
};
std::vector<suite_description> const& all_suites();

/// Empty if the program should stop with `status`.
std::optional<bench_options> parse_bench_options(int argc, char** argv, int& status);

}  // namespace atl::tools
