#pragma once

/// Copies of boxes of elements between any two memories, with one completion for the whole box.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <atoll/copy_batch.hpp>
#include <atoll/engine/memory_copy.hpp>
#include <atoll/engine/strided.hpp>
#include <atoll/extensions/detail/box_runs.hpp>
#include <atoll/extensions/detail/copy_piece.hpp>
#include <upcxx/copy.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// The ends of a box, raw or global pointers to the element with index 0 in all dimensions.
template <class T, class From, class To>
struct box_ends {
  From from;
  To to;
  box_reach from_reach{};
  box_reach to_reach{};

  atl::engine::memory_place source_place() const { return place(from, from_reach, "source"); }
  atl::engine::memory_place target_place() const { return place(to, to_reach, "destination"); }
  /// Here; null if it has no address here.
  T const* source() const { return address(from, from_reach, "source"); }
  T* target() const { return address(to, to_reach, "destination"); }

 private:
  template <class End>
  static atl::engine::memory_place place(End end, box_reach const& all, char const* role) {
    auto result = upcxx::detail::place_of(end + all.first, all.count, role);
    result.address -= static_cast<std::uint64_t>(all.first) * sizeof(T);
    return result;
  }
  template <class End>
  static auto* address(End end, box_reach const& all, char const* role) {
    auto* const lowest = upcxx::detail::host_address(end + all.first, all.count, role);
    return lowest == nullptr ? lowest : lowest - all.first;
  }
};

/// Copies a box between host memories.
template <std::size_t Rank>
void copy_on_host(std::byte* to, std::byte const* from, box_runs<Rank> const& runs) {
  std::size_t extents[Rank + 1] = {};
  std::ptrdiff_t to_strides[Rank + 1] = {};
  std::ptrdiff_t from_strides[Rank + 1] = {};
  for (std::size_t d = 0; d < runs.outer; ++d) {
    extents[d] = runs.dimensions[d].extent;
    to_strides[d] = runs.dimensions[d].to;
    from_strides[d] = runs.dimensions[d].from;
  }
  atl::engine::copy_strided(to, to_strides, from, from_strides, extents, runs.outer, runs.bytes);
}

/// The elements of a box on the host, in the order in which a device has them.
class host_image {
 public:
  explicit host_image(std::size_t bytes) : bytes_(new std::byte[bytes]) {}
  virtual ~host_image() = default;
  std::byte* bytes() { return bytes_.get(); }
  /// All copies from and to it are complete.
  virtual void complete() {}

 private:
  std::unique_ptr<std::byte[]> bytes_;
};

/// One whose elements then go to where they belong on the host.
template <std::size_t Rank>
class arriving_image final : public host_image {
 public:
  arriving_image(std::size_t bytes, std::byte* to, box_runs<Rank> const& runs)
      : host_image(bytes), to_(to), runs_(runs) {}
  void complete() override { detail::copy_on_host(to_, bytes(), runs_); }

 private:
  std::byte* to_;
  box_runs<Rank> runs_;
};

/// The runs of a copy that are under way. The whole copy arrives with the last one, and takes this with it.
class run_group {
 public:
  run_group(std::size_t runs, atl::rt::late_copy* whole, std::unique_ptr<host_image> image)
      : left_(runs), whole_(whole), runs_(new run[runs]), image_(std::move(image)) {}

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
    if (group->image_) {
      group->image_->complete();
      group->image_.reset();
    }
    if (!group->whole_->arrived(group->whole_)) return false;  // asked again, still the last one
    delete group;
    return true;
  }

  std::size_t left_;  // under the engine's lock
  atl::rt::late_copy* whole_;
  std::unique_ptr<run[]> runs_;
  std::unique_ptr<host_image> image_;  ///< an end of the runs, if it is
};

