#include "pair_lines.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctime>
#include <new>
#include <string>
#include <upcxx/upcxx.hpp>

namespace atl::bench {
namespace {

/// The lines, and by what the other rank knows them: a number that no other file has.
struct marked_lines {
  shared_lines lines;
  std::uint64_t mark;
};

struct place {
  pid_t process = 0;
  int descriptor = -1;
  std::uint64_t mark = 0;
};

marked_lines* map(int descriptor) {
  void* const at = mmap(nullptr, sizeof(marked_lines), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return at == MAP_FAILED ? nullptr : static_cast<marked_lines*>(at);
}

/// The file of a process of this machine; null if it is none of that process' files, or not of this machine.
marked_lines* map_of(place const& where) {
  std::string const path =
      "/proc/" + std::to_string(where.process) + "/fd/" + std::to_string(where.descriptor);
  int const descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  bool const large_enough = lseek(descriptor, 0, SEEK_END) == static_cast<off_t>(sizeof(marked_lines));
  marked_lines* const found = large_enough ? map(descriptor) : nullptr;
  close(descriptor);
  return found != nullptr && found->mark == where.mark ? found : nullptr;
}

}  // namespace

shared_lines* map_pair_lines() {
  place where;
  marked_lines* mapped = nullptr;
  bool const first = upcxx::rank_me() == 0;
  if (first) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    where = {
        getpid(), memfd_create("atoll-bench-lines", MFD_CLOEXEC),
        static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec)};
    if (where.descriptor >= 0 && ftruncate(where.descriptor, sizeof(marked_lines)) == 0) {
      mapped = map(where.descriptor);
    }
    if (mapped != nullptr) mapped->mark = where.mark;
  }
  where = upcxx::broadcast(where, 0).wait();
  if (!first) mapped = map_of(where);
  bool const both = upcxx::reduce_all(mapped != nullptr ? 1 : 0, upcxx::op_fast_min).wait() != 0;
  if (first && where.descriptor >= 0) close(where.descriptor);
  return both ? &mapped->lines : nullptr;
}

}  // namespace atl::bench
