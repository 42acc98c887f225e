#pragma once

/// The board: memory shared by `atoll run` and the ranks it started.
///
/// The launcher creates it as a sealed anonymous file before it starts the ranks, and both sides keep it
/// mapped. It carries who is who, the exchange at start-up, what each rank is doing, and a dying rank's last
/// words. Its layout is a contract between a launcher and a library that may come from different
/// installations: `magic` and `slot_bytes` tell them apart.
///
///   header | slot of rank 0 | slot of rank 1 | ... | console overrides ("NAME=VALUE\0" each)
///
/// Writers: the header by the launcher before the ranks start, except the atomics; a slot by its rank, except
/// `spawned_pid`, which is the launcher's.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/os/unique_fd.hpp"

namespace atl::bootstrap {

inline constexpr std::uint64_t board_magic = 0x33'64'72'61'6f'62'74'61;  // "atboard3"
inline constexpr std::size_t blob_limit = 1024;  ///< bytes one rank may give to an exchange, or publish
inline constexpr int frame_limit = 64;

/// How much of a crash report has been written.
enum class crash_state : std::uint32_t { none, writing, complete };

/// A rank's last words. Written by its signal and terminate handlers, read by the launcher.
struct crash_report {
  std::atomic<crash_state> state{crash_state::none};
  std::int32_t signal = 0;    ///< 0 when there is only an exception
  std::int32_t code = 0;      ///< si_code
  std::int32_t sender = 0;    ///< process that sent the signal, or 0
  std::int32_t pid = 0;       ///< of the dying process
  std::uint64_t address = 0;  ///< that was accessed (SIGSEGV, SIGBUS) or executed (SIGILL, SIGFPE)
  std::atomic<std::uint32_t> has_exception{0};
  char exception_type[128] = {};  ///< demangled
  char exception_text[384] = {};  ///< what(), when there was one
  std::uint32_t frame_count = 0;
  std::uint32_t first_is_exact = 0;  ///< frames[0] is the faulting instruction, not a return address
  std::uint64_t frames[frame_limit] = {};
  std::uint32_t maps_bytes = 0;
  char maps[12 * 1024] = {};  ///< lines of /proc/self/maps that the frames lie in
};

/// Answer to the launcher's question "where are you?" (SIGQUIT).
struct live_report {
  std::atomic<std::uint32_t> listening{
      0};  ///< non-zero: SIGQUIT is a question; zero: it would end the process
  std::atomic<std::uint32_t> answered{0};  ///< number of the question that the rest answers
  crash_report where;
};

/// What one rank shares.
struct alignas(4096) rank_slot {
  rank_diagnostics diagnostics;
  std::atomic<std::int32_t> spawned_pid{0};  ///< process started by the launcher; leads its process group
  std::atomic<std::uint64_t> owner{
      0};  ///< the process that is the rank, so that no other one is taken for it; 0: none
  std::uint32_t blob_bytes = 0;
  char blob[blob_limit] = {};
  std::atomic<std::uint32_t> cards{0};  ///< published so far; the last one follows
  std::uint32_t card_bytes = 0;
  char card[blob_limit] = {};
  crash_report crash;
  live_report live;
};

struct board_header {
  std::uint64_t magic = board_magic;
  std::uint64_t bytes = 0;  ///< of the whole board
  std::uint64_t slot_bytes = sizeof(rank_slot);
  std::uint32_t ranks = 0;
  std::int32_t launcher_pid = 0;
  std::uint64_t overrides_offset = 0;
  std::uint64_t overrides_bytes = 0;
  char job_id[40] = {};  ///< 32 hexadecimal digits
  alignas(64) std::atomic<std::uint32_t> ending{
      0};                                  ///< non-zero: the job is being ended, waiting is pointless
  std::atomic<std::uint64_t> aborted{0};   ///< first abort(): status << 32 | rank + 1; 0: none
  std::atomic<std::uint32_t> question{0};  ///< number of the launcher's last "where are you?"
  alignas(64) std::atomic<std::uint32_t> arrived{0};
  alignas(64) std::atomic<std::uint32_t> round{0};  ///< of the barrier; ranks sleep on it
};

/// A mapped board; movable.
class board {
 public:
  /// Creates the board of a job. Throws startup_error.
  static board create(int ranks, std::string_view job_id, std::vector<std::string> const& overrides);

  /// Maps the board behind `descriptor` when it is one and belongs to job `job_id` (any job when empty). An
  /// empty board otherwise. Throws startup_error when it is a board of another version.
  static board open(int descriptor, std::string_view job_id);

  board() = default;
  board(board&& other) noexcept;
  board& operator=(board&& other) noexcept;
  ~board();

  explicit operator bool() const noexcept { return memory_ != nullptr; }
  board_header& header() const noexcept { return *static_cast<board_header*>(memory_); }
  rank_slot& slot(int rank) const noexcept;
  int descriptor() const noexcept { return fd_.get(); }
  /// Value that the user gave on the launcher's command line, or null; the last one, as in the environment.
  char const* override_of(std::string_view name) const noexcept;
  /// Another object of this process closes it.
  void leave_descriptor() noexcept { static_cast<void>(fd_.release()); }
  /// Closes the descriptor and keeps the mapping.
  void close_descriptor() noexcept { fd_.reset(); }

  /// Waits for all ranks. False when the job is ending.
  bool barrier() noexcept;
  /// Records that `rank` ends the job; only the first call counts.
  void record_abort(int rank, int status) noexcept;
  /// The rank that ended the job, or -1, and its status.
  int abort_rank() const noexcept;
  int abort_status() const noexcept;
  /// Sets `ending` and wakes everybody who waits.
  void end() noexcept;

 private:
  os::unique_fd fd_;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Names of the environment variables by which the launcher points a rank to the board.
inline constexpr char const* job_variable = "ATOLL_JOB";    ///< "<descriptor>:<launcher's pid>:<job id>"
inline constexpr char const* rank_variable = "ATOLL_RANK";  ///< the rank

}  // namespace atl::bootstrap
