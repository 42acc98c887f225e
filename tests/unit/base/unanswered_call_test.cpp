// Connections that nobody answers: here those to a listener whose queue is full, of which the system drops the first packets.

#include "base/os/unanswered_call.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/os/unique_fd.hpp"

namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

atl::os::unique_fd call(std::uint16_t port) {
  atl::os::unique_fd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in const at = loopback(port);
  EXPECT_TRUE(::connect(made.get(), reinterpret_cast<sockaddr const*>(&at), sizeof at) == 0 ||
              errno == EINPROGRESS);
  return made;
}

TEST(unanswered_call, is_found_with_both_ends) {
  atl::os::unique_fd const listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at = loopback(0);
  ::socklen_t bytes = sizeof at;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&at), bytes), 0);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &bytes), 0);
  std::uint16_t const port = ntohs(at.sin_port);
  atl::os::unique_fd const answered = call(port);
  ::usleep(50'000);
  EXPECT_TRUE(atl::os::unanswered_calls().empty());
  std::vector<atl::os::unique_fd> more;
  for (int i = 0; i < 4; ++i) more.push_back(call(port));
  // The system sends the first packet again after a second.
  std::vector<atl::os::unanswered_call> found;
  for (int ms = 0; found.empty() && ms < 20'000; ms += 50) {
    ::usleep(50'000);
    found = atl::os::unanswered_calls();
  }
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].words, "from 127.0.0.1 to 127.0.0.1 port " + std::to_string(port));
  // As addresses of a network may begin, and end.
  std::string const zeros(2, '\0');
  EXPECT_TRUE(found[0].is_to_one_of("ADDR\x7f\x7f" + zeros + "\x01more"));
  EXPECT_FALSE(found[0].is_to_one_of("ADDR\x7f" + zeros + "\x02"));
  more.clear();
  EXPECT_TRUE(atl::os::unanswered_calls().empty());
}

TEST(unanswered_call, is_to_a_host_of_either_family) {
  atl::os::unanswered_call one{{}, ""};
  one.to.family = 6;
  one.to.bytes = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  std::string addresses = "x";
  addresses.append(one.to.bytes.begin(), one.to.bytes.end());
  EXPECT_TRUE(one.is_to_one_of(addresses));
  EXPECT_FALSE(one.is_to_one_of(addresses.substr(0, 16)));
  one.to.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3};
  EXPECT_TRUE(one.is_to_one_of("x\x0a\x01\x02\x03"));
}

TEST(untaken_calls, are_those_that_wait_for_a_listener) {
  EXPECT_FALSE(atl::os::has_untaken_calls());
  atl::os::unique_fd const listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at = loopback(0);
  ::socklen_t bytes = sizeof at;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&at), bytes), 0);
  ASSERT_EQ(::listen(listener.get(), 4), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &bytes), 0);
  EXPECT_FALSE(atl::os::has_untaken_calls());
  atl::os::unique_fd const caller = call(ntohs(at.sin_port));
  for (int ms = 0; !atl::os::has_untaken_calls() && ms < 10'000; ms += 5) ::usleep(5'000);
  EXPECT_TRUE(atl::os::has_untaken_calls());
  atl::os::unique_fd const taken(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(taken);
  EXPECT_FALSE(atl::os::has_untaken_calls());
}

}  // namespace
