#pragma once

/// NVIDIA's driver. Opened at run time; uses the devices' primary contexts, which the program's CUDA runtime
/// shares, and leaves every thread's current context as it was.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <atoll/base/config.hpp>

#include "memory/cuda/api.hpp"
#include "memory/cuda/kernels.hpp"
#include "memory/gpu/device_waits.hpp"
#include "memory/gpu/driver.hpp"

namespace atl::memory::cuda {

class cuda_driver final : public gpu::driver {
 public:
  /// Null if there is no driver or no device; `why` says which.
  static std::unique_ptr<cuda_driver> open(std::string const& library, std::string& why);
  ~cuda_driver() override;

  [[nodiscard]] kind_id id() const noexcept override { return kind_id::cuda; }
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] int device_n() const noexcept override { return static_cast<int>(contexts_.size()); }
  [[nodiscard]] gpu::device_facts facts(int device) const override;
  [[nodiscard]] bool reaches(int device, int other) const noexcept override;

  gpu::block create(int device, std::uint64_t bytes) override;
  gpu::block adopt(int device, void* memory, std::uint64_t bytes) override;
  export_record share(gpu::block const& own, os::unique_fd& descriptor, std::string& why_not) override;
  gpu::block import(export_record const& record, int descriptor, int device) override;
  bool grant(gpu::block& memory, int device) noexcept override;
  void drop(gpu::block& memory) noexcept override;

  std::uint64_t begin_waiting() override;
  bool has_ended(std::uint64_t number) override { return waits_->has_ended(number); }

  [[nodiscard]] bool must_flush(int device) const noexcept override;
  void flush(int device) override;

  gpu::host_access register_host(void* memory, std::size_t bytes, std::string& why_not) noexcept override;
  void unregister_host(void* memory) noexcept override;
  gpu::address device_address(void* registered) override;

  gpu::stream make_stream(int device) override;
  void drop_stream(int device, gpu::stream s) noexcept override;
  gpu::event make_event(int device) override;
  void drop_event(int device, gpu::event e) noexcept override;

  void copy(int device, gpu::stream s, gpu::address to, gpu::address from, std::size_t bytes) override;
  void copy_all(int device, gpu::stream s, std::span<gpu::copy_range const> ranges) override;
  void copy_across(int device, gpu::stream s, gpu::address to, int to_device, gpu::address from,
                   int from_device, std::size_t bytes) override;
  [[nodiscard]] bool is_atomic_on(int device, int other) const noexcept override {
    return device == other || abilities_of(device).is_atomic_on[static_cast<std::size_t>(other)];
  }
  [[nodiscard]] bool is_atomic_on_host(int device) const noexcept override {
    return abilities_of(device).is_atomic_on_host;
  }
  [[nodiscard]] bool is_slow_from_private() const noexcept override { return true; }
  [[nodiscard]] bool can_write(int device) const noexcept override { return abilities_of(device).writes; }
  void write(int device, gpu::stream s, gpu::address word, std::uint64_t value) override;
  bool enter(int device) override;
  void leave() noexcept override;
  [[nodiscard]] bool knows_streams_of_programs() const noexcept override { return true; }
  int device_of(gpu::stream s) override;
  std::uint64_t number_of(gpu::stream s) override;
  bool is_captured(gpu::stream s) override;
  std::uint64_t capture_of(gpu::stream s) override;
  bool keep_for_graph(gpu::stream s, std::shared_ptr<void> held) override;
  bool begin_capture(int device, gpu::stream s) override;
  void* end_capture(int device, gpu::stream s) override;
  void abandon_capture(gpu::stream s) noexcept override;
  void launch(int device, void* made, gpu::stream s) override;
  void drop_graph(int device, void* made) noexcept override;
  bool copy_small(int device, gpu::stream s, std::span<gpu::copy_range const> ranges) override;
  bool copy_box(int device, gpu::stream s, gpu::address to, gpu::address from, box_shape const& box) override;
  [[nodiscard]] std::size_t most_bytes_of_small() const noexcept override { return most_bytes_of_small_copy; }
  bool can_exchange(int device) override;
  void exchange(int device, gpu::stream s, rank_exchange const& what) override;
  bool can_reduce(int device) override;
  void reduce(int device, gpu::stream s, array_reduction const& what) override;
  bool is_pinned(void const* memory) override;
  void prepare(int device) override;
  void wait(int device, gpu::stream s, gpu::address word, std::uint64_t value, comparison c) override;
  void wait_and_write(int device, gpu::stream s, gpu::address word, std::uint64_t value, comparison c,
                      std::uint64_t then) override;
  [[nodiscard]] bool has_additions() const noexcept override { return true; }
  bool can_add(int device) override;
  bool add(int device, gpu::stream s, gpu::address word, std::uint64_t value) override;
  void check_stream(gpu::stream s, int device) override;
  void record(int device, gpu::event e, gpu::stream s) override;
  bool happened(gpu::event e, int device, gpu::stream s) override;

