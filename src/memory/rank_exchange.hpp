#pragma once

/// One call of a collective that moves data, of all ranks of a team: a kernel on each rank's device, which stores into the memory of the
/// others. What it does for whom, and where the words are by which the ranks know of each other, is here; who does it is the library's
/// kernel (cuda/kernels.cu), or a host that plays devices (played_exchange.hpp).
///
/// Block b of a rank exchanges with the blocks b of the others, and with nobody else: it offers to be written to those that send to it,
/// waits until those that it sends to have offered, stores its share, tells, and waits until it was told. All words count the calls up,
/// those of each block apart, so nothing is reset, and a graph may do it again; whoever is in call n + 1 has what was sent in n.
///
/// Little is sent as packets of 8 bytes and the number of the call, which are one store, so that a way there is all that it takes: to a landing
/// of the receiver's, who copies it on. Nobody's offer is waited for, but that of the call before: that makes sure that packets of the second
/// last call, which lay in the same place, have been read.

#include <bit>
#include <cstdint>

#include <atoll/base/config.hpp>

namespace atl::memory {

struct rank_exchange {
  static constexpr std::int32_t most_ranks = 16;
  static constexpr std::uint32_t most_blocks = 32;
  static constexpr unsigned threads = 512;
  /// Of one rank: the number of the last call, offers and news of each rank, for each block.
  static constexpr std::uint64_t words_for(std::uint64_t ranks) { return most_blocks * (1 + 2 * ranks); }

  /// What one of the 16 blocks that get packets gets in a call, one for each thread.
  static constexpr std::uint32_t few_blocks = 16;
  static constexpr std::uint64_t bytes_of_packet = 8;
  static constexpr std::uint64_t place_of_packet = 16;
  /// All 0 before the first call; from the first multiple of 16 on.
  static constexpr std::uint64_t landing_bytes = (2 * few_blocks * threads + 1) * place_of_packet;

  enum step : std::uint32_t { opens = 1, moves = 2, closes = 4, all_steps = 7 };

  // By rank, where this process' devices find it.
  std::uint64_t to[most_ranks];       ///< where that rank receives
  std::uint64_t words[most_ranks];    ///< its words, all 0 before the first call
  std::uint64_t landing[most_ranks];  ///< its landing; 0: there are none
  std::uint64_t from;                 ///< of this rank
  std::uint64_t bytes;                ///< of what goes to one rank
  std::int32_t me;
  std::int32_t ranks;
  std::int32_t root;  ///< the one that sends; negative: all do
  bool in_parts;      ///< each rank is sent a part of its own
  bool few;           ///< sent as packets
  bool relayed;       ///< the root sends a part to each of the others, who send it on
  std::uint32_t blocks;
  std::uint32_t packet_bits;  ///< of the number of packets that a block gets of one rank
  std::uint64_t part;         ///< bytes of what goes to one rank, or from the root to one that passes it on
  std::uint64_t block_bytes;  ///< of that, of a block
  std::uint64_t own_bytes;    ///< of a block, of what a rank copies to itself
  std::uint32_t steps;  ///< those that are done here: between opening and closing the host may have copied

  struct piece {
    std::uint64_t to = 0;
    std::uint64_t from = 0;
    std::uint64_t bytes = 0;
  };

  /// How it is done, which is the same on all ranks. Divides, so that devices need not.
  void choose() {
    few = landing[0] != 0 && is_few(bytes, ranks, root);
    if (few) {
      packet_bits = packet_bits_for(ranks, root);
      std::uint64_t const block_gets = bytes_of_packet << packet_bits;
      blocks = static_cast<std::uint32_t>((bytes + block_gets - 1) / block_gets);
      relayed = false;
      return;
    }
    constexpr std::uint64_t bytes_of_block = 8192;
    // A relay costs as long as this takes.
    constexpr std::uint64_t bytes_of_relay = 1 << 20;
    auto const others = static_cast<std::uint64_t>(ranks - 1);
    relayed = root >= 0 && ranks > 2 && (others - 1) * bytes >= bytes_of_relay;
    std::uint64_t const sent = relayed ? bytes : others * bytes;
    std::uint64_t const wanted = (sent + bytes_of_block - 1) / bytes_of_block;
    blocks = static_cast<std::uint32_t>(wanted < 1 ? 1 : wanted > most_blocks ? most_blocks : wanted);
    constexpr auto share_of = [](std::uint64_t whole, std::uint64_t count) {
      constexpr std::uint64_t line = 128;
      return ((whole + count - 1) / count + line - 1) / line * line;
    };
    part = relayed ? share_of(bytes, others) : bytes;
    block_bytes = share_of(part, blocks);
    own_bytes = share_of(bytes, blocks);
  }

  static constexpr std::uint32_t packet_bits_for(std::int32_t ranks, std::int32_t root) {
    constexpr std::uint32_t of_block = std::bit_width(threads) - 1;
    return of_block -
           (root >= 0 ? 0 : static_cast<std::uint32_t>(std::bit_width(static_cast<unsigned>(ranks - 1))));
  }
  static constexpr bool is_few(std::uint64_t bytes, std::int32_t ranks, std::int32_t root) {
    return bytes <= few_blocks * (bytes_of_packet << packet_bits_for(ranks, root));
  }

