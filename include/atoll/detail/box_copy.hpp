#pragma once

/// Copies of boxes of elements between any two memories, with one completion for the whole box.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <atoll/engine/memory_copy.hpp>
#include <atoll/engine/strided.hpp>
#include <upcxx/copy.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::kokkos::inline UPCXX_MODE::detail {

/// One dimension of a box: its elements, and at each end the bytes from one to the next.
struct box_dimension {
  std::size_t extent;
  std::ptrdiff_t to;
  std::ptrdiff_t from;
};

/// A box as runs of bytes that are contiguous at both ends, and the dimensions around them.
template <std::size_t Rank>
struct box_runs {
  std::size_t bytes;                   ///< of one run
  std::size_t outer = 0;               ///< dimensions in use
  box_dimension dimensions[Rank + 1];  ///< the destination's smallest stride first

  std::size_t count() const {
    std::size_t runs = 1;
    for (std::size_t d = 0; d < outer; ++d) runs *= dimensions[d].extent;
    return runs;
  }

  /// Calls f with the offsets of each run, in bytes: destination, source.
  template <class F>
  void for_each(F&& f) const {
    std::size_t index[Rank + 1] = {};
    std::ptrdiff_t to = 0;
    std::ptrdiff_t from = 0;
    for (std::size_t d = 0; d <= outer;) {
      f(to, from);
      for (d = 0; d < outer; ++d) {
        auto const& [extent, to_stride, from_stride] = dimensions[d];
        to += to_stride;
        from += from_stride;
        if (++index[d] < extent) break;
        to -= static_cast<std::ptrdiff_t>(extent) * to_stride;
        from -= static_cast<std::ptrdiff_t>(extent) * from_stride;
        index[d] = 0;
      }
      if (d == outer) return;
    }
  }
};

/// The longest runs there are. No extent is 0; dimensions of one element do not matter.
template <std::size_t Rank>
box_runs<Rank> merge_runs(box_dimension const (&all)[Rank + 1], std::size_t element_bytes) {
  box_runs<Rank> runs{element_bytes, 0, {}};
  std::size_t kept = 0;
  box_dimension sorted[Rank + 1] = {};
  for (std::size_t d = 0; d < Rank; ++d) {
    if (all[d].extent == 1) continue;
    std::size_t at = kept++;
    for (; at > 0 && sorted[at - 1].to > all[d].to; --at) sorted[at] = sorted[at - 1];
    sorted[at] = all[d];
  }
  for (std::size_t d = 0; d < kept; ++d) {
    auto const size = static_cast<std::ptrdiff_t>(runs.bytes);
    if (runs.outer == 0 && sorted[d].to == size && sorted[d].from == size) {
      runs.bytes *= sorted[d].extent;
    } else {
      runs.dimensions[runs.outer++] = sorted[d];
    }
  }
  return runs;
}

/// The runs of a copy that are under way. The whole copy arrives with the last one, and takes this with it.
class run_group {
 public:
  run_group(std::size_t runs, atl::rt::late_copy* whole) : left_(runs), whole_(whole), runs_(new run[runs]) {}

  /// Each run needs its own: the engine keeps its state there.
  atl::engine::copy_completion* completion_of(std::size_t i) {
    runs_[i].group = this;
    return &runs_[i];
  }

 private:
  struct run final : atl::engine::copy_completion {
    run_group* group = nullptr;
    run() : copy_completion{&arrive} {}
  };

  static bool arrive(atl::engine::copy_completion* completion) noexcept {
    run_group* const group = static_cast<run*>(completion)->group;
    if (group->left_ > 1) {
      --group->left_;
      return true;
    }
    if (!group->whole_->arrived(group->whole_)) return false;  // asked again, still the last one
    delete group;
    return true;
  }

  std::size_t left_;  // under the engine's lock
  atl::rt::late_copy* whole_;
  std::unique_ptr<run[]> runs_;
};

/// Starts one copy for each run. Calls for the target leave when all are in place: runs are not ordered.
template <std::size_t Rank, class... Items>
auto copy_runs_later(atl::engine::memory_place to, atl::engine::memory_place from, box_runs<Rank> const& runs,
                     std::int32_t target, upcxx::detail::completions<Items...> const& cx) {
  using pending = upcxx::detail::pending_copy<upcxx::detail::completions<Items...>>;
  upcxx::detail::check_requests<upcxx::detail::copy_events>(cx);
  auto* const whole = new pending(target, cx);
  auto futures = whole->register_all(cx);
  auto* const group = new run_group(runs.count(), whole);
  std::size_t next = 0;
  runs.for_each([&](std::ptrdiff_t to_offset, std::ptrdiff_t from_offset) {
    atl::engine::start_copy({to.owner, to.address + static_cast<std::uint64_t>(to_offset)},
                            {from.owner, from.address + static_cast<std::uint64_t>(from_offset)}, runs.bytes,
                            group->completion_of(next++));
  });
  if constexpr (pending::blocks) whole->wait();
  return upcxx::detail::unwrap(std::move(futures));
}

/// Copies a box. The ends are raw or global pointers to the element with index 0 in all dimensions, at the
/// lowest address. Remote completion goes to rank `owner`.
template <class T, std::size_t Rank, class From, class To, class Cx>
auto copy_box(From src, To dest, box_dimension const (&box)[Rank + 1], std::int32_t owner,
              Cx const& completions) {
  namespace up = upcxx::detail;
  static_assert(upcxx::is_trivially_serializable<T>::value,
                "atl::kokkos::copy: the elements must be TriviallySerializable");
  up::check_injection("atl::kokkos::copy");
  std::size_t to_span = 1;
  std::size_t from_span = 1;
  for (std::size_t d = 0; d < Rank; ++d) {
    if (box[d].extent == 0) {
      up::send_remote_completions(owner, completions);
      return up::complete_now<up::copy_events>(completions);
    }
    to_span += (box[d].extent - 1) * static_cast<std::size_t>(box[d].to) / sizeof(T);
    from_span += (box[d].extent - 1) * static_cast<std::size_t>(box[d].from) / sizeof(T);
  }
  auto const runs = merge_runs<Rank>(box, sizeof(T));
  if (runs.outer == 0) {
    return up::copy_between<T>(src, dest, runs.bytes / sizeof(T), owner, completions);
  }
  if constexpr (!up::known_on_host<From> || !up::known_on_host<To>) {
    if (!up::on_host(src) || !up::on_host(dest)) {
      return copy_runs_later(up::place_of(dest, to_span, "destination"),
                             up::place_of(src, from_span, "source"), runs, owner, completions);
    }
  }
  T* const target = up::host_address(dest, to_span, "destination");
  T const* const source = up::host_address(src, from_span, "source");
  std::size_t extents[Rank + 1] = {};
  std::ptrdiff_t to_strides[Rank + 1] = {};
  std::ptrdiff_t from_strides[Rank + 1] = {};
  for (std::size_t d = 0; d < runs.outer; ++d) {
    extents[d] = runs.dimensions[d].extent;
    to_strides[d] = runs.dimensions[d].to;
    from_strides[d] = runs.dimensions[d].from;
  }
  atl::engine::copy_strided(reinterpret_cast<std::byte*>(target), to_strides,
                            reinterpret_cast<std::byte const*>(source), from_strides, extents, runs.outer,
                            runs.bytes);
  up::send_remote_completions(owner, completions);
  return up::complete_now<up::copy_events>(completions);
}

}  // namespace atl::kokkos::inline UPCXX_MODE::detail
