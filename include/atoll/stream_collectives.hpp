#pragma once

/// Broadcast, gather to all and all-to-all of memory of devices, in the order of streams: straight into the
/// destinations of all ranks, by kernels of the library or copies, and no host in between. Programs need no
/// compiler of CUDA for it; what computes, such as a reduction, is in <atoll/stream_reduction.cuh>. Not part of
/// upcxx.hpp.
///
///     atl::stream_collectives all(gpu);          // collective, once
///     auto const table = all.bind(parts, n);     // collective: where each rank wants to receive
///     kernel<<<..., s>>>(gpu.local(mine));       // computes this rank's part
///     table.gather_all(s, mine, n / ranks);
///     next<<<..., s>>>(gpu.local(parts));        // reads all of them
///     all.destroy();                             // collective, when no stream is in it
///
/// A captured stream gets nodes; one launch of all ranks' graphs is then one call.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <atoll/base/check.hpp>
#include <atoll/extensions/stream/collective_links.hpp>
#include <atoll/signal_array.hpp>
#include <atoll/stream.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE {

namespace detail {
template <class Device>
class reductions_by_library;
}

/// Memory of this rank that a collective reads: whatever upcxx::copy takes as a source, so of a device, in the
/// shared heap, or private (which should be pinned). Null where nothing is read.
template <class T>
class collective_source {
 public:
  collective_source(std::nullptr_t) {}  // NOLINT: implicit, so that programs pass what they have
  collective_source(T const* memory)    // NOLINT
      : place_{0, reinterpret_cast<std::uintptr_t>(memory)} {}
  template <upcxx::memory_kind Kind>
  collective_source(upcxx::global_ptr<T const, Kind> memory)  // NOLINT
      : place_{upcxx::detail::global_ptr_access::owner(memory),
               upcxx::detail::global_ptr_access::address(memory)} {}

 private:
  template <class>
  friend class collective_destination;
  engine::memory_place place_{};
};

/// Where the ranks of a team receive; stream_collectives::bind makes it. May be copied. Owns nothing: the
/// memory, the object that made it and its team live until the streams have come by.
///
/// All ranks make the calls of one stream_collectives, through whichever of its destinations, in the same
/// order and with the same counts, each with whichever stream of its device, one after the other: a rank's
/// next stream comes to its call when the last one has left. For each call and rank:
///
/// - No peer writes to the rank's destination before the rank's stream has come to the call, nor after it has
///   left. So what was before in the stream may have used the memory.
/// - What follows in the stream finds the destination complete, and may overwrite the source.
/// - Counts are in elements; 0 does nothing, and orders nothing. What lies beyond is left alone.
/// - The call returns at once, and makes internal progress at most. Copies that a stream's device does not do by
///   itself (on_stream() says which) are done by this rank's user-level progress when the stream comes there;
///   while that is captured they end the job. If there is no room for what the host needs for that, the call
///   throws upcxx::bad_shared_alloc and nothing has happened: make it again when there is some, as others wait.
/// - In checked code the job ends, with a message, if the stream is of another device, if a source is null or not
///   the rank's own, overlaps what is written, or if the count does not fit what was bound.
/// - In all code it ends so if ranks call different things, or with different counts, roots, types or
///   destinations, when one of them makes user-level progress next; or in destroy(), if one has made more calls.
///   Of what is captured into graphs each new call is compared, as ranks may part and repeat them: a call is
///   captured on all ranks or on none, new ones in the same order.
template <class T>
class collective_destination {
 public:
  /// All ranks receive the root's `count` elements, the root, too. No barrier: the root goes on when it has
  /// sent, and others when they have received and passed on.
  ///
  /// @param root    a rank of the team, the same on all.
  /// @param source  at the root: `count` elements, or the destination itself; ignored elsewhere.
  void broadcast(stream const& s, upcxx::intrank_t root, collective_source<T> source,
                 std::size_t count) const {
    constexpr char const* call = "collective_destination::broadcast";
    check_open(call, s);
    upcxx::team const& over = links_->over();
    ATOLL_CHECK(root >= 0 && root < over.rank_n(), "%s: rank %d is outside the team of %d ranks", call,
                static_cast<int>(root), static_cast<int>(over.rank_n()));
    check_count(call, count, 1);
    auto const what = name_of_call(stream_call::operation::broadcast, count, root);
    if (count == 0) return links_->note(s, what);
    if (over.rank_me() == root) check_source(call, source, count, count, 0);
    detail::stream_steps steps(s);
    links_->broadcast(steps, *all_, root, source.place_, count * sizeof(T), what);
    steps.start();
  }

