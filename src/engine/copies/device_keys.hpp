#pragma once

/// Keys of device segments for the network (network/keys.hpp): those of this rank that others have asked for, and those of
/// ranks of other hosts. A segment is registered as a whole, when it is first wanted as either end of a transfer.
///
/// A network may go on using memory that it was told to forget. So a segment ends when all who have its key have dropped it.

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <atoll/engine/am.hpp>

#include "engine/copies/segments.hpp"
#include "engine/network/keys.hpp"
#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

/// In jobs with a network only. Under the engine's lock.
class device_keys {
 public:
  device_keys(progress_engine& engine, segment_table& segments, work_source& work);
  ~device_keys();
  device_keys(device_keys const&) = delete;
  device_keys& operator=(device_keys const&) = delete;

  /// Keys of others: the block is the segment's number.
  [[nodiscard]] peer_keys& peers() noexcept { return peers_; }
  /// A segment of this rank, as a local end; null: the network does not take it.
  transport::registration* registration_of(segment const& own);

  /// A segment of this rank, or null.
  segment const* own(std::uint16_t number) { return segments_.own(number); }
  /// Is what the network writes into a segment of this rank visible to the device only after a flush?
  bool must_flush(segment const& own) const;

  /// Ranks that may have a key of a segment of this rank, as far as is known here.
  [[nodiscard]] std::size_t holders(std::uint16_t number) const;

  /// Before a segment of this rank is destroyed: begins to take its keys back.
  void begin_end(std::uint16_t number);
  /// True when nobody has one any more; then it is forgotten.
  bool has_ended(std::uint16_t number);
  /// The segment is: until then nobody gets a key any more.
  void gone(std::uint16_t number) { own_.erase(number); }

  /// Tries again what had no room, and drops keys that were in use when they were asked back; true if anything moved.
  bool advance();

  // Called by messages.
  void serve(message* question);
  void answered(message* answer);
  void asked_back(message* m);
  void came_back(message* m);

 private:
  struct own_segment {
    transport::registration* memory = nullptr;
    std::set<std::int32_t> askers;  ///< who may have a key; nobody has two
    std::size_t not_back = 0;       ///< keys, once they were asked back
    bool ending = false;
    bool refused = false;  ///< by the network, which has been said
  };

  void closed(std::int32_t rank);
  key_answer answer(std::int32_t asker, key_question const& what, std::span<std::byte> room);
  bool give_back(std::int32_t owner, std::uint16_t number);

  progress_engine& engine_;
  segment_table& segments_;
  std::unordered_map<std::uint16_t, own_segment> own_;
  peer_keys peers_;
  std::vector<std::pair<std::int32_t, std::uint16_t>> leaving_;  ///< wanted back, and in use
  work_source& work_;                                            ///< counts those
};

}  // namespace atl::engine
