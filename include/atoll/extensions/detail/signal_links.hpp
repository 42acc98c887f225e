#pragma once

/// Signals between a rank and its peers, in both directions, in memory of devices: for streams, as flags are for hosts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include <atoll/extensions/detail/segment_array.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/copy.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/dist_object.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/rpc.hpp>
#include <upcxx/team.hpp>
#include <upcxx/when_all.hpp>

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
  signal_links(upcxx::device_allocator<Device>& gpu, std::vector<upcxx::intrank_t> peers, std::size_t lines,
               upcxx::team const& over, char const* call)
      : lines_(lines), made_(true) {
    allocate(gpu, peers.size() * lines, over, call);
    exchange table{std::move(peers), {}};
    table.there.resize(table.peers.size());
    upcxx::dist_object<exchange> shared(std::move(table), over);
    upcxx::future<> told = upcxx::make_future();
    for (std::size_t i = 0; i < shared->peers.size(); ++i) {
      told = upcxx::when_all(
          told, upcxx::rpc(over, shared->peers[i], &exchange::hear, shared, over.rank_me(), here(i, 0)));
    }
    told.wait();
    upcxx::barrier(over);  // all have been told, and nobody names the object again
    there_ = std::move(shared->there);
  }

  /// The peer lists this rank, too.
  bool is_mutual(std::size_t peer) const { return !there_[peer].is_null(); }

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
  /// A rank's part of the construction.
  struct exchange {
    std::vector<upcxx::intrank_t> peers;
    std::vector<pointer> there;

    [[gnu::visibility("hidden")]] static void hear(upcxx::dist_object<exchange>& self, upcxx::intrank_t from,
                                                   pointer first) {
      auto const at = std::find(self->peers.begin(), self->peers.end(), from);
      if (at != self->peers.end()) self->there[static_cast<std::size_t>(at - self->peers.begin())] = first;
    }
  };

  template <class Device>
  void allocate(upcxx::device_allocator<Device>& gpu, std::size_t count, upcxx::team const& over,
                char const* call) {
    std::exception_ptr problem;
    try {
      own_ = segment_array<std::uint64_t, Kind>(gpu, count, call);
    } catch (upcxx::bad_shared_alloc const&) {
      problem = std::current_exception();
    }
    bool const anywhere = upcxx::reduce_all(problem != nullptr ? 1 : 0, upcxx::op_fast_max, over).wait() != 0;
    if (problem != nullptr) std::rethrow_exception(problem);
    if (anywhere) throw upcxx::bad_shared_alloc("another rank has no device, or no room for signals there");
    if (count == 0) return;
    std::vector<std::uint64_t> const zeros(count, 0);
    upcxx::copy(zeros.data(), own_.get(), count).wait();
  }

  std::size_t lines_ = 1;
  bool made_ = false;
  segment_array<std::uint64_t, Kind> own_;  ///< [peer][line]
  std::vector<pointer> there_;              ///< [peer]: of the first line
};

}  // namespace atl::inline UPCXX_MODE::detail
