#pragma once

/// Copies between many arrays of many ranks, planned once and replayed.

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/engine/flags.hpp>
#include <atoll/extensions/array/view.hpp>
#include <atoll/extensions/detail/device_replay.hpp>
#include <atoll/extensions/detail/replay.hpp>
#include <atoll/extensions/detail/replay_plan.hpp>
#include <atoll/extensions/detail/signal_links.hpp>
#include <atoll/extensions/detail/transfer_plan.hpp>
#include <atoll/stream.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE {

struct transfer_options {
  /// Every run begins with a handshake (see transfer), also where alternating destinations would not need it.
  bool always_handshake = false;
  /// Boxes whose contiguous pieces have fewer bytes than this travel packed to other ranks, which copy them
  /// to their places: writing single cells into many lines that another core has costs more. 0: never. Between
  /// hosts all boxes travel packed; between devices none does.
  std::size_t pack_below = 32;
  /// What goes to several ranks of another host, and is small, travels in one message where messages cost much (over TCP), to one of these
  /// ranks, which puts it in place for the others in its progress of any level. So they do not finish a run before that one has made
  /// some. For programs in which no rank computes for long between start() and finish(), nor waits, before or between them and
  /// otherwise than in this library, until others have finished the run. Between devices it changes nothing.
  bool by_host = false;
};

/// What one run of a transfer moves, as this rank sends it.
struct transfer_statistics {
  std::size_t neighbors = 0;     ///< other ranks that this one sends to or receives from
  std::size_t targets = 0;       ///< those it sends to
  std::size_t messages = 0;      ///< boxes written into arrays of other ranks
  std::size_t packed = 0;        ///< those of them that go through the receiver's inbox
  std::size_t elements = 0;      ///< elements of all of them
  std::size_t local_copies = 0;  ///< boxes between own arrays
  /// Runs of bytes that are contiguous at both ends, of all boxes, local ones included, where the arrays are on
  /// devices: each is a copy, unless a kernel of the library copies the box.
  std::size_t device_copies = 0;
};

/// Moves the intersection of each source with each destination, over all ranks of a team, again and again.
/// Planned when constructed; a run then only copies: every owner of a source writes straight into the
/// destinations, in their layout (small pieces: see pack_below), and tells each neighbour by one flag when
/// its data is in place. No barrier, no further synchronisation: after a run the rank's own destinations have
/// all their data.
///
/// *When data is whose:*
///
///   - What a run has brought may be used until this rank enters the next run of the same object, whatever
///     that moves. From then on until the next run with the same destination offset has finished, the
///     destinations of that offset belong to the transfer: neither read nor write them.
///   - Sources may be written when the run has finished.
///
/// Where runs alternate between two destination offsets (A, B, A, B, ...), a run needs no handshake: the
/// neighbour's data of the previous run proves that it has entered that one, and so no longer uses what came
/// before. In all other cases (the same offset twice in a row, the first runs, pairs of ranks of which only
/// one sends) a receiver first tells its senders that it has entered the run. This is automatic. A program
/// that uses destinations outside the first rule, for instance sets a whole field to zero, ghosts included,
/// between runs that alternate, or fills it by another transfer, calls shake_hands() before the next run.
///
/// *On devices* (Kind) the engine copies from device to device, all boxes of a run together, and a neighbour is
/// told when all for it are in place. A box of many pieces is one kernel of the library where there is one for
/// both devices; else each piece is a copy. The library knows nothing of kernels: those that write sources, or use
/// destinations, have ended when their rank enters a run. Those that start when a run has finished see what it
/// has brought.
///
/// One thread at a time uses an object. Objects are independent of each other and may be under way at once.
template <class T, int N, upcxx::memory_kind Kind = upcxx::memory_kind::host>
class transfer {
  static_assert(!std::is_const_v<T>, "atl::transfer<T, N>: T must not be const");
  static_assert(upcxx::is_trivially_serializable<T>::value,
                "atl::transfer<T, N>: T must be TriviallySerializable");
  static_assert(Kind != upcxx::memory_kind::any,
                "atl::transfer<T, N, Kind>: all arrays are in memory of one kind, which must be named");
  static constexpr bool on_host = Kind == upcxx::memory_kind::host;

