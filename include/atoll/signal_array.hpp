#pragma once

/// Signals of all ranks of a team, found by rank and number: no pointers need be exchanged. Not part of
/// upcxx.hpp.
///
///     auto signals = atl::make_signals(gpu, 2);              // collective, once: two a rank, all zero
///     upcxx::copy(plane, their_ghost, count,
///                 atl::on_stream(s) | atl::remote_cx::as_signal(signals.at(right, 0), step));
///     atl::wait(s, signals.mine(0), step);
///     signals.destroy();                                     // collective, when nobody uses them any more

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/extensions/detail/kept_team.hpp>
#include <atoll/stream.hpp>
#include <upcxx/allocate.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE {

/// As many signals for each rank of a team, in memory of a kind. Movable; whoever has it last destroys it.
///
/// Where all ranks' signals happen to lie at the same address of segments of the same number, as in programs
/// that allocate alike, a rank keeps one place for all; else 8 bytes for each member.
template <upcxx::memory_kind Kind>
class signal_array {
 public:
  using pointer = upcxx::global_ptr<std::uint64_t, Kind>;

  signal_array(signal_array&& other) noexcept
      : over_(other.over_),
        from_(other.from_),
        count_(other.count_),
        places_(std::exchange(other.places_, {})) {}
  signal_array& operator=(signal_array&&) = delete;
  ~signal_array() { ATOLL_CHECK(places_.empty(), "atl::signal_array: destroy() it before it goes"); }

  /// Signals of each rank.
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// Signal `i` of a member of the team, for streams, copies and whatever takes global pointers.
  [[nodiscard]] pointer at(upcxx::intrank_t member, std::size_t i = 0) const {
    ATOLL_CHECK(!places_.empty(), "signal_array::at: the array was destroyed, or moved from");
    ATOLL_CHECK(member >= 0 && member < over_->rank_n(),
                "signal_array::at: rank %d is outside the team of %d ranks", static_cast<int>(member),
                static_cast<int>(over_->rank_n()));
    ATOLL_CHECK(i < count_, "signal_array::at: signal %zu of %zu", i, count_);
    std::uint64_t const place = is_symmetric() ? places_[0] : places_[static_cast<std::size_t>(member)];
    using access = upcxx::detail::global_ptr_access;
    auto const rank = static_cast<std::uint32_t>((*over_)[member]);
    return access::make<std::uint64_t, Kind>(
        access::pack(rank, static_cast<std::uint16_t>(place >> address_bits), Kind),
        (place & ((std::uint64_t{1} << address_bits) - 1)) + i * sizeof(std::uint64_t));
  }
  /// Of this rank: for its streams to wait for. device_allocator::local gives its address for kernels.
  [[nodiscard]] pointer mine(std::size_t i = 0) const { return at(over_->rank_me(), i); }
  /// Whether one place stands for all.
  [[nodiscard]] bool is_symmetric() const noexcept { return places_.size() == 1; }

  /// Ends the array. Collective over the team; nobody waits for or changes a signal any more.
  ///
  /// @progress  user.
  void destroy() {
    ATOLL_CHECK(!places_.empty(), "signal_array::destroy: the array was destroyed already");
    upcxx::barrier(*over_);
    release(mine());
    places_.clear();
  }

 private:
  template <class Device>
  friend signal_array<Device::kind> make_signals(upcxx::device_allocator<Device>& gpu, std::size_t n,
                                                 upcxx::team const& over);
  friend signal_array<upcxx::memory_kind::host> make_signals(std::size_t n, upcxx::team const& over);

  /// Of addresses; the number of the segment is in the bits above.
  static constexpr int address_bits = 48;

