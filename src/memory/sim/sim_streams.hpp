#pragma once

/// Streams of the program on simulated devices. They stand still until somebody polls.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "memory/pinned_ranges.hpp"
#include "memory/program_streams.hpp"

namespace atl::memory::sim {

class sim_streams final : public program_streams {
 public:
  sim_streams(kind_id shown_as, std::uint64_t seed, pinned_ranges& pinned)
      : shown_as_(shown_as), dice_(seed), pinned_(pinned) {}

  stream_handle make(int device) override;
  void drop(stream_handle s) override;
  int device_of(stream_handle s) override { return find(s).device; }
  bool is_captured(stream_handle s) override { return find(s).into != nullptr; }
  std::uint64_t capture_of(stream_handle s) override;
  bool keep_for_graph(stream_handle s, std::shared_ptr<void> held) override;
  bool begin_capture(stream_handle s) override;
  graph_handle end_capture(stream_handle s) override;
  void abandon_capture(stream_handle s) override { find(s).into = nullptr; }
  void launch(graph_handle g, stream_handle s) override;
  void drop_graph(graph_handle g) override;
  void play(stream_handle s, std::function<bool()> turn) override;

  bool is_pinned(void const* memory, std::size_t bytes, bool shared) override {
    return shared || pinned_.covers(reinterpret_cast<std::uintptr_t>(memory), bytes);
  }
  /// Ends the job if something that has not happened concerns the memory.
  void refuse_unpin(memory_range range) const;

  bool copy(stream_handle s, copy_end to, copy_end from, std::size_t bytes, bool gathered) override;
  bool can_exchange(int /*device*/, copy_end end) override { return end.segment != nullptr; }
  void exchange(stream_handle s, rank_exchange how, exchange_ends const& ends) override;
  bool write(stream_handle s, copy_end word, std::uint64_t value) override;
  bool wait(stream_handle s, copy_end word, std::uint64_t value, comparison c) override;
  bool wait_and_write(stream_handle s, copy_end word, std::uint64_t value, comparison c,
                      std::uint64_t then) override;
  bool add(stream_handle s, copy_end word, std::uint64_t value) override;
  void report(stream_handle s, copy_record* record) override;
  std::string where(stream_handle s) override;
  bool poll() override;
  [[nodiscard]] bool can_be_full() const noexcept override { return false; }
  [[nodiscard]] bool need_polls() const noexcept override;

  /// See kind.
  [[nodiscard]] std::uint64_t begin_waiting() const noexcept { return started_; }
  [[nodiscard]] bool has_ended(std::uint64_t number) const noexcept;

 private:
  struct graph;
  struct task {
    enum class sort { copy, write, add, wait, report, exchange, play } what;
    std::byte* to = nullptr;
    std::byte const* from = nullptr;
    std::uint64_t number = 0;  ///< bytes, or a value, or the step of an exchange
    comparison how{};
    std::uint64_t started = 0;  ///< so many had been started, this one included
    copy_record* record = nullptr;
    std::shared_ptr<rank_exchange const> exchange = nullptr;
    std::uint64_t address = 0;  ///< of the word that is waited for, in the program's terms
    std::function<bool()> turn = nullptr;
    std::shared_ptr<graph const> part_of = nullptr;
  };
  struct graph {
    std::uint64_t number;
    std::vector<task> tasks;
    std::vector<std::shared_ptr<void>> held;
    std::uint64_t launched = 0;
    std::uint64_t ended = 0;
  };
  struct queue {
    int device;
    std::deque<task> tasks;
    std::shared_ptr<graph> into = nullptr;  ///< while it is captured
  };

  queue& find(stream_handle s);
  void start(stream_handle s, task t);
  void append(queue& on, task t);
  static bool is_over(task& t);
  static bool stands_still(queue const& q) noexcept;

  kind_id shown_as_;
  std::uint64_t dice_;
  pinned_ranges& pinned_;
  std::uint64_t started_ = 0;
  std::uint64_t captures_ = 0;
  std::vector<std::unique_ptr<queue>> queues_;
  std::vector<std::shared_ptr<graph>> graphs_;
};

}  // namespace atl::memory::sim