  [[nodiscard]] ATOLL_ANYWHERE bool sends(std::int32_t sender, std::int32_t receiver) const {
    if (sender == receiver) return false;
    return root < 0 || sender == root || (relayed && receiver != root);
  }
  /// Whether this rank passes on what it is sent.
  [[nodiscard]] ATOLL_ANYWHERE bool relays() const { return relayed && me != root; }
  /// Whether what goes to the others is the same for all.
  [[nodiscard]] ATOLL_ANYWHERE bool sends_one() const { return !in_parts && !(relayed && me == root); }
  /// What this rank sends to another one; or has itself, from what it sends.
  [[nodiscard]] ATOLL_ANYWHERE piece for_rank(std::int32_t r) const {
    if (root < 0) {
      std::uint64_t const place = static_cast<std::uint64_t>(me) * bytes;
      return {to[r] + place, from + (in_parts ? static_cast<std::uint64_t>(r) * bytes : 0), bytes};
    }
    if (!relayed || r == me) return {to[r], from, bytes};
    // Parts by distance from the root.
    std::int32_t const turn = (me == root ? r : me) - root - 1;
    piece const mine = cut({0, 0, bytes}, static_cast<std::uint64_t>(turn < 0 ? turn + ranks : turn), part);
    return {to[r] + mine.to, (me == root ? from : to[me]) + mine.from, mine.bytes};
  }
  /// The one that is so many ranks further on, at most as many as there are.
  [[nodiscard]] ATOLL_ANYWHERE std::int32_t ahead(std::int32_t k) const {
    return me + k < ranks ? me + k : me + k - ranks;
  }
  /// Where this rank receives what another one sends, unless that is passed on.
  [[nodiscard]] ATOLL_ANYWHERE std::uint64_t received(std::int32_t by) const {
    return root >= 0 ? to[me] : to[me] + static_cast<std::uint64_t>(by) * bytes;
  }
  /// Whether this rank has to copy to itself.
  [[nodiscard]] ATOLL_ANYWHERE bool keeps() const {
    if (root >= 0 && me != root) return false;
    piece const own = for_rank(me);
    return own.to != own.from;
  }
  /// Whether this rank stores what is for that one, which may be itself.
  [[nodiscard]] ATOLL_ANYWHERE bool gives_to(std::int32_t r) const {
    return r == me ? keeps() : sends(me, r);
  }
  /// One of shares of so many bytes.
  ATOLL_ANYWHERE static piece cut(piece whole, std::uint64_t which, std::uint64_t share) {
    std::uint64_t const begin = which * share < whole.bytes ? which * share : whole.bytes;
    std::uint64_t const left = whole.bytes - begin;
    return {whole.to + begin, whole.from + begin, left < share ? left : share};
  }
  [[nodiscard]] ATOLL_ANYWHERE piece share(std::int32_t r, std::uint32_t block) const {
    return cut(for_rank(r), block, r == me ? own_bytes : block_bytes);
  }

  // Addresses of words.

  [[nodiscard]] ATOLL_ANYWHERE std::uint64_t number(std::uint32_t block) const {
    return words[me] + block * sizeof(std::uint64_t);
  }
  /// At a rank: another one may be written to.
  [[nodiscard]] ATOLL_ANYWHERE std::uint64_t offer(std::int32_t at, std::int32_t by,
                                                   std::uint32_t block) const {
    return words[at] + (most_blocks * (1 + static_cast<std::uint64_t>(by)) + block) * sizeof(std::uint64_t);
  }
  /// At a rank: what another one has sent is in place.
  [[nodiscard]] ATOLL_ANYWHERE std::uint64_t news(std::int32_t at, std::int32_t by,
                                                  std::uint32_t block) const {
    return offer(at, by + ranks, block);
  }
  // Packets.

  [[nodiscard]] ATOLL_ANYWHERE std::uint32_t packets() const { return 1U << packet_bits; }
  /// Where what a packet carries lies behind the beginning of what a rank sends.
  [[nodiscard]] ATOLL_ANYWHERE std::uint64_t carried(std::uint32_t block, std::uint32_t packet) const {
    return ((std::uint64_t{block} << packet_bits) + packet) * bytes_of_packet;
  }
  /// At a rank, of another one, in a call of this number of the block.
  [[nodiscard]] ATOLL_ANYWHERE std::uint64_t packet_at(std::int32_t at, std::int32_t by, std::uint64_t number,
                                                       std::uint32_t block, std::uint32_t packet) const {
    std::uint64_t const of_rank =
        root >= 0 ? 0 : std::uint64_t{static_cast<std::uint32_t>(by)} << packet_bits;
    std::uint64_t const begin = (landing[at] + place_of_packet - 1) / place_of_packet * place_of_packet;
    return begin + (((number % 2) * few_blocks + block) * threads + of_rank + packet) * place_of_packet;
  }

  /// News of so many chunks of a call: of all if nothing is said.
  static constexpr std::uint64_t all_chunks = (1 << 20) - 1;
  ATOLL_ANYWHERE static std::uint64_t told(std::uint64_t number, std::uint64_t chunks = all_chunks) {
    return number << 20 | chunks;
  }
  /// The signed difference counts.
  ATOLL_ANYWHERE static bool has_come(std::uint64_t found, std::uint64_t wanted) {
    return static_cast<std::int64_t>(found - wanted) >= 0;
  }
};

}  // namespace atl::memory
