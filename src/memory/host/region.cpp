// One memfd holds the regions of all ranks of a host. Local rank 0 creates it and passes the descriptor on;
// all map the whole of it once. Then each rank reserves its own part, so that first touch (and with it the
// NUMA node, and the control group that pays) is the owner's, and the work is spread over the ranks.
//
//   rank 0:    check budget, memfd_create, ftruncate, seal --+
//   all ranks:                                  share_descriptor, mmap, fallocate own part, populate own part
//   the caller: barrier, then peers' parts may be used.
//
// Reserving: fallocate takes the pages and reports exhaustion as an error, where a store would be a bus error
// (SIGBUS) or a kill. The control group's limit is no such error (the kernel kills), hence the check of the
// total beforehand. Pages are zeroed and mapped when populated. Measured for 16 ranks of 128 MiB on 2 cores
// of a virtual machine: fallocate 0.3 s, populate all of it 0.3 s more, but 3 s where the hypervisor has to
// find the memory first; entering all peers' parts as well: 0.4 to 0.8 s. So each host populates at most
// `populate_bytes_per_host`, and peers' parts only where the engine asks.

#include "memory/host/region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include <atoll/base/round_up.hpp>

#include "base/error.hpp"
#include "base/os/memfd.hpp"
#include "base/os/memory.hpp"
#include "base/os/unique_fd.hpp"
#include "base/settings.hpp"
#include "memory/host/budget.hpp"

#ifndef MADV_POPULATE_READ  // Linux 5.14; older C libraries lack the names
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace atl::memory {
namespace {

using settings::format_bytes;

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t small_stride = std::size_t{64} << 10;
constexpr std::size_t block = std::size_t{32} << 20;  // one system call's work: signals are served in between
constexpr std::size_t populate_bytes_per_host = std::size_t{512} << 20;

std::string error_text(int code) { return std::generic_category().message(code); }

/// A sealed memory object of `total` bytes, nothing reserved yet.
int create_memory(std::size_t total) {
  rlimit file_size{};
  // Growing past this limit would raise SIGXFSZ, whose default action kills without a word.
  if (getrlimit(RLIMIT_FSIZE, &file_size) == 0 && file_size.rlim_cur < total) {
    throw startup_error(
        format("the file size limit of %s (ulimit -f) is below the %s of shared memory that the "
               "ranks of this host need. Raise it, or lower UPCXX_SHARED_HEAP_SIZE.",
               format_bytes(file_size.rlim_cur).c_str(), format_bytes(total).c_str()));
  }
  return os::make_sealed_memfd("atoll-host-memory", total).release();
}

/// Touches pages without changing them; the fallback where the kernel cannot populate.
void touch(std::byte* at, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes; i += 4096) {
    std::atomic_ref(reinterpret_cast<unsigned char&>(at[i])).fetch_or(0, std::memory_order_relaxed);
  }
}

/// Zeroed and mapped pages from here on. Returns 0 or an errno.
int populate(std::byte* at, std::size_t bytes) noexcept {
  for (std::size_t done = 0; done < bytes; done += block) {
    std::size_t const step = std::min(block, bytes - done);
    while (madvise(at + done, step, MADV_POPULATE_WRITE) != 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      if (errno != EINVAL && errno != ENOSYS) return errno;
      touch(at + done, step);
      break;
    }
  }
  return 0;
}

/// True where shared memory gets huge pages for the asking; they come with the first touch then, not with
/// fallocate, which knows no mapping.
bool huge_pages_on_advice() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::string line;
  return std::getline(file, line) && line.find("[advise]") != std::string::npos;
}

}  // namespace

std::size_t region_stride(std::size_t bytes) noexcept {
  return round_up(bytes, bytes >= 4 * huge_page ? huge_page : small_stride);
}

host_region::host_region(shape const& wanted, share_function const& share)
    : stride_(region_stride(wanted.bytes)), shape_(wanted) {
  std::size_t total = 0;
  if (wanted.bytes == 0 || stride_ < wanted.bytes || __builtin_mul_overflow(stride_, wanted.count, &total) ||
      total > static_cast<std::size_t>(PTRDIFF_MAX)) {
    throw startup_error(
        format("%s of shared memory for each of %u ranks cannot be addressed. Lower UPCXX_SHARED_HEAP_SIZE.",
               format_bytes(wanted.bytes).c_str(), wanted.count));
  }
  int created = -1;
  if (wanted.me == 0) {
    if (std::string const shortage = explain_shortage(os::read_memory_limits(), stride_, wanted.count);
        !shortage.empty()) {
      throw startup_error(shortage);
    }
    created = create_memory(total);
  }
  os::unique_fd const descriptor(share(created));  // rank 0 gets its own back
  struct stat status {};
  if (descriptor.get() < 0 || fstat(descriptor.get(), &status) != 0) {
    throw startup_error("got no descriptor of the shared memory from local rank 0");
  }
  if (static_cast<std::size_t>(status.st_size) != total) {
    throw startup_error(format(
        "local rank 0 shares %s of memory, but this rank expects %s: the ranks of a host must "
        "agree on UPCXX_SHARED_HEAP_SIZE.",
        format_bytes(static_cast<std::uint64_t>(status.st_size)).c_str(), format_bytes(total).c_str()));
  }
  map(descriptor.get());
  try {
    reserve_own(descriptor.get());
  } catch (...) {
    unmap();
    throw;
  }
}

