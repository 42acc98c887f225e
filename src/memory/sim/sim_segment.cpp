#include "memory/sim/sim_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <atoll/base/round_up.hpp>

#include "base/error.hpp"
#include "base/os/memfd.hpp"
#include "base/os/memory.hpp"
#include "base/settings.hpp"

namespace atl::memory::sim {
namespace {

std::uint64_t page_bytes() noexcept { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

std::uint64_t whole_pages(std::uint64_t bytes) noexcept {
  return round_up<std::uint64_t>(bytes, page_bytes());
}

[[noreturn]] void fail(char const* what, std::uint64_t bytes, int code) {
  throw segment_error(format("simulated device: cannot %s %s: %s", what,
                             settings::format_bytes(bytes).c_str(), std::strerror(code)));
}

/// A memory object whose pages are there, so that copies into it cannot fail for want of memory.
os::unique_fd reserve_pages(std::uint64_t bytes) {
  std::uint64_t const wanted = whole_pages(bytes);
  if (std::uint64_t const free = os::read_memory_limits().available(); wanted > free) {
    throw segment_error(format("simulated device: %s asked for, but the host has only %s free",
                               settings::format_bytes(wanted).c_str(), settings::format_bytes(free).c_str()));
  }
  os::unique_fd object;
  try {
    object = os::make_sealed_memfd("atoll-sim-device", wanted);
  } catch (startup_error const& problem) {
    throw segment_error(problem.what());
  }
  if (int const code = os::reserve_pages(object.get(), 0, wanted); code != 0) fail("reserve", wanted, code);
  return object;
}

/// Addresses without memory behind them.
std::uint64_t reserve_addresses(std::uint64_t bytes) {
  void* const at =
      mmap(nullptr, whole_pages(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) fail("reserve addresses for", bytes, errno);
  return reinterpret_cast<std::uintptr_t>(at);
}

std::byte* map_alias(int descriptor, std::uint64_t bytes) {
  void* const at = mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) fail("map", bytes, errno);
  madvise(at, whole_pages(bytes), MADV_DONTDUMP);
  return static_cast<std::byte*>(at);
}

/// New private pages at a range that is ours, in place of what was mapped there.
void replace_pages(void* at, std::uint64_t bytes, int protection) noexcept {
  mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

std::uint64_t check_wrapped(void* memory, std::uint64_t bytes) {
  auto const address = reinterpret_cast<std::uintptr_t>(memory);
  if (address % page_bytes() != 0 || bytes % page_bytes() != 0) {
    throw segment_error(format(
        "simulated device: memory of the program must be whole pages of %llu bytes, "
        "but %llu bytes at %p are not; allocate it with mmap or aligned_alloc",
        static_cast<unsigned long long>(page_bytes()), static_cast<unsigned long long>(bytes), memory));
  }
  return address;
}

/// Segments of this process, not those of peers, whose addresses mean something else here.
std::vector<sim_segment const*>& own_segments() {
  static std::vector<sim_segment const*> all;
  return all;
}

}  // namespace

std::byte* sim_segment::reach(void* begin, std::size_t bytes) noexcept {
  auto const address = reinterpret_cast<std::uintptr_t>(begin);
  for (sim_segment const* s : own_segments()) {
    if (address >= s->base() && bytes <= s->bytes() && address - s->base() <= s->bytes() - bytes) {
      return s->alias(address);
    }
  }
  return nullptr;
}

sim_segment::sim_segment(std::uint64_t base, std::uint64_t bytes, os::unique_fd descriptor, origin from)
    : device_segment(base, bytes),
      descriptor_(std::move(descriptor)),
      from_(from),
      alias_(map_alias(descriptor_.get(), bytes)) {
  if (from_ != origin::imported) own_segments().push_back(this);
}

sim_segment::sim_segment(std::uint64_t bytes) : sim_segment(bytes, reserve_pages(bytes)) {}

sim_segment::sim_segment(std::uint64_t bytes, os::unique_fd pages)
    : sim_segment(reserve_addresses(bytes), bytes, std::move(pages), origin::created) {}

sim_segment::sim_segment(void* memory, std::uint64_t bytes)
    : sim_segment(check_wrapped(memory, bytes), bytes, reserve_pages(bytes), origin::wrapped) {
  std::memcpy(alias_, memory, bytes);
  replace_pages(memory, bytes, PROT_NONE);
}

sim_segment::sim_segment(os::unique_fd descriptor, std::uint64_t base, std::uint64_t bytes)
    : sim_segment(base, bytes, std::move(descriptor), origin::imported) {
  descriptor_.reset();  // the mapping keeps the object
}

sim_segment::~sim_segment() {
  std::erase(own_segments(), this);
  auto* const memory = reinterpret_cast<void*>(base());
  if (from_ == origin::created) munmap(memory, whole_pages(bytes()));
  if (from_ == origin::wrapped) {
    replace_pages(memory, bytes(), PROT_READ | PROT_WRITE);
    std::memcpy(memory, alias_, bytes());
  }
  munmap(alias_, whole_pages(bytes()));
}

}  // namespace atl::memory::sim
