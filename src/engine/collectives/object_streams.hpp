#pragma once

/// Serialised objects on their way between two members. Only the sender knows how large one is: its head says so.
/// What is small comes with the head, the rest in segments that the receiver grants.

#include <cstddef>
#include <cstdint>

#include <atoll/engine/object_collectives.hpp>

#include "engine/collectives/streams.hpp"

namespace atl::engine {

/// Between whom, and what for.
struct object_edge {
  std::uint32_t tag = 0;
  std::int32_t peer = -1;  ///< rank in the job
  bool waits = false;      ///< for the receiver's leave
};

class object_sending {
 public:
  explicit object_sending(object_edge const& edge) : edge_(edge) {}

  /// Sends what may go of the first `there` bytes of `what`; true when all is sent.
  bool go_on(collective& c, object_functions::packed const& what, std::size_t there);

 private:
  bool send_head(collective& c, object_functions::packed const& what);

  object_edge edge_;
  bool head_sent_ = false;
  sending body_;
};

class object_receiving {
 public:
  object_receiving() = default;
  explicit object_receiving(object_edge const& edge) : edge_(edge) {}
  object_receiving(object_receiving const&) = delete;
  object_receiving& operator=(object_receiving const&) = delete;
  ~object_receiving() { drop(); }

  /// True when all is there.
  bool go_on(collective& c);
  /// Is its size known?
  [[nodiscard]] bool begun() const noexcept { return what_.data != nullptr; }
  /// What comes, or has come.
  [[nodiscard]] object_functions::packed const& what() const noexcept { return what_; }
  /// Bytes at its front that are there.
  [[nodiscard]] std::size_t there() const noexcept;
  /// It is not needed any more.
  void drop() noexcept;

 private:
  object_edge edge_;
  bool leave_given_ = false;
  transport::message* small_ = nullptr;
  object_functions::packed what_{};
  scratch large_;
  receiving body_;
};

}  // namespace atl::engine
