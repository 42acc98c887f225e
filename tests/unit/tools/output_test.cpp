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

// Where nobody knows how wide it is, a screen has 80 columns.
TEST_F(output, beginnings_of_lines_stand_below_all_others_on_a_screen) {
  sink to(writing_.get(), true);
  line_splitter one("[1] ", true);
  line_splitter two("[2] ", true);
  one.add("n? ", to);
  one.pause(to);
  one.pause(to);
  two.add("hello\n", to);
  to.flush();
  EXPECT_EQ(read_all(), "[1] n? \r\033[K[2] hello\n[1] n? ");
  one.add("5\n", to);
  two.add("end", to);
  two.finish(to);
  to.flush();
  EXPECT_EQ(read_all(), "\r\033[K[1] n? 5\n[2] end\n");
}

TEST_F(output, lines_that_are_written_again_and_again_are_seen_on_a_screen) {
  sink to(writing_.get(), true);
  line_splitter one("", true);
  line_splitter two("", true);
  one.add("\r\033[K10 %", to);
  one.pause(to);
  one.add("\r\033[K20 %", to);
  one.pause(to);
  two.add("11 %\r", to);
  two.pause(to);
  one.add("\r\033[Kdone\r\n", to);
  two.add("22 %\r", to);
  two.finish(to);
  to.flush();
  EXPECT_EQ(read_all(),
            "\033[K10 %"
            "\r\033[K\033[K20 %"
            "\r\033[K11 %\r"
            "\r\033[K\033[Kdone\r\n11 %\r"
            "\r\033[K22 %\r\n");
}

TEST_F(output, beginnings_of_lines_stay_in_one_row) {
  sink to(writing_.get(), true);
  line_splitter one("", true);
  one.add("\033[1m" + std::string(100, 'x'), to);
  one.pause(to);
  to.flush();
  EXPECT_EQ(read_all(), "\033[1m" + std::string(79, 'x'));
  one.add("\n", to);
  to.flush();
  EXPECT_EQ(read_all(), "\r\033[K\033[1m" + std::string(100, 'x') + "\n");
  EXPECT_EQ(atl::tools::fitting("\xc3\xa4\xc3\xb6\xc3\xbc", 2), "\xc3\xa4\xc3\xb6");
}

TEST_F(output, elsewhere_nothing_is_seen_of_lines_before_they_are_whole) {
  sink to(writing_.get());
  line_splitter one("", true);
  one.add("10 %\r", to);
  one.pause(to);
  one.add("20 %\n", to);
  to.flush();
  EXPECT_EQ(read_all(), "10 %\r20 %\n");
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
