#pragma once

/// What a transfer moves, cut into pieces that fit into messages. Both ends have the same shape; data travel
/// packed, in the order of the shape.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <atoll/engine/rma.hpp>

#include "engine/rma/wire.hpp"

namespace atl::engine::remote {

/// A piece: where it begins in the shape.
struct position {
  std::uint64_t from = 0;  ///< offset (contiguous), number of the run, or number of the piece (box)
  std::uint64_t from_within = 0;
  std::uint64_t to = 0;
  std::uint64_t to_within = 0;
  std::uint32_t bytes = 0;
};

class shape {
 public:
  static shape contiguous(transfer_end to, transfer_end from, std::size_t bytes);
  static shape of_runs(transfer_end to, std::vector<transfer_run> to_runs, transfer_end from,
                       std::vector<transfer_run> from_runs);
  static shape of_box(transfer_end to, std::ptrdiff_t const* to_strides, transfer_end from,
                      std::ptrdiff_t const* from_strides, std::size_t const* extents, std::size_t dimensions,
                      std::size_t element_bytes);

  [[nodiscard]] transfer_end const& to() const noexcept { return to_; }
  [[nodiscard]] transfer_end const& from() const noexcept { return from_; }
  void set_address(void* to) noexcept { to_ = transfer_end::in_memory(to); }

  /// Which end of a transfer, or of a piece.
  enum class side : bool { from, to };

  // Of a shape of which nothing was cut:

  struct volume {
    std::uint64_t bytes;
    std::uint64_t runs;  ///< at the end that has more of them
  };
  [[nodiscard]] volume size() const noexcept;
  /// All runs of an end, in order.
  [[nodiscard]] std::vector<transfer_run> list(side which) const;

  /// Has all been cut?
  [[nodiscard]] bool ended() const noexcept { return left_ == 0; }
  /// The next piece. Requires !ended().
  position cut() noexcept;

  /// Offset, shape and count of a head that describes a piece to the owner of that end.
  void describe(side which, position const& at, piece_head& head) const noexcept;
  /// The description behind that head.
  void write_description(side which, position const& at, piece_head const& head,
                         std::byte* out) const noexcept;
  /// Data of a piece out of the source, or into the destination, which are here.
  void gather(position const& at, std::byte* out) const noexcept;
  void scatter(position const& at, std::byte const* in) const noexcept;

 private:
  struct dimension {
    std::ptrdiff_t from;
    std::ptrdiff_t to;
    std::size_t extent;
  };
  /// A piece of a box: whole in the dimensions before the one that is cut, one index in those behind.
  struct part {
    std::ptrdiff_t from = 0;
    std::ptrdiff_t to = 0;
    std::size_t dimensions = 0;
    std::size_t last_extent = 1;  ///< in the last of them
  };

  shape(form what, transfer_end to, transfer_end from) : form_(what), to_(to), from_(from) {}
  void normalise();
  [[nodiscard]] std::size_t box_run(std::size_t& dimensions_within) const noexcept;
  [[nodiscard]] part part_of(position const& at) const noexcept;
  void copy_part(position const& at, std::byte* packed, bool in) const noexcept;
  [[nodiscard]] std::vector<transfer_run> const& runs(side which) const noexcept {
    return which == side::from ? from_runs_ : to_runs_;
  }
  static std::uint64_t index_of(side which, position const& at) noexcept {
    return which == side::from ? at.from : at.to;
  }
  static std::uint64_t within(side which, position const& at) noexcept {
    return which == side::from ? at.from_within : at.to_within;
  }

  form form_;
  transfer_end to_;
  transfer_end from_;
  std::uint64_t left_ = 0;  ///< bytes, or pieces of a box, that have not been cut
  position next_;
  std::vector<transfer_run> to_runs_;
  std::vector<transfer_run> from_runs_;
  std::vector<dimension> dimensions_;  ///< innermost first
  std::size_t run_ = 0;                ///< contiguous bytes at each index
  std::size_t cut_ = 0;                ///< the dimension that is cut; how many there are if none is
  std::size_t chunk_ = 1;              ///< indices of that in a piece
};

}  // namespace atl::engine::remote
