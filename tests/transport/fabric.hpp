#pragma once

/// Several ranks of one transport in one process, so that a test can be all of them and ThreadSanitizer sees
/// what they share.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "transport/shm/endpoint.hpp"

namespace atl::transport {

/// Sizes small enough that tests reach every limit quickly.
struct fabric_shape {
  std::uint32_t ranks = 2;
  std::uint64_t ring_cells = shm::fewest_cells;
  std::size_t arena_bytes = std::size_t{256} << 10;
  std::size_t private_limit = std::size_t{64} << 20;
  bool between_processes = false;  ///< ranks go on in children of this process
};

/// Ways to receive: used where it is, or taken into private memory.
inline constexpr shm::taking in_place{.requests_in_place = true, .control_in_place = true};
inline constexpr shm::taking for_later{};

class fabric {
 public:
  virtual ~fabric() = default;
  virtual shm::endpoint& rank(std::uint32_t index) = 0;
  /// Largest message that needs neither private memory nor pieces.
  virtual std::size_t in_place_bytes() const = 0;
  /// Bytes that messages take in the private memory of a rank.
  virtual std::size_t private_bytes(std::uint32_t index) const = 0;
  virtual bool starved(std::uint32_t index) const = 0;
};

/// A way to open the transport under test.
struct fabric_kind {
  char const* name;
  std::unique_ptr<fabric> (*open)(fabric_shape const&);
  /// Why it cannot be tested here; empty if it can.
  std::string (*obstacle)();
};
inline void PrintTo(fabric_kind const& kind, std::ostream* out) { *out << kind.name; }

/// Everything that can be opened in one process.
std::vector<fabric_kind> fabric_kinds();

inline std::string name_of(testing::TestParamInfo<fabric_kind> const& info) { return info.param.name; }

/// A test that runs for each kind.
class transport_test : public testing::TestWithParam<fabric_kind> {
 protected:
  void SetUp() override {
    std::string const obstacle = GetParam().obstacle();
    if (!obstacle.empty()) GTEST_SKIP() << obstacle;
  }
  std::unique_ptr<fabric> open(fabric_shape const& shape = {}) { return GetParam().open(shape); }
};

/// Eight bytes of the payload of message `token`, from byte `index`.
inline std::uint64_t pattern(std::uint64_t token, std::size_t index) {
  return (token + 1) * 0x9e3779b97f4a7c15U + index * 0xbf58476d1ce4e5b9U;
}

/// Writes a payload of `bytes` into the buffer and sends it.
void fill_and_commit(shm::endpoint& from, outgoing& out, message_kind kind, std::uint64_t token,
                     std::size_t bytes);

/// Sends a message with a payload of `bytes` if that is possible now.
status try_send(shm::endpoint& from, std::uint32_t target, std::uint64_t token, std::size_t bytes,
                spill allowed, std::size_t alignment = buffer_alignment,
                message_kind kind = message_kind::request);

/// Empty if the payload is what fill_and_commit wrote, else what differs.
std::string difference(message const& arrived, std::size_t bytes);

/// Lets both ranks work until `receiver` has a message. Null after many fruitless rounds.
message* receive_soon(fabric& ranks, std::uint32_t receiver, shm::taking how = in_place);

}  // namespace atl::transport
