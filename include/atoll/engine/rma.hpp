#pragma once

/// Transfers and atomic operations that concern host memory which this process does not address: that of ranks
/// of other hosts. They complete later, during progress, and tell a copy_completion.
///
/// An operation is begun in two steps, so that nothing of the program's is touched before it can no longer
/// fail: a remote_start is told what to do, which negotiates the first message and may throw; its start() cannot.
/// What is so small that it is always kept (short puts and gets, atomics) is written down first and sent by start().
///
/// Who hears of it, in this order: `source` (puts only; not called where source_left() was true), when the
/// memory that is read may be written again, then `arrived`, when the data is in place and visible at its
/// owner. What has a notice is told of at the owner of the destination besides, without the initiator's help.

#include <cstddef>
#include <cstdint>
#include <span>

#include <atoll/base/config.hpp>
#include <atoll/engine/am.hpp>
#include <atoll/engine/host_map.hpp>
#include <atoll/engine/memory_copy.hpp>

namespace atl::engine {

/// Bits of a place in an owner's region that say where in a segment it is. Those above them number the segment: 0 is the
/// shared heap, the only one there is now. So runs, boxes and the blocks of keys belong to a segment, too.
inline constexpr unsigned segment_bits = 44;

/// Where a transfer takes bytes from, or brings them to.
struct transfer_end {
  std::int32_t rank;  ///< world rank of the owner; `here`: memory that this process addresses
  std::uint64_t at;   ///< place in the owner's region, or the address

  static constexpr std::int32_t here = -1;
  [[nodiscard]] bool is_here() const noexcept { return rank == here; }
  static transfer_end in_memory(void const* address) noexcept {
    return {here, reinterpret_cast<std::uintptr_t>(address)};
  }
};

/// Contiguous bytes of an end, in its terms.
struct transfer_run {
  std::uint64_t at;
  std::uint64_t bytes;
};

/// What happens at the owner of a put's destination when all data is in place there.
struct arrival_notice {
  enum class sort : std::uint8_t { none, call, flag };
  sort what = sort::none;
  /// A call: a request as am_commit would send it, of `bytes` bytes with the header, whose payload is at
  /// `payload` until `arrived`.
  function_token token = 0;
  std::byte const* payload = nullptr;
  std::size_t bytes = 0;
  std::size_t alignment = buffer_alignment;
  /// A flag (flags.hpp) of that rank, and by how much it is raised.
  std::uint64_t flag = 0;
  std::uint64_t raise = 1;
};

inline constexpr arrival_notice no_notice{};

/// Who does the atomic operations of a domain: on one word always the same.
enum class atomics_by : std::uint8_t {
  processors,  ///< of the owner, or of any rank of its host
  network,     ///< on memory of other hosts; on that of the own host processors, which it goes together with
  network_alone,  ///< on all memory: processors would disturb it
};

/// An atomic operation, in the terms of who applies it (atomic_applier).
struct atomic_request {
  std::uint8_t operation;
  std::uint8_t order;
  std::uint8_t bytes;  ///< of the cell: 4 or 8
  std::uint8_t type;   ///< the applier's
  atomics_by by = atomics_by::processors;
  std::uint8_t unused[3] = {};
  std::uint64_t operands[2];  ///< the low bytes of each
};

/// Does an operation on a cell of this rank and returns what it held before, in the low bytes. Set by the front
/// end before start; the same code as for cells that processes address.
extern std::uint64_t (*atomic_applier)(void* cell, atomic_request const& what) noexcept;

/// Transfers larger than this travel in pieces, of which some are under way at a time.
inline constexpr std::size_t remote_piece_bytes = std::size_t{64} << 10;

/// A put in one message, which raises a flag of its owner's when the data are in place. Nothing is acknowledged, and nobody here is
/// told: it is for who hears from the owner that the flag has been seen. Begun, it must be sent.
class flagged_put {
 public:
  /// More is better sent by remote_start.
  static constexpr std::size_t longest = std::size_t{256} << 10;
  /// So much, or any part of it, is a unit: the flag is raised by one for each, so that its owner need not know how many messages
  /// have brought them.
  static constexpr std::size_t unit = remote_piece_bytes;
  static constexpr std::size_t units(std::size_t bytes) noexcept { return (bytes + unit - 1) / unit; }
  /// Should so much to that rank travel in messages of a unit each? So it is where the network takes such as they are, and its targets
  /// fetch longer ones: of these nothing leaves before the sender makes progress.
  ATOLL_EXPORT static bool best_cut(std::uint32_t rank, std::size_t bytes);

