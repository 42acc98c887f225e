#pragma once

/// Settings of the run, and how a failure is told.

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <upcxx/upcxx.hpp>

#include "plan.hpp"

namespace soak {

struct options {
  std::uint64_t seed = 0;
  double seconds = 5;
  std::uint32_t phases = 0;
  std::uint32_t ops = 300;
  std::uint32_t threads = 0;
  bool quiet = false;
};
inline options settings;

inline std::uint32_t phase = 0;
/// What this thread is about to start.
inline thread_local operation const* current = nullptr;

[[noreturn]] inline void fail(std::string const& what, operation const* op = current) {
  std::fprintf(stderr, "soak: rank %d of %d, phase %u", upcxx::rank_me(), upcxx::rank_n(), phase);
  if (op != nullptr) {
    std::fprintf(stderr, ", operation %u (kind %d, from rank %d to %d)", op->number,
                 static_cast<int>(op->what), op->initiator, op->target);
  }
  std::fprintf(stderr,
               ": %s\nrepeat with: atoll run -n %d %s --seed %llu --ops %u --threads %u --phases %u\n",
               what.c_str(), upcxx::rank_n(), program_invocation_name,
               static_cast<unsigned long long>(settings.seed), settings.ops, settings.threads, phase + 1);
  std::abort();
}

inline void expect_equal(std::uint64_t got, std::uint64_t expected, operation const& op, char const* what) {
  if (got != expected) {
    fail(std::string(what) + ": " + std::to_string(got) + " instead of " + std::to_string(expected), &op);
  }
}

}  // namespace soak
