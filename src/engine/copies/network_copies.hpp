#pragma once

/// Copies between this rank's memory and memory of other hosts that the network does itself, where it reads and writes
/// devices: nothing is staged, and the owner's processor has no part in it but what the network asks of it.
///
/// One end is a device at least, or the rma room has it (rma/direct.hpp). What has no key goes by staged_copies, and so does all
/// where the network would only stage it, too.
///
/// Some devices see what an adapter has written only after a flush. It comes before anybody hears that the copy is complete:
/// into a device here at the end of the get, into one elsewhere by its owner, which is asked by message after the put.

#include <cstddef>
#include <vector>

#include "base/settings.hpp"
#include "engine/copies/device_keys.hpp"
#include "engine/copies/staged_copies.hpp"
#include "transport/device_memory.hpp"

namespace atl::engine {

/// Under the engine's lock.
class network_copies {
 public:
  network_copies(progress_engine& engine, device_keys& devices, peer_keys& heaps, staged_copies& otherwise)
      : network_(*engine.network),
        devices_(devices),
        heaps_(heaps),
        otherwise_(otherwise),
        direct_(
            transport::moves_devices(network_.transport().abilities(), settings::network_device_memory())) {}
  network_copies(network_copies const&) = delete;
  network_copies& operator=(network_copies const&) = delete;

  /// Is it one for the network?
  bool takes(copy_place const& to, copy_place const& from);
  /// `done->landed` is called when all is in place.
  void start(copy_place const& to, copy_place const& from, std::size_t bytes, memory::copy_record* done);
  /// Goes on with what waited for keys or room; true if anything moved.
  bool advance();

  // Called by messages: the owner's side of a put's flush, and the initiator's.
  void serve_flush(message* question);
  void flushed(message* answer);

 private:
  struct transfer;
  struct piece;
  enum class step : unsigned char { begun, ended, wait };

  static bool is_elsewhere(copy_place const& place);
  bool reads_and_writes(copy_place const& place, bool puts);
  transport::local_place local_end(copy_place const& place);
  bool go_on(transfer* t);
  step begin_piece(transfer& t);
  void stage(piece* p);
  void arrived(piece* p);
  void ask_to_flush(piece* p);
  void finish(piece* p);
  static void on_event(transport::operation& self, transport::completion what, transport::outcome how);
  static void staged(memory::copy_record* record) noexcept;

  network_messages& network_;
  device_keys& devices_;
  peer_keys& heaps_;
  staged_copies& otherwise_;
  bool const direct_;  ///< device memory is the network's to copy
  std::vector<transfer*> waiting_;
};

}  // namespace atl::engine
