// Letters between processes of a host.

#include "base/os/descriptor_mail.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"

namespace {

/// As many looks for a letter are answered as the kernel does when it comes, and its sender goes, between the two things that it looks at.
int ends_seen_too_early = 0;

}  // namespace

/// In place of the C library's, for this program.
extern "C" ssize_t recvmsg(int socket, msghdr* message, int flags) {
  if (ends_seen_too_early > 0) {
    --ends_seen_too_early;
    message->msg_controllen = 0;
    return 0;
  }
  return ::syscall(SYS_recvmsg, socket, message, flags);
}

namespace atl::os {
namespace {

TEST(descriptor_mail, a_letter_that_came_while_its_sender_went_is_there) {
  descriptor_mailbox box(mail_place::abstract);
  unique_fd const file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int const sent = 77;
  int const descriptor = file.get();
  ASSERT_TRUE(descriptor_mailbox::try_send(box.name(), &sent, sizeof sent, {&descriptor, 1}));
  int got = 0;
  std::vector<unique_fd> descriptors;
  ends_seen_too_early = 1;
  EXPECT_EQ(box.try_receive(&got, sizeof got, descriptors), sizeof got);
  EXPECT_EQ(ends_seen_too_early, 0);
  EXPECT_EQ(got, sent);
  EXPECT_EQ(descriptors.size(), 1u);
  EXPECT_EQ(box.try_receive(&got, sizeof got, descriptors), 0u) << "there was one";
}

TEST(descriptor_mail, other_users_are_refused_in_words) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  descriptor_mailbox box(mail_place::abstract);
  ::pid_t const stranger = ::fork();
  if (stranger == 0) {
    int const sent = 77;
    try {
      if (::setuid(65534) == 0) descriptor_mailbox::try_send(box.name(), &sent, sizeof sent, {});
    } catch (startup_error const&) {
      ::_exit(1);  // it sees that the box is another user's
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(stranger, &status, 0), stranger);
  EXPECT_EQ(status, 1 << 8);
  int got = 0;
  std::vector<unique_fd> descriptors;
  testing::internal::CaptureStderr();
  EXPECT_EQ(box.try_receive(&got, sizeof got, descriptors), 0u);
  std::string const words = testing::internal::GetCapturedStderr();
  std::string const expected = "a letter of process " + std::to_string(stranger) +
                               " of user 65534 was refused: it is another user's\n";
  EXPECT_NE(words.find(expected), std::string::npos) << words;
}

TEST(descriptor_mail, letters_of_many_senders_all_come) {
  constexpr int letters = 5'000;
  constexpr int most_waiting = 16;  // each takes a descriptor
  descriptor_mailbox box(mail_place::abstract);
  std::atomic<int> count = 0;
  std::atomic<bool> all_sent = false;
  unique_fd const file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::thread sender([&] {
    int const descriptor = file.get();
    for (int i = 0; i < letters;) {
      if (i - count < most_waiting &&
          descriptor_mailbox::try_send(box.name(), &i, sizeof i, {&descriptor, 1})) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
    all_sent = true;
  });
  std::vector<unique_fd> descriptors;
  std::vector<bool> seen(letters);
  for (;;) {
    bool const last_look = all_sent;
    int got = 0;
    if (box.try_receive(&got, sizeof got, descriptors) == 0) {
      if (last_look) break;
      continue;
    }
    EXPECT_FALSE(seen[static_cast<std::size_t>(got)]) << "twice: " << got;
    EXPECT_EQ(descriptors.size(), 1u);
    seen[static_cast<std::size_t>(got)] = true;
    ++count;
  }
  sender.join();
  EXPECT_EQ(count, letters) << "letters are lost";
}

}  // namespace
}  // namespace atl::os
