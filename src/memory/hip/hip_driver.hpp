#pragma once

/// AMD's HIP runtime. Opened at run time; leaves every thread's current device, and the error that it has not
/// asked for, as they were. Has never run on hardware: docs/design/kinds.md.

#include <memory>
#include <string>
#include <vector>

#include <atoll/base/config.hpp>

#include "memory/gpu/device_waits.hpp"
#include "memory/gpu/driver.hpp"
#include "memory/hip/api.hpp"

namespace atl::memory::hip {

class hip_driver final : public gpu::driver {
 public:
  /// Null if there is no runtime or no device; `why` says which. The library's default name stands for that
  /// of any version.
  static std::unique_ptr<hip_driver> open(std::string const& library, std::string& why);

  [[nodiscard]] kind_id id() const noexcept override { return kind_id::hip; }
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] int device_n() const noexcept override { return device_n_; }
  [[nodiscard]] gpu::device_facts facts(int device) const override;
  [[nodiscard]] bool reaches(int device, int other) const noexcept override;

  gpu::block create(int device, std::uint64_t bytes) override;
  gpu::block adopt(int device, void* memory, std::uint64_t bytes) override;
  export_record share(gpu::block const& own, os::unique_fd& descriptor, std::string& why_not) override;
  gpu::block import(export_record const& record, int descriptor, int device) override;
  bool grant(gpu::block& memory, int device) noexcept override;
  void drop(gpu::block& memory) noexcept override;

  std::uint64_t begin_waiting() override;
  bool has_ended(std::uint64_t number) override { return waits_.has_ended(number); }

  gpu::host_access register_host(void* memory, std::size_t bytes, std::string& why_not) noexcept override;
  void unregister_host(void* memory) noexcept override;
  gpu::address device_address(void* registered) override;

  gpu::stream make_stream(int device) override;
  void drop_stream(int device, gpu::stream s) noexcept override;
  gpu::event make_event(int device) override;
  void drop_event(int device, gpu::event e) noexcept override;

  void copy(int device, gpu::stream s, gpu::address to, gpu::address from, std::size_t bytes) override;
  void copy_across(int device, gpu::stream s, gpu::address to, int to_device, gpu::address from,
                   int from_device, std::size_t bytes) override;
  [[nodiscard]] bool can_write(int device) const noexcept override;
  void write(int device, gpu::stream s, gpu::address word, std::uint64_t value) override;
  [[nodiscard]] bool knows_streams_of_programs() const noexcept override { return true; }
  int device_of(gpu::stream s) override;
  bool is_captured(gpu::stream s) override;
  bool is_pinned(void const* memory) override;
  /// HIP documents waits for memory of signals alone, which comes 8 bytes at a time and cannot be shared.
  [[nodiscard]] bool waits_for_any_word() const noexcept override { return false; }
  gpu::address make_gate(int device) override;
  void drop_gate(int device, gpu::address gate) noexcept override;
  void wait(int device, gpu::stream s, gpu::address gate, std::uint64_t value, comparison c) override;
  void record(int device, gpu::event e, gpu::stream s) override;
  bool happened(gpu::event e, int device, gpu::stream s) override;
  void check_stream(gpu::stream s, int device) override;

 private:
  class use;

  hip_driver() = default;
  [[nodiscard]] int attribute(int device, int which) const noexcept;
  [[nodiscard]] bool has_memory_objects(int device) const noexcept;
  [[nodiscard]] std::string words(hip_result code) const;
  /// Whether a call succeeded. If not, its error is no longer the thread's last.
  bool good(hip_result code) const noexcept;
  void check(hip_result code, char const* what, std::uint64_t bytes = 0) const;
  /// Whether the whole range lies in memory that somebody registered.
  [[nodiscard]] bool is_registered(void* memory, std::size_t bytes) const noexcept;
  /// `what`: the call, or what it has found failed. Says whose stream it is.
  [[noreturn]] ATOLL_COLD void fail_stream(hip_result code, char const* what, gpu::stream s,
                                           int device) const;
  void check_stream(hip_result code, char const* what, gpu::stream s, int device) const {
    if (code != success) [[unlikely]]
      fail_stream(code, what, s, device);
  }
  void need_streams() const;
  void note_used(int device) noexcept { used_[static_cast<std::size_t>(device)] = true; }
  gpu::block map(memory_handle handle, std::uint64_t whole, int device);

  api hip_;
  int device_n_ = 0;
  int version_ = 0;
  std::vector<bool> used_;  ///< devices with memory or streams
  gpu::device_waits waits_;
};

}  // namespace atl::memory::hip
