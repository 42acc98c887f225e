#pragma once

/// Sequences of runs: the private and the shared end of transfers that gather and scatter.
///
/// A run is some contiguous objects. Both ends are walked at once, usually from run to run of equal length,
/// else in steps to where the next run ends on either.

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/engine/rma.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/transfer.hpp>
#include <upcxx/global_ptr.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// std::get, or the get of a program's own type.
namespace run_parts {
using std::get;
template <std::size_t Index, class Run>
constexpr decltype(auto) part(Run&& run) {
  return get<Index>(std::forward<Run>(run));
}
}  // namespace run_parts

/// Runs of an irregular transfer: pairs of pointer and number of objects.
struct irregular_runs {
  template <class Run>
  static auto pointer(Run const& run) {
    return run_parts::part<0>(run);
  }
  template <class Run>
  std::size_t objects(Run const& run) const {
    return static_cast<std::size_t>(run_parts::part<1>(run));
  }
};

/// Runs of a regular transfer: pointers, and one number of objects for all.
struct regular_runs {
  std::size_t each;
  template <class Run>
  static auto pointer(Run const& run) {
    return run;
  }
  template <class Run>
  std::size_t objects(Run const&) const {
    return each;
  }
};

/// Pointer that a sequence's runs begin with.
template <class Runs, class Iter>
using run_pointer = decltype(Runs::pointer(*std::declval<Iter&>()));

/// Type of the objects behind a run's pointer, raw or global.
template <class Pointer>
struct run_element {};
template <class T>
struct run_element<T*> {
  using type = T;
};
template <class T, memory_kind Kind>
struct run_element<global_ptr<T, Kind>> {
  using type = T;
};

/// In checked builds, ends the job if a run is not of the same rank as the first one.
ATOLL_INLINE void check_owner([[maybe_unused]] char const* call, [[maybe_unused]] char const* role,
                              [[maybe_unused]] std::int32_t& owner, [[maybe_unused]] std::int32_t of_run) {
#if ATOLL_CHECKED
  if (owner < 0) owner = of_run;
  ATOLL_CHECK(owner == of_run, "%s: the %s runs belong to ranks %d and %d; start one transfer for each rank",
              call, role, owner, of_run);
#endif
}

/// The shared end, in memory that this process addresses. Checked builds see to it that all runs belong to one
/// rank.
template <class T>
struct shared_end {
  using element = T;
  char const* call;
  char const* role;
  [[maybe_unused]] std::int32_t owner = -1;

  ATOLL_INLINE T* address(global_ptr<T> pointer, std::size_t objects) {
    detail::check_owner(call, role, owner, pointer.where());
    T* const found = detail::address_here(pointer, objects, call, role);
    // The first run alone has said that it is here.
    if (found == nullptr && objects != 0) [[unlikely]]
      atl::rt::refuse_run(global_ptr_access::owner(pointer), global_ptr_access::address(pointer), call, role);
    return found;
  }
};

/// The private end.
template <class T>
struct private_end {
  using element = T;
  char const* call;
  char const* role;

  ATOLL_INLINE T* address(T* pointer, std::size_t) const {
    detail::check_buffer(pointer, call, role);
    return pointer;
  }
  atl::engine::transfer_end place(T* pointer, std::size_t objects) const {
    return atl::engine::transfer_end::in_memory(address(pointer, objects));
  }
};

/// The shared end, in memory that this process does not address.
template <class T>
struct remote_end {
  using element = T;
  char const* call;
  char const* role;
  std::int32_t checked = -1;

  atl::engine::transfer_end place(global_ptr<T> pointer, std::size_t objects) {
    detail::check_owner(call, role, checked, pointer.where());
    detail::check_range(pointer, objects, call, role);
    return {pointer.where(), global_ptr_access::address(pointer)};
  }
};

/// Contiguous objects.
template <class T>
struct run {
  T* at;
  std::size_t objects;

  ATOLL_INLINE void drop(std::size_t some) {
    at += some;
    objects -= some;
  }
};

/// One of the two sequences, with what is left of it.
template <class T, class Runs, class End, class Iter>
class run_list {
 public:
  run_list(Iter begin, Iter end, Runs runs, End where)
      : next_(std::move(begin)), last_(std::move(end)), runs_(runs), where_(where) {}

