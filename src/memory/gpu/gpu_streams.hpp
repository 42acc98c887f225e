#pragma once

/// Streams of the program on GPUs of any vendor.

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "memory/gpu/driver.hpp"
#include "memory/gpu/event_pool.hpp"
#include "memory/gpu/gates.hpp"
#include "memory/pinned_ranges.hpp"
#include "memory/program_streams.hpp"

namespace atl::memory::gpu {

class gpu_streams final : public program_streams {
 public:
  gpu_streams(driver& with, event_pool& events, pinned_ranges& pinned)
      : driver_(with), events_(events), pinned_(pinned) {}
  ~gpu_streams() override;

  stream_handle make(int device) override;
  void drop(stream_handle s) override;
  int device_of(stream_handle s) override { return driver_.device_of(s); }
  std::uint64_t number_of(stream_handle s) override { return driver_.number_of({s, true}); }
  bool is_captured(stream_handle s) override { return driver_.is_captured(s); }
  std::uint64_t capture_of(stream_handle s) override { return driver_.capture_of({s, true}); }
  bool keep_for_graph(stream_handle s, std::shared_ptr<void> held) override {
    return driver_.keep_for_graph({s, true}, std::move(held));
  }

  bool begin_capture(stream_handle s) override;
  graph_handle end_capture(stream_handle s) override;
  void abandon_capture(stream_handle s) override;
  void launch(graph_handle g, stream_handle s) override;
  void drop_graph(graph_handle g) override;

  bool is_pinned(void const* memory, std::size_t bytes, bool shared) override;

  bool can_copy(stream_handle s, copy_end to, copy_end from) override;
  bool copy(stream_handle s, copy_end to, copy_end from, std::size_t bytes, bool gathered) override;
  bool copy_box(stream_handle s, copy_end to, copy_end from, box_shape const& box) override;
  bool can_exchange(int device, copy_end end) override;
  void exchange(stream_handle s, rank_exchange how, exchange_ends const& ends) override;
  bool can_reduce(int device) override { return driver_.can_reduce(device); }
  void reduce(stream_handle s, array_reduction how, copy_end to, copy_end from) override;
  bool write(stream_handle s, copy_end word, std::uint64_t value) override;
  bool wait(stream_handle s, copy_end word, std::uint64_t value, comparison c) override;
  bool wait_and_write(stream_handle s, copy_end word, std::uint64_t value, comparison c,
                      std::uint64_t then) override;
  bool add(stream_handle s, copy_end word, std::uint64_t value) override;
  bool can_write(stream_handle s, copy_end word) override { return word_of(device_of(s), word).has_value(); }
  bool can_add(stream_handle s, copy_end word) override {
    return atomic_word_of(device_of(s), word).has_value() && driver_.can_add(device_of(s));
  }
  bool add_at_home(stream_handle s, copy_end word, std::uint64_t value) override;
  void report(stream_handle s, copy_record* record) override;
  void submit() override;
  bool poll() override;
  [[nodiscard]] bool need_polls() const noexcept override { return gates_.any(); }

 private:
  struct reported {
    copy_record* record;
    event happened;
  };
  /// What is to be reported of one stream, whose events happen in order, so that only the first is asked for.
  struct report_line {
    std::uint64_t name;    ///< see line_name
    stream_handle stream;  ///< it may have ended
    int device;
    std::deque<reported> left;
  };
  struct made_stream {
    stream_handle handle;
    int device;
  };
  struct made_graph {
    graph_handle handle;
    int device;
  };
  /// Of a stream that no other has, also after its end; 0 if the driver tells of none.
  std::uint64_t line_name(stream_handle s);
  std::uint64_t number_to_keep(stream_handle s, std::uint64_t capture);
  [[noreturn]] void refuse_kept() const;
  [[nodiscard]] std::optional<address> reached(int device, copy_end word);
  [[nodiscard]] std::optional<address> word_of(int device, copy_end word);
  [[nodiscard]] std::optional<address> atomic_word_of(int device, copy_end word);

  driver& driver_;
  event_pool& events_;
  pinned_ranges& pinned_;
  std::vector<made_stream> made_;
  std::vector<made_graph> graphs_;
  // Gathered copies that have not been started, of one stream.
  std::vector<copy_range> kept_;
  stream_handle kept_for_ = nullptr;
  int kept_on_ = 0;
  std::uint64_t kept_number_ = 0;   ///< of the stream
  std::uint64_t kept_capture_ = 0;  ///< and of its capture

  std::list<report_line> waited_for_;
  gates gates_{driver_, events_};
};

}  // namespace atl::memory::gpu
