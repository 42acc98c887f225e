#pragma once

/// Sequences of runs: the private and the shared end of transfers that gather and scatter.
///
/// A run is some contiguous objects. Both ends are walked at once and cut into pieces that lie within one run
/// of either; the pieces are copied in batches by the engine, which knows no types.

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <atoll/engine/pieces.hpp>
#include <upcxx/detail/check.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/transfer.hpp>
#include <upcxx/global_ptr.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// std::get, or the get of a program's own type.
namespace run_parts {
using std::get;
template <std::size_t I, class Run>
constexpr decltype(auto) part(Run&& run) {
  return get<I>(std::forward<Run>(run));
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

/// The shared end. Checked builds see to it that all runs belong to one rank.
template <class T>
struct shared_end {
  char const* call;
  char const* role;
  [[maybe_unused]] std::int32_t owner = -1;

  ATOLL_INLINE T* address(global_ptr<T> pointer, std::size_t objects) {
#if ATOLL_CHECKED
    if (owner < 0) owner = pointer.where();
    ATOLL_CHECK(owner == pointer.where(),
                "%s: the %s runs belong to ranks %d and %d; start one transfer for each rank", call, role,
                owner, pointer.where());
#endif
    return addressable(pointer, objects, call, role);
  }
};

/// The private end.
template <class T>
struct private_end {
  char const* call;
  char const* role;

  ATOLL_INLINE T* address(T* pointer, std::size_t) const {
    check_buffer(pointer, call, role);
    return pointer;
  }
};

/// Walks one sequence. `Byte` is std::byte, const where the runs are read.
template <class Byte, class T, class Runs, class End, class Iter>
class run_cursor {
 public:
  run_cursor(Iter begin, Iter end, Runs runs, End where)
      : next_(std::move(begin)), last_(std::move(end)), runs_(runs), where_(where) {}

  /// Makes `at` and `bytes` speak of a run that is not empty; false if there is none left.
  ATOLL_INLINE bool find() {
    while (bytes == 0) {
      if (next_ == last_) return false;
      auto const& run = *next_;
      std::size_t const objects = runs_.objects(run);
      at = reinterpret_cast<Byte*>(where_.address(Runs::pointer(run), objects));
      bytes = objects * sizeof(T);
      ++next_;
    }
    return true;
  }
  ATOLL_INLINE void take(std::size_t some) {
    at += some;
    bytes -= some;
  }

  Byte* at = nullptr;
  std::size_t bytes = 0;

 private:
  Iter next_;
  Iter last_;
  Runs runs_;
  End where_;
};

/// Copies what `source` walks over to where `dest` walks over.
template <class Dest, class Source>
void copy_runs([[maybe_unused]] char const* call, Dest dest, Source source) {
  constexpr std::size_t batch = 64;
  std::array<atl::engine::piece, batch> pieces;
  std::size_t n = 0;
  while (dest.find() && source.find()) {
    std::size_t const bytes = dest.bytes < source.bytes ? dest.bytes : source.bytes;
    pieces[n++] = {dest.at, source.at, bytes};
    dest.take(bytes);
    source.take(bytes);
    if (n == batch) {
      atl::engine::copy_pieces(pieces.data(), n);
      n = 0;
    }
  }
  atl::engine::copy_pieces(pieces.data(), n);
  ATOLL_CHECK(!dest.find() && !source.find(),
              "%s: the source runs and the destination runs differ in their total number of objects; lengths "
              "are objects, not bytes",
              call);
}

/// Copies private runs to the shared runs of one rank.
template <class T, class Runs, class SrcIter, class DestIter>
void put_pieces(char const* call, SrcIter src_begin, SrcIter src_end, Runs src_runs, DestIter dest_begin,
                DestIter dest_end, Runs dest_runs) {
  using source = run_cursor<std::byte const, T, Runs, private_end<T const>, SrcIter>;
  using dest = run_cursor<std::byte, T, Runs, shared_end<T>, DestIter>;
  copy_runs(call, dest(std::move(dest_begin), std::move(dest_end), dest_runs, {call, "destination"}),
            source(std::move(src_begin), std::move(src_end), src_runs, {call, "source"}));
}

/// Copies the shared runs of one rank to private runs.
template <class T, class Runs, class SrcIter, class DestIter>
void get_pieces(char const* call, SrcIter src_begin, SrcIter src_end, Runs src_runs, DestIter dest_begin,
                DestIter dest_end, Runs dest_runs) {
  using source = run_cursor<std::byte const, T, Runs, shared_end<T const>, SrcIter>;
  using dest = run_cursor<std::byte, T, Runs, private_end<T>, DestIter>;
  copy_runs(call, dest(std::move(dest_begin), std::move(dest_end), dest_runs, {call, "destination"}),
            source(std::move(src_begin), std::move(src_end), src_runs, {call, "source"}));
}

}  // namespace upcxx::inline UPCXX_MODE::detail