  /// All ranks receive all ranks' `count` elements, in the order of the ranks: rank r's begin at r * count.
  ///
  /// @param source  `count` elements, or the rank's own place in its destination.
  void gather_all(stream const& s, collective_source<T> source, std::size_t count) const {
    detail::stream_steps steps(s);
    gather_all_in(steps, source, count);
    steps.start();
  }

  /// Each rank receives `count` elements from each rank, those of rank r from r * count on, which begin there
  /// at `count` times the receiver's rank.
  ///
  /// @param source  `count` elements for each rank, in their order; not in the destination.
  void all_to_all(stream const& s, collective_source<T> source, std::size_t count) const {
    constexpr char const* call = "collective_destination::all_to_all";
    check_open(call, s);
    check_count(call, count, ranks());
    auto const what = name_of_call(stream_call::operation::all_to_all, count);
    if (count == 0) return links_->note(s, what);
    check_source(call, source, ranks() * count, ranks() * count, nowhere);
    detail::stream_steps steps(s);
    links_->exchange(steps, *all_, source.place_, count * sizeof(T), true, what);
    steps.start();
  }

  /// Elements that were bound.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  template <class Device>
  friend class stream_collectives;
  template <class Device>
  friend class detail::reductions_by_library;
  using links = detail::collective_links;
  using stream_call = detail::stream_call;
  static constexpr std::size_t nowhere = ~std::size_t{0};

  collective_destination(std::shared_ptr<links const> over, detail::collective_places all, std::size_t n,
                         std::uint32_t number)
      : links_(std::move(over)),
        all_(std::make_shared<detail::collective_places const>(std::move(all))),
        size_(n),
        number_(number) {}

  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(links_->over().rank_n()); }
  void check_open([[maybe_unused]] char const* call, [[maybe_unused]] stream const& s) const {
    upcxx::detail::check_injection(call);
    ATOLL_CHECK(links_ != nullptr && links_->is_open(),
                "%s: the stream_collectives that this is of was destroyed", call);
    ATOLL_CHECK(
        s.device_id() == links_->device(),
        "%s: the stream is of device %d, and the allocator of the stream_collectives is on device %d: kernels run there. Each call of "
        "make_gpu_allocator without a number takes the next device",
        call, s.device_id(), links_->device());
  }
  [[nodiscard]] detail::call_run name_of_call(stream_call::operation what, std::size_t count,
                                              std::int32_t root = -1) const {
    return detail::call_run(
        {what, sizeof(T), count, root, number_, stream_call::function::none, detail::type_of_elements<T>});
  }
  void gather_all_in(detail::stream_steps& steps, collective_source<T> source, std::size_t count) const {
    constexpr char const* call = "collective_destination::gather_all";
    check_open(call, steps.on());
    check_count(call, count, ranks());
    auto const what = name_of_call(stream_call::operation::gather_all, count);
    if (count == 0) return links_->note(steps.on(), what);
    check_source(call, source, count, ranks() * count,
                 static_cast<std::size_t>(links_->over().rank_me()) * count);
    links_->exchange(steps, *all_, source.place_, count * sizeof(T), false, what);
  }
  void check_count([[maybe_unused]] char const* call, [[maybe_unused]] std::size_t count,
                   [[maybe_unused]] std::size_t parts) const {
    ATOLL_CHECK(count <= size_ / parts,
                "%s: %zu elements from %zu ranks do not fit the destination, which was bound with %zu", call,
                count, parts, size_);
  }
  /// `own_place`: element of the destination where the source may lie, which is then left alone.
  void check_source([[maybe_unused]] char const* call, [[maybe_unused]] collective_source<T> source,
                    [[maybe_unused]] std::size_t count, [[maybe_unused]] std::size_t written,
                    [[maybe_unused]] std::size_t own_place) const {
#if ATOLL_CHECKED
    engine::memory_place const from = source.place_;
    ATOLL_CHECK(from.address != 0, "%s: the source is null; only a broadcast's root is the one that has one",
                call);
    if (from.owner == 0) return;
    auto const owner = static_cast<int>(static_cast<std::uint32_t>(from.owner));
    ATOLL_CHECK(owner == upcxx::rank_me(),
                "%s: the source is memory of rank %d; a rank sends its own: copy it here first, or let that "
                "rank send it",
                call, owner);
    rt::check_range({from.owner, from.address, count, sizeof(T), alignof(T)}, call, "source");
    engine::memory_place const to = (*all_)[static_cast<std::size_t>(links_->over().rank_me())];
    bool const apart = from.owner != to.owner || from.address + count * sizeof(T) <= to.address ||
                       to.address + written * sizeof(T) <= from.address;
    bool const in_place = own_place != nowhere && from.address == to.address + own_place * sizeof(T);
    ATOLL_CHECK(apart || in_place, "%s: the source lies in the destination, where peers write meanwhile",
                call);
#endif
  }

  std::shared_ptr<links const> links_;
  std::shared_ptr<detail::collective_places const> all_;
  std::size_t size_;
  std::uint32_t number_;
};

