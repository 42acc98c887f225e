#pragma once

/// Transfers by the network's own put and get, with keys of the peers' blocks; whatever of them cannot go so travels in
/// messages.

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <atoll/engine/rma.hpp>

#include "engine/progress/progress_engine.hpp"
#include "engine/rma/direct_runs.hpp"
#include "engine/rma/expected_notices.hpp"
#include "engine/rma/key_exchange.hpp"
#include "engine/rma/stream.hpp"

namespace atl::engine {

class remote_memory;

namespace remote {

/// From how many bytes on a transfer goes by a network's own operation. `more`: a message does more for it than move the data,
/// or moves them as well.
std::size_t direct_put_from(transport::abilities const& what, transport::limits const& sizes,
                            bool more) noexcept;
std::size_t direct_get_from(transport::abilities const& what) noexcept;
/// And if it has several runs: of how many bytes they have to be, on average, so that packing them into messages is no
/// quicker.
std::size_t direct_run_from(transport::abilities const& what, bool puts) noexcept;

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
  /// `more`: it is a put for which a message would do more: leave its source at once, take a notice along, pack its runs.
  bool prefers(remote::shape const& what, bool more) {
    return is_large_enough(what.to(), what.from(), what.size(), more) && keys_suffice(what);
  }
  /// The part of it that needs no shape.
  [[nodiscard]] bool is_large_enough(transfer_end const& to, transfer_end const& from,
                                     remote::shape::volume const& size, bool more) const noexcept {
    if (size.bytes < std::min(from_[puts], from_[gets])) return false;
    way const which = to.is_here() ? gets : more ? puts_of_more : puts;
    return to.is_here() != from.is_here() && size.bytes >= from_[which] &&
           (size.runs == 1 || size.bytes / size.runs >= run_from_[to.is_here() ? gets : puts]);
  }
  /// Does what is to be done at the owner when data are in place take two more ways with the network's own puts? Messages, which bring
  /// that along, are better then as long as they leave whole.
  [[nodiscard]] bool tells_late() const noexcept { return tells_late_; }
  /// Does what the stream, of which nothing was cut, was made for; takes it over.
  void begin(remote::stream* order);
  /// Its owner has done what it was to do when the data were in place.
  void notice_given(remote::stream* order);
  /// More is known of keys.
  void keys_changed();

 private:
  /// Of one transfer, and of all of this rank: for the network, so that what it keeps of each is bounded.
  static constexpr unsigned pieces_of_transfer = 8;
  static constexpr unsigned pieces_of_all = 64;
  /// Transfers that find no room one after the other: others are not tried then, of which there may be thousands. All get
  /// their turns.
  static constexpr std::size_t most_stuck = 4;
  /// Keys are asked for ahead of their use.
  static constexpr std::uint64_t blocks_ahead = 8;

  /// Under way with a tag.
  static constexpr unsigned most_announced = 1U << (expected_tag_bits - 1);

  enum way : std::uint8_t { puts, gets, puts_of_more };
  enum class keys_are : std::uint8_t { usable, pending, missing };
  enum class step : std::uint8_t {
    again,   ///< a piece has begun, and the next one may
    paused,  ///< nothing more to begin now, or ever: the end of a piece goes on with it
    no_room,
    no_key,  ///< that is being fetched
  };

  bool advance() override { return pump(); }
  bool keys_suffice(remote::shape const& what);
  bool pump();
  step begin_piece(remote::direct_transfer& t);
  remote::direct_cut cut(remote::direct_transfer const& t, remote::direct_runs& runs) const noexcept;
  std::uint32_t take_tag();
  void announce(remote::direct_transfer& t);
  keys_are take_keys(remote::direct_piece& p);
  void leave_keys(remote::direct_piece& p, bool useless);
  transport::started start(remote::direct_piece& p);
  void in_messages(remote::direct_piece* p);
  void piece_done(remote::direct_piece* p);
  void all_in_place(remote::direct_transfer* t);
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
  bool tells_late_ = false;
  std::size_t from_[3] = {~std::size_t{0}, ~std::size_t{0}, ~std::size_t{0}};  ///< bytes in all
  std::size_t run_from_[2] = {~std::size_t{0}, ~std::size_t{0}};               ///< bytes of a run, of several
  bool announces_ = false;                        ///< the network can say that data have landed
  std::deque<remote::direct_transfer*> ready_;    ///< with pieces that may begin
  std::vector<remote::direct_transfer*> no_key_;  ///< waiting for an answer
  unsigned under_way_ = 0;                        ///< pieces
  unsigned announced_ = 0;                        ///< transfers
  std::bitset<1U << expected_tag_bits> tags_;     ///< of those
  std::uint32_t next_tag_ = 0;
  bool pumping_ = false;
};

}  // namespace atl::engine
