#pragma once

/// GPU memory of any vendor: which device does a copy, on which of its streams, and how one learns
/// that it is complete.
///
/// Copies go to a stream for each device, peer and direction, so that those for one neighbour stay in order
/// on the hardware and those for different ones overlap. An event is recorded when somebody looks (poll), so
/// copies started in a row share one. A copy that is to be announced is followed, on its stream, by a write
/// of a growing number into a word of host memory, which then also tells this process; where many are under
/// way, by one write for some of them. Gathered copies of a stream are handed to the driver in one call, with
/// one such write at their end.

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "memory/gpu/driver.hpp"
#include "memory/gpu/event_pool.hpp"
#include "memory/gpu/gpu_streams.hpp"
#include "memory/gpu/private_staging.hpp"
#include "memory/kind.hpp"
#include "memory/pinned_ranges.hpp"

namespace atl::memory::gpu {

class gpu_kind final : public kind {
 public:
  explicit gpu_kind(std::unique_ptr<driver> opened);
  ~gpu_kind() override;

  [[nodiscard]] kind_id id() const noexcept override { return driver_->id(); }
  [[nodiscard]] int device_n() const noexcept override { return driver_->device_n(); }
  [[nodiscard]] std::string info() const override;
  [[nodiscard]] std::string uuid(int device) const override;

  std::unique_ptr<device_segment> create(int device, std::uint64_t bytes, void* memory) override;
  export_record export_segment(device_segment const& own, os::unique_fd& descriptor) override;
  std::unique_ptr<device_segment> import_segment(export_record const& record, os::unique_fd descriptor,
                                                 std::uint64_t base, std::uint64_t bytes) override;
  void know_host_memory(void* begin, std::size_t bytes) override;
  void forget_host_memory(void* begin) override;
  [[nodiscard]] bool pins_host_memory() const override { return true; }
  std::string pin(memory_range pages, memory_range wanted) override;
  bool unpin(memory_range pages) override;
  [[nodiscard]] bool is_pinned(memory_range range) override;
  [[nodiscard]] bool must_flush(device_segment const& own) const override;
  void flush(device_segment const& own) override;
  void use_announcements(std::span<announcement_line> lines) override { free_lines_ = lines; }

  void copy(copy_end to, copy_end from, std::size_t bytes, std::uint32_t peer, copy_record* record,
            announcement* wanted) override;
  void submit() override;
  bool poll() override;
  std::uint64_t begin_waiting() override;
  bool has_ended(std::uint64_t number) override { return driver_->has_ended(number); }
  kernel_view view_for_kernels(int device, copy_end end) override;
  bool enter(int device) override { return driver_->enter(device); }
  void leave() noexcept override { driver_->leave(); }
  program_streams* streams() noexcept override {
    return driver_->knows_streams_of_programs() ? &programs_ : nullptr;
  }

 private:
  /// Everything up to a copy is complete when the event has happened or, without one, when the lane's word
  /// has reached the value.
  struct mark {
    std::uint64_t last = 0;
    event happened = nullptr;
    std::uint64_t value = 0;
    std::uint32_t looks = 0;
  };
  /// A stream and the copies on it that have not landed, oldest first.
  struct lane {
    int device = 0;
    stream queue = nullptr;
    copy_record* oldest = nullptr;
    copy_record* newest = nullptr;
    std::uint64_t started = 0;
    std::uint64_t marked = 0;
    std::uint64_t landed = 0;
    std::uint64_t quiet = 0;  ///< as many had been started with the last one that is not announced
    std::deque<mark> marks;
    announcement_line* line = nullptr;
    address line_address = 0;
    std::uint64_t value = 0;
    std::vector<copy_range> kept;  ///< gathered copies that the device has not been told of
    bool announcing = false;       ///< `value` is to be written, for some of them or of those started last
    bool listed = false;           ///< in busy_
  };
  struct host_range {
    std::byte* begin;
    std::size_t bytes;
    host_access access;
  };

  lane& lane_of(int device, std::uint32_t peer, copy_end to, bool alone);
  lane& lane_at(int device, std::size_t index);
  void announce(lane& on, announcement* wanted, bool joins);
  void write_value(lane& on);
  void submit(lane& on);
  bool prepare_line(lane& on);
  bool advance(lane& on);
  bool complete(lane& on, mark& m);
  [[nodiscard]] host_access access_to(std::uint64_t place) const noexcept;
  [[nodiscard]] bool is_staged(copy_end from, std::size_t bytes) const noexcept;
  /// Whether a driver takes the memory at one end in one copy, and reaches it directly.
  [[nodiscard]] bool is_direct(copy_end end, std::size_t bytes) noexcept;

  std::unique_ptr<driver> driver_;
  event_pool events_{*driver_};
  pinned_ranges pinned_;
  private_staging staging_{*driver_, events_};
  gpu_streams programs_{*driver_, events_, pinned_};
  std::vector<device_facts> facts_;
  std::vector<bool> opened_;                               ///< devices that segments were made on
  std::vector<std::vector<std::unique_ptr<lane>>> lanes_;  ///< by device and number
  std::vector<lane*> busy_;
  std::vector<host_range> host_;
  std::span<announcement_line> free_lines_;
};

}  // namespace atl::memory::gpu
