// The driver of randomised tests: a main function of its own, or libFuzzer's.

#include "driver.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

// Sanitizers end the process without a signal.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

namespace fuzz {
namespace {

char const* program = "";
std::uint64_t current_case = 0;
bool by_seed = false;

void say_how_to_repeat() {
  if (!by_seed) return;
  char text[256];
  int const n = std::snprintf(text, sizeof text, "\nrepeat with: %s --case %llu\n", program,
                              static_cast<unsigned long long>(current_case));
  if (n > 0) static_cast<void>(!::write(2, text, static_cast<std::size_t>(n)));
}

}  // namespace

void fail(std::string const& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace fuzz

#if defined(ATOLL_LIBFUZZER)

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::choices c(data, size);
  fuzz::run_case(c);
  return 0;
}

#else

namespace {

char const usage[] =
    "usage: %s [options]\n"
    "  --seed N     first case; others follow from it (default: random)\n"
    "  --cases N    how many cases (default 1000)\n"
    "  --seconds N  stop after this time; with it alone, cases are not counted\n"
    "  --case N     run this one case\n";

void die(int signal) {
  fuzz::say_how_to_repeat();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  fuzz::program = argv[0];
  std::uint64_t seed = std::random_device{}();
  std::uint64_t cases = 1000;
  bool counted = false;
  bool single = false;
  double seconds = 0;
  for (int i = 1; i < argc; ++i) {
    if (i + 1 == argc) {
      std::fprintf(stderr, usage, argv[0]);
      return 2;
    }
    std::string const option = argv[i];
    char const* const value = argv[++i];
    if (option == "--seed") {
      seed = std::strtoull(value, nullptr, 0);
    } else if (option == "--cases") {
      cases = std::strtoull(value, nullptr, 0);
      counted = true;
    } else if (option == "--seconds") {
      seconds = std::strtod(value, nullptr);
    } else if (option == "--case") {
      seed = std::strtoull(value, nullptr, 0);
      single = true;
    } else {
      std::fprintf(stderr, usage, argv[0]);
      return 2;
    }
  }
  if (single) {
    cases = 1;
  } else if (seconds > 0 && !counted) {
    cases = ~std::uint64_t{0};
  }
  fuzz::by_seed = true;
  for (int const signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, die);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(fuzz::say_how_to_repeat);

  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  auto const begin = std::chrono::steady_clock::now();
  std::uint64_t done = 0;
  for (; done < cases; ++done) {
    if (seconds > 0 &&
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds) {
      break;
    }
    fuzz::current_case = seed + done;
    fuzz::choices c(fuzz::current_case);
    fuzz::run_case(c);
  }
  std::printf("%llu cases passed\n", static_cast<unsigned long long>(done));
  return 0;
}

#endif
