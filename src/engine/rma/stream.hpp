#pragma once

/// A transfer that goes out in several pieces.

#include <array>
#include <cstdint>
#include <optional>

#include <atoll/engine/rma.hpp>

#include "engine/rma/shape.hpp"

namespace atl::engine::remote {

/// Pieces of one operation under way: while some travel, others are cut and acknowledged.
inline constexpr unsigned pieces_at_once = 8;

struct direct_transfer;

struct stream {
  struct piece {
    position at;
    bool under_way = false;
  };

  shape what;
  arrival_notice notice;
  char const* call;
  copy_completion* completion = nullptr;
  std::optional<position> next{};  ///< cut, and not sent
  unsigned under_way = 0;
  bool direct = false;                  ///< by the network's own operations, as far as that goes
  direct_transfer* transfer = nullptr;  ///< if so, while it is under way
  bool queued = false;                  ///< in the queue of those that have something to send
  std::array<piece, pieces_at_once> pieces{};

  stream(shape&& moved, arrival_notice const& wanted, char const* name)
      : what(std::move(moved)), notice(wanted), call(name) {}

  [[nodiscard]] bool puts() const noexcept { return what.from().is_here(); }
  /// Between two other ranks: what is fetched is put on.
  [[nodiscard]] bool relays() const noexcept { return !what.from().is_here() && !what.to().is_here(); }
  [[nodiscard]] bool all_sent() const noexcept { return what.ended() && !next; }

  /// May the next piece leave now? What announces all data leaves when the data before it is in place.
  bool may_send() {
    if (all_sent() || under_way == pieces_at_once) return false;
    if (!next) next = what.cut();
    return notice.what == arrival_notice::sort::none || !what.ended() || under_way == 0;
  }
};

}  // namespace atl::engine::remote
