#pragma once

/// Contiguous transfers by the network's own put and get, with keys of the peers' blocks; whatever of them cannot go so
/// travels in messages.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <atoll/engine/rma.hpp>

#include "engine/progress/progress_engine.hpp"
#include "engine/rma/key_exchange.hpp"
#include "engine/rma/stream.hpp"

namespace atl::engine {

class remote_memory;

namespace remote {

/// From how many bytes on a contiguous transfer goes by a network's own operation.
std::size_t direct_put_from(transport::abilities const& what, transport::limits const& sizes) noexcept;
std::size_t direct_get_from(transport::abilities const& what) noexcept;

struct direct_transfer;
struct direct_piece;

}  // namespace remote

/// Under the engine's lock. As work that progress looks after counts what the network had no room for.
///
/// Events come from the network's polls. Source completion is told when all data is in place: until then a piece may
/// have to be sent again, in messages, because its key has missed.
class direct_transfers final : public work_source {
 public:
  /// `keys`: null in a job without a network.
  direct_transfers(progress_engine& engine, remote_memory& messages, key_exchange* keys);

  /// Is this better done by the network's own operation? Asks for keys that are not known. While they are not, what
  /// messages would move at once goes by messages: it is there when the answer is. More waits.
  bool prefers(transfer_end const& to, transfer_end const& from, std::size_t bytes);
  /// Does what the stream, of which nothing was cut, was made for; takes it over.
  void begin(remote::stream* order);
  /// More is known of keys.
  void keys_changed();

 private:
  /// Of one transfer, and of all of this rank: for the network, so that what it keeps of each is bounded.
  static constexpr unsigned pieces_of_transfer = 8;
  static constexpr unsigned pieces_of_all = 64;
  /// Keys are asked for ahead of their use.
  static constexpr std::uint64_t blocks_ahead = 8;

  enum class step : std::uint8_t {
    again,   ///< a piece has begun, and the next one may
    paused,  ///< nothing more to begin now, or ever: the end of a piece goes on with it
    no_room,
    no_key,  ///< that is being fetched
  };

  bool advance() override { return pump(); }
  bool pump();
  step begin_piece(remote::direct_transfer& t);
  step start(remote::direct_piece* p);
  void in_messages(remote::direct_piece* p);
  void piece_done(remote::direct_piece* p);
  void finish(remote::direct_transfer* t);
  void queue(remote::direct_transfer* t);
  void look_ahead(remote::direct_transfer const& t);
  void set_open();

  static void on_event(transport::operation& self, transport::completion what, transport::outcome how);
  static bool on_arrival(copy_completion* self) noexcept;

  progress_engine& engine_;
  remote_memory& messages_;
  network_messages* network_;  ///< null in a job on one host: then nothing else is there either
  peer_keys* keys_;
  std::size_t put_from_ = ~std::size_t{0};
  std::size_t get_from_ = ~std::size_t{0};
  std::deque<remote::direct_transfer*> ready_;    ///< with pieces that may begin
  std::vector<remote::direct_transfer*> no_key_;  ///< waiting for an answer
  unsigned under_way_ = 0;                        ///< pieces
  bool pumping_ = false;
};

}  // namespace atl::engine
