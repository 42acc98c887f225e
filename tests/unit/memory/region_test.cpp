#include "memory/host/region.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace atl::memory {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

int keep(int descriptor) { return descriptor; }

/// Runs `body` in a child process and returns its exit status, or -1 if a signal ended it.
int in_child(std::function<int()> const& body) {
  pid_t const child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(host_region, stride_holds_the_region_and_keeps_small_ones_small) {
  EXPECT_EQ(region_stride(1), 64u << 10);
  EXPECT_EQ(region_stride(64u << 10), 64u << 10);
  EXPECT_EQ(region_stride(mib + 1), mib + (64u << 10));
  EXPECT_EQ(region_stride(128 * mib), 128 * mib);
  EXPECT_EQ(region_stride(128 * mib + 1), 130 * mib);
}

TEST(host_region, solo_region_is_zeroed_writable_and_aligned) {
  host_region region({3 * mib + 5, 1, 0}, keep);
  ASSERT_NE(region.base(), nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region.base()) % (2 * mib), 0u);
  EXPECT_GE(region.stride(), region.bytes());
  for (std::size_t i = 0; i < region.bytes(); ++i) ASSERT_EQ(region.base()[i], std::byte{0});
  for (std::size_t i = 0; i < region.bytes(); i += 4096) region.base()[i] = std::byte{7};
}

TEST(host_region, moves_and_unmaps) {
  host_region first({mib, 1, 0}, keep);
  std::byte* const base = first.base();
  host_region second(std::move(first));
  EXPECT_EQ(first.base(), nullptr);
  EXPECT_EQ(second.base(), base);
  second = host_region({mib, 1, 0}, keep);
  EXPECT_NE(second.base(), nullptr);
  second.unmap();
  EXPECT_EQ(second.base(), nullptr);
  second.unmap();
}

TEST(host_region, processes_see_each_other_in_their_parts) {
  constexpr std::uint32_t ranks = 4;
  int shared = -1;
  host_region mine({mib, ranks, 0}, [&shared](int descriptor) {
    shared = dup(descriptor);
    return descriptor;
  });
  for (std::uint32_t me = 1; me < ranks; ++me) {
    EXPECT_EQ(in_child([&] {
                host_region theirs({mib, ranks, me}, [shared](int) { return dup(shared); });
                theirs.populate_peers(0, 8192);
                theirs.part(me)[0] = static_cast<std::byte>(me);
                theirs.part(me)[mib - 1] = static_cast<std::byte>(10 + me);
                return theirs.base() == mine.base() ? 1 : 0;
              }),
              0);
  }
  close(shared);
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    EXPECT_EQ(mine.part(rank)[0], static_cast<std::byte>(rank));
    EXPECT_EQ(mine.part(rank)[mib - 1], static_cast<std::byte>(10 + rank));
  }
  EXPECT_EQ(mine.part(0)[0], std::byte{0});
}

TEST(host_region, memory_cannot_be_shrunk_by_a_peer) {
  int shared = -1;
  host_region const region({mib, 1, 0}, [&shared](int descriptor) {
    shared = dup(descriptor);
    return descriptor;
  });
  EXPECT_NE(ftruncate(shared, 0), 0);
  close(shared);
}

TEST(host_region, own_part_is_reserved_for_real) {
  int shared = -1;
  host_region const region({64 * mib, 2, 0}, [&shared](int descriptor) {
    shared = dup(descriptor);
    return descriptor;
  });
  struct stat status {};
  ASSERT_EQ(fstat(shared, &status), 0);
  EXPECT_EQ(static_cast<std::size_t>(status.st_size), 128 * mib);
  EXPECT_EQ(static_cast<std::size_t>(status.st_blocks) * 512, 64 * mib) << "only the own part";
  close(shared);
}

std::string error_of(std::function<void()> const& action) {
  try {
    action();
  } catch (startup_error const& error) {
    return error.what();
  }
  return "no error";
}

TEST(host_region, too_much_memory_is_refused_with_numbers_and_advice) {
  std::string const text = error_of([] { host_region({std::size_t{1} << 44, 3, 0}, keep); });
  EXPECT_NE(text.find("16 TiB"), std::string::npos) << text;
  EXPECT_NE(text.find("3 ranks"), std::string::npos) << text;
  EXPECT_NE(text.find("UPCXX_SHARED_HEAP_SIZE"), std::string::npos) << text;
  EXPECT_NE(text.find("would fit"), std::string::npos) << text;
}

TEST(host_region, sizes_that_overflow_are_refused) {
  EXPECT_NE(error_of([] {
              host_region({~std::size_t{0} / 2, 3, 0}, keep);
            }).find("cannot be addressed"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              host_region({~std::size_t{0}, 1, 0}, keep);
            }).find("cannot be addressed"),
            std::string::npos);
}

TEST(host_region, ranks_that_disagree_on_the_size_are_told) {
  int shared = -1;
  host_region const region({mib, 2, 0}, [&shared](int descriptor) {
    shared = dup(descriptor);
    return descriptor;
  });
  std::string const text = error_of([&] { host_region({2 * mib, 2, 1}, [&](int) { return shared; }); });
  EXPECT_NE(text.find("agree"), std::string::npos) << text;
}

TEST(host_region, lost_descriptor_is_an_error) {
  EXPECT_NE(error_of([] {
              host_region({mib, 2, 1}, [](int) { return -1; });
            }).find("no descriptor"),
            std::string::npos);
}

TEST(host_region, file_size_limit_is_named_instead_of_a_signal) {
  EXPECT_EQ(in_child([] {
              rlimit const limit{mib, mib};
              setrlimit(RLIMIT_FSIZE, &limit);
              return error_of([] {
                       host_region({2 * mib, 1, 0}, keep);
                     }).find("ulimit -f") != std::string::npos
                         ? 0
                         : 1;
            }),
            0);
}

}  // namespace
}  // namespace atl::memory
