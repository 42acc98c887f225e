// Letters between processes of a host.

#include "base/os/descriptor_mail.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace atl::os {
namespace {

TEST(descriptor_mail, no_letter_is_lost_whose_sender_goes_while_the_receiver_looks) {
  constexpr int letters = 5'000;
  descriptor_mailbox box(mail_place::abstract);
  constexpr int most_waiting = 16;  // each takes a descriptor
  std::atomic<int> count = 0;
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
  });
  std::vector<unique_fd> descriptors;
  std::vector<bool> seen(letters);
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(25);
  while (count < letters && std::chrono::steady_clock::now() < end) {
    int got = 0;
    if (box.try_receive(&got, sizeof got, descriptors) == 0) continue;
    EXPECT_FALSE(seen[static_cast<std::size_t>(got)]) << "twice: " << got;
    EXPECT_EQ(descriptors.size(), 1u);
    seen[static_cast<std::size_t>(got)] = true;
    ++count;
  }
  EXPECT_EQ(count, letters) << "letters are lost";
  count = letters;  // or the sender would wait
  sender.join();
}

}  // namespace
}  // namespace atl::os
