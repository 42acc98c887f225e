#pragma once

/// Intel's GPUs through the Level Zero loader. Opened at run time; one context of our own over all devices.
/// Has never run on hardware: docs/design/kinds.md.

#include <memory>
#include <string>
#include <vector>

#include <atoll/base/config.hpp>

#include "memory/gpu/driver.hpp"
#include "memory/ze/api.hpp"

namespace atl::memory::ze {

class ze_driver final : public gpu::driver {
 public:
  /// Null if there is no loader, no driver or no device; `why` says which.
  static std::unique_ptr<ze_driver> open(std::string const& library, std::string& why);
  ~ze_driver() override;

  [[nodiscard]] kind_id id() const noexcept override { return kind_id::ze; }
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] int device_n() const noexcept override { return static_cast<int>(devices_.size()); }
  [[nodiscard]] gpu::device_facts facts(int device) const override;
  [[nodiscard]] bool reaches(int device, int other) const noexcept override;

  gpu::block create(int device, std::uint64_t bytes) override;
  gpu::block adopt(int device, void* memory, std::uint64_t bytes) override;
  export_record share(gpu::block const& own, os::unique_fd& descriptor, std::string& why_not) override;
  gpu::block import(export_record const& record, int descriptor, int device) override;
  bool grant(gpu::block& memory, int device) noexcept override;
  void drop(gpu::block& memory) noexcept override;

  gpu::host_access register_host(void* memory, std::size_t bytes, std::string& why_not) noexcept override;
  void unregister_host(void* memory) noexcept override;
  gpu::address device_address(void* registered) override;

  gpu::stream make_stream(int device) override;
  void drop_stream(int device, gpu::stream s) noexcept override;
  gpu::event make_event(int device) override;
  void drop_event(int device, gpu::event e) noexcept override;

  void copy(int device, gpu::stream s, gpu::address to, gpu::address from, std::size_t bytes) override;
  /// Through the host, and complete when it returns: no driver does that for us.
  void copy_across(int device, gpu::stream s, gpu::address to, int to_device, gpu::address from,
                   int from_device, std::size_t bytes) override;
  /// There are no writes of host words on streams: calls leave when the copy has landed.
  [[nodiscard]] bool can_write(int) const noexcept override { return false; }
  void write(int device, gpu::stream s, gpu::address word, std::uint64_t value) override;
  void record(int device, gpu::event e, gpu::stream s) override;
  bool happened(gpu::event e, int device, gpu::stream s) override;
  /// For words that write() announces, so never called.
  void check_stream(gpu::stream, int) override {}

 private:
  ze_driver() = default;
  [[nodiscard]] ze_device at(int device) const noexcept { return devices_[static_cast<std::size_t>(device)]; }
  [[nodiscard]] std::uint32_t copy_group(int device) const;
  [[nodiscard]] command_list make_list(int device, std::uint32_t mode) const;
  void check(ze_result code, char const* what) const;
  void check_copy(ze_result code, char const* what, int device) const {
    if (code != success) [[unlikely]]
      fail_copy(code, what, device);
  }
  [[noreturn]] ATOLL_COLD void fail_copy(ze_result code, char const* what, int device) const;

  api ze_;
  ze_driver_handle driver_ = nullptr;
  ze_context context_ = nullptr;
  std::vector<ze_device> devices_;
  import_pointer import_pointer_ = nullptr;  ///< null: host memory cannot be registered
  release_pointer release_pointer_ = nullptr;
  std::vector<event_pool> pools_;  ///< the last one has events left
  std::uint32_t events_made_ = 0;  ///< of the last pool
};

}  // namespace atl::memory::ze