  ATOLL_INLINE bool ended() { return next_ == last_; }
  ATOLL_INLINE run<T> take() {
    auto const& first = *next_;
    std::size_t const objects = runs_.objects(first);
    run<T> const result{where_.address(Runs::pointer(first), objects), objects};
    ++next_;
    return result;
  }

 private:
  Iter next_;
  Iter last_;
  Runs runs_;
  End where_;
};

template <class T>
ATOLL_INLINE void copy_run(T* dest, T const* source, std::size_t objects) {
  if (objects == 1) {
    detail::copy_objects(dest, source, 1);  // a load and a store
  } else {
    detail::copy_objects(dest, source, objects);
  }
}

/// Copies two runs that differ in length, and those after them until both lists are at the end of a run.
/// False if one list ends before.
template <class T, class Dest, class Source>
ATOLL_INLINE bool copy_unequal_runs(run<T> d, run<T const> s, Dest& dest, Source& source) {
  for (;;) {
    std::size_t const objects = d.objects < s.objects ? d.objects : s.objects;
    detail::copy_run(d.at, s.at, objects);
    d.drop(objects);
    s.drop(objects);
    if (d.objects == s.objects) return true;
    if (d.objects == 0) {
      if (dest.ended()) return false;
      d = dest.take();
    } else {
      if (source.ended()) return false;
      s = source.take();
    }
  }
}

/// Copies what one list names to what the other names.
template <class Dest, class Source>
void copy_runs([[maybe_unused]] char const* call, Dest dest, Source source) {
  bool equal = true;
  while (equal && !dest.ended() && !source.ended()) {
    auto const d = dest.take();
    auto const s = source.take();
    if (d.objects == s.objects) [[likely]] {
      detail::copy_run(d.at, s.at, d.objects);
    } else {
      equal = detail::copy_unequal_runs(d, s, dest, source);
    }
  }
#if ATOLL_CHECKED
  while (equal && !dest.ended()) equal = dest.take().objects == 0;
  while (equal && !source.ended()) equal = source.take().objects == 0;
  ATOLL_CHECK(equal,
              "%s: the source runs and the destination runs differ in their total number of objects; "
              "lengths are objects, not bytes",
              call);
#endif
}

/// Copies source runs of T to destination runs; one end is shared, runs of one rank, the other private.
template <class T, template <class> class DestEnd, template <class> class SourceEnd, class Runs,
          class SrcIter, class DestIter>
void copy_between_ends(char const* call, SrcIter src_begin, SrcIter src_end, Runs src_runs,
                       DestIter dest_begin, DestIter dest_end, Runs dest_runs) {
  using source = run_list<T const, Runs, SourceEnd<T const>, SrcIter>;
  using dest = run_list<T, Runs, DestEnd<T>, DestIter>;
  detail::copy_runs(call, dest(std::move(dest_begin), std::move(dest_end), dest_runs, {call, "destination"}),
                    source(std::move(src_begin), std::move(src_end), src_runs, {call, "source"}));
}

/// An end of a transfer as the engine takes it, when the other one is elsewhere.
struct listed_runs {
  std::int32_t owner = atl::engine::transfer_end::here;
  std::vector<atl::engine::transfer_run> runs;  ///< none is empty
  std::uint64_t bytes = 0;
};

template <class End, class Iter, class Runs>
listed_runs list_runs(End where, Iter next, Iter const& last, Runs runs) {
  listed_runs result;
  for (; next != last; ++next) {
    auto const& each = *next;
    auto const pointer = Runs::pointer(each);
    std::size_t const objects = runs.objects(each);
    atl::engine::transfer_end const place = where.place(pointer, objects);
    std::uint64_t const bytes = objects * sizeof(typename End::element);
    result.owner = place.rank;
    if (bytes == 0) continue;
    result.bytes += bytes;
    if (!result.runs.empty() && result.runs.back().at + result.runs.back().bytes == place.at) {
      result.runs.back().bytes += bytes;
    } else {
      result.runs.push_back({place.at, bytes});
    }
  }
  return result;
}

/// As copy_runs: checked builds compare the ends.
inline void check_lists([[maybe_unused]] char const* call, [[maybe_unused]] listed_runs const& source,
                        [[maybe_unused]] listed_runs const& dest) {
  ATOLL_CHECK(source.bytes == dest.bytes,
              "%s: the source runs and the destination runs differ in their total number of objects; "
              "lengths are objects, not bytes",
              call);
}

}  // namespace upcxx::inline UPCXX_MODE::detail
