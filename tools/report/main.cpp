// `atoll report FILE`: finds an interpreter and hands the work to report.py.

#include <cstdio>
#include <string>
#include <vector>

#include "python.hpp"

int main(int argc, char** argv) {
  try {
    auto const python = atl::plotting::interpreter();
    auto const script = atl::plotting::script("report.py");
    return atl::plotting::run(python, script, {argv + 1, argv + argc});
  } catch (atl::plotting::problem const& p) {
    std::fprintf(stderr, "atoll report: %s\n", p.text.c_str());
    return 2;
  }
}
