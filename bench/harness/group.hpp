#pragma once

/// Measuring between the ranks of a job, in short blocks.
///
/// A row is measured in blocks of a fraction of a millisecond. With two ranks, every block first
/// lets single cache lines travel between the two cores (the machine's limit for a message),
/// then runs the operation, so that the quotient of both survives a change of the machine's speed.
/// A block in which the kernel took a core from either rank is measured again; if too few blocks stay
/// undisturbed, all are used and the row says so.
///
/// Ranks meet through the shared lines below, not through the library that is measured, so that the
/// message-passing peer runs under the same rules. Two ranks on different hosts have no such lines: they meet by what is
/// measured, and the limit beside a row is what it brings along.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace atl::bench {

struct alignas(64) line {
  std::atomic<std::uint64_t> value;
};

/// Lives in memory that both ranks map; zero-filled at first.
struct shared_lines {
  /// The time of a round trip depends on where in the processor a line's owner is looked up, by up to half:
  /// these are used in turn.
  static constexpr std::size_t pairs = 64;
  line ping[pairs];
  line pong[pairs];
  alignas(128) line arrived[2];
  alignas(128) line finished;     ///< number of the last block whose operations are all done
  alignas(128) line count;        ///< of operations seen at the target, for rates
  alignas(128) line iterations;   ///< of the next block; 0: no block follows
  alignas(128) line disturbance;  ///< of rank 1, in the last block
};

struct group_config {
  int rank = 0;
  int ranks = 1;
  int blocks = 25;                            ///< undisturbed ones wanted
  double block_us = 400;                      ///< length aimed at
  double give_up_us = 1.5e6;                  ///< no further blocks after this
  shared_lines* shared = nullptr;             ///< with two ranks of one host
  std::function<void()> barrier;              ///< without lines; makes progress while it waits
  std::function<void(std::uint64_t&)> share;  ///< without lines: rank 0's value to all
  std::function<bool(bool)> any;              ///< with two ranks and no lines: is it true on either?
  void (*idle)() = nullptr;                   ///< progress of a rank that only serves
  bool crowded = false;                       ///< more ranks than cores
  std::string only;                           ///< key of the only row to measure; empty: all
  std::string prefix;  ///< of keys that are printed, where goals for others do not hold
};

/// What a row is about. Durations are nanoseconds an iteration.
struct row {
  std::string suite;
  std::string key;        ///< names the row in goals and files
  std::string name;       ///< for people
  std::string peer = {};  ///< key of the same pattern in message passing
  std::size_t bytes = 0;
  std::string show = "time";  ///< time, rate or bandwidth
  /// What the machine's own figure beside it is: line, none, or the name of `limit` below.
  std::string limit = "line";
  bool limit_of_both = false;
  unsigned parts = 1;  ///< what the row counts is so many times in an iteration: two messages in a round trip
  std::size_t least = 1;  ///< iterations, at least
  std::size_t most = std::size_t{1} << 22;
};

class group {
 public:
  using body = std::function<void(std::uint64_t iterations)>;

  explicit group(group_config config) : config_(std::move(config)) {}

  bool first() const { return config_.rank == 0; }
  group_config const& config() const { return config_; }

  /// Both ranks run `operate`; the time of rank 0 counts. `limit` as with `served`.
  void symmetric(row const& r, body const& operate, body const& limit = {});

  /// Rank 0 runs `operate`, which returns when everything is done; the others make progress meanwhile.
  /// `limit`, if given, is timed as well, by rank 0 in the same block, and with `row::limit_of_both`
  /// run by both.
  /// `settle`, if given, runs after each of them and is not timed: it waits for what they have only started.
  void served(row const& r, body const& operate, body const& limit = {}, body const& settle = {});

  /// Rank 0 runs `send`; the time counts until rank 1 has run `note_served` as often. Between hosts that includes
  /// a barrier: let blocks be long.
  void counted(row const& r, body const& send, body const& limit = {});

  /// Rank 0 runs `operate` once, unmeasured; the other rank makes progress meanwhile. Two ranks only.
  void once(std::function<void()> const& operate);

  /// For `counted`, on rank 1: one more operation has run here.
  void note_served() {
    if (++served_ == awaited_ && config_.shared != nullptr)
      config_.shared->count.value.store(served_, std::memory_order_release);
  }

  /// Nanoseconds of one round trip of a cache line; rank 0 measures, both take part. Needs lines.
  double line_round_trip(unsigned trips);

  /// The limit of a payload that is written on one side and read on the other: rank 0 copies `from` to
  /// `between`, rank 1 copies that to `to`, one after the other. All ranks take part. Needs lines.
  void hand_over(void const* from, void* between, void* to, std::size_t bytes);

  /// Nanoseconds until each rank of this core has had its turn. All ranks take part.
  double turn_of_all(unsigned turns);

  void meet();

  void print_fact(std::string const& name, std::string const& value) const;
  void print_value(std::string const& suite, std::string const& key, std::string const& name, double value,
                   std::string const& unit) const;

 private:
  struct sample {
    double ns = 0;
    double line = 0;
    double limit = 0;
    bool disturbed = false;
  };
  enum class style { symmetric, served, counted };

  struct bodies {
    body const& operate;
    body const& limit;
    body const& settle;
  };

  void measure(row const& r, style how, bodies const& run);
  sample run_block(row const& r, style how, bodies const& run, std::uint64_t iterations, bool warming);
  void announce(std::uint64_t& iterations);
  /// Until rank 0 has what it waits for in the block, and the other one has served it.
  void finish_counted();
  void serve(style how);
  bool was_disturbed(std::uint64_t switches);
  void print(row const& r, std::uint64_t iterations, std::vector<sample> const& samples,
             std::size_t disturbed) const;

  group_config config_;
  std::uint64_t met_ = 0;
  std::uint64_t lines_ = 0;
  std::uint64_t block_ = 0;
  std::uint64_t served_ = 0;   ///< on rank 1
  std::uint64_t awaited_ = 0;  ///< on rank 1: tell rank 0 at this count
};

/// Stops the job: measured data were wrong.
[[noreturn]] void wrong_data(std::string const& what);

/// Says that the processor is only waiting, so that it does not fill its pipeline with looks at one line.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

/// Keeps a value from being optimised away.
template <class T>
void keep(T const& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace atl::bench
