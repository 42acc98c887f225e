#pragma once

/// Waiting for something that other ranks must do, and giving the core away.

#include <atomic>
#include <cstdint>

#include <atoll/engine/am.hpp>

#include "base/diagnostics.hpp"

namespace atl::engine {

/// Gives the core away once.
void yield() noexcept;
/// Has this process had its core for long, as far as it knows, while ranks outnumber cores? Reads the clock.
bool turn_is_long() noexcept;
/// After so many fruitless calls of progress() in a row, think of yielding.
/// Also tells whether ranks outnumber cores.
extern std::uint32_t polls_before_yielding;
constexpr std::uint32_t polls_with_spare_cores = 1U << 15;
inline bool crowded() noexcept { return polls_before_yielding != polls_with_spare_cores; }

/// Marks the time inside a call that waits, for the diagnostics record. That has room for one wait of the process: of several threads it
/// shows the wait that began last, and one that is long when others have ended.
class waiting_note {
 public:
  explicit waiting_note(activity what, std::int32_t peer = -1) noexcept;
  ~waiting_note();
  waiting_note(waiting_note const&) = delete;
  waiting_note& operator=(waiting_note const&) = delete;

  /// The calling thread's wait is long: since when is noted once.
  static void grows_long() noexcept;

 private:
  void show() const noexcept;

  waiting_note* outer_;  ///< the same thread's: those of several come and go in any order
  activity what_;
  std::int32_t peer_;
  std::uint64_t entered_ns_ = 0;  ///< 0: it is not long
};

/// What a thread may do while it waits.
enum class idling : std::uint8_t {
  sleep,  ///< whatever ends the wait rings this rank's bell (messages, flat collectives, tasks do)
  spin,   ///< nobody rings
  yield,  ///< it has no part in the engine
};

/// Adaptive waiting: spin while there is a core per rank, else yield, then sleep until something arrives.
class waiter {
 public:
  explicit waiter(idling how) noexcept : how_(how) {}
  ~waiter() { reset(); }
  waiter(waiter const&) = delete;
  waiter& operator=(waiter const&) = delete;

  /// Call after each fruitless poll of all that is awaited.
  void pause();
  /// Call after each fruitful one.
  void reset() {
    fruitless_ = 0;
    since_ns_ = 0;
    next_look_ns_ = 0;
    drowsy_ = false;
    if (announced_ != 0) [[unlikely]]
      withdraw();
  }

 private:
  void announce_or_sleep();
  void withdraw() noexcept;

  idling how_;
  bool drowsy_ = false;          ///< has waited for long enough to sleep
  std::uint32_t announced_ = 0;  ///< not 0: announced, so the caller looks once more before this sleeps
  std::uint32_t fruitless_ = 0;
  std::uint64_t since_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;  ///< after that much waiting, look whether peers do the same
};

/// Waits while `condition()` holds. In between, `progress()` makes progress of the level that the caller may
/// make, and says whether anything moved.
template <class Condition, class Progress = bool (*)()>
void wait_while(Condition condition, Progress progress = &poll, idling how = idling::sleep) {
  waiter idle(how);
  while (condition()) {
    if (progress()) {
      idle.reset();
    } else {
      idle.pause();
    }
  }
}

}  // namespace atl::engine
