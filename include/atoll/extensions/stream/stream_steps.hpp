#pragma once

/// Calls that are several things in a stream: all of them are started, or none. Other ranks wait for each of them, and would do so for ever
/// if one were missing.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <atoll/copy_batch.hpp>
#include <atoll/engine/streams.hpp>
#include <atoll/extensions/detail/box_runs.hpp>
#include <atoll/extensions/detail/copy_piece.hpp>
#include <atoll/extensions/detail/device_box.hpp>
#include <atoll/extensions/signal_op.hpp>
#include <atoll/stream.hpp>
#include <upcxx/global_ptr.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// What a stream is to do, one after the other.
class stream_steps {
 public:
  /// Makes room for a usual number of steps, with user-level progress.
  explicit stream_steps(stream const& s) : on_(s) { make_room(s, usual); }
  [[nodiscard]] stream const& on() const { return on_; }

  template <class T, upcxx::memory_kind Kind>
  void signal(upcxx::global_ptr<T, Kind> word, std::uint64_t value) {
    steps_.emplace_back(signal_change(on_, detail::place_of_signal(word, "signal"), value, signal_op::set));
  }
  template <class T, upcxx::memory_kind Kind>
  void wait(upcxx::global_ptr<T, Kind> word, std::uint64_t value) {
    steps_.emplace_back(waiting{detail::place_of_signal(word, "wait"), value, std::nullopt});
  }
  /// For just that value; then the word is 0.
  template <class T, upcxx::memory_kind Kind>
  void use_up(upcxx::global_ptr<T, Kind> word, std::uint64_t value) {
    steps_.emplace_back(waiting{detail::place_of_signal(word, "wait_and_reset"), value, 0});
  }
  void copy(engine::memory_place to, engine::memory_place from, std::size_t bytes) {
    copy_all({{to, from, bytes}});
  }
  /// In any order among themselves, small ones together.
  void copy_all(std::vector<copy_piece> all) { steps_.emplace_back(copies(on_, std::move(all))); }
  /// The same for boxes, which stay until start() has returned; their ends moved by so many bytes.
  void copy_boxes(std::span<device_box const> all, std::ptrdiff_t dest_moved, std::ptrdiff_t source_moved) {
    if (!all.empty()) steps_.emplace_back(boxes{stream_copies(on_), all, dest_moved, source_moved});
  }
  /// Something else, which may not throw.
  void call(std::function<void()> what) { steps_.emplace_back(std::move(what)); }

  /// Takes what the host needs for all steps, and then does them.
  ///
  /// @throws upcxx::bad_shared_alloc  before anything has happened.
  void start() {
    for (step& each : steps_) std::visit([this](auto& one) { prepare(one); }, each);
    for (step& each : steps_) std::visit([this](auto& one) { begin(one); }, each);
  }

 private:
  struct waiting {
    engine::memory_place word;
    std::uint64_t value;
    std::optional<std::uint64_t> then;
  };
  struct copies {
    stream_copies through;
    std::vector<copy_piece> all;
    copies(stream const& s, std::vector<copy_piece> pieces) : through(s), all(std::move(pieces)) {}
  };
  struct boxes {
    stream_copies through;
    std::span<device_box const> all;
    std::ptrdiff_t dest_moved;
    std::ptrdiff_t source_moved;
  };
  using step = std::variant<signal_change, waiting, copies, boxes, std::function<void()>>;

  void prepare(signal_change& one) const { one.prepare(); }
  void prepare(copies& some) const { some.through.prepare(some.all); }
  void prepare(boxes& some) const {
    for (device_box const& each : some.all) {
      // A segment has all of an end, so all runs are as the first one.
      some.through.prepare(
          copy_piece{each.target(some.dest_moved), each.source(some.source_moved), each.shape.run});
    }
  }
  void prepare(waiting const&) const {}
  void prepare(std::function<void()> const&) const {}

  void begin(signal_change& one) const { one.start(); }
  void begin(waiting const& one) const {
    if (one.then) {
      engine::stream_wait_and_write(name_of(on_), one.word, one.value, true, *one.then);
    } else {
      engine::stream_wait(name_of(on_), one.word, one.value, false);
    }
  }
  void begin(copies& some) const {
    some.through.start(some.all);
    some.through.finish();
  }
  void begin(boxes& some) const {
    {
      copy_batch const together;
      for (device_box const& each : some.all) {
        if (each.runs() >= kernel_from &&
            some.through.as_one(each.target(some.dest_moved), each.source(some.source_moved), each.shape))
          continue;
        each.for_each_run(some.dest_moved, some.source_moved,
                          [&](engine::memory_place to, engine::memory_place from, std::size_t bytes) {
                            some.through.start(copy_piece{to, from, bytes});
                          });
      }
    }
    some.through.finish();
  }
  void begin(std::function<void()> const& what) const { what(); }

  static constexpr std::size_t usual = 64;
  stream on_;
  std::vector<step> steps_;
};

}  // namespace atl::inline UPCXX_MODE::detail
