#pragma once

/// Ways to the neighbours beside the one over which keepers have met: hosts may have several interfaces, and the network of the ranks
/// may use any of them, or all. On each one keepers say that they live, so that a cable that is out is missed although its host is
/// heard of by another one. Who calls the next host calls there, too; ways that never stood are not missed.

#include <poll.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "bootstrap/keeper/neighbour.hpp"
#include "bootstrap/keeper/orders.hpp"

namespace atl::keeping {

class further_ways {
 public:
  struct way {
    neighbour now;
    neighbour calling;  ///< what is to take its place
    address own{};      ///< this side's end, once it has stood
    std::uint32_t interface = 0;
    bool stood = false;
  };

  further_ways(orders const& what, std::span<std::byte const> secret, neighbour const& next,
               std::int64_t beat);

  /// Calls the next host by all its addresses but the one over which it was met; those that are silent anew.
  void call(std::size_t but);
  /// One of the previous host's.
  void take(neighbour caller);
  /// Says that this host lives, where nothing was said for a while.
  void beat();

  void add_to(std::vector<pollfd>& all) const;
  /// After poll(): what was added, from `found` on, which is moved behind it.
  void work(std::vector<pollfd>::iterator& found, std::function<void(neighbour&, frame const&)> const& tell);
  void say(news what, std::uint32_t host, std::int32_t rank, bool said, std::string_view words,
           neighbour const* but);

  /// The first of those that have stood, and have not come to their end, of which that is so.
  [[nodiscard]] way const* find(std::function<bool(way const&)> const& is_so) const;

 private:
  template <class F>
  void for_each(F const& f) {
    for (auto* const side : {&next_, &previous_}) {
      for (way& each : *side) f(each);
    }
  }

  orders const& orders_;
  std::span<std::byte const> secret_;
  std::int64_t beat_;
  std::vector<way> next_;      ///< one for each address of the next host
  std::vector<way> previous_;  ///< those that have called
};

}  // namespace atl::keeping
