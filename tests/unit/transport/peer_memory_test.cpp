// Reading another process' memory: only what is known to be the peer's.

#include "transport/shm/peer_memory.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using atl::shm::introduce_process;
using atl::shm::peer_process;
using atl::shm::read_peer;

/// A child that has introduced itself and holds `bytes` patterned bytes until it is killed.
class child {
 public:
  explicit child(std::size_t bytes) {
    struct news {
      peer_process who;
      std::uint64_t address;
    };
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      std::vector<unsigned char> data(bytes);
      for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 31);
      news const mine{introduce_process(), reinterpret_cast<std::uintptr_t>(data.data())};
      if (write(ends[1], &mine, sizeof mine) != sizeof mine) _exit(1);
      for (;;) pause();
    }
    news theirs{};
    EXPECT_EQ(read(ends[0], &theirs, sizeof theirs), static_cast<ssize_t>(sizeof theirs));
    close(ends[0]);
    close(ends[1]);
    who = theirs.who;
    address = theirs.address;
  }
  ~child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  peer_process who;
  std::uint64_t address = 0;

 private:
  pid_t pid_ = -1;
};

TEST(peer_memory, bytes_of_a_peer_arrive) {
  constexpr std::size_t bytes = 3'000'001;
  child const other(bytes);
  std::vector<unsigned char> here(bytes);
  char const* const failure = read_peer(other.who, here.data(), other.address, bytes);
  if (failure != nullptr && std::strcmp(failure, std::strerror(EPERM)) == 0) GTEST_SKIP() << failure;
  ASSERT_EQ(failure, nullptr);
  for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(here[i], static_cast<unsigned char>(i * 31));
}

TEST(peer_memory, another_process_of_that_number_is_noticed) {
  child const other(100);
  child const stranger(100);
  unsigned char here[100] = {};
  if (read_peer(other.who, here, other.address, 1) != nullptr) GTEST_SKIP() << "peers may not be read here";
  // At the same addresses, as they were forked from one process.
  ASSERT_EQ(other.who.mark_address, stranger.who.mark_address);
  peer_process mistaken = other.who;
  mistaken.pid = stranger.who.pid;
  char const* const failure = read_peer(mistaken, here, other.address, sizeof here);
  ASSERT_NE(failure, nullptr);
  EXPECT_NE(std::string(failure).find("another process"), std::string::npos) << failure;
}

TEST(peer_memory, what_cannot_be_read_is_said) {
  child const other(100);
  unsigned char here[100] = {};
  if (read_peer(other.who, here, other.address, 1) != nullptr) GTEST_SKIP() << "peers may not be read here";
  EXPECT_STREQ(read_peer(other.who, here, 16, sizeof here), std::strerror(EFAULT));
  peer_process nobody = other.who;
  nobody.pid = 1 << 30;
  EXPECT_STREQ(read_peer(nobody, here, other.address, sizeof here), std::strerror(ESRCH));
}

}  // namespace
