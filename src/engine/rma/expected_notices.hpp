#pragma once

/// Notices that have come ahead of the data they are about, at the owner of those: a call or a flag is announced by a message, the
/// data arrive in puts of the network that say so, in any order with that.

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include <atoll/engine/am.hpp>

#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

class remote_memory;

/// Stands as the data of a put of nothing, with the notice.
struct expected_arrivals {
  std::uint32_t tag;     ///< the initiator's, until the notice has been given
  std::uint32_t pieces;  ///< each arrives once
};

/// Bits of a tag: a network must have as many.
inline constexpr unsigned expected_tag_bits = 16;

/// Under the engine's lock.
class expected_notices {
 public:
  expected_notices(progress_engine& engine, remote_memory& messages);
  ~expected_notices();
  expected_notices(expected_notices const&) = delete;
  expected_notices& operator=(expected_notices const&) = delete;

  void announced(message* m);
  void landed(std::int32_t from, std::uint32_t tag);

 private:
  struct expected {
    message* notice = nullptr;  ///< null: it is still on its way
    std::uint32_t pieces = 0;
    std::uint32_t arrived = 0;
  };

  static std::uint64_t name_of(std::int32_t from, std::uint32_t tag) noexcept {
    return static_cast<std::uint64_t>(from) << 32 | tag;
  }
  void look(std::uint64_t name, expected& e);

  progress_engine& engine_;
  remote_memory& messages_;
  std::unordered_map<std::uint64_t, expected> expected_;
};

}  // namespace atl::engine