  /// `bytes` to `to`, to whose rank the flag belongs. What finds no room leaves later.
  ATOLL_EXPORT flagged_put(host_address const& to, std::size_t bytes, host_address const& flag);
  flagged_put(flagged_put const&) = delete;
  flagged_put& operator=(flagged_put const&) = delete;

  /// Where the data are to be written, before send(). Aligned to nothing.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  ATOLL_EXPORT void send() noexcept;

 private:
  outgoing out_;
  std::byte* data_;
  std::size_t message_bytes_;
  function_token token_;
};

/// Several such puts to ranks of one other host, in one message to one of these: a part for each. That rank puts all data in place
/// and raises all flags in its progress of any level, and so has to make some before the others hear of theirs.
class flagged_puts {
 public:
  /// Of the message, that so many bytes to one rank take; of all together at most longest().
  static constexpr std::size_t room(std::size_t bytes) noexcept { return bytes + 24; }
  /// To ranks of that one's host. 0: messages cost little, and should travel alone.
  ATOLL_EXPORT static std::size_t longest(std::uint32_t rank);
  /// Number of a rank's host.
  ATOLL_EXPORT static std::int32_t host_of(std::uint32_t rank);

  /// To `rank`: `parts` in so much room. What finds no room in the network leaves later.
  ATOLL_EXPORT flagged_puts(std::uint32_t rank, std::size_t parts, std::size_t room);
  flagged_puts(flagged_puts const&) = delete;
  flagged_puts& operator=(flagged_puts const&) = delete;

  /// The next part, as flagged_put has it; returns where its data are to be written, before send(). What is added last is put in place
  /// last: what is for `rank` itself, so that it has done all when it hears of that.
  ATOLL_EXPORT std::byte* add(host_address const& to, std::size_t bytes, host_address const& flag) noexcept;
  ATOLL_EXPORT void send() noexcept;

 private:
  outgoing out_;
  std::byte* next_;
  std::size_t message_bytes_;
};

namespace remote {
class shape;
struct stream;
struct network_atomic;
}  // namespace remote

/// An operation that has not begun. One of contiguous(), runs(), box() and atomic() is called, then start().
/// One end of a transfer at least is not here.
class remote_start {
 public:
  /// `call`: what the program has called, for messages about errors; stays. `source_awaited`: the program waits for the memory that a put
  /// reads, or wants to be told when it has been read.
  remote_start(char const* call, pressure when_full, bool source_awaited = false) noexcept
      : call_(call), when_full_(when_full), source_awaited_(source_awaited) {}
  /// Never waits for room.
  explicit remote_start(char const* call) noexcept : call_(call), in_pieces_(true) {}
  remote_start(remote_start const&) = delete;
  remote_start& operator=(remote_start const&) = delete;
  /// Nothing has happened if it was not started.
  ~remote_start() {
    if (engaged_ || stream_ != nullptr || by_network_ != nullptr) [[unlikely]]
      give_up();
  }

  // What finds no memory for messages is not refused: it leaves later. There is at least one byte to transfer. A notice is for puts: from
  // here to elsewhere.

