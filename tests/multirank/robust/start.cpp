// What a rank has, and has sent to other hosts, after init and after a barrier.

#include <malloc.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include <atoll/engine/job.hpp>
#include <upcxx/upcxx.hpp>

#include "engine/collectives/steps.hpp"
#include "engine/network/network_messages.hpp"
#include "engine/progress/progress_engine.hpp"

namespace {

int steps_between_hosts = 0;

void watch(std::int32_t to, atl::engine::step const&) {
  if (atl::engine::host_of(to) != atl::engine::host_of(atl::engine::job.rank_me)) ++steps_between_hosts;
}

struct counts {
  std::size_t heap = mallinfo2().uordblks;
  std::size_t connections = atl::engine::network_messages::here().connections();
  std::uint64_t messages =
      static_cast<std::uint64_t>(steps_between_hosts) + atl::engine::network_messages::here().calls_sent();
};

/// Bytes in use of the object that the ranks of a host share.
long long shared_bytes() {
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    struct stat status {};
    if (std::filesystem::read_symlink(entry.path(), gone).string().find("atoll-host-memory") ==
        std::string::npos)
      continue;
    if (stat(entry.path().c_str(), &status) == 0) return static_cast<long long>(status.st_blocks) * 512;
  }
  return -1;
}

}  // namespace

int main() {
  atl::engine::step_watcher = &watch;
  upcxx::init();
  // Who waits long asks others why: on a busy machine that may happen in any barrier.
  atl::engine::progress_engine::here().suspicious_ns = std::uint64_t{1} << 62;
  counts const after_init;
  upcxx::barrier();
  counts const after_barrier;
  long long const shared = shared_bytes();
  for (auto const& [when, c] : {std::pair("init", after_init), std::pair("barrier", after_barrier)}) {
    std::printf("rank %d after %s: heap %zu connections %zu messages %llu shared %lld\n", upcxx::rank_me(),
                when, c.heap, c.connections, static_cast<unsigned long long>(c.messages), shared);
  }
  upcxx::finalize();
}
