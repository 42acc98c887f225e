#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/os/await_end.hpp"
#include "base/os/own_namespace.hpp"
#include "base/os/processes.hpp"
#include "base/settings.hpp"
#include "bootstrap/board.hpp"
#include "bootstrap/crash.hpp"
#include "bootstrap/factories.hpp"

// The rank's end of `atoll run`.
//
// A rank finds the board through ATOLL_JOB. Usually the descriptor named there was inherited. Wrappers that
// close descriptors before they start the program (Python's subprocess does) do not matter: the launcher
// still holds the board, and /proc/<launcher>/fd/<n> opens the same file for the same user.
//
// The variables stay in the environment, so programs started *by* a rank see them as well. They are not
// ranks: the slot is taken by a live process, so they become jobs of their own (solo). After a rank's process
// has ended, the next program of the same wrapper (`sh -c 'first; second'`) may take the slot over.

namespace atl::bootstrap {
namespace {

/// ATOLL_JOB and ATOLL_RANK, taken apart.
struct invitation {
  int descriptor = -1;
  int launcher = 0;
  std::string job_id;
  int rank = -1;
};

bool read_invitation(invitation& into) {
  char const* const job = std::getenv(job_variable);
  char const* const rank = std::getenv(rank_variable);
  if (job == nullptr || rank == nullptr) return false;
  char const* const end = job + std::strlen(job);
  auto const first = std::from_chars(job, end, into.descriptor);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != ':') return false;
  auto const second = std::from_chars(first.ptr + 1, end, into.launcher);
  if (second.ec != std::errc{} || second.ptr == end || *second.ptr != ':') return false;
  into.job_id.assign(second.ptr + 1, end);
  return std::from_chars(rank, rank + std::strlen(rank), into.rank).ec == std::errc{} && !into.job_id.empty();
}

/// A process in one word: its number, the namespace in which that means anything, and when it was started, both cut off.
class owner_word {
 public:
  explicit owner_word(std::uint64_t word) : value(word) {}
  static owner_word of(int number) { return of(number, os::find_process(number)); }

  [[nodiscard]] int number() const { return static_cast<int>(value & mask(number_bits)); }
  /// `state`: what it has said last of itself.
  [[nodiscard]] bool is_alive(rank_state state) const {
    if (value == 0) return false;
    // Of another namespace nothing can be seen: it lives, in all likelihood, as the launcher does, unless it has finished.
    if ((value >> number_bits & mask(place_bits)) != own_place()) return state != rank_state::finalized;
    if (::kill(number(), 0) != 0 && errno != EPERM) return false;
    // Its number may be another one's by now; who may not be looked at is taken for it.
    auto const found = os::find_process(number());
    return !found || of(number(), found).value == value;
  }

  std::uint64_t value;

 private:
  static constexpr unsigned number_bits = 24;  // Linux has 22
  static constexpr unsigned place_bits = 16;
  static constexpr std::uint64_t mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }
  static owner_word of(int number, std::optional<os::listed_process> const& found) {
    return owner_word(static_cast<std::uint64_t>(number) | own_place() << number_bits |
                      (found ? found->started : 0) << (number_bits + place_bits));
  }
  static std::uint64_t own_place() { return os::own_namespace("pid") & mask(place_bits); }
};

board open_board(invitation const& job) {
  if (board direct = board::open(job.descriptor, job.job_id)) return direct;
  std::string const path = format("/proc/%d/fd/%d", job.launcher, job.descriptor);
  int const descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return {};
  board found = board::open(descriptor, job.job_id);
  if (!found) ::close(descriptor);
  return found;
}

/// Dies when the parent dies. The launcher arranges that for the processes it starts;
/// a program behind a wrapper must do so itself. The kernel watches the parent's *thread*,
/// so only parents with a single one are safe.
void follow_parent_into_death(int launcher) {
  ::pid_t const parent = ::getppid();
  if (parent != launcher && os::threads_of(parent) != 1) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have gone before the request: then nobody would tell us.
  if (::getppid() != parent) ::_exit(128 + SIGKILL);
}

/// Standard output goes through the launcher's pipe, which makes the C library buffer it in blocks: lines
/// would show late, or not at all when the rank is killed.
void buffer_lines() {
  struct stat output {};
  if (std::getenv(job_variable) != nullptr && ::fstat(STDOUT_FILENO, &output) == 0 &&
      S_ISFIFO(output.st_mode)) {
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  }
}

/// Runs when the library is loaded, before the program can have written anything.
[[gnu::constructor]] void buffer_lines_early() { buffer_lines(); }

class local_channel final : public channel {
 public:
  local_channel(board&& joined, invitation const& job)
      : board_(std::move(joined)), slot_(board_.slot(job.rank)), job_id_(job.job_id) {
    where_.rank = where_.local_rank = job.rank;
    where_.size = where_.local_size = static_cast<std::int32_t>(board_.header().ranks);
    slot_.diagnostics.peer.store(-1, std::memory_order_relaxed);
    mark(rank_state::attached);
    // Programs started by this rank must not inherit the board.
    board_.close_descriptor();
    follow_parent_into_death(job.launcher);
    if (settings::crash_reports()) install_crash_handlers(board_.header(), slot_);
  }

  std::string_view name() const override { return "local"; }
  placement const& where() const override { return where_; }
  std::string_view job_id() const override { return job_id_; }
  rank_diagnostics& diagnostics() override { return slot_.diagnostics; }