/// What the ranks of a team need for collectives in streams: a few signals, and no buffers. Any number of
/// destinations share it; streams that are in collectives at the same time need an object each.
template <class Device>
class stream_collectives {
 public:
  /// For the constructor: whatever is faster between H200 linked by NVLink.
  static constexpr std::size_t fastest = detail::collective_kernels::fastest;

  /// Takes four words for each doubling of the ranks from the allocator, which must be active and stay, as must
  /// the team; where kernels do calls 512 bytes a rank more, and, if all ranks have room, 320 KiB in which little
  /// data come sooner. Collective over the team.
  ///
  /// @param step_bytes  for broadcasts, the same on all ranks: what a link carries in the time that it takes to
  ///                    start a copy and to signal. Ones that are long beside it go in pieces along a chain of
  ///                    the ranks, others down a tree.
  /// @param kernels_to  up to so many bytes that a rank sends, the same on all ranks, a kernel of the library on each
  ///                    rank's device does a call, if it can; more are copied. 0: copies alone, which need no place
  ///                    on a multiprocessor.
  /// @throws            upcxx::bad_shared_alloc on all ranks, as make_signals().
  /// @progress          user.
  explicit stream_collectives(upcxx::device_allocator<Device>& gpu, upcxx::team const& over = upcxx::world(),
                              std::size_t step_bytes = std::size_t{1} << 20, std::size_t kernels_to = fastest)
      : signals_(atl::make_signals(gpu,
                                   detail::collective_links::words(over) +
                                       detail::collective_kernels::words(over, kernels_to) +
                                       detail::stream_marks::words,
                                   over)),
        links_(std::make_shared<detail::collective_links>(
            signals_, over, step_bytes, kernels_to,
            detail::device_name{static_cast<unsigned>(Device::kind), gpu.device_id()})) {
    ATOLL_CHECK(step_bytes != 0, "atl::stream_collectives: a step of no bytes");
    links_->make_landing(gpu);
  }
  stream_collectives(stream_collectives const&) = delete;
  stream_collectives& operator=(stream_collectives const&) = delete;
  ~stream_collectives() {
    ATOLL_CHECK(!links_->is_open(), "atl::stream_collectives: destroy() it before it goes");
  }

  /// Tells all ranks where this one receives: `n` elements of its own memory, of any kind, anywhere; best of a
  /// device, which peers reach. Collective over the team. The job ends if that is null or another rank's, or if
  /// ranks give sizes that differ.
  ///
  /// @progress  user.
  template <class T, upcxx::memory_kind Kind>
  [[nodiscard]] collective_destination<T> bind(upcxx::global_ptr<T, Kind> destination, std::size_t n) {
    static_assert(upcxx::is_trivially_serializable<T>::value,
                  "stream_collectives: T must be TriviallySerializable, since devices copy it byte by byte");
    using access = upcxx::detail::global_ptr_access;
    constexpr char const* call = "stream_collectives::bind";
    if (!links_->is_open()) check_failed("%s: the object was destroyed", call);
    if (destination.is_null()) check_failed("%s: the destination is null: allocate it first", call);
    if (destination.where() != upcxx::rank_me()) {
      check_failed("%s: the destination is memory of rank %d; each rank gives its own", call,
                   static_cast<int>(destination.where()));
    }
    upcxx::detail::check_range(destination, n, call, "destination");
    return collective_destination<T>(
        links_,
        links_->gather_places({access::owner(destination), access::address(destination)}, n, sizeof(T), call),
        n, ++bound_);
  }

  /// Ends the object, and the use of its destinations. Collective over the team; no stream is in a call any
  /// more.
  ///
  /// @progress  user.
  void destroy() {
    ATOLL_CHECK(links_->is_open(), "stream_collectives::destroy: the object was destroyed");
    links_->close();  // says if the ranks' calls differ
    signals_.destroy();
  }

 private:
  signal_array<Device::kind> signals_;
  std::shared_ptr<detail::collective_links> links_;
  std::uint32_t bound_ = 0;  ///< destinations
};

}  // namespace atl::inline UPCXX_MODE
