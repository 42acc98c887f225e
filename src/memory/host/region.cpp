// One memfd holds the regions of all ranks of a host. Local rank 0 creates it and passes the descriptor on;
// all map the whole of it once, which takes address space and no memory. Then each rank reserves what its own
// part needs from the start; transit memory and heap follow in blocks as they are used (reservation.hpp). So
// first touch (and with it the NUMA node, and the control group that pays) is the owner's.
//
//   rank 0:    check budget, memfd_create, ftruncate, seal --+
//   all ranks:                                  share_descriptor, mmap, fallocate the start of the own part
//   the caller: barrier, then the starts of peers' parts may be used.
//
// Reserving: fallocate takes the pages and reports exhaustion as an error, where a store would be a bus error
// (SIGBUS) or a kill. The limits of control groups and the end of the host's memory are no such errors (the
// kernel kills), hence the look at what is free beforehand. Ranks that looked at the same time would all see
// the same free memory, so a lock on the file makes them do both one after the other; the kernel drops it when
// a process dies. Pages are zeroed and mapped when they are first touched. Measured on 2 cores of a virtual
// machine: fallocate of 2 GiB 0.3 s, touching all of it 0.3 s more (3 s where the hypervisor has to find the
// memory first), entering it in the page tables of 15 peers 0.4 to 0.8 s.

#include "memory/host/region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include <atoll/base/round_up.hpp>

#include "base/error.hpp"
#include "base/os/cgroup.hpp"
#include "base/os/memfd.hpp"
#include "base/os/memory.hpp"
#include "base/settings.hpp"
#include "memory/host/budget.hpp"

#ifndef MADV_POPULATE_WRITE  // Linux 5.14; older C libraries lack the name
#define MADV_POPULATE_WRITE 23
#endif

