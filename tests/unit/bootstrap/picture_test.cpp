// The table of what ranks do, from records of theirs.

#include "bootstrap/picture.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace atl::bootstrap {
namespace {

class picture : public testing::Test {
 protected:
  void SetUp() override { record_.state = rank_state::initialized; }

  void calls(activity what, std::int32_t peer = -1) {
    record_.last_call = what;
    record_.peer = peer;
  }
  /// Of rank 3, without its head.
  std::string line() {
    seen_rank const rank{3, 4711, true, process_, &record_};
    std::string const text = picture_of({&rank, 1});
    return text.substr(text.find('\n') + 1);
  }
  void expect(std::string const& words) {
    std::string const text = line();
    EXPECT_NE(text.find("  " + words + "\n"), std::string::npos) << text << "lacks: " << words;
  }

  rank_diagnostics record_;
  int process_ = 0;
};

TEST_F(picture, says_what_a_rank_has_called_last_and_what_it_awaits) {
  expect("running  no communication yet  nothing");
  calls(activity::copy, 5);
  record_.operations_owed = 1;
  expect("running  last call copy (rank 5)  1 put, get, atomic or copy awaited");
  record_.replies_awaited = 2;
  record_.operations_owed = 3;
  expect("running  last call copy (rank 5)  2 replies awaited, 3 puts, gets, atomics or copies awaited");
}

TEST_F(picture, says_of_a_rank_that_waits_what_else_it_has_called_last) {
  record_.waits_in = activity::wait;
  expect("running  in wait  nothing");
  calls(activity::copy, 5);
  expect("running  in wait; last call copy (rank 5)  nothing");
  record_.waits_in = activity::barrier;
  calls(activity::barrier);
  expect("running  in barrier  nothing");
  calls(activity::rpc, 0);
  expect("running  in barrier; last call rpc (rank 0)  nothing");
}

TEST_F(picture, says_that_a_rank_is_stopped) {
  pid_t const child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  calls(activity::rpc);
  process_ = ::getpid();
  expect("running  last call rpc  nothing");
  process_ = child;
  int status = 0;
  ASSERT_EQ(::kill(child, SIGSTOP), 0);
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  expect("stopped  last call rpc  nothing");
  record_.state = rank_state::attached;
  expect("stopped");
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
}

}  // namespace
}  // namespace atl::bootstrap