  /// `own`: null if there was no room; `inactive`: or no device. Throws on all ranks if that is so on one.
  signal_array(pointer own, bool inactive, std::size_t n, upcxx::heap_allocator* from,
               upcxx::team const& over)
      : over_(over), from_(from), count_(n) {
    using access = upcxx::detail::global_ptr_access;
    std::uint64_t const place = access::address(own) | std::uint64_t{access::segment(own)} << address_bits;
    if (access::address(own) >> address_bits != 0) {
      check_failed(
          "make_signals: the signals are at 0x%llx, and addresses of %d bits are all that there is room for",
          static_cast<unsigned long long>(access::address(own)), address_bits);
    }
    std::uint64_t const failed =
        own.is_null() ? 2 * static_cast<std::uint64_t>(over.rank_me()) + (inactive ? 3 : 2) : 0;
    // Whoever has this has heard of all that they have set theirs to zero.
    std::uint64_t const said[] = {place, ~place, failed};
    std::uint64_t most[3];
    upcxx::reduce_all(said, most, 3, upcxx::op_fast_max, over).wait();
    if (most[2] != 0) {
      release(own);
      refuse(over[static_cast<upcxx::intrank_t>(most[2] / 2 - 1)], most[2] % 2 != 0);
    }
    if (most[0] == ~most[1]) {
      places_.assign(1, place);
      return;
    }
    std::vector<std::uint64_t> known(static_cast<std::size_t>(over.rank_n()), 0);
    known[static_cast<std::size_t>(over.rank_me())] = place;
    places_.resize(known.size());
    upcxx::reduce_all(known.data(), places_.data(), known.size(), upcxx::op_fast_bit_or, over).wait();
  }

  [[noreturn]] void refuse(upcxx::intrank_t rank, bool inactive) const {
    char text[256];
    if (inactive) {
      std::snprintf(
          text, sizeof text,
          "make_signals: the allocator of rank %d is inactive: it has no device. Leave such ranks out of "
          "the team, or have signals in the shared heaps: make_signals(n, team)",
          static_cast<int>(rank));
    } else {
      std::snprintf(text, sizeof text,
                    "make_signals: rank %d has no room in %s for its signals; this rank asks for %zu",
                    static_cast<int>(rank), from_ == nullptr ? "the shared heap" : "the device segment",
                    count_);
    }
    throw upcxx::bad_shared_alloc(text);
  }
  void release(pointer own) {
    if constexpr (Kind == upcxx::memory_kind::host) {
      upcxx::deallocate(own);
    } else if (!own.is_null()) {
      from_->deallocate(upcxx::global_ptr<std::uint64_t, upcxx::memory_kind::any>(own));
    }
  }

  detail::kept_team over_;
  upcxx::heap_allocator* from_;  ///< null: the shared heap
  std::size_t count_;
  /// Of the team's members, address and segment in one word; or one for all. Empty: destroyed, or moved from.
  std::vector<std::uint64_t> places_;
};

/// `n` signals for each rank, in the segments of the ranks' allocators, which stay where they are; all are
/// zero when the call returns, on all ranks. Collective over the team.
///
/// @throws    upcxx::bad_shared_alloc on all ranks if one has no room, or no device: its allocator is
/// inactive.
/// @progress  user.
template <class Device>
[[nodiscard]] signal_array<Device::kind> make_signals(upcxx::device_allocator<Device>& gpu, std::size_t n,
                                                      upcxx::team const& over = upcxx::world()) {
  ATOLL_CHECK(n != 0, "make_signals: no signals");
  bool const active = gpu.is_active();
  typename signal_array<Device::kind>::pointer own;
  if (active) own = gpu.template allocate<std::uint64_t>(n);
  if (!own.is_null()) {
    std::vector<std::uint64_t> const zeros(n, 0);
    upcxx::copy(zeros.data(), own, n).wait();
  }
  return signal_array<Device::kind>(own, !active, n, &gpu, over);
}

/// The same in the shared heaps, for ranks without a device among others, and for hosts that look at signals.
[[nodiscard]] inline signal_array<upcxx::memory_kind::host> make_signals(
    std::size_t n, upcxx::team const& over = upcxx::world()) {
  ATOLL_CHECK(n != 0, "make_signals: no signals");
  auto const own = upcxx::allocate<std::uint64_t>(n);
  if (!own.is_null()) std::fill_n(own.local(), n, 0);
  return signal_array<upcxx::memory_kind::host>(own, false, n, nullptr, over);
}

}  // namespace atl::inline UPCXX_MODE