namespace atl::memory {
namespace {

using settings::format_bytes;

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t small_stride = std::size_t{64} << 10;

std::string error_text(int code) { return std::generic_category().message(code); }

std::string no_address_space(std::size_t bytes, unsigned ranks, int code) {
  rlimit limit{};
  // Which counts all that is mapped, so that less may be too much.
  bool const is_limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return format(
      "cannot find %s of address space in one piece for the shared memory of %u %s: %s. %s or lower UPCXX_SHARED_HEAP_SIZE or "
      "ATOLL_TRANSIT_MEMORY, which each rank has.",
      format_bytes(bytes).c_str(), ranks, ranks == 1 ? "rank" : "ranks", error_text(code).c_str(),
      is_limited
          ? format("A process may have %s (ulimit -v): raise that,", format_bytes(limit.rlim_cur).c_str())
                .c_str()
          : "Most processors give a process 128 TiB in all: start fewer ranks on this host,");
}

/// A sealed memory object of `total` bytes, nothing reserved yet.
int create_memory(std::size_t total, page_kind pages) {
  rlimit file_size{};
  // Growing past this limit would raise SIGXFSZ, whose default action kills without a word.
  if (getrlimit(RLIMIT_FSIZE, &file_size) == 0 && file_size.rlim_cur < total) {
    throw startup_error(
        format("the file size limit of %s (ulimit -f) is below the %s of shared memory that the "
               "ranks of this host need. Raise it, or lower UPCXX_SHARED_HEAP_SIZE.",
               format_bytes(file_size.rlim_cur).c_str(), format_bytes(total).c_str()));
  }
  bool const huge = pages == page_kind::pool;
  return os::make_sealed_memfd("atoll-host-memory", total, huge).release();
}

/// Has pages zeroed, if they are new, and entered in the page tables. False where the kernel cannot.
bool enter(std::byte* at, std::size_t bytes) noexcept {
  int done = 0;
  do {
    done = madvise(at, bytes, MADV_POPULATE_WRITE);
  } while (done != 0 && (errno == EINTR || errno == EAGAIN));
  return done == 0;
}

/// True where shared memory gets huge pages for the asking; they come with the first touch then, not with
/// fallocate, which knows no mapping.
bool huge_pages_on_advice() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  std::string line;
  return std::getline(file, line) && line.find("[advise]") != std::string::npos;
}

/// One rank of the host at a time, for as long as it lives.
class file_lock {
 public:
  explicit file_lock(int descriptor) noexcept : descriptor_(descriptor) {
    struct flock whole = {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    // Where locks are not to be had, ranks that reserve at once may see each other's memory as free.
    while (fcntl(descriptor_, F_SETLKW, &whole) != 0 && errno == EINTR) {
    }
  }
  file_lock(file_lock const&) = delete;
  file_lock& operator=(file_lock const&) = delete;
  ~file_lock() {
    struct flock whole = {};
    whole.l_type = F_UNLCK;
    whole.l_whence = SEEK_SET;
    fcntl(descriptor_, F_SETLK, &whole);
  }

 private:
  int descriptor_;
};

page_kind wanted_pages() {
  std::string const word = settings::huge_pages();
  return word == "pool" ? page_kind::pool : word == "no" ? page_kind::small : page_kind::transparent;
}

}  // namespace

std::size_t region_stride(std::size_t bytes, page_kind pages) noexcept {
  bool const large = pages == page_kind::pool || bytes >= 4 * huge_page;
  return round_up(bytes, large ? huge_page : small_stride);
}

host_region::host_region(shape const& wanted, share_function const& share)
    : stride_(region_stride(wanted.bytes, wanted.pages)), shape_(wanted) {
  std::size_t total = 0;
  if (wanted.bytes == 0 || stride_ < wanted.bytes || __builtin_mul_overflow(stride_, wanted.count, &total) ||
      total > static_cast<std::size_t>(PTRDIFF_MAX)) {
    throw startup_error(format(
        "%s of shared memory for each of %u ranks cannot be addressed. Lower UPCXX_SHARED_HEAP_SIZE or ATOLL_TRANSIT_MEMORY.",
        format_bytes(wanted.bytes).c_str(), wanted.count));
  }
  int created = -1;
  if (wanted.me == 0) {
    std::string const shortage =
        wanted.pages == page_kind::pool
            ? ""
            : explain_shortage(wanted.limits(), wanted.eager + wanted.promised, sharers());
    if (!shortage.empty()) throw startup_error(shortage);
    created = create_memory(total, wanted.pages);
  }
  descriptor_.reset(share(created));  // rank 0 gets its own back
  struct stat status {};
  if (descriptor_.get() < 0 || fstat(descriptor_.get(), &status) != 0) {
    throw startup_error("got no descriptor of the shared memory from local rank 0");
  }
  if (static_cast<std::size_t>(status.st_size) != total) {
    throw startup_error(format(
        "local rank 0 shares %s of memory, but this rank expects %s: the ranks of a host must "
        "agree on UPCXX_SHARED_HEAP_SIZE.",
        format_bytes(static_cast<std::uint64_t>(status.st_size)).c_str(), format_bytes(total).c_str()));
  }
  map();
  // Without the lock: the total has been checked, and ranks that start need not wait for each other.
  if (std::string const problem = claim(0, wanted.eager); !problem.empty()) {
    unmap();
    throw startup_error(problem);
  }
}

host_region::host_region(bootstrap::channel& channel, std::size_t bytes, std::size_t eager,
                         std::size_t promised)
    : host_region({bytes, static_cast<std::uint32_t>(channel.where().local_size),
                   static_cast<std::uint32_t>(channel.where().local_rank), eager, promised, wanted_pages(),
                   static_cast<std::uint32_t>(channel.machine().local_size)},
                  [&channel](int descriptor) { return bootstrap::share_descriptor(channel, descriptor); }) {}

host_region::host_region(host_region&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      base_(std::exchange(other.base_, nullptr)),
      stride_(other.stride_),
      shape_(other.shape_) {}

host_region& host_region::operator=(host_region&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  descriptor_ = std::move(other.descriptor_);
  base_ = std::exchange(other.base_, nullptr);
  stride_ = other.stride_;
  shape_ = other.shape_;
  return *this;
}

host_region::~host_region() { unmap(); }

void host_region::unmap() noexcept {
  if (base_ != nullptr) munmap(base_, stride_ * shape_.count);
  base_ = nullptr;
  descriptor_.reset();
}

void host_region::map() {
  std::size_t const total = stride_ * shape_.count;
  // Reserve more than needed to choose an aligned base: huge pages need it, and alignment requests up to the
  // huge page size hold in every process.
  std::size_t const reserved = total + huge_page;
  void* const raw = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) {
    throw startup_error(no_address_space(reserved, shape_.count, errno));
  }
  auto* const start = static_cast<std::byte*>(raw);
  auto* const base =
      reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(start), huge_page));
  // MAP_NORESERVE: else pages of the pool for all of it would be set aside here.
  int const flags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
  if (mmap(base, total, PROT_READ | PROT_WRITE, flags, descriptor_.get(), 0) == MAP_FAILED) {
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
  // Refused where the kernel has no huge pages: small ones then.
  if (shape_.pages != page_kind::pool) {
    madvise(base_, total, shape_.pages == page_kind::transparent ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  }
}

std::string host_region::reserve(std::size_t offset, std::size_t bytes) const {
  file_lock const held(descriptor_.get());
  if (shape_.pages != page_kind::pool) {
    std::string shortage = explain_refusal(shape_.limits(), bytes, sharers(), shape_.promised);
    if (!shortage.empty()) return shortage;
    // Advice concerns mappings: fallocate, which knows none, would take small pages. Where this fails or does
    // nothing, so does fallocate, or it has all to do.
    if (shape_.pages == page_kind::transparent && huge_pages_on_advice()) {
      static_cast<void>(enter(part(shape_.me) + offset, bytes));
    }
  }
  return claim(offset, bytes);
}

std::string host_region::claim(std::size_t offset, std::size_t bytes) const {
  bytes = std::min(bytes, stride_ - offset);
  if (int const code = os::reserve_pages(descriptor_.get(), shape_.me * stride_ + offset, bytes); code != 0) {
    if (offset != 0) release(offset, bytes);
    return explain(code, bytes);
  }
  return {};
}

std::string host_region::explain(int code, std::size_t bytes) const {
  std::string text = format("cannot reserve %s of shared memory: %s; ", format_bytes(bytes).c_str(),
                            error_text(code).c_str());
  if (shape_.pages != page_kind::pool) {
    struct statvfs mount {};
    // Anonymous memory has no limit of its own; the file that stands in for it has (base/os/memfd.cpp).
    if (fstatvfs(descriptor_.get(), &mount) == 0 && mount.f_blocks != 0) {
      return text + format("%s of %s are free in /dev/shm, used since memfd_create is forbidden.",
                           format_bytes(mount.f_bavail * mount.f_frsize).c_str(),
                           format_bytes(mount.f_blocks * mount.f_frsize).c_str());
    }
    return text + describe(shape_.limits()) +
           format(". Start fewer than %u ranks on this host, or allocate less.", shape_.count);
  }
  std::string const folder = "/sys/kernel/mm/hugepages/hugepages-2048kB/";
  return text +
         format(
             "%llu of the host's %llu huge pages of 2 MiB are free (vm.nr_hugepages, ATOLL_HUGE_PAGES=pool).",
             static_cast<unsigned long long>(os::read_number(folder + "free_hugepages").value_or(0)),
             static_cast<unsigned long long>(os::read_number(folder + "nr_hugepages").value_or(0)));
}

void host_region::release(std::size_t offset, std::size_t bytes) const noexcept {
  // Kernels that cannot do it keep the memory.
  fallocate(descriptor_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(shape_.me * stride_ + offset), static_cast<off_t>(bytes));
}

void host_region::populate(std::size_t offset, std::size_t bytes) const noexcept {
  std::size_t const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t const begin = offset / page * page;
  std::size_t const end = std::min(round_up(offset + bytes, page), stride_);
  // Advisory: where it fails, first use faults.
  for (std::uint32_t rank = 0; rank < shape_.count; ++rank) enter(part(rank) + begin, end - begin);
}

}  // namespace atl::memory
