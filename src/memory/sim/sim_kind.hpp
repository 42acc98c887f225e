#pragma once

/// Devices that exist in host memory only, so that everything that concerns devices runs on any machine.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "memory/kind.hpp"
#include "memory/pinned_ranges.hpp"
#include "memory/sim/sim_streams.hpp"

namespace atl::memory::sim {

/// Presents itself as cuda, hip or ze. What makes it a test of programs and of the library is how unkind it
/// is: its memory cannot be touched (sim_segment), and its copies do nothing until poll(), where a
/// pseudo-random choice of those under way happens, in any order.
class sim_kind final : public kind {
 public:
  struct shape {
    kind_id shown_as = kind_id::cuda;
    int devices = 1;
    std::uint64_t bytes_per_device = 0;  ///< that this process may take of each
    std::uint64_t seed = 1;              ///< equal seeds and calls give equal choices
    bool atomics = true;                 ///< of kernels reach other devices and the host
  };

  explicit sim_kind(shape const& wanted);

  [[nodiscard]] kind_id id() const noexcept override { return shape_.shown_as; }
  [[nodiscard]] int device_n() const noexcept override { return shape_.devices; }
  [[nodiscard]] std::string info() const override;
  [[nodiscard]] std::string uuid(int device) const override;

  std::unique_ptr<device_segment> create(int device, std::uint64_t bytes, void* memory) override;
  export_record export_segment(device_segment const& own, os::unique_fd& descriptor) override;
  std::unique_ptr<device_segment> import_segment(export_record const& record, os::unique_fd descriptor,
                                                 std::uint64_t base, std::uint64_t bytes) override;
  [[nodiscard]] bool must_flush(device_segment const& /*own*/) const override { return true; }
  void flush(device_segment const& own) override;
  std::string pin(memory_range pages, memory_range wanted) override;
  bool unpin(memory_range pages) override;
  [[nodiscard]] bool is_pinned(memory_range range) override;
  void use_announcements(std::span<announcement_line> lines) override;

  void copy(copy_end to, copy_end from, std::size_t bytes, std::uint32_t peer, copy_record* record,
            announcement* wanted) override;
  bool poll() override;
  std::uint64_t begin_waiting() override { return streams_.begin_waiting(); }
  bool has_ended(std::uint64_t number) override { return streams_.has_ended(number); }
  kernel_view view_for_kernels(int device, copy_end end) override;
  [[nodiscard]] bool host_plays_kernels() const noexcept override { return true; }
  program_streams* streams() noexcept override { return &streams_; }

 private:
  struct pending {
    std::byte* to;
    std::byte const* from;
    std::size_t bytes;
    copy_record* record;
    announcement_line* line;  ///< null: it is not announced
    [[nodiscard]] bool concerns(memory_range range) const noexcept {
      return overlap(range, {to, bytes}) || overlap(range, {const_cast<std::byte*>(from), bytes});
    }
  };

  shape shape_;
  std::uint64_t state_;
  pinned_ranges pinned_;
  sim_streams streams_;
  std::vector<pending> under_way_;
  std::vector<announcement_line*> free_lines_;
};

}  // namespace atl::memory::sim