 private:
  /// The library's kernels on a device.
  struct loaded {
    bool tried = false;
    bool told = false;  ///< that the driver did not take them
    cu_result code = success;
    module whole = nullptr;
    function copies = nullptr;  ///< null: the driver did not take them
    function add = nullptr;
    function box = nullptr;
    function exchange = nullptr;
    function exchange_few = nullptr;
    function reduce = nullptr;
  };

  /// What streams ask of a device again and again; the driver is asked once.
  struct abilities {
    bool writes = false;
    bool reduces = false;  ///< in streams, without a kernel
    bool is_atomic_on_host = false;
    std::vector<bool> is_atomic_on;  ///< by other device
  };

  class use;
  class no_context;
  class beside_captures;

  cuda_driver() = default;
  context primary(int device);
  /// A device whose context is open, else device 0.
  [[nodiscard]] int any_open() const noexcept;
  [[nodiscard]] int attribute(int device, int which) const noexcept;
  [[nodiscard]] abilities ask_abilities(int device) const;
  [[nodiscard]] abilities const& abilities_of(int device) const {
    auto& known = abilities_[static_cast<std::size_t>(device)];
    if (!known) [[unlikely]]
      known = ask_abilities(device);
    return *known;
  }
  [[nodiscard]] std::string words(cu_result code) const;
  void check(cu_result code, char const* what, std::uint64_t bytes = 0) const;
  /// `what`: the call, or what it has found failed. Says whose stream it is.
  [[noreturn]] ATOLL_COLD void fail_stream(cu_result code, char const* what, gpu::stream s, int device) const;
  void check_stream(cu_result code, char const* what, gpu::stream s, int device) const {
    if (code != success) [[unlikely]]
      fail_stream(code, what, s, device);
  }
  template <class Call>
  cu_result on_stream(int device, gpu::stream s, Call&& call);
  /// Whether the whole range lies in memory that somebody registered.
  [[nodiscard]] bool is_registered(void* memory, std::size_t bytes) const noexcept;
  [[nodiscard]] bool has(int device, function loaded::*which);
  /// `what`: for messages.
  template <class... Parameter>
  void start_kernel(int device, gpu::stream s, function kernel, unsigned blocks, unsigned threads,
                    char const* what, Parameter const&... parameters);
  loaded const& kernels_on(int device);
  loaded& load_kernels(int device);
  /// False if a context refused, since a stream of it is captured.
  bool wait_for_all(std::vector<context> const& open) const;
  gpu::block map(memory_handle handle, std::uint64_t whole, int device);

  api cu_;
  std::vector<pointer> batch_to_;  ///< scratch of copy_all, as are the next two
  std::vector<pointer> batch_from_;
  std::vector<std::size_t> batch_bytes_;
  bool graphs_keep_ = true;        ///< it was not said yet that they do not
  bool streams_suffice_ = true;    ///< for calls on streams no context need be current
  std::vector<context> contexts_;  ///< by device; null until it is used
  std::vector<loaded> kernels_;    ///< by device
  mutable std::vector<std::optional<abilities>> abilities_;  ///< by device; none until it is used
  /// Ends before the contexts do.
  std::unique_ptr<gpu::device_waits> waits_ = std::make_unique<gpu::device_waits>();
};

}  // namespace atl::memory::cuda
