#pragma once

/// Records of the simulated network for what is under way: operations of this side, data that are being cut
/// into packets, messages that come in parts.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/kind.hpp"
#include "transport/network_types.hpp"
#include "transport/sim/layout.hpp"
#include "transport/sim/packets.hpp"

namespace atl::transport {

struct registration {
  std::byte* begin;
  std::byte* reached;  ///< the same memory, where this process can read and write it
  std::size_t bytes;
  std::uint32_t id;  ///< place in the table, and a serial number above it
};

struct remote_key {
  std::int32_t peer;
  std::uint32_t id;
  std::uint64_t bytes;
  std::uint32_t connection;  ///< with which it ends
};

}  // namespace atl::transport

namespace atl::transport::sim {

/// Bytes of this process.
struct piece {
  std::byte* at = nullptr;
  std::size_t bytes = 0;
};
/// Some of them, nearly always one: that takes no memory of its own.
class piece_list {
 public:
  piece_list() = default;
  piece_list(std::byte* at, std::size_t bytes) : one_{at, bytes}, count_(1) {}

  void add(piece what) {
    if (count_ == 1) many_.push_back(one_);
    if (count_ == 0) {
      one_ = what;
    } else {
      many_.push_back(what);
    }
    ++count_;
  }
  void clear() {
    if (count_ > 1) many_.clear();
    count_ = 0;
  }
  bool empty() const { return count_ == 0; }
  std::span<piece const> view() const {
    return count_ > 1 ? std::span<piece const>(many_) : std::span<piece const>(&one_, count_);
  }
  piece const& front() const { return view().front(); }

 private:
  piece one_;
  std::size_t count_ = 0;
  std::vector<piece> many_;
};

/// Bytes of the peer.
struct far_piece {
  std::uint32_t key = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

inline std::byte* reached(local_place const& place) {
  auto* const address = static_cast<std::byte*>(place.address);
  return place.memory == nullptr ? address : place.memory->reached + (address - place.memory->begin);
}

/// Walks through a list of pieces from front to back.
class cursor {
 public:
  /// Copies the next bytes to `to`.
  void copy_out(std::span<piece const> list, std::byte* to, std::size_t bytes) {
    while (bytes != 0) {
      piece const& now = list[index_];
      std::size_t const n = bytes < now.bytes - within_ ? bytes : now.bytes - within_;
      copy_bytes(to, now.at + within_, n);
      to += n;
      bytes -= n;
      within_ += n;
      if (within_ == now.bytes) {
        ++index_;
        within_ = 0;
      }
    }
  }

 private:
  std::size_t index_ = 0, within_ = 0;
};

/// Copies to the place `at` of a list.
inline void copy_in(std::span<piece const> list, std::uint64_t at, std::byte const* from, std::size_t bytes) {
  for (piece const& p : list) {
    if (at >= p.bytes) {
      at -= p.bytes;
      continue;
    }
    std::size_t const n = bytes < p.bytes - at ? bytes : static_cast<std::size_t>(p.bytes - at);
    copy_bytes(p.at + at, from, n);
    from += n;
    bytes -= n;
    at = 0;
    if (bytes == 0) return;
  }
}

/// What arrival_handle::record points to.
struct kept_arrival {
  enum class where : std::uint8_t { packet, privately, late };

  kept_arrival::where is = where::late;
  std::int32_t peer = -1;
  std::uint32_t connections = 0;  ///< late: the connection it came by
  unsigned queue = 0, index = 0;  ///< packet
  std::uint32_t operation = 0;    ///< late: the sender's
  std::size_t bytes = 0;
  std::unique_ptr<std::byte[]> payload;
};

/// An operation of this side that has not come to its end.
struct open_operation {
  operation* events = nullptr;
  std::int32_t peer = -1;
  bool used = false;
  bool source_due = false, finished_due = false;
  std::int8_t late_in = -1;                ///< a late message of that lane
  completion last = completion::finished;  ///< what its last event says
  outcome how = outcome::ok;
  std::uint32_t serial = 0;           ///< tells one use of the record from the next
  std::uint32_t next = no_operation;  ///< free record, or the operation that this is a part of
  std::uint64_t left = 0;  ///< bytes or answers that have to come; 1 more while a job sends its data
  std::uint64_t puts = 0;  ///< flush: how many there were before
  kept_arrival* fetched = nullptr;
  piece_list into;  ///< where data go; or the payload of a late message
};

/// An atomic operation on a word of this rank of which a network that is not coherent has read the value, and not yet written
/// the new one.
struct slow_atomic {
  std::int32_t source = -1;
  std::uint32_t operation = no_operation;  ///< of the source
  std::uint32_t key = 0;
  std::uint64_t offset = 0;
  std::byte* word = nullptr;
  std::size_t bytes = 0;
  std::uint64_t before = 0, after = 0;
  unsigned polls = 0;
};

/// Data on their way into packets, as room permits.
struct job {
  enum class what : std::uint8_t { put, data, parts, flush };

  job::what is = what::put;
  std::int32_t peer = -1;
  std::uint32_t operation = no_operation;  ///< of this side
  std::uint32_t theirs = no_operation;     ///< data: the operation that asked
  bool answered = false;                   ///< put: each packet is
  bool notify = false;
  std::uint64_t tag = 0;  ///< of the notification; parts: number of the message
  piece_list from;
  cursor read;
  std::vector<far_piece> to;
  std::size_t to_index = 0;
  std::uint64_t to_within = 0;
  std::uint64_t total = 0, done = 0;
  std::uint64_t place = 0;  ///< data: where they begin in the operation
  std::uint8_t queue = remote_queue;
  std::size_t header_bytes = 0;
  std::array<std::byte, longest_header> header{};
};

/// An event that is due, and comes later.
struct late_event {
  std::uint32_t operation;
  std::uint32_t serial;
  unsigned polls;
  bool source_only;
};

/// A message of which parts have come.
struct arrived_parts {
  std::unique_ptr<std::byte[]> payload;
  std::size_t total = 0, come = 0;
};

}  // namespace atl::transport::sim
