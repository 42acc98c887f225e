#pragma once

/// Flags between a rank and its peers, in both directions.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <atoll/engine/flags.hpp>
#include <atoll/extensions/detail/allocate_together.hpp>
#include <atoll/extensions/detail/heap_array.hpp>
#include <atoll/extensions/detail/peer_exchange.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/dist_object.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/rpc.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

using upcxx::global_ptr;
using upcxx::intrank_t;

inline atl::engine::host_address place_of(global_ptr<atl::engine::flag_line> flag) {
  return {upcxx::detail::global_ptr_access::rank(flag), upcxx::detail::global_ptr_access::address(flag)};
}

/// `lines` flags from and to each of a list of peers. Moves. When it ends, nobody may raise a flag of this
/// rank any more.
class flag_links {
 public:
  flag_links() = default;
  /// Collective over `over`; user-level progress. `peers`: team ranks, distinct, not the own one; if a peer
  /// does not list this rank, the job ends with a message that begins with `call`.
  /// @throws upcxx::bad_shared_alloc on all ranks if one has no room.
  flag_links(std::vector<intrank_t> peers, std::size_t lines, upcxx::team const& over, char const* call)
      : lines_(lines) {
    allocate_together([&] { own_ = heap_array<atl::engine::flag_line>(peers.size() * lines); }, over, call,
                      "room for its flags");
    in_ = own_.get().local();
    auto const theirs = peer_exchange<global_ptr<atl::engine::flag_line>>::with(
        peers, [&](std::size_t i) { return own_.get() + static_cast<std::ptrdiff_t>(i * lines); }, over,
        call);
    for (auto const first : theirs) {
      for (std::size_t l = 0; l < lines; ++l)
        out_.push_back(place_of(first + static_cast<std::ptrdiff_t>(l)));
    }
    peers_ = std::move(peers);
  }

  std::size_t size() const { return peers_.size(); }
  intrank_t peer(std::size_t i) const { return peers_[i]; }
  std::vector<intrank_t> const& peers() const { return peers_; }

  void raise(std::size_t peer, std::uint64_t value, std::size_t line = 0) const {
    atl::engine::raise_flag(place(peer, line), value);
  }
  /// The flag that raise() raises.
  atl::engine::host_address const& place(std::size_t peer, std::size_t line = 0) const {
    return out_[peer * lines_ + line];
  }
  std::uint64_t value(std::size_t peer, std::size_t line = 0) const {
    return in_[peer * lines_ + line].value.load(std::memory_order_acquire);
  }

  /// Returns when all that the peers have raised is in place, `raised[i]` times by this rank at peer i; for
  /// objects of one line. A barrier alone may overtake flags that travel as messages. Collective; user-level
  /// progress.
  void settle(std::vector<std::uint64_t> const& raised, upcxx::team const& over) const {
    upcxx::dist_object<counts> const shared({this, &raised}, over);  // of ranks that raise no more
    for (std::size_t i = 0; i < size(); ++i) {
      if (upcxx::local_team_contains(over[peers_[i]])) continue;
      awaited what{&in_[i * lines_],
                   upcxx::rpc(over, peers_[i], &counts::tell, shared, over.rank_me()).wait()};
      atl::engine::wait_for(&awaited::look, &what);
    }
    upcxx::barrier(over);  // nobody asks any more, and no stores are left
  }

 private:
  /// How often a rank has raised its peers' flags.
  struct counts {
    flag_links const* of;
    std::vector<std::uint64_t> const* raised;

    [[gnu::visibility("hidden")]] static std::uint64_t tell(upcxx::dist_object<counts> const& self,
                                                            intrank_t peer) {
      auto const& peers = self->of->peers_;
      return (*self->raised)[static_cast<std::size_t>(std::find(peers.begin(), peers.end(), peer) -
                                                      peers.begin())];
    }
  };
  struct awaited {
    atl::engine::flag_line const* flag;
    std::uint64_t value;
    static bool look(void* context) {
      auto const& self = *static_cast<awaited*>(context);
      return self.flag->value.load(std::memory_order_acquire) >= self.value;  // with raise_flag (release)
    }
  };
  std::vector<intrank_t> peers_;                ///< team ranks
  std::vector<atl::engine::host_address> out_;  ///< [peer][line]
  std::size_t lines_ = 1;
  heap_array<atl::engine::flag_line> own_;      ///< [peer][line]
  atl::engine::flag_line const* in_ = nullptr;  ///< the same, here
};

}  // namespace atl::inline UPCXX_MODE::detail
