#pragma once

/// Copies of lists of runs between any two memories: what both lists name becomes pieces, which are contiguous at both ends.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/copy_batch.hpp>
#include <atoll/engine/memory_copy.hpp>
#include <atoll/engine/rma.hpp>
#include <atoll/extensions/detail/box_copy.hpp>
#include <atoll/extensions/detail/copy_end.hpp>
#include <atoll/extensions/detail/copy_piece.hpp>
#include <upcxx/copy.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/remote_transfer.hpp>
#include <upcxx/detail/runs.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// What is left of a run.
struct placed_run {
  atl::engine::memory_place at{};
  std::size_t bytes = 0;
  bool on_host = true;

  void drop(std::size_t some) {
    at = at.moved_by(static_cast<std::ptrdiff_t>(some));
    bytes -= some;
  }
};

/// One of two lists, with what is left of it. Checks what it names.
template <class Runs, class Iter>
class placed_list {
 public:
  using pointer = std::remove_cvref_t<upcxx::detail::run_pointer<Runs, Iter>>;
  static_assert(is_copy_end<pointer>,
                "copy_irregular, copy_regular: runs must begin with T* or a global_ptr<T> of any kind");
  using element = typename upcxx::detail::run_element<pointer>::type;

  placed_list(Iter begin, Iter end, Runs runs, char const* call, char const* role)
      : next_(std::move(begin)), last_(std::move(end)), runs_(runs), call_(call), role_(role) {}

  /// The next run that is not empty; an empty one at the end.
  placed_run take() {
    placed_run result;
    while (result.bytes == 0 && !(next_ == last_)) {
      auto const& each = *next_;
      pointer const first = Runs::pointer(each);
      std::size_t const objects = runs_.objects(each);
      check(first, objects);
      result = {{upcxx::detail::owner_word(first), upcxx::detail::address_word(first)},
                objects * sizeof(element),
                upcxx::detail::on_host(first)};
      ++next_;
    }
    return result;
  }
  /// The one rank that all runs so far are of, in checked builds; this rank's for memory that has no owner.
  [[nodiscard]] upcxx::intrank_t owner() const { return owner_; }
  void be_of_one_rank() { of_one_rank_ = true; }

 private:
  void check(pointer first, std::size_t objects) {
    if constexpr (std::is_pointer_v<pointer>) {
      upcxx::detail::check_buffer(first, call_, role_);
      static_cast<void>(objects);
    } else {
      upcxx::detail::check_range(first, objects, call_, role_);
    }
    upcxx::intrank_t const rank = detail::rank_of_end(first);
    if (owner_ < 0) owner_ = rank;
    if (of_one_rank_) upcxx::detail::check_owner(call_, role_, owner_, rank);
  }

  Iter next_;
  Iter last_;
  Runs runs_;
  char const* call_;
  char const* role_;
  upcxx::intrank_t owner_ = -1;
  bool of_one_rank_ = false;
};

/// What both lists name.
struct listed_pieces {
  std::vector<copy_piece> pieces;  ///< none is empty
  upcxx::intrank_t dest = -1;      ///< whom remote completion goes to
  bool on_hosts = true;            ///< no device has any of it

  /// False where a piece has no address here.
  [[nodiscard]] bool are_addressed() const {
    return on_hosts && std::all_of(pieces.begin(), pieces.end(), [](copy_piece const& p) {
             return upcxx::detail::end_of(p.to.owner, p.to.address).is_here() &&
                    upcxx::detail::end_of(p.from.owner, p.from.address).is_here();
           });
  }
  void add(placed_run const& to, placed_run const& from, std::size_t bytes) {
    on_hosts = on_hosts && to.on_host && from.on_host;
    if (!pieces.empty()) {
      copy_piece& last = pieces.back();
      auto const goes_on = [&last](atl::engine::memory_place before, atl::engine::memory_place next) {
        return before.owner == next.owner && before.address + last.bytes == next.address;
      };
      if (goes_on(last.to, to.at) && goes_on(last.from, from.at)) {
        last.bytes += bytes;
        return;
      }
    }
    pieces.push_back({to.at, from.at, bytes});
  }
};

template <class SourceList, class DestList>
listed_pieces list_pieces([[maybe_unused]] char const* call, SourceList sources, DestList dests) {
  dests.be_of_one_rank();
  listed_pieces all;
  placed_run to = dests.take();
  placed_run from = sources.take();
  while (to.bytes != 0 && from.bytes != 0) {
    std::size_t const bytes = std::min(to.bytes, from.bytes);
    all.add(to, from, bytes);
    to.drop(bytes);
    from.drop(bytes);
    if (to.bytes == 0) to = dests.take();
    if (from.bytes == 0) from = sources.take();
  }
  ATOLL_CHECK(to.bytes == 0 && from.bytes == 0,
              "%s: the source runs and the destination runs differ in their total number of objects; "
              "lengths are objects, not bytes",
              call);
  all.dest = dests.owner() < 0 ? upcxx::rank_me() : dests.owner();
  return all;
}

