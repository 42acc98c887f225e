// What a process does before it dies.

#include "bootstrap/crash.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "base/error.hpp"

namespace {

void say_released() noexcept {
  constexpr char const text[] = "what waits is released\n";
  [[maybe_unused]] auto const sent = ::write(STDERR_FILENO, text, sizeof text - 1);
}

TEST(release_deathtest, what_waits_for_a_process_is_let_go_before_it_is_terminated) {
  auto const is_terminated = [] {
    atl::release_hook = &say_released;
    atl::bootstrap::install_termination_handler();
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(is_terminated(), testing::KilledBySignal(SIGTERM), "what waits is released");
}

TEST(release_deathtest, programs_keep_their_handlers) {
  auto const is_terminated = [] {
    std::signal(SIGTERM, [](int) { ::_exit(7); });
    atl::release_hook = &say_released;
    atl::bootstrap::install_termination_handler();
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(is_terminated(), testing::ExitedWithCode(7), "^$");
}

TEST(release_deathtest, what_waits_for_a_process_is_let_go_before_it_ends_the_job) {
  auto const fails = [] {
    atl::release_hook = &say_released;
    atl::fatal("test", "fails");
  };
  auto const stops = [] {
    atl::release_hook = &say_released;
    atl::stop("has a mistake");
  };
  EXPECT_DEATH(fails(), "test: fails\n.*what waits is released");
  EXPECT_DEATH(stops(), "has a mistake\n(.*\n)*what waits is released");
}

}  // namespace
