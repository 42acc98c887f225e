#pragma once

/// Copies of device memory under way, and what this rank does for copies of its peers.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <atoll/engine/memory_copy.hpp>
#include <atoll/engine/streams.hpp>

#include "base/single.hpp"
#include "engine/copies/arrivals.hpp"
#include "engine/copies/device_keys.hpp"
#include "engine/copies/kernel_service.hpp"
#include "engine/copies/network_copies.hpp"
#include "engine/copies/segments.hpp"
#include "engine/copies/staged_copies.hpp"
#include "engine/copies/stream_backlog.hpp"
#include "engine/progress/progress_engine.hpp"
#include "memory/program_streams.hpp"

namespace atl::engine {

/// While anything here is open, progress looks for it and nobody sleeps, since no message tells of it. Under
/// the engine's lock.
class device_copies final : public single<device_copies>, public work_source {
 public:
  explicit device_copies(progress_engine& engine);
  /// here(), for calls that nothing else keeps from being too early or too late: these end the job, in words.
  static device_copies& for_call(char const* call);
  ~device_copies() override;

  /// See start_copy().
  void start(memory_place to, memory_place from, std::size_t bytes, copy_completion* completion);
  /// See start_box_copy().
  bool start_box(memory_place to, memory_place from, prepared_box const& box, copy_completion* completion);
  // Of streams of the program; see atoll/engine/streams.hpp.
  bool copy_in(stream_name s, memory_place to, memory_place from, std::size_t bytes);
  /// Whether copy_in would do it.
  bool can_copy_in(stream_name s, memory_place to, memory_place from, std::size_t bytes);
  bool box_in(stream_name s, memory_place to, memory_place from, prepared_box const& box);
  bool can_exchange(memory::kind& kind, int device, memory_place place, std::size_t bytes);
  void exchange_in(stream_name s, stream_exchange const& what, exchange_part part);
  void reduce_in(stream_name s, stream_reduction_call const& what);
  bool write_in(stream_name s, memory_place word, std::uint64_t value);
  /// What the word gets then, if anything.
  void wait_in(stream_name s, memory_place word, std::uint64_t value, bool equal,
               std::optional<std::uint64_t> then);
  bool add_in(stream_name s, memory_place word, std::uint64_t value);
  /// Whether add_in, or write_in, would do it.
  bool can_change(stream_name s, memory_place word, bool adds);
  void add_on_device(memory_place word, std::uint64_t value, copy_completion* done);
  void report_in(stream_name s, copy_completion* done);
  void refuse_capture(stream_name s, needs_host what);
  /// Of streams, which have not come.
  [[nodiscard]] std::size_t reports() const noexcept { return engine_.open.awaited(); }
  /// Tells streams of this life of the library from those of others.
  [[nodiscard]] std::uint32_t life() const noexcept { return life_; }
  memory::kind& kind_of_stream(stream_name s);
  /// Streams that stand still without polls count as open.
  void watch_streams();
  /// After whatever the stream has been given.
  void note_operation(memory::kind& kind, stream_name s);
  /// See atl::engine::has_room().
  bool has_room(stream_name s, std::size_t operations);
  /// Whether the program has had to do with any: they may wait for what this rank does for them.
  [[nodiscard]] bool streams_used() const noexcept { return streams_used_; }

  /// A call arrived ahead of its data: keeps it until its word says that the data is there.
  void keep_announced(message* m);

  /// Ends a segment of this rank (segment_table::destroy), once no other host's network can reach it any more.
  void destroy(segment_name own, bool (*progress)());

  segment_table& segments() noexcept { return segments_; }
  kernel_service& kernels() noexcept { return kernels_; }
  staged_copies& staged() noexcept { return staged_; }
  /// In a job on several hosts.
  network_copies& by_network() noexcept { return *network_; }
  /// Null in a job on one host.
  device_keys* keys() noexcept { return keys_.get(); }

 private:
  struct transfer;
  bool advance() override;
  bool deliver(transfer* t) noexcept;
  /// What hears of the copy, which has begun.
  memory::copy_record* begin(copy_completion* completion, segment* target, segment* source);
  transfer* begin_transfer(copy_completion* completion, segment* target, segment* source);
  /// What hears that a stream of the program has come here.
  memory::copy_record* begin_report(copy_completion* completion, std::uint64_t stream);
  static void reached(memory::copy_record* record) noexcept;
  static bool is_gathering() noexcept;
  /// Index 0 of a box, all of which is in a segment that is open; `stride`: of one of the ends.
  copy_place resolve_box(memory_place place, prepared_box const& box,
                         std::ptrdiff_t prepared_box::dimension::*stride);
  bool is_pinned(memory::kind& kind, copy_place const& end, std::size_t bytes);
  bool is_for_streams(memory::kind& kind, copy_place const& end, std::size_t bytes);
  bool are_for_streams(memory::kind& kind, stream_name s, copy_place const& target, copy_place const& source,
                       std::size_t bytes);
  /// What a device does in streams of the library's own. Neither waits for the other: a kernel that waits for an addition may leave boxes
  /// no room.
  enum class help : std::uint8_t { additions, boxes };
  memory::stream_handle helping_stream(memory::kind& kind, int device, help with);
  /// For what is remembered of a stream: default ones of different devices have one handle, and so may have streams that were ended and
  /// new ones. 0 where threads have different ones of that name, so that nothing is known of it when one of them has come by.
  static std::uint64_t known_as(memory::kind& kind, memory::stream_handle s);
  /// Places stay until the stream has come by, or until graphs of what is captured there are gone.
  void note_uses(memory::kind& kind, stream_name s, std::span<copy_place const* const> ends);
  void note_uses(memory::kind& kind, stream_name s, std::initializer_list<copy_place const*> ends) {
    note_uses(kind, s, std::span(ends.begin(), ends.size()));
  }
  static void landed(memory::copy_record* record) noexcept;

  progress_engine& engine_;
  std::uint32_t const life_;
  segment_table segments_;
  arrivals announced_{*this};
  staged_copies staged_{segments_, *this};
  kernel_service kernels_;
  // Null in a job on one host.
  std::unique_ptr<device_keys> keys_;
  std::unique_ptr<network_copies> network_;
  stream_backlog backlog_;
  bool streams_need_polls_ = false;
  bool streams_used_ = false;
  struct helping {
    memory::kind* kind;
    int device;
    help with;
    memory::stream_handle stream;  ///< ends with the kind
  };
  std::vector<helping> helping_;
  std::vector<transfer*> undelivered_;  ///< in place, but the news found no memory
};

}  // namespace atl::engine