 public:
  transfer() = default;
  /// Collective over `over`.
  ///
  /// @param sources,destinations  arrays in this rank's own shared memory, or on its devices, any number, any
  ///        layouts; the memory outlives the object. Where two sources have a point in common with one destination, which
  ///        of them arrives is not specified.
  /// @param options  the same on all ranks.
  /// @throws    upcxx::bad_shared_alloc on all ranks if one has no room for its flags, or for what comes packed.
  /// @progress  user.
  transfer(std::span<array<T, N, Kind> const> sources, std::span<array<T, N, Kind> const> destinations,
           transfer_options options = {}, upcxx::team const& over = upcxx::world())
      : replay_(planned(plain(sources, over, "source"), plain(destinations, over, "destination"), options,
                        over)) {}
  /// Nothing may be under way. Local: waits for nobody, since a run that has finished leaves nothing behind.
  ~transfer() { check_idle("its destructor"); }
  /// A run that is under way goes on in the new object; the old one moves nothing.
  transfer(transfer&&) = default;
  /// The same; nothing may be under way in this one.
  transfer& operator=(transfer&& other) {
    check_idle("an assignment to it");
    replay_ = std::move(other.replay_);
    signals_ = std::move(other.signals_);
    return *this;
  }

  /// start() and finish(). All ranks of the team make the same runs in the same order.
  void run(std::ptrdiff_t source_offset = 0, std::ptrdiff_t destination_offset = 0) {
    start(source_offset, destination_offset);
    finish();
  }
  /// Begins a run: sends what may be sent, and does the copies between own arrays.
  ///
  /// @param source_offset,destination_offset  elements that are added to the place of every source and every
  ///        destination: another field of the same memory. The same on all ranks.
  /// @progress  none. Never waits.
  void start(std::ptrdiff_t source_offset = 0, std::ptrdiff_t destination_offset = 0) {
    upcxx::detail::check_injection("atl::transfer::start");
    check_idle("start");
    replay_.start(source_offset * bytes, destination_offset * bytes);
  }
  /// True if the run has finished. Goes on with it as far as possible.
  ///
  /// @progress  internal.
  [[nodiscard]] bool test() {
    if (!replay_.under_way() || replay_.advance()) return true;
    atl::engine::poll_for_flags();
    return replay_.advance();
  }
  /// Waits until everything has been sent and everything has come, and until ranks that only receive from this one
  /// have entered the run.
  ///
  /// @progress  internal; waits as neighbors::wait does.
  void finish() {
    if (replay_.under_way()) replay_.finish();
  }

  /// For runs in the order of streams, of arrays on devices: makes two signals for each neighbour in the segment
  /// of an allocator, which stays where it is. Collective over `over`, the team of the construction; no run is
  /// under way.
  ///
  /// @throws    upcxx::bad_shared_alloc on all ranks if one has no room, or no device.
  /// @progress  user.
  template <class Device>
  requires(Device::kind == Kind) void use_streams(upcxx::device_allocator<Device>& gpu,
                                                  upcxx::team const& over = upcxx::world()) {
    check_idle("use_streams");
    signals_ = detail::signal_links<Kind>(gpu, replay_.peers(), replay_type::signals_of_peer, over,
                                          "atl::transfer::use_streams");
  }
  /// A whole run at the end of a stream, for which the host does not wait: after the kernels that are there, and
  /// before what follows, which sees what the run has brought. All ranks of the team make the same runs in the
  /// same order, all of them at ends of streams or all by start(); a rank may have several runs in its stream, or
  /// in graphs: while the stream is captured the run becomes nodes.
  ///
  /// What the rules say of entering and leaving a run is true of the stream. Every run begins with a handshake.
  /// Where the stream's device does not reach a neighbour's memory (as of on_stream) this rank's user-level
  /// progress copies.
  ///
  /// Before start() and before the object ends, all ranks' streams have come to the end of their runs.
  ///
  /// @throws    upcxx::bad_shared_alloc if this rank's host is needed and the shared heap has no room for that (see
  ///            on_stream()). Nothing has happened then: make the run again when there is some, as neighbours wait.
  /// @progress  none; user where the stream is full (see wait() of a stream).
  void run(stream const& s, std::ptrdiff_t source_offset = 0,
           std::ptrdiff_t destination_offset = 0) requires(!on_host) {
    upcxx::detail::check_injection("atl::transfer::run");
    check_idle("run");
    if (!signals_) {
      atl::check_failed("atl::transfer: run(stream) needs signals; call use_streams(allocator) on all ranks");
    }
    replay_.run_in(s, signals_, source_offset * bytes, destination_offset * bytes);
  }

