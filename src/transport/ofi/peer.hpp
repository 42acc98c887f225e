#pragma once

/// What a network of this folder knows of a peer, and what it has under way.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "transport/common/peer.hpp"
#include "transport/fifo.hpp"
#include "transport/network.hpp"
#include "transport/ofi/devices.hpp"
#include "transport/ofi/libfabric.hpp"
#include "transport/ofi/rails.hpp"

namespace atl::transport::ofi {

struct peer;

/// What travels in front of each message. All hosts have one byte order, as all ranks run one program.
struct wire {
  enum kind : std::uint8_t {
    request,  ///< a message in that lane
    control,
    late_request,  ///< one whose payload is fetched: a `late_payload` follows the header
    late_control,
    late_done,  ///< followed by the number of a late payload that is not needed any more
    note,       ///< data of a notified put are in memory; followed by its tag
    credit,     ///< says only what stands in `taken`
    bye,        ///< nothing more is started
    over,       ///< nothing more comes: the receiver may close
    ask_rails,  ///< where are the receiver's further devices?
    rails,      ///< there; followed by their networks and addresses

    // Of connections over one endpoint for all peers.
    hello,   ///< wants a connection; followed by the job and the sender's address
    ack,     ///< it stands
    gone,    ///< the sender has lost it, or given it up
    let_go,  ///< after that: the sender reads and writes no memory of the receiver's any more
  };

  std::int32_t from;
  std::uint32_t number;  ///< of the connection
  std::uint16_t header;  ///< bytes of the message's own header, which follows
  std::uint8_t what;
  std::uint8_t taken[2];  ///< messages of each lane that the sender has taken since it last said so
  std::uint8_t unused[3];
};
static_assert(sizeof(wire) == wire_bytes);

struct late_payload {
  std::uint64_t address;
  std::uint64_t key;
  std::uint64_t bytes;
  std::uint64_t number;
};

/// What says who wants to connect.
struct introduction {
  std::uint32_t mark;
  std::int32_t rank;
  /// Of the connection; in an answer: of the last one that its sender has begun by itself.
  std::uint32_t number;
  std::uint32_t unused;
  std::uint64_t job;
};

/// What libfabric gives back when something is done. It may write into `words` until then.
struct ticket {
  fi_context2 words;
  bool is_block;
};

/// Memory for what leaves or arrives: in front the wire's header, then the message's own, then a payload.
struct alignas(16) block : ticket {
  block* next;
  void* descriptor;  ///< of the memory, where libfabric wants one
  std::size_t room;

  // What has arrived in it.
  std::size_t bytes;
  peer* whom;
  std::uint32_t generation;
  bool late;
  bool in_callback;  ///< its receiver is being told of it
  bool fetched;
  bool released;

  std::byte* begin() { return reinterpret_cast<std::byte*>(this + 1); }
};

/// Something that libfabric has under way, or that waits for room there. Those of one operation are children of the first.
struct record : ticket {
  enum class sort : std::uint8_t {
    message,  ///< of the memory in its block
    word,     ///< the same, between networks of this sort
    bye,      ///< one that has to arrive before its sender may end
    aside,    ///< one that belongs to no connection which stands; said again where it fails
    late,     ///< until the peer says that it has the payload, or does not want it
    put,
    confirm,  ///< reads a byte behind a put, where that does not say itself that its data are there
    get,
    fetch,
  };

  peer* whom;
  fi_addr_t address;  ///< of the peer
  record* next;       ///< free, waiting, or done with while libfabric may still name it
  record* before;     ///< those of the peer are chained
  record* after;
  record* parent;
  operation* events;
  block* memory;    ///< what is sent, if that is ours
  fid_mr* entered;  ///< local memory that was registered for this
  std::byte* near;
  void* descriptor;
  std::uint64_t bytes;
  std::uint64_t far;
  std::uint64_t key;
  std::uint64_t tag;    ///< of a note; number of a late payload
  std::uint32_t parts;  ///< under way: of its own, of children; and one while they are being started
  std::uint32_t epoch;  ///< flushes before it
  outcome how;
  sort what;
  std::uint8_t lane;  ///< of a late payload
  std::uint8_t rail;  ///< the device over which it goes; 0: the first
  bool open;          ///< under way by itself
  bool source_told;   ///< or nobody is to be told
  bool notifies;      ///< the peer hears of it
};

/// A flush that waits for puts.
struct flush_point {
  operation* events;
  many_flushes* of;
  std::size_t left;  ///< puts between the flush before it and it
};

struct peer : peer_state {
  bool begun = false;  ///< by this side's own request
  std::string called;  ///< where this side connects to, in words
  bool said_over = false;
  bool got_over = false;
  bool hung_up = false;  ///< the peer has closed its end

  fid_ep* endpoint = nullptr;          ///< its own, or that of all peers; null without a connection
  fi_addr_t address = FI_ADDR_UNSPEC;  ///< where the endpoint serves all peers; stays
  info_ptr request;                    ///< what it wishes by, where it has an endpoint of its own
  std::uint32_t last_seen = 0;         ///< highest number of a connection that the peer has begun
  std::uint32_t number = 0;            ///< of this connection, as messages carry it

  std::size_t taken[2]{};    ///< of the peer's messages of each lane, which it has not been told
  std::size_t late_out = 0;  ///< late payloads that the peer has not fetched
  std::size_t late_of[2]{};  ///< those of each lane
  std::size_t long_out = 0;  ///< in the longest blocks
  std::size_t puts_out = 0;  ///< since the last flush
  std::uint32_t epoch = 0;   ///< flushes so far
  std::deque<flush_point> flushes;
  record* first = nullptr;  ///< all records
  record* last = nullptr;
  std::size_t rail_puts = 0;         ///< parts of puts over further devices: messages wait for them
  std::unique_ptr<rail_ends> rails;  ///< null before the first long transfer
  std::vector<block*> receives;      ///< posted, where they are not shared
  fifo<record> waiting;              ///< those that libfabric had no room for

  /// Both sides have said that there is nothing more: what happens to the wire now is no loss.
  [[nodiscard]] bool agreed() const noexcept {
    return now == link::closing && said_bye && got_bye && out == 0;
  }
};

}  // namespace atl::transport::ofi
