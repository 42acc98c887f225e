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
#include <atoll/extensions/detail/replay.hpp>
#include <atoll/extensions/detail/replay_plan.hpp>
#include <atoll/extensions/detail/transfer_plan.hpp>
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
  /// hosts all boxes travel packed.
  std::size_t pack_below = 32;
};

/// What one run of a transfer moves, as this rank sends it.
struct transfer_statistics {
  std::size_t neighbors = 0;     ///< other ranks that this one sends to or receives from
  std::size_t targets = 0;       ///< those it sends to
  std::size_t messages = 0;      ///< boxes written into arrays of other ranks
  std::size_t packed = 0;        ///< those of them that go through the receiver's inbox
  std::size_t elements = 0;      ///< elements of all of them
  std::size_t local_copies = 0;  ///< boxes between own arrays
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
/// One thread at a time uses an object. Objects are independent of each other and may be under way at once.
template <class T, int N>
class transfer {
  static_assert(!std::is_const_v<T>, "atl::transfer<T, N>: T must not be const");
  static_assert(upcxx::is_trivially_serializable<T>::value,
                "atl::transfer<T, N>: T must be TriviallySerializable");

 public:
  transfer() = default;
  /// Collective over `over`.
  ///
  /// @param sources,destinations  arrays in this rank's own shared memory, any number, any layouts; the
  ///        memory outlives the object. Where two sources have a point in common with one destination, which
  ///        of them arrives is not specified.
  /// @param options  the same on all ranks.
  /// @progress  user.
  transfer(std::span<array<T, N> const> sources, std::span<array<T, N> const> destinations,
           transfer_options options = {}, upcxx::team const& over = upcxx::world())
      : replay_(detail::replay_plan<N>::make(plain(sources, over, "source"),
                                             plain(destinations, over, "destination"), sizeof(T),
                                             {options.always_handshake, options.pack_below}, over)) {}
  /// Nothing may be under way. Local: waits for nobody, since a run that has finished leaves nothing behind.
  ~transfer() { check_idle("its destructor"); }
  transfer(transfer&&) = default;
  transfer& operator=(transfer&&) = default;

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
  /// Waits until everything has been sent and everything has come.
  ///
  /// @progress  internal; waits as neighbors::wait does.
  void finish() {
    if (replay_.under_way()) replay_.finish();
  }

  /// The runs that follow begin with handshakes again, until they have alternated twice. Local and immediate;
  /// all ranks call it between the same runs.
  void shake_hands() { replay_.forget_runs(); }

  /// What a run moves, as this rank sends it.
  [[nodiscard]] transfer_statistics statistics() const {
    transfer_statistics result;
    result.neighbors = replay_.links().size();
    for (detail::replay::link const& l : replay_.links()) {
      result.targets += l.sends ? 1U : 0U;
      result.messages += l.straight.count + l.packed.count;
      result.packed += l.packed.count;
      result.elements += l.elements;
    }
    result.local_copies = replay_.local_boxes();
    return result;
  }
  /// Boxes that a run writes into arrays of other ranks.
  [[nodiscard]] std::size_t messages() const { return statistics().messages; }
  /// Elements that a run writes into arrays of other ranks.
  [[nodiscard]] std::size_t elements() const { return statistics().elements; }
  /// Bytes that a run sends to each rank it sends to.
  [[nodiscard]] std::vector<std::size_t> bytes_by_target() const {
    std::vector<std::size_t> result;
    for (detail::replay::link const& l : replay_.links()) {
      if (l.sends) result.push_back(l.elements * sizeof(T));
    }
    return result;
  }

 private:
  static constexpr auto bytes = static_cast<std::ptrdiff_t>(sizeof(T));

  static typename detail::transfer_plan<N>::arrays plain(std::span<array<T, N> const> arrays,
                                                         upcxx::team const& over, char const* role) {
    typename detail::transfer_plan<N>::arrays result;
    for (array<T, N> const& a : arrays) {
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

  detail::replay replay_;
};

}  // namespace atl::inline UPCXX_MODE
