#pragma once

/// What must be looked after beside messages: collectives under way, flags that are watched, copies of device
/// memory. Each source registers itself, and progress asks those that have something open.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace atl::engine {

class work_source;

/// The work of all sources. Counters change under the engine's lock only; they are atomic because other
/// threads look at them without it.
class open_work {
 public:
  /// Where it counts what is owed and awaited, in sight of who looks at this rank from outside.
  open_work(std::atomic<std::uint64_t>& owed, std::atomic<std::uint64_t>& awaited) noexcept
      : owed_(owed), awaited_(awaited) {
    owed_.store(0, std::memory_order_relaxed);
    awaited_.store(0, std::memory_order_relaxed);
  }
  open_work(open_work const&) = delete;
  open_work& operator=(open_work const&) = delete;

  /// Looked at in every call of progress().
  [[nodiscard]] std::size_t items() const noexcept { return items_.load(std::memory_order_relaxed); }
  /// Those whose end rings no bell, so that nobody may sleep meanwhile.
  [[nodiscard]] std::size_t silent() const noexcept { return silent_.load(std::memory_order_relaxed); }
  /// What this rank has started and must itself bring to an end, by internal progress.
  [[nodiscard]] std::size_t owed() const noexcept { return owed_.load(std::memory_order_relaxed); }
  void add_owed(std::ptrdiff_t more) noexcept { add(owed_, more); }
  /// What this rank waits for and others may have to bring about: ends of streams.
  [[nodiscard]] std::size_t awaited() const noexcept { return awaited_.load(std::memory_order_relaxed); }
  void add_awaited(std::ptrdiff_t more) noexcept { add(awaited_, more); }

  /// Until the end something is to be polled, by whom this is no business of: items() is never 0.
  void keep_open() noexcept {
    add(items_, 1);
    kept_open_ = 1;
  }
  /// Has advance() anything to do?
  [[nodiscard]] bool any() const noexcept { return items() != kept_open_; }
  /// Goes on with what is open; true if anything moved. Under the engine's lock.
  bool advance();

 private:
  friend work_source;
  static void add(std::atomic<std::size_t>& to, std::ptrdiff_t more) noexcept {
    to.store(to.load(std::memory_order_relaxed) + static_cast<std::size_t>(more), std::memory_order_relaxed);
  }

  std::atomic<std::size_t> items_{0};
  std::size_t kept_open_ = 0;
  std::atomic<std::size_t> silent_{0};
  std::atomic<std::uint64_t>& owed_;
  std::atomic<std::uint64_t>& awaited_;
  std::vector<work_source*> sources_;
};

/// Does the end of a source's work ring this rank's bell?
enum class ending : bool { rings, silent };

class work_source {
 public:
  work_source(work_source const&) = delete;
  work_source& operator=(work_source const&) = delete;

  [[nodiscard]] std::size_t open() const noexcept { return open_.load(std::memory_order_relaxed); }
  /// More work, or less. Under the engine's lock.
  void count(std::ptrdiff_t more) noexcept;

 protected:
  work_source(open_work& all, ending how);
  virtual ~work_source();

 private:
  friend open_work;
  /// Goes on as far as possible; true if anything moved. Called while something is open.
  virtual bool advance() = 0;

  open_work& all_;
  ending how_;
  std::atomic<std::size_t> open_{0};
};

}  // namespace atl::engine
