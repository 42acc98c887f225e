#pragma once

/// Signals between a rank and its peers, in both directions, in memory of devices: for streams, as flags are for hosts.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <atoll/extensions/detail/allocate_together.hpp>
#include <atoll/extensions/detail/peer_exchange.hpp>
#include <atoll/extensions/detail/segment_array.hpp>
#include <upcxx/copy.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// `lines` signals from and to each of a list of peers, all 0 at first. Moves. When it ends, no stream may use a signal of this rank any more.
template <upcxx::memory_kind Kind>
class signal_links {
 public:
  using pointer = upcxx::global_ptr<std::uint64_t, Kind>;

  signal_links() = default;
  /// Collective over `over`; user-level progress. `peers`: as of flag_links. `call`: what the program has called.
  /// @throws upcxx::bad_shared_alloc on all ranks if one has no room, or no device.
  template <class Device>
  signal_links(upcxx::device_allocator<Device>& gpu, std::vector<upcxx::intrank_t> const& peers,
               std::size_t lines, upcxx::team const& over, char const* call)
      : lines_(lines), made_(true) {
    std::size_t const count = peers.size() * lines;
    detail::allocate_together([&] { own_ = segment_array<std::uint64_t, Kind>(gpu, count, call); }, over,
                              call, "device, or no room for signals there");
    if (count != 0) {
      std::vector<std::uint64_t> const zeros(count, 0);
      upcxx::copy(zeros.data(), own_.get(), count).wait();
    }
    there_ = peer_exchange<pointer>::with(
        peers, [this](std::size_t i) { return here(i, 0); }, over, call);
  }

  explicit operator bool() const { return made_; }
  /// Which this rank's streams wait for.
  pointer here(std::size_t peer, std::size_t line) const {
    return own_.get() + static_cast<std::ptrdiff_t>(peer * lines_ + line);
  }
  /// Which this rank's streams set: here() of the peer.
  pointer there(std::size_t peer, std::size_t line) const {
    return there_[peer] + static_cast<std::ptrdiff_t>(line);
  }

 private:
  std::size_t lines_ = 1;
  bool made_ = false;
  segment_array<std::uint64_t, Kind> own_;  ///< [peer][line]
  std::vector<pointer> there_;              ///< [peer]: of the first line
};

}  // namespace atl::inline UPCXX_MODE::detail