/// Starts one copy for all runs between devices, or, where there is none, for each run. Calls for the target leave when all are in place: runs are not ordered.
template <std::size_t Rank, class Cx>
auto copy_runs_later(atl::engine::memory_place to, atl::engine::memory_place from, box_runs<Rank> const& runs,
                     std::unique_ptr<host_image> image, std::int32_t target, Cx&& cx) {
  using pending = upcxx::detail::pending_copy<std::remove_cvref_t<Cx>>;
  upcxx::detail::check_requests<upcxx::detail::copy_events>(cx);
  auto* const whole = new pending(target, cx);
  auto futures = whole->register_all(std::forward<Cx>(cx));
  atl::engine::prepared_box box;
  bool as_one = false;
  if (image == nullptr && detail::as_one_box(runs, box)) {
    auto alone = std::make_unique<run_group>(1, whole, nullptr);
    as_one = atl::engine::start_box_copy(to, from, box, alone->completion_of(0));
    if (as_one) alone.release();
  }
  if (!as_one) {
    auto* const group = new run_group(runs.count(), whole, std::move(image));
    atl::copy_batch const together;
    std::size_t next = 0;
    runs.for_each([&](std::ptrdiff_t to_offset, std::ptrdiff_t from_offset) {
      atl::engine::start_copy(to.moved_by(to_offset), from.moved_by(from_offset), runs.bytes,
                              group->completion_of(next++));
    });
  }
  if constexpr (pending::blocks) whole->wait_for_source();
  return upcxx::detail::unwrap(std::move(futures));
}

/// A copy between a device and the host in two: device and image, image and host memory.
template <std::size_t Rank>
struct image_ways {
  std::size_t bytes;
  box_runs<Rank> device;
  box_runs<Rank> host;
};
template <class T, std::size_t Rank>
image_ways<Rank> ways_through_image(box_dimension const (&box)[Rank + 1], bool to_device) {
  std::array<std::size_t, Rank> extents{};
  std::array<std::size_t, Rank> on_device{};
  std::size_t bytes = sizeof(T);
  for (std::size_t d = 0; d < Rank; ++d) {
    extents[d] = box[d].extent;
    on_device[d] = detail::magnitude(to_device ? box[d].to : box[d].from);
    bytes *= box[d].extent;
  }
  auto const in_image = detail::packed_box_strides(extents, on_device);
  box_dimension device[Rank + 1] = {};
  box_dimension host[Rank + 1] = {};
  for (std::size_t d = 0; d < Rank; ++d) {
    device[d] = host[d] = box[d];
    auto const stride = static_cast<std::ptrdiff_t>(in_image[d] * sizeof(T));
    (to_device ? device[d].from : device[d].to) = stride;
    (to_device ? host[d].to : host[d].from) = stride;
  }
  return {bytes, detail::merge_runs<Rank>(device, sizeof(T)), detail::merge_runs<Rank>(host, sizeof(T))};
}

/// No copy, of which all hear.
template <class Cx>
auto copy_nothing(std::int32_t owner, Cx&& completions) {
  namespace up = upcxx::detail;
  if constexpr (up::goes_into_stream<std::remove_cvref_t<Cx>>) {
    return start_all_in_stream([](auto&) {}, owner, std::forward<Cx>(completions));
  } else {
    up::send_remote_completions(owner, completions);
    return up::complete_now<up::copy_events>(std::forward<Cx>(completions));
  }
}

