#pragma once

/// Meetings of which the library knows nothing, as ranks that simulate hosts are on one machine.

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "../common.hpp"

/// A word that all ranks of the job share, as they are on one machine.
class elsewhere {
 public:
  elsewhere() {
    struct {
      int process, descriptor;
    } where{getpid(), -1};
    if (upcxx::rank_me() == 0) {
      where.descriptor = memfd_create("elsewhere", MFD_CLOEXEC);
      EXPECT_EQ(ftruncate(where.descriptor, bytes), 0);
    }
    where = upcxx::broadcast(where, 0).wait();
    std::string const name =
        "/proc/" + std::to_string(where.process) + "/fd/" + std::to_string(where.descriptor);
    int const opened = open(name.c_str(), O_RDWR | O_CLOEXEC);
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    EXPECT_NE(memory, MAP_FAILED);
    arrived_ = static_cast<std::atomic<long>*>(memory);
    close(opened);
    upcxx::barrier();
    if (upcxx::rank_me() == 0) close(where.descriptor);
  }
  ~elsewhere() { munmap(arrived_, bytes); }
  elsewhere(elsewhere const&) = delete;
  elsewhere& operator=(elsewhere const&) = delete;

  /// Waits for all ranks, without progress.
  void meet() {
    wanted_ += upcxx::rank_n();
    // Acquire and release as any meeting has them; nothing here depends on it.
    arrived_->fetch_add(1, std::memory_order_acq_rel);
    while (arrived_->load(std::memory_order_acquire) < wanted_) sched_yield();
  }

 private:
  static constexpr std::size_t bytes = 4096;
  std::atomic<long>* arrived_ = nullptr;
  long wanted_ = 0;
};