host_region::host_region(bootstrap::channel& channel, std::size_t bytes)
    : host_region({bytes, static_cast<std::uint32_t>(channel.where().local_size),
                   static_cast<std::uint32_t>(channel.where().local_rank)},
                  [&channel](int descriptor) { return bootstrap::share_descriptor(channel, descriptor); }) {}

host_region::host_region(host_region&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), stride_(other.stride_), shape_(other.shape_) {}

host_region& host_region::operator=(host_region&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  base_ = std::exchange(other.base_, nullptr);
  stride_ = other.stride_;
  shape_ = other.shape_;
  return *this;
}

host_region::~host_region() { unmap(); }

void host_region::unmap() noexcept {
  if (base_ != nullptr) munmap(base_, stride_ * shape_.count);
  base_ = nullptr;
}

void host_region::map(int descriptor) {
  std::size_t const total = stride_ * shape_.count;
  // Reserve more than needed to choose an aligned base: huge pages need it, and alignment requests up to the
  // huge page size hold in every process.
  std::size_t const reserved = total + huge_page;
  void* const raw = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) {
    throw startup_error(
        format("cannot find %s of address space for the shared memory of %u ranks: %s. The limit of "
               "address space (ulimit -v) may be too low.",
               format_bytes(reserved).c_str(), shape_.count, error_text(errno).c_str()));
  }
  auto* const start = static_cast<std::byte*>(raw);
  auto* const base =
      reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(start), huge_page));
  if (mmap(base, total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
    int const code = errno;
    munmap(raw, reserved);
    throw startup_error(
        format("cannot map %s of shared memory: %s", format_bytes(total).c_str(), error_text(code).c_str()));
  }
  if (base > start) munmap(start, static_cast<std::size_t>(base - start));
  if (std::byte* const end = base + total; end < start + reserved) {
    munmap(end, static_cast<std::size_t>(start + reserved - end));
  }
  base_ = base;
  // A core dump of one rank holds its own memory, not that of the whole host.
  if (shape_.me > 0) madvise(base_, part(shape_.me) - base_, MADV_DONTDUMP);
  if (shape_.me + 1 < shape_.count) {
    madvise(part(shape_.me + 1), (shape_.count - shape_.me - 1) * stride_, MADV_DONTDUMP);
  }
  madvise(base_, total, MADV_HUGEPAGE);  // refused where the kernel has none: small pages then
}

void host_region::reserve_own(int descriptor) {
  auto const fail = [this](int code) {
    throw startup_error(
        format("cannot reserve %s of shared memory: %s (%s). Lower UPCXX_SHARED_HEAP_SIZE (or "
               "--shared-heap), or start fewer than %u ranks per host.",
               format_bytes(stride_).c_str(), error_text(code).c_str(),
               describe(os::read_memory_limits()).c_str(), shape_.count));
  };
  std::byte* const own = part(shape_.me);
  auto const start = static_cast<off_t>(own - base_);
  std::size_t populated = std::min(stride_, populate_bytes_per_host / shape_.count);
  if (huge_pages_on_advice()) {
    populated = stride_;
    if (int const code = populate(own, stride_); code != 0) fail(code);
  }
  for (std::size_t done = 0; done < stride_; done += block) {
    auto const step = static_cast<off_t>(std::min(block, stride_ - done));
    while (fallocate(descriptor, 0, start + static_cast<off_t>(done), step) != 0) {
      if (errno != EINTR) fail(errno);
    }
  }
  if (int const code = populate(own, populated); code != 0) fail(code);
}

void host_region::populate_peers(std::size_t offset, std::size_t bytes) const noexcept {
  std::size_t const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t const begin = offset / page * page;
  std::size_t const end = std::min(round_up(offset + bytes, page), stride_);
  for (std::uint32_t peer = 0; peer < shape_.count; ++peer) {
    // Advisory: where it fails, first use faults.
    if (peer != shape_.me && begin < end) madvise(part(peer) + begin, end - begin, MADV_POPULATE_WRITE);
  }
}

}  // namespace atl::memory