/// One copy of the engine for each piece, and one completion.
template <class Cx>
auto copy_pieces_later(std::vector<copy_piece> const& pieces, upcxx::intrank_t target, Cx&& cx) {
  using pending = upcxx::detail::pending_copy<std::remove_cvref_t<Cx>>;
  upcxx::detail::check_requests<upcxx::detail::copy_events>(cx);
  auto record = std::make_unique<pending>(target, cx);
  auto group = std::make_unique<run_group>(pieces.size(), record.get(), nullptr);
  pending* const whole = record.release();
  auto futures = whole->register_all(std::forward<Cx>(cx));
  {
    run_group* const started = group.release();
    atl::copy_batch const together;
    std::size_t next = 0;
    for (copy_piece const& p : pieces)
      atl::engine::start_copy(p.to, p.from, p.bytes, started->completion_of(next++));
  }
  if constexpr (pending::blocks) whole->wait_for_source();
  return upcxx::detail::unwrap(std::move(futures));
}

/// Between memories of hosts of which some have no address here: one transfer, where the sources are of one rank, too.
struct hosts_transfer {
  bool possible = true;
  std::int32_t to = atl::engine::transfer_end::here;
  std::int32_t from = atl::engine::transfer_end::here;
  std::vector<atl::engine::transfer_run> to_runs;
  std::vector<atl::engine::transfer_run> from_runs;

  explicit hosts_transfer(listed_pieces const& all) {
    possible = all.on_hosts;
    for (copy_piece const& p : all.pieces) {
      if (!possible) return;
      add(p.to, p.bytes, to, to_runs);
      add(p.from, p.bytes, from, from_runs);
    }
  }

 private:
  void add(atl::engine::memory_place place, std::size_t bytes, std::int32_t& rank,
           std::vector<atl::engine::transfer_run>& runs) {
    atl::engine::transfer_end const end = upcxx::detail::end_of(place.owner, place.address);
    if (runs.empty()) rank = end.rank;
    possible = possible && rank == end.rank;
    runs.push_back({end.at, bytes});
  }
};

template <class Runs, class SrcIter, class DestIter, class Cx>
auto copy_listed(char const* call, SrcIter src_begin, SrcIter src_end, Runs src_runs, DestIter dest_begin,
                 DestIter dest_end, Runs dest_runs, Cx&& completions) {
  namespace up = upcxx::detail;
  using sources = placed_list<Runs, SrcIter>;
  using dests = placed_list<Runs, DestIter>;
  using T = typename dests::element;
  static_assert(!std::is_const_v<T>, "copy_irregular, copy_regular: destinations must not be const");
  static_assert(std::is_same_v<std::remove_const_t<typename sources::element>, T>,
                "copy_irregular, copy_regular: both lists must be of the same type of object");
  static_assert(upcxx::is_trivially_serializable<T>::value,
                "copy_irregular, copy_regular: T must be TriviallySerializable; use rpc() for other types");
  up::check_injection(call);
  listed_pieces const all =
      detail::list_pieces(call, sources(std::move(src_begin), std::move(src_end), src_runs, call, "source"),
                          dests(std::move(dest_begin), std::move(dest_end), dest_runs, call, "destination"));
  if (all.pieces.empty()) return detail::copy_nothing(all.dest, std::forward<Cx>(completions));
  if constexpr (up::goes_into_stream<std::remove_cvref_t<Cx>>) {
    // Of <atoll/stream.hpp>, as the request is.
    return start_all_in_stream(
        [&all](auto& copies) {
          copies.expect(all.pieces.size());
          copies.prepare(all.pieces);
          copies.start(all.pieces);
        },
        all.dest, std::forward<Cx>(completions));
  } else {
    static_assert(
        !up::needs_stream<std::remove_cvref_t<Cx>>,
        "copy_irregular, copy_regular: as_signal needs on_stream(), as it is the stream that orders "
        "signal and data; elsewhere ask for as_rpc");
    if (all.are_addressed()) {
      for (copy_piece const& p : all.pieces) {
        std::memcpy(reinterpret_cast<void*>(up::end_of(p.to.owner, p.to.address).at),
                    reinterpret_cast<void const*>(up::end_of(p.from.owner, p.from.address).at), p.bytes);
      }
      up::send_remote_completions(all.dest, completions);
      return up::complete_now<up::copy_events>(std::forward<Cx>(completions));
    }
    hosts_transfer const on_hosts(all);
    if (on_hosts.possible) {
      return up::take_in(up::transfer_runs_remotely<up::copy_events>(
          call, on_hosts.to, on_hosts.to_runs, on_hosts.from, on_hosts.from_runs, all.dest,
          up::handed_over<Cx>(completions)));
    }
    return detail::copy_pieces_later(all.pieces, all.dest, std::forward<Cx>(completions));
  }
}

}  // namespace atl::inline UPCXX_MODE::detail
