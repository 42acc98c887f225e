#pragma once

/// Lists of runs between any two memories, as rput_irregular and rput_regular of the specification have them for shared
/// heaps. Not part of upcxx.hpp.

#include <cstddef>
#include <utility>

#include <atoll/extensions/detail/listed_copy.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/detail/runs.hpp>

namespace atl::inline UPCXX_MODE {

/// Copies runs of objects, of any length, to other ones: whoever owns them, on devices of any kind or on hosts.
///
///     std::vector<std::pair<upcxx::global_ptr<double, kind>, std::size_t>> from{{mine, 3}, {mine + 7, 2}};
///     std::vector<std::pair<upcxx::global_ptr<double, kind>, std::size_t>> to{{theirs + 4, 5}};
///     atl::copy_irregular(from.begin(), from.end(), to.begin(), to.end()).wait();
///
/// @param src_runs_begin,src_runs_end    sequence of pair-likes: get<0> is a raw pointer to memory of this process or a
///                         global pointer of any kind, get<1> the number of objects. Of any ranks, in any memories.
/// @param dest_runs_begin,dest_runs_end  the same, of the same type of object, not const; all of one rank, which hears
///                         of remote completion. Raw pointers are this rank's.
/// @param completions      those of upcxx::copy: source, remote (on the master persona of the destinations' owner; here
///                         if there is none) and operation completion. With on_stream() (atoll/stream.hpp) the copy
///                         happens in the order of a stream, which may also give signals.
/// @return    by the completions asked for: a future by default.
/// @progress  internal. The lists are read once, before the call returns, and need be no longer than that; the memory
///            lives until the copy is complete. Copies between host memories of one host are complete when the call
///            returns; where a device or another host is concerned, progress completes them later.
///
/// The objects of the first sequence go, in order, to the places of the second; both have equally many objects, but
/// may be cut into runs differently. No object is written twice, and none is written where another is read. Errors: null
/// pointers (also of empty runs), unequal totals, destinations of several ranks and runs that leave their owner's heap,
/// or on this rank's device one allocation, end the job in checked builds; those that leave their segment on a device
/// of this host in all. Takes 40 bytes of private memory for each run during
/// the call, and where a device is concerned 80 until all have arrived.
///
/// Where a device is concerned each run that both lists have is a copy, all started together as in a copy_batch: one
/// call of CUDA's driver for each device and neighbour, or in a stream one kernel of the library for 32 runs of up to
/// 4 KiB between devices. Between the memories of two hosts all are one transfer, if the sources are of one rank.
template <typename SrcIter, typename DestIter, typename Cx = decltype(upcxx::operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto copy_irregular(SrcIter src_runs_begin, SrcIter src_runs_end,
                                           DestIter dest_runs_begin, DestIter dest_runs_end,
                                           Cx&& completions = upcxx::operation_cx::as_future()) {
  return detail::copy_listed("atl::copy_irregular", std::move(src_runs_begin), std::move(src_runs_end),
                             upcxx::detail::irregular_runs{}, std::move(dest_runs_begin),
                             std::move(dest_runs_end), upcxx::detail::irregular_runs{},
                             std::forward<Cx>(completions));
}

/// Like copy_irregular, with runs of one length on each end: the sequences are of pointers. Lengths are objects; the
/// products of length and number of runs are equal.
template <typename SrcIter, typename DestIter, typename Cx = decltype(upcxx::operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto copy_regular(SrcIter src_runs_begin, SrcIter src_runs_end,
                                         std::size_t src_run_length, DestIter dest_runs_begin,
                                         DestIter dest_runs_end, std::size_t dest_run_length,
                                         Cx&& completions = upcxx::operation_cx::as_future()) {
  return detail::copy_listed("atl::copy_regular", std::move(src_runs_begin), std::move(src_runs_end),
                             upcxx::detail::regular_runs{src_run_length}, std::move(dest_runs_begin),
                             std::move(dest_runs_end), upcxx::detail::regular_runs{dest_run_length},
                             std::forward<Cx>(completions));
}

}  // namespace atl::inline UPCXX_MODE