/// By the library: at once between host memories that are addressed here, else later.
template <class T, std::size_t Rank, class From, class To, class Cx>
auto copy_box_by_library(char const* call, box_ends<T, From, To> const& ends,
                         box_dimension const (&box)[Rank + 1], box_runs<Rank> const& runs, std::int32_t owner,
                         Cx&& completions) {
  namespace up = upcxx::detail;
  static_assert(!up::needs_stream<std::remove_cvref_t<Cx>>,
                "copy: as_signal needs on_stream(), as it is the stream that orders signal and data; "
                "elsewhere ask for as_rpc");
  if (runs.outer == 0) {
    return up::copy_between<T>(ends.from, ends.to, runs.bytes / sizeof(T), owner,
                               std::forward<Cx>(completions));
  }
  if constexpr (!up::known_on_host<From> || !up::known_on_host<To>) {
    bool const to_device = !up::on_host(ends.to);
    bool const from_device = !up::on_host(ends.from);
    if (to_device != from_device) {
      auto const ways = detail::ways_through_image<T, Rank>(box, to_device);
      // An image is made of, or scattered to, memory that is addressed here.
      bool const addressed =
          to_device ? up::end_of(up::owner_word(ends.from), up::address_word(ends.from)).is_here()
                    : up::end_of(up::owner_word(ends.to), up::address_word(ends.to)).is_here();
      if (addressed && ways.device.count() < runs.count()) {
        if (to_device) {
          auto image = std::make_unique<host_image>(ways.bytes);
          detail::copy_on_host(image->bytes(), reinterpret_cast<std::byte const*>(ends.source()), ways.host);
          atl::engine::memory_place const from{0, reinterpret_cast<std::uintptr_t>(image->bytes())};
          return detail::copy_runs_later(ends.target_place(), from, ways.device, std::move(image), owner,
                                         std::forward<Cx>(completions));
        }
        std::unique_ptr<host_image> image = std::make_unique<arriving_image<Rank>>(
            ways.bytes, reinterpret_cast<std::byte*>(ends.target()), ways.host);
        atl::engine::memory_place const to{0, reinterpret_cast<std::uintptr_t>(image->bytes())};
        return detail::copy_runs_later(to, ends.source_place(), ways.device, std::move(image), owner,
                                       std::forward<Cx>(completions));
      }
    }
    if (to_device || from_device) {
      return detail::copy_runs_later(ends.target_place(), ends.source_place(), runs, {}, owner,
                                     std::forward<Cx>(completions));
    }
  }
  T* const target = ends.target();
  T const* const source = ends.source();
  if constexpr (!std::is_pointer_v<From> || !std::is_pointer_v<To>) {
    if ((!std::is_pointer_v<To> && target == nullptr) || (!std::is_pointer_v<From> && source == nullptr))
        [[unlikely]] {
      std::ptrdiff_t to_strides[Rank + 1] = {};
      std::ptrdiff_t from_strides[Rank + 1] = {};
      std::size_t extents[Rank + 1] = {};
      for (std::size_t d = 0; d < Rank; ++d) {
        to_strides[d] = box[d].to;
        from_strides[d] = box[d].from;
        extents[d] = box[d].extent;
      }
      return up::take_in(up::transfer_box_remotely<up::copy_events>(
          call, up::owner_word(ends.to), up::address_word(ends.to), to_strides, up::owner_word(ends.from),
          up::address_word(ends.from), from_strides, extents, Rank, sizeof(T), owner,
          up::handed_over<Cx>(completions)));
    }
  }
  detail::copy_on_host(reinterpret_cast<std::byte*>(target), reinterpret_cast<std::byte const*>(source),
                       runs);
  up::send_remote_completions(owner, completions);
  return up::complete_now<up::copy_events>(std::forward<Cx>(completions));
}

/// Copies a box, by the library or, where the completions say so, in a stream of the program. The ends are raw or global pointers to the
/// element with index 0 in all dimensions. Remote completion goes to rank `owner`. `call`: what the program has called.
template <class T, std::size_t Rank, class From, class To, class Cx>
auto copy_box(char const* call, From from, To to, box_dimension const (&box)[Rank + 1], std::int32_t owner,
              Cx&& completions) {
  namespace up = upcxx::detail;
  static_assert(upcxx::is_trivially_serializable<T>::value,
                "copy: the elements must be TriviallySerializable");
  up::check_injection(call);
  box_ends<T, From, To> ends{from, to};
  for (std::size_t d = 0; d < Rank; ++d) {
    if (box[d].extent == 0) return detail::copy_nothing(owner, std::forward<Cx>(completions));
    ends.to_reach.add(box[d].extent, box[d].to, sizeof(T));
    ends.from_reach.add(box[d].extent, box[d].from, sizeof(T));
  }
  auto const runs = detail::merge_runs<Rank>(box, sizeof(T));
  if constexpr (up::goes_into_stream<std::remove_cvref_t<Cx>>) {
    // Of <atoll/stream.hpp>, as the request is.
    return start_all_in_stream(
        [&runs, target = ends.target_place(), source = ends.source_place()](auto& copies) {
          if (runs.outer == 0) return copies.start(copy_piece{target, source, runs.bytes});
          atl::engine::prepared_box whole;
          if (detail::as_one_box(runs, whole) && copies.as_one(target, source, whole)) return;
          auto const for_each_run = [&](auto const& take) {
            runs.for_each([&](std::ptrdiff_t to_offset, std::ptrdiff_t from_offset) {
              take(copy_piece{target.moved_by(to_offset), source.moved_by(from_offset), runs.bytes});
            });
          };
          copies.expect(runs.count());
          // A host's end may be pinned in parts.
          for_each_run([&](copy_piece const& run) { copies.prepare(run); });
          copy_batch const together;
          for_each_run([&](copy_piece const& run) { copies.start(run); });
        },
        owner, std::forward<Cx>(completions));
  } else {
    return detail::copy_box_by_library(call, ends, box, runs, owner, std::forward<Cx>(completions));
  }
}

}  // namespace atl::inline UPCXX_MODE::detail