  /// The runs that follow begin with handshakes again, until they have alternated twice. Local and immediate;
  /// all ranks call it between the same runs.
  void shake_hands() { replay_.forget_runs(); }

  /// What a run moves, as this rank sends it.
  [[nodiscard]] transfer_statistics statistics() const {
    transfer_statistics result;
    result.neighbors = replay_.links().size();
    for (auto const& l : replay_.links()) {
      result.targets += l.sends ? 1U : 0U;
      result.messages += l.straight.count + l.packed.count;
      result.packed += l.packed.count;
      result.elements += l.elements;
    }
    result.local_copies = replay_.local_boxes();
    if constexpr (!on_host) result.device_copies = replay_.copies();
    return result;
  }
  /// Boxes that a run writes into arrays of other ranks.
  [[nodiscard]] std::size_t messages() const { return statistics().messages; }
  /// Elements that a run writes into arrays of other ranks.
  [[nodiscard]] std::size_t elements() const { return statistics().elements; }
  /// Bytes that a run sends to each rank it sends to, in no order that is promised.
  [[nodiscard]] std::vector<std::size_t> bytes_by_target() const {
    std::vector<std::size_t> result;
    for (auto const& l : replay_.links()) {
      if (l.sends) result.push_back(l.elements * sizeof(T));
    }
    return result;
  }

 private:
  static constexpr auto bytes = static_cast<std::ptrdiff_t>(sizeof(T));

  using replay_type = std::conditional_t<on_host, detail::replay, detail::device_replay>;
  using plain_arrays = typename detail::transfer_plan<N>::arrays;

  static replay_type planned(plain_arrays const& sources, plain_arrays const& destinations,
                             transfer_options options, upcxx::team const& over) {
    if constexpr (on_host) {
      return detail::replay_plan<N>::make(sources, destinations, sizeof(T),
                                          {options.always_handshake, options.pack_below, options.by_host},
                                          over);
    } else {
      return detail::device_replay::make<N>(sources, destinations, sizeof(T), options.always_handshake, over);
    }
  }
  static plain_arrays plain(std::span<array<T, N, Kind> const> arrays, upcxx::team const& over,
                            char const* role) {
    plain_arrays result;
    for (array<T, N, Kind> const& a : arrays) {
      if (a.empty()) continue;
      if (a.where() != upcxx::rank_me()) {
        atl::check_failed(
            "atl::transfer: a %s is in memory of rank %d; every rank gives the arrays in its own memory",
            role, static_cast<int>(a.where()));
      }
      result.push_back({a.domain(), a.strides() * bytes, upcxx::detail::global_ptr_access::address(a.data()),
                        over.rank_me(), upcxx::detail::global_ptr_access::owner(a.data())});
    }
    return result;
  }
  void check_idle([[maybe_unused]] char const* call) const {
    ATOLL_CHECK(!replay_.under_way(), "atl::transfer: %s while a run is under way; call finish() first",
                call);
  }

  struct nothing {};

  replay_type replay_;
  [[no_unique_address]] std::conditional_t<on_host, nothing, detail::signal_links<Kind>> signals_;
};

}  // namespace atl::inline UPCXX_MODE
