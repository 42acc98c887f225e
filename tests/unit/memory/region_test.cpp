#include "memory/host/region.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/os/memfd.hpp"

namespace {

// A program with a timer, as profilers have: of the system's calls those are interrupted that take longer than the time between its signals. Older
// kernels give back then what the call has taken.
off_t longest_uninterrupted = 0;  ///< bytes; 0: there is no timer
int calls_interrupted = 0;
constexpr int most_interrupted = 1000;

}  // namespace

/// In place of the C library's.
extern "C" int fallocate(int descriptor, int mode, off_t begin, off_t bytes) {
  if (longest_uninterrupted != 0 && bytes > longest_uninterrupted && calls_interrupted < most_interrupted) {
    ++calls_interrupted;
    errno = EINTR;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fallocate, descriptor, mode, begin, bytes));
}

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

TEST(host_region, memory_is_reserved_while_signals_come) {
  host_region const region({65 * mib, 1, 0, mib}, keep);
  calls_interrupted = 0;
  longest_uninterrupted = 256 << 10;
  EXPECT_EQ(region.reserve(mib, 64 * mib), "");
  longest_uninterrupted = 0;
  EXPECT_GT(calls_interrupted, 0);
  EXPECT_LT(calls_interrupted, most_interrupted);
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
                theirs.populate(0, 8192);
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

std::string error_of(std::function<void()> const& action) {
  try {
    action();
  } catch (startup_error const& error) {
    return error.what();
  }
  return "no error";
}

/// A region of which two ranks have a part, and the memory that is behind it.
struct watched_region {
  explicit watched_region(host_region::shape const& wanted)
      : region(wanted, [this](int descriptor) {
          shared = dup(descriptor);
          return descriptor;
        }) {}
  ~watched_region() { close(shared); }
  [[nodiscard]] std::size_t taken() const {
    struct stat status {};
    EXPECT_EQ(fstat(shared, &status), 0);
    return static_cast<std::size_t>(status.st_blocks) * 512;
  }
  int shared = -1;
  host_region region;
};

TEST(host_region, memory_is_taken_when_it_is_asked_for) {
  watched_region of({64 * mib, 2, 0, 4 * mib});
  EXPECT_EQ(of.taken(), 4 * mib) << "the start of the own part, and nothing of the peer's";
  EXPECT_EQ(of.region.reserve(4 * mib, 2 * mib), "");
  EXPECT_EQ(of.region.reserve(5 * mib, 3 * mib), "");
  EXPECT_EQ(of.taken(), 8 * mib);
  of.region.part(0)[6 * mib] = std::byte{1};
  EXPECT_EQ(of.taken(), 8 * mib);
  of.region.release(4 * mib, 60 * mib);
  EXPECT_EQ(of.taken(), 4 * mib);
  EXPECT_EQ(of.region.part(0)[6 * mib], std::byte{0});
}

TEST(host_region, address_space_beyond_all_memory_costs_nothing) {
  watched_region const of({std::size_t{1} << 41, 4, 0, mib});
  EXPECT_EQ(of.taken(), mib);
}

os::memory_limits limits_of(std::uint64_t available) {
  os::memory_limits limits;
  limits.host_total = 4096 * mib;
  limits.host_available = available;
  return limits;
}

TEST(host_region, want_of_memory_is_said_before_any_is_taken) {
  watched_region const of(
      {64 * mib, 2, 0, mib, 0, page_kind::transparent, 0, [] { return limits_of(40 * mib); }});
  EXPECT_EQ(of.region.reserve(mib, 16 * mib), "");
  std::string const text = of.region.reserve(17 * mib, 30 * mib);
  EXPECT_NE(text.find("40 MiB are free on the host (of 4 GiB)"), std::string::npos) << text;
  EXPECT_NE(text.find("16 MiB of which are kept for messages and private memory of 2 ranks"),
            std::string::npos)
      << text;
  EXPECT_EQ(of.taken(), 17 * mib);
}

TEST(host_region, ranks_reserve_one_after_the_other) {
  watched_region of({64 * mib, 2, 0, mib});
  // The lock of a process that died does not count.
  EXPECT_EQ(in_child([&] {
              host_region theirs({64 * mib, 2, 1, mib}, [&](int) { return dup(of.shared); });
              struct flock whole = {};
              whole.l_type = F_WRLCK;
              return fcntl(of.shared, F_SETLK, &whole);
            }),
            0);
  EXPECT_EQ(of.region.reserve(mib, mib), "");
  // A rank that holds it keeps others waiting: they see what it has taken.
  int held[2];
  int go[2];
  ASSERT_EQ(pipe(held), 0);
  ASSERT_EQ(pipe(go), 0);
  pid_t const child = fork();
  if (child == 0) {
    struct flock whole = {};
    whole.l_type = F_WRLCK;
    char byte = static_cast<char>(fcntl(of.shared, F_SETLK, &whole));
    byte = static_cast<char>(write(held[1], &byte, 1));
    byte = static_cast<char>(read(go[0], &byte, 1));
    _exit(0);
  }
  char byte = 1;
  ASSERT_EQ(read(held[0], &byte, 1), 1);
  ASSERT_EQ(byte, 0);
  std::atomic<bool> done{false};
  std::thread second([&] {
    EXPECT_EQ(of.region.reserve(2 * mib, mib), "");
    done = true;
  });
  // The kernel lists who waits for a lock, behind an arrow.
  auto const somebody_waits = [] {
    std::ifstream locks("/proc/locks");
    for (std::string line; std::getline(locks, line);) {
      if (line.find("->") != std::string::npos && line.find(std::to_string(getpid())) != std::string::npos)
        return true;
    }
    return !locks.eof();
  };
  while (!done && !somebody_waits()) std::this_thread::yield();
  EXPECT_FALSE(done);
  ASSERT_EQ(write(go[1], "x", 1), 1);
  second.join();
  int status = 0;
  waitpid(child, &status, 0);
  for (int const end : {held[0], held[1], go[0], go[1]}) close(end);
}

TEST(host_region, pool_of_huge_pages_serves_or_says_how_many_there_are) {
  std::ifstream file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  long free = 0;
  if (!(file >> free)) GTEST_SKIP() << "this system has no huge pages of 2 MiB";
  host_region::shape wanted{64 * mib, 1, 0, 4096, 0, page_kind::pool};
  EXPECT_EQ(region_stride(4096, page_kind::pool), 2 * mib);
  if (free >= 2) {
    watched_region of(wanted);
    EXPECT_EQ(of.taken(), 2 * mib);
    EXPECT_EQ(of.region.reserve(4 * mib, 16), "");
    of.region.part(0)[4 * mib] = std::byte{1};
    EXPECT_EQ(of.taken(), 4 * mib);
    wanted.bytes = wanted.eager = static_cast<std::size_t>(free + 1) * 2 * mib;
  }
  std::string const text = error_of([&] { host_region(wanted, keep); });
  EXPECT_NE(text.find("huge pages"), std::string::npos) << text;
  EXPECT_NE(text.find("ATOLL_HUGE_PAGES=pool"), std::string::npos) << text;
}

TEST(host_region, too_little_memory_to_start_is_said_with_numbers_and_advice) {
  std::string const text = error_of([] {
    host_region({std::size_t{1} << 44, 3, 0, mib, 7 * mib, page_kind::transparent, 0,
                 [] { return limits_of(40 * mib); }},
                keep);
  });
  EXPECT_NE(text.find("8 MiB of shared memory for each of the 3 ranks"), std::string::npos) << text;
  EXPECT_NE(text.find("ATOLL_TRANSIT_MEMORY"), std::string::npos) << text;
  EXPECT_NE(text.find("2 would fit"), std::string::npos) << text;
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

TEST(host_region, file_size_limit_is_named_by_all_shared_memory) {
  EXPECT_EQ(in_child([] {
              rlimit const none{0, 0};
              setrlimit(RLIMIT_FSIZE, &none);
              std::string const text = error_of([] { (void)os::make_sealed_memfd("test", 4096); });
              return text.find("files may have 0 bytes (ulimit -f)") != std::string::npos ? 0 : 1;
            }),
            0);
}

TEST(host_region, addresses_that_do_not_exist_are_no_matter_of_limits) {
  constexpr std::size_t beyond_all = std::size_t{600} << 40;
  std::string const text = error_of([] { host_region({beyond_all, 1, 0}, keep); });
  EXPECT_NE(text.find("lower UPCXX_SHARED_HEAP_SIZE"), std::string::npos) << text;
  EXPECT_EQ(text.find("ulimit -v"), std::string::npos) << text;
}

}  // namespace
}  // namespace atl::memory
