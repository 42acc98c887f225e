#pragma once

/// An array on its way down a tree, as one of its members sees it: each segment is passed on as soon as it and all
/// before it are there.

#include <cstddef>
#include <vector>

#include "engine/collectives/streams.hpp"
#include "engine/collectives/tree.hpp"

namespace atl::engine {

class array_descent {
 public:
  /// The peer of `shape` does not matter.
  void plan(collective const& c, tree const& place, stream_shape shape);
  /// Goes on with the array at `data`, of which the root has the first `at_root` bytes; true when all came and left.
  bool go_on(collective& c, std::byte* data, std::size_t at_root);
  /// Bytes at the front of the array that are there. What is empty is there with one, here and at the root.
  [[nodiscard]] std::size_t there() const noexcept { return there_; }
  [[nodiscard]] bool is_root() const noexcept { return is_root_; }
  /// As that of the streams.
  void close(collective& c);

 private:
  bool is_root_ = true;
  std::size_t bytes_ = 0;
  std::size_t there_ = 0;
  receiving from_parent_;
  std::vector<sending> to_children_;
};

}  // namespace atl::engine
