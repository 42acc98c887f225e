#include "run/output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "base/os/unique_fd.hpp"

namespace {

using atl::tools::line_splitter;
using atl::tools::sink;

class output : public testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reading_.reset(ends[0]);
    writing_.reset(ends[1]);
    ::fcntl(reading_.get(), F_SETFL, O_NONBLOCK);
  }
  std::string read_all() {
    std::string text;
    std::array<char, 4096> part{};
    for (;;) {
      ssize_t const got = ::read(reading_.get(), part.data(), part.size());
      if (got <= 0) return text;
      text.append(part.data(), static_cast<std::size_t>(got));
    }
  }
  atl::os::unique_fd reading_;
  atl::os::unique_fd writing_;
};

TEST_F(output, lines_come_out_whole_whatever_the_pieces) {
  sink to(writing_.get());
  line_splitter one("[1] ", true);
  line_splitter two("[2] ", true);
  one.add("he", to);
  two.add("wor", to);
  one.add("llo\nsec", to);
  two.add("ld\n\n", to);
  one.finish(to);
  two.finish(to);
  to.flush();
  EXPECT_EQ(read_all(), "[1] hello\n[2] world\n[2] \n[1] sec\n");
}

TEST_F(output, job_of_one_rank_passes_bytes_on_as_they_come) {
  sink to(writing_.get());
  line_splitter only("", false);
  only.add("prompt: ", to);
  to.flush();
  EXPECT_EQ(read_all(), "prompt: ");
  only.finish(to);
  EXPECT_TRUE(to.empty());
}

TEST_F(output, full_pipe_does_not_block) {
  sink to(writing_.get());
  std::string const text(3 << 20, 'x');
  to.add(text);
  to.flush();
  EXPECT_FALSE(to.empty());
  EXPECT_TRUE(to.full());
  std::string got;
  while (!to.empty()) {
    got += read_all();
    to.flush();
  }
  got += read_all();
  EXPECT_EQ(got.size(), text.size());
}

TEST_F(output, reader_that_has_gone_is_noticed) {
  sink to(writing_.get());
  reading_.reset();
  to.add("text\n");
  to.flush();
  EXPECT_TRUE(to.broken());
  EXPECT_EQ(to.failure(), 0);
  EXPECT_TRUE(to.empty());
}

TEST_F(output, file_that_cannot_be_written_is_a_failure) {
  atl::os::unique_fd const full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full) GTEST_SKIP() << "no /dev/full";
  sink to(full.get());
  to.add("text\n");
  to.flush();
  EXPECT_TRUE(to.broken());
  EXPECT_EQ(to.failure(), ENOSPC);
  EXPECT_TRUE(to.empty());
  EXPECT_EQ(atl::tools::lost_output(to),
            "atoll run: cannot write standard output: No space left on device\n");
}

}  // namespace
