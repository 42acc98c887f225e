#include "bootstrap/board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <atoll/base/round_up.hpp>

#include "base/error.hpp"
#include "base/os/futex.hpp"
#include "base/os/memfd.hpp"

namespace atl::bootstrap {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t slots_at = round_up(sizeof(board_header), page);

void* map(int descriptor, std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) {
    throw startup_error(
        format("cannot map the launcher's board (%zu bytes): %s", bytes, std::strerror(errno)));
  }
  return memory;
}

}  // namespace

board board::create(int ranks, std::string_view job_id, std::vector<std::string> const& overrides) {
  std::size_t text_bytes = 0;
  for (auto const& line : overrides) text_bytes += line.size() + 1;
  std::size_t const text_at = slots_at + static_cast<std::size_t>(ranks) * sizeof(rank_slot);

  board made;
  made.bytes_ = round_up(text_at + text_bytes, page);
  made.fd_ = os::make_sealed_memfd("atoll-board", made.bytes_);
  made.memory_ = map(made.fd_.get(), made.bytes_);

  auto* const head = new (made.memory_) board_header;
  head->bytes = made.bytes_;
  head->ranks = static_cast<std::uint32_t>(ranks);
  head->launcher_pid = ::getpid();
  head->overrides_offset = text_at;
  head->overrides_bytes = text_bytes;
  job_id.copy(head->job_id, sizeof head->job_id - 1);
  // Slots need no construction: zero bytes are their initial state except for `peer`,
  // and untouched pages cost nothing.
  auto* text = static_cast<char*>(made.memory_) + text_at;
  for (auto const& line : overrides) {
    std::memcpy(text, line.c_str(), line.size() + 1);
    text += line.size() + 1;
  }
  return made;
}

board board::open(int descriptor, std::string_view job_id) {
  if (descriptor < 0 || !os::is_sealed_memfd(descriptor)) return {};
  struct stat info {};
  if (::fstat(descriptor, &info) != 0 || static_cast<std::size_t>(info.st_size) < slots_at) return {};
  board opened;
  opened.bytes_ = static_cast<std::size_t>(info.st_size);
  opened.memory_ = map(descriptor, opened.bytes_);
  board_header const& head = opened.header();
  if (!job_id.empty() &&
      job_id != std::string_view(head.job_id, ::strnlen(head.job_id, sizeof head.job_id))) {
    return {};
  }
  if (head.magic != board_magic || head.slot_bytes != sizeof(rank_slot) || head.bytes != opened.bytes_) {
    throw startup_error(
        "the launcher `atoll run` and the library in this program are of different versions; "
        "use the launcher that was installed with the library");
  }
  opened.fd_.reset(descriptor);
  return opened;
}

board::board(board&& other) noexcept
    : fd_(std::move(other.fd_)),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

board& board::operator=(board&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

board::~board() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

rank_slot& board::slot(int rank) const noexcept {
  auto* const first = static_cast<char*>(memory_) + slots_at;
  return *reinterpret_cast<rank_slot*>(first + static_cast<std::size_t>(rank) * sizeof(rank_slot));
}

char const* board::override_of(std::string_view name) const noexcept {
  char const* at = static_cast<char const*>(memory_) + header().overrides_offset;
  char const* const end = at + header().overrides_bytes;
  char const* value = nullptr;
  for (; at < end; at += std::strlen(at) + 1) {
    std::string_view const line = at;
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == '=') {
      value = at + name.size() + 1;
    }
  }
  return value;
}

bool board::barrier() noexcept {
  board_header& head = header();
  // acquire: the last arriver's reset of `arrived` precedes the round that we read here.
  std::uint32_t const round = head.round.load(std::memory_order_acquire);
  // acq_rel: collects what the earlier arrivers wrote (their blobs) and publishes ours.
  if (head.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == head.ranks) {
    head.arrived.store(0, std::memory_order_relaxed);
    head.round.fetch_add(1, std::memory_order_release);  // pairs with the acquire loads of `round`
    os::futex_wake(head.round);
    return head.ending.load(std::memory_order_acquire) == 0;
  }
  while (head.round.load(std::memory_order_acquire) == round) {
    if (head.ending.load(std::memory_order_acquire) != 0) return false;
    // The limit is for the case that `ending` was set between the check and the sleep.
    os::futex_wait(head.round, round, 200'000'000);
  }
  return true;
}

void board::record_abort(int rank, int status) noexcept {
  std::uint64_t none = 0;
  std::uint64_t const record = static_cast<std::uint64_t>(static_cast<std::uint32_t>(status)) << 32 |
                               static_cast<std::uint32_t>(rank + 1);
  header().aborted.compare_exchange_strong(none, record, std::memory_order_acq_rel);
}

int board::abort_rank() const noexcept {
  return static_cast<int>(header().aborted.load(std::memory_order_acquire) & 0xffffffff) - 1;
}

int board::abort_status() const noexcept {
  return static_cast<int>(header().aborted.load(std::memory_order_acquire) >> 32);
}

void board::end() noexcept {
  header().ending.store(1, std::memory_order_release);
  os::futex_wake(header().round);
}

}  // namespace atl::bootstrap
