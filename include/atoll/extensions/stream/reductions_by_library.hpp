#pragma once

/// Reductions of arrays in streams by kernels of the library, which any compiler has: collectives gather all arrays in each device's memory, and
/// a kernel reduces what has come.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <atoll/engine/streams.hpp>
#include <atoll/extensions/detail/allocate_together.hpp>
#include <atoll/extensions/device/operations.hpp>
#include <atoll/stream_collectives.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::device {

// Of these the library has kernels.

template <class Op>
inline constexpr auto operation_of_library = engine::stream_reduction_call::operation(~0U);
template <>
inline constexpr auto operation_of_library<plus> = engine::stream_reduction_call::operation::plus;
template <>
inline constexpr auto operation_of_library<least> = engine::stream_reduction_call::operation::least;
template <>
inline constexpr auto operation_of_library<greatest> = engine::stream_reduction_call::operation::greatest;
template <class T>
inline constexpr auto element_of_library = std::is_same_v<T, float>
                                               ? engine::stream_reduction_call::element::float32
                                           : std::is_same_v<T, double>
                                               ? engine::stream_reduction_call::element::float64
                                           : sizeof(T) == 4 ? engine::stream_reduction_call::element::int32
                                                            : engine::stream_reduction_call::element::int64;
template <class T, class Op>
inline constexpr bool is_known_to_library = (std::is_same_v<Op, plus> || std::is_same_v<Op, least> ||
                                             std::is_same_v<Op, greatest>)&&(std::is_same_v<T, float> ||
                                                                             std::is_same_v<T, double> ||
                                                                             (std::is_integral_v<T> &&
                                                                              std::is_signed_v<T>));

}  // namespace atl::inline UPCXX_MODE::device

namespace atl::inline UPCXX_MODE::detail {

template <class Device>
class reductions_by_library {
 public:
  template <class T>
  using pointer = upcxx::global_ptr<T, Device::kind>;

  /// Nothing where a rank's device has no such kernels, or a rank no room. Collective over the team, as end() is.
  /// @param few  elements of 8 bytes of a rank that are gathered at a time.
  void make(upcxx::device_allocator<Device>& gpu, upcxx::team const& over, std::size_t few) {
    constexpr std::size_t least_bytes = 4096;
    constexpr auto kind = static_cast<unsigned>(Device::kind);
    if (!detail::on_all(engine::can_reduce_in_stream(kind, gpu.device_id()), over)) return;
    gpu_ = &gpu;
    bytes_of_rank_ = std::max(few * sizeof(std::uint64_t), least_bytes);
    std::size_t const bytes = bytes_of_rank_ * static_cast<std::size_t>(over.rank_n());
    landing_ = gpu.template allocate<char>(bytes, 256);
    try {
      if (detail::on_all(!landing_.is_null(), over))
        gather_ = std::make_unique<stream_collectives<Device>>(gpu, over);
    } catch (upcxx::bad_shared_alloc const&) {  // on all ranks
    }
    if (gather_ == nullptr) return drop_landing();
    destination_.emplace(gather_->bind(landing_, bytes));
  }
  [[nodiscard]] bool exist() const { return gather_ != nullptr; }
  /// Do they take so many bytes? The same on all ranks. A stream takes some thousand operations that it has not come to, and the driver has
  /// its caller wait then; for ever, if hosts do what it waits for.
  [[nodiscard]] bool take(std::size_t bytes, upcxx::team const& over) const {
    constexpr std::size_t most = 128;
    if (!exist()) return false;
    std::size_t const rounds = bytes / bytes_of_rank_ + 1;
    return destination_->all_->by_kernels || rounds * static_cast<std::size_t>(over.rank_n()) <= most;
  }
  void end() {
    if (gather_ != nullptr) gather_->destroy();
    gather_.reset();
    drop_landing();
  }

  /// `over`: the team as above. `root`: as for kernels.
  template <class T, class Op>
  void add_to(stream_steps& steps, upcxx::team const& over, std::int32_t root, pointer<T> in, pointer<T> out,
              std::size_t n) const {
    std::size_t const most = bytes_of_rank_ / sizeof(T);
    for (std::size_t done = 0; done < n; done += most) {
      std::size_t const count = std::min(n - done, most);
      auto const offset = static_cast<std::ptrdiff_t>(done);
      pointer<T const> const from = in + offset;
      destination_->gather_all_in(steps, upcxx::reinterpret_pointer_cast<char const>(from),
                                  count * sizeof(T));
      if (!device::has_result(over.rank_me(), root)) continue;
      engine::stream_reduction_call const what{place_of(out + offset),
                                               place_of(landing_),
                                               count * sizeof(T),
                                               count,
                                               static_cast<std::uint32_t>(over.rank_n()),
                                               device::operation_of_library<Op>,
                                               device::element_of_library<T>};
      steps.call([s = name_of(steps.on()), what] { engine::start_reduction(s, what); });
    }
  }

 private:
  template <class T>
  static engine::memory_place place_of(pointer<T> p) {
    using access = upcxx::detail::global_ptr_access;
    return {access::owner(p), access::address(p)};
  }
  void drop_landing() {
    if (!landing_.is_null()) gpu_->deallocate(std::exchange(landing_, pointer<char>()));
  }

  upcxx::device_allocator<Device>* gpu_ = nullptr;
  std::size_t bytes_of_rank_ = 0;
  pointer<char> landing_;  ///< of all ranks' arrays
  std::unique_ptr<stream_collectives<Device>> gather_;
  std::optional<collective_destination<char>> destination_;
};

}  // namespace atl::inline UPCXX_MODE::detail