  ATOLL_EXPORT void contiguous(transfer_end to, transfer_end from, std::size_t bytes,
                               arrival_notice const& notice = no_notice);
  /// What the one list names goes, in order, to what the other does; equally many bytes. Ends' `at` is not used.
  /// No containers of the standard pass from programs to the library: they are others with _GLIBCXX_DEBUG.
  ATOLL_EXPORT void runs(transfer_end to, std::span<transfer_run const> to_runs, transfer_end from,
                         std::span<transfer_run const> from_runs, arrival_notice const& notice = no_notice);
  /// See copy_strided(). The box is not empty.
  ATOLL_EXPORT void box(transfer_end to, std::ptrdiff_t const* to_strides, transfer_end from,
                        std::ptrdiff_t const* from_strides, std::size_t const* extents,
                        std::size_t dimensions, std::size_t element_bytes,
                        arrival_notice const& notice = no_notice);
  /// The value before comes to the result of start().
  ATOLL_EXPORT void atomic(host_address const& cell, atomic_request const& what);

  /// Has the memory that a put reads been read already?
  [[nodiscard]] bool source_left() const noexcept { return source_left_; }

  /// Begins. `completion` stays until it has arrived. `result`: where what a get or atomic brings goes, if
  /// that was not known before.
  ATOLL_EXPORT void start(copy_completion* completion, void* result = nullptr) noexcept;

 private:
  bool begin_message(std::int32_t rank, std::size_t bytes, std::size_t alignment);
  void send_brief(copy_completion* completion) noexcept;
  void be_brief(std::int32_t rank, function_token token, std::uint64_t offset, std::uint64_t word,
                std::size_t bytes) noexcept;
  void put_briefly(transfer_end const& to, transfer_end const& from, std::uint32_t bytes) noexcept;
  bool put_whole(transfer_end const& to, transfer_end const& from, std::uint32_t bytes);
  bool get_whole(transfer_end const& to, transfer_end const& from, std::uint32_t bytes);
  void in_pieces(remote::shape&& what, arrival_notice const& notice);
  bool begin_directly(remote::shape& what, arrival_notice const& notice, bool more);
  ATOLL_EXPORT void give_up() noexcept;

  char const* call_;
  pressure when_full_ = pressure::park;
  bool in_pieces_ = false;
  bool source_awaited_ = false;
  bool engaged_ = false;
  bool source_left_ = false;
  bool charges_ = false;     ///< its data take room of the window
  bool calls_ = false;       ///< its data bring a call of the program's
  std::uint32_t bytes_ = 0;  ///< of data that a get or atomic brings
  std::byte* result_ = nullptr;
  outgoing out_;
  std::size_t head_at_ = 0;
  std::size_t message_bytes_ = 0;
  function_token token_ = 0;
  /// Payload of a message that start() sends in one step; its first word is the completion. Not initialised: only what is
  /// written of it is read.
  std::uint64_t brief_[11];
  std::uint32_t brief_bytes_ = 0;  ///< 0: it is none
  // Instead of a message:
  remote::stream* stream_ = nullptr;              ///< goes out in pieces
  remote::network_atomic* by_network_ = nullptr;  ///< an atomic operation
};

// ---- operations that share a completion ------------------------------------------------------------
//
// Many small operations of one completion, of which none has news of its own (`source`, a notice): they are counted, and it hears
// `arrived` when none is under way. Those that wait to leave together share a message and an answer.

enum class joined : std::uint8_t {
  no,                ///< nothing has happened: this one had better be started alone
  needs_completion,  ///< the same, but it may join a fresh completion
  yes,               ///< it is under way, and `all` stays until it has arrived
};

/// Longest put that joins others.
inline constexpr std::size_t longest_joined = 64;

/// `all`: a completion that has not arrived yet, or null; `fresh`: it has no operations yet. Of another `call` than its first one it takes none.
ATOLL_EXPORT joined join_put(copy_completion* all, bool fresh, char const* call, host_address const& to,
                             void const* data, std::size_t bytes) noexcept;
/// `result`: where the value before goes; may be null.
ATOLL_EXPORT joined join_atomic(copy_completion* all, bool fresh, char const* call, host_address const& cell,
                                atomic_request const& what, void* result) noexcept;

}  // namespace atl::engine