  std::vector<std::string> exchange(std::string_view mine) override {
    if (mine.size() > blob_limit) {
      throw bootstrap_error(format("exchange of %zu bytes; the limit is %zu", mine.size(), blob_limit));
    }
    slot_.blob_bytes = static_cast<std::uint32_t>(mine.size());
    mine.copy(slot_.blob, mine.size());
    pass_barrier();
    std::vector<std::string> all;
    all.reserve(static_cast<std::size_t>(where_.size));
    for (int rank = 0; rank < where_.size; ++rank) {
      rank_slot const& theirs = board_.slot(rank);
      all.emplace_back(theirs.blob, theirs.blob_bytes);
    }
    pass_barrier();  // nobody may write its next blob before all have read this one
    return all;
  }

  void publish(std::string_view card) override {
    if (card.size() > blob_limit) {
      throw bootstrap_error(format("a card of %zu bytes; the limit is %zu", card.size(), blob_limit));
    }
    slot_.card_bytes = static_cast<std::uint32_t>(card.size());
    card.copy(slot_.card, card.size());
    slot_.cards.store(++cards_, std::memory_order_release);  // with published_by
  }
  std::string published_by(std::int32_t rank) override {
    rank_slot const& theirs = board_.slot(rank);
    while (theirs.cards.load(std::memory_order_acquire) < cards_) {
      // Relaxed: nothing else is read.
      if (board_.header().ending.load(std::memory_order_relaxed) != 0) leave_ending_job();
      ::usleep(100);
    }
    return {theirs.card, theirs.card_bytes};
  }

  char const* console_env(char const* name) override {
    if (char const* const given = board_.override_of(name)) return given;
    load_console();
    auto const found = console_.find(name);
    return found != console_.end() ? found->second.c_str() : std::getenv(name);
  }

  bool claim_failure() noexcept override {
    board_.record_abort(where_.rank, 128 + SIGABRT);  // the status by which the launcher knows it
    return board_.abort_rank() == where_.rank;
  }

  [[noreturn]] void abort(int exit_code) override {
    int const status = failure_status(exit_code);
    board_.record_abort(where_.rank, status);
    board_.end();
    ::_exit(status);
  }

  /// A network may hear that a process has ended before the launcher does, which says how it ended and ends the others.
  void await_explanation() noexcept override {
    std::this_thread::sleep_for(std::chrono::milliseconds(settings::host_timeout_ms()));
  }

  void mark(rank_state state) override {
    // release: whoever sees the state sees the counters that led to it.
    slot_.diagnostics.state.store(state, std::memory_order_release);
  }

 private:
  void pass_barrier() {
    if (!board_.barrier()) leave_ending_job();
  }
  [[noreturn]] static void leave_ending_job() {
    // The job is being ended: whoever failed has said why, and the launcher is about to end us too. An error
    // message of ours would only stand beside the one that matters.
    os::await_end(std::chrono::seconds(10));
    throw bootstrap_error("the job is being ended, but nobody ends this rank");
  }

  /// The launcher's environment, which a wrapper script between us cannot have changed. Read at first use;
  /// empty when it cannot be read.
  void load_console() {
    if (console_loaded_) return;
    console_loaded_ = true;
    auto const text = os::read_environment(board_.header().launcher_pid);
    if (!text) return;
    for (std::size_t at = 0; at < text->size();) {
      std::string const line = text->c_str() + at;
      at += line.size() + 1;
      auto const equals = line.find('=');
      if (equals != std::string::npos) console_.emplace(line.substr(0, equals), line.substr(equals + 1));
    }
  }

  board board_;
  rank_slot& slot_;
  std::string job_id_;
  std::uint32_t cards_ = 0;  ///< published
  placement where_;
  std::map<std::string, std::string, std::less<>> console_;
  bool console_loaded_ = false;
};

}  // namespace

std::unique_ptr<channel> make_local(std::string& reason) {
  invitation job;
  if (!read_invitation(job)) {
    reason = "this process was not started by `atoll run` (no ATOLL_JOB in its environment)";
    return nullptr;
  }
  board found = open_board(job);
  if (!found) {
    reason = board_out_of_reach;
    return nullptr;
  }
  if (job.rank < 0 || static_cast<std::uint32_t>(job.rank) >= found.header().ranks) {
    throw startup_error(
        format("ATOLL_RANK=%d is outside the job of %u ranks", job.rank, found.header().ranks));
  }
  // Take the slot; a dead owner is a previous program of the same wrapper.
  rank_slot& slot = found.slot(job.rank);
  owner_word holder{slot.owner.load(std::memory_order_acquire)};
  owner_word const self = owner_word::of(::getpid());
  do {
    if (holder.value != self.value &&
        holder.is_alive(slot.diagnostics.state.load(std::memory_order_acquire))) {
      reason = format("rank %d of the job is process %d already; this is a program started by it", job.rank,
                      holder.number());
      return nullptr;
    }
  } while (!slot.owner.compare_exchange_weak(holder.value, self.value, std::memory_order_acq_rel));
  slot.diagnostics.pid.store(static_cast<std::int32_t>(::getpid()), std::memory_order_release);
  buffer_lines();
  return std::make_unique<local_channel>(std::move(found), job);
}

}  // namespace atl::bootstrap
