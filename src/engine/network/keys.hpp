#pragma once

/// Keys of remote memory, by block of a rank's region. A key belongs to a rank, a segment and block, and an epoch: the time from
/// one heap's making to its end. Upper bits of a block number the segment, as those of a place do (segment_bits).
///
/// The owner registers a block when a peer first asks for its key and all of it has memory. Peers ask when they first
/// need one, and keep a bounded number. That there is none is an answer, too: then data travel in messages.
///
/// How questions and answers travel is the business of who owns these objects.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <atoll/engine/rma.hpp>

#include "memory/host/reservation.hpp"
#include "transport/network.hpp"

namespace atl::engine {

/// Of keys: in blocks of that size heaps get their memory, so that, where regions begin at a multiple of it, each of them
/// has it as a whole or not at all. Larger ones would have keys late, and would pin what nobody uses; and this is enough to be at
/// a network's full speed.
inline constexpr unsigned key_block_log = memory::reservation::block_log;
inline constexpr std::uint64_t key_block_bytes = std::uint64_t{1} << key_block_log;

/// Segments that a rank can have, so that a word names the blocks of all ranks.
inline constexpr std::uint64_t most_segments = std::uint64_t{1} << 13;

struct key_question {
  std::uint64_t block;
  std::uint32_t epoch;  ///< who asks and who is asked have seen as many heaps end, or the answer is no
};

/// Followed by the bytes of the key.
struct key_answer {
  std::uint64_t block;
  std::uint64_t begin;  ///< offsets in the owner's region that the key is good for
  std::uint64_t end;
  std::uint32_t epoch;
  std::uint32_t bytes;           ///< of the key; 0: there is none
  std::uint64_t must_flush = 0;  ///< 1: what is written there has to be flushed by the owner
};

/// The blocks of the own heap that peers have asked for. Under the engine's lock.
class own_blocks {
 public:
  struct shape {
    std::byte* region = nullptr;
    std::uint64_t heap_begin = 0;
    std::uint64_t heap_end = 0;
    /// Has this part of the region memory, to stay until forget()?
    std::function<bool(std::uint64_t offset, std::uint64_t bytes)> backed;
  };

  own_blocks(transport::network& network, shape heap) : network_(network), heap_(std::move(heap)) {}
  ~own_blocks() { forget(); }
  own_blocks(own_blocks const&) = delete;
  own_blocks& operator=(own_blocks const&) = delete;

  /// Answers, with the key in `room`: limits().key_bytes of it.
  key_answer answer(key_question const& what, std::span<std::byte> room);
  /// The heap ends: keys of its blocks miss from here on.
  void end_of_heap() {
    forget();
    ++epoch_;
  }
  [[nodiscard]] std::size_t registered() const noexcept { return registered_.size(); }
  /// Why the network has refused a block the last time; empty if it has not.
  [[nodiscard]] std::string const& refusal() const noexcept { return refusal_; }

 private:
  void forget();

  transport::network& network_;
  shape heap_;
  std::uint32_t epoch_ = 0;
  std::unordered_map<std::uint64_t, transport::registration*> registered_;  ///< by block
  std::string refusal_;
};

/// Keys of peers' blocks. Under the engine's lock.
class peer_keys {
 public:
  /// How many are kept, of all peers: 2 GiB of memory that is used again and again.
  static constexpr std::size_t most = 1024;
  /// Who had no key may have one later, when the block has got its memory: after so many looks it is asked again.
  static constexpr unsigned looks_before_asking_again = 32;

  enum class state : std::uint8_t {
    asked,
    arrived,  ///< and not imported yet, since the network had no room for that
    none,     ///< the owner has said so
    ready,
  };
  struct entry {
    std::int32_t rank = -1;
    std::uint64_t block = 0;
    state now = state::asked;
    bool known = true;   ///< false: no longer to be found; goes with its last user
    unsigned users = 0;  ///< operations under way with the key
    unsigned looks = 0;  ///< since there was none
    transport::remote_key* key = nullptr;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool must_flush = false;  ///< see key_answer
    std::vector<std::byte> image;

    [[nodiscard]] bool is_pending() const noexcept { return now == state::asked || now == state::arrived; }
    [[nodiscard]] bool serves(std::uint64_t at, std::uint64_t bytes) const noexcept {
      return now == state::ready && begin <= at && at + bytes <= end;
    }
  };
  /// Sends a question; its answer comes to answered(), once.
  using sender = std::function<void(std::int32_t rank, key_question const&)>;

  peer_keys(transport::network& network, sender ask, std::size_t room = most)
      : network_(network), ask_(std::move(ask)), room_(room) {}
  ~peer_keys();
  peer_keys(peer_keys const&) = delete;
  peer_keys& operator=(peer_keys const&) = delete;

  /// What is known of a block's key; asks if nothing is. Null: no more can be kept, since all are in use. Valid until the
  /// next call of any of these functions, unless it is used.
  entry* look(std::int32_t rank, std::uint64_t block);
  /// The same, without asking or counting; null if nothing is known.
  entry* find(std::int32_t rank, std::uint64_t block);
  /// Whether operations are under way with a key of the block, also with one that is not known any more.
  [[nodiscard]] bool is_used(std::int32_t rank, std::uint64_t block);
  /// Keeps a ready entry until leave(), whatever becomes of its key.
  void use(entry* e) noexcept { ++e->users; }
  void leave(entry* e);
  /// An operation with it has missed, or the network does not take it: the next look asks again.
  void drop(entry* e);

  void answered(std::int32_t rank, key_answer const& what, std::span<std::byte const> key);
  /// Tries again what could not be imported; true if something has changed.
  bool import_arrived();
  [[nodiscard]] bool any_arrived() const noexcept { return arrived_ != 0; }

  /// The connection to a rank has ended, and its keys with it.
  void closed(std::int32_t rank);
  /// All heaps of the job end.
  void end_of_heaps();

  [[nodiscard]] std::size_t size() const noexcept { return found_.size(); }

 private:
  using list = std::list<entry>;

  static std::uint64_t name_of(std::int32_t rank, std::uint64_t block) noexcept {
    static_assert(most_segments << (segment_bits - key_block_log) <= std::uint64_t{1} << 36);
    return static_cast<std::uint64_t>(rank) << 36 ^ block;
  }
  void ask(entry& e);
  bool import(entry& e);
  bool make_room();
  void forget(list::iterator which);
  void give_back(entry& e) noexcept;

  transport::network& network_;
  sender ask_;
  std::size_t room_;
  std::uint32_t epoch_ = 0;
  std::size_t arrived_ = 0;  ///< entries in that state
  list entries_;             ///< least recently looked at last
  list leaving_;             ///< not known any more, and in use
  std::unordered_map<std::uint64_t, list::iterator> found_;
};

}  // namespace atl::engine
