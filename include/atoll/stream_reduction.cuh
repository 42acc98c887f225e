#pragma once

/// Reductions of arrays in memory of devices, in the order of streams: a kernel on each rank's device, and no
/// host in between. For CUDA and, on simulated devices, plain C++; see <atoll/device.cuh>. Not part of
/// upcxx.hpp.
///
///     atl::stream_reduction sums(gpu);                      // collective, once
///     kernel<<<..., s>>>(gpu.local(parts));
///     sums.reduce_all(s, parts, totals, n, atl::device::plus{});
///     next<<<..., s>>>(gpu.local(totals));
///     sums.destroy();                                       // collective, when no stream is in it
///
/// A captured stream gets a node; one launch of all ranks' graphs is then one call.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <atoll/device.cuh>
#include <atoll/extensions/detail/allocate_together.hpp>
#include <atoll/extensions/detail/kept_team.hpp>
#include <atoll/extensions/device/operations.hpp>
#include <atoll/extensions/stream/matching_calls.hpp>
#include <atoll/extensions/stream/reductions_by_hosts.hpp>
#include <atoll/extensions/stream/reductions_by_library.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/dist_object.hpp>
#include <upcxx/persona.hpp>

namespace atl::inline UPCXX_MODE {

namespace device {

/// What kernels of reductions know.
struct reduction_view {
  /// Where a rank's arrays are that are read and written: bytes behind its memory for reductions, which are
  /// in one segment. Under the number of the reduction.
  struct offer {
    stamped in;
    stamped out;
  };

  std::uint64_t const* peers = nullptr;  ///< of each rank's memory for reductions, as kernels see it
  std::size_t few = 0;                   ///< elements that are sent as values with numbers

  // A rank's memory: two words, one of each rank, then offers and values, each by parity and rank.
  ATOLL_ANYWHERE std::uint64_t* words(std::int32_t rank) const {
    return reinterpret_cast<std::uint64_t*>(peers[rank]);
  }
  /// Numbers of reductions that ranks have ended.
  ATOLL_ANYWHERE std::uint64_t* ended(std::int32_t rank) const { return words(rank) + 2; }
  ATOLL_ANYWHERE offer* offers(std::int32_t rank, std::uint64_t number, std::int32_t ranks) const {
    return reinterpret_cast<offer*>(ended(rank) + rounded(static_cast<std::uint64_t>(ranks))) +
           (number % 2) * static_cast<std::uint64_t>(ranks);
  }
  ATOLL_ANYWHERE stamped* values(std::int32_t rank, std::uint64_t number, std::int32_t ranks,
                                 std::int32_t from) const {
    auto* const begin = reinterpret_cast<stamped*>(offers(rank, 0, ranks) + 2 * ranks);
    return begin +
           ((number % 2) * static_cast<std::uint64_t>(ranks) + static_cast<std::uint64_t>(from)) * few;
  }
  static std::size_t bytes(std::size_t ranks, std::size_t few) {
    return (2 + rounded(ranks)) * sizeof(std::uint64_t) + 2 * ranks * (sizeof(offer) + few * sizeof(stamped));
  }

 private:
  /// What follows so many words has an address for 16 bytes.
  ATOLL_ANYWHERE static std::uint64_t rounded(std::uint64_t words) { return (words + 1) / 2 * 2; }
};

// The number of a kernel's reduction is a word of its device, so that graphs may be launched again. All blocks
// read it, and the last one to end counts on. Kernels of a stream see what the ones before have written, so the
// word needs no order of its own, which would last until all stores to other devices have arrived.

ATOLL_ANYWHERE inline std::uint64_t next_reduction(std::uint64_t const* own) {
  return words::load_relaxed(own) + 1;
}
/// One thread of each block asks, when its block has nothing left to read or write.
ATOLL_ANYWHERE inline bool is_last_block(std::uint64_t* own) {
  return block::count() == 1 || words::fetch_add_acquire(own + 1, 1) + 1 == block::count();
}
ATOLL_ANYWHERE inline void end_reduction(std::uint64_t* own, std::uint64_t number) {
  words::store_relaxed(own + 1, 0);
  words::store_relaxed(own, number);
}

/// Few elements: each is sent to all with the number of the reduction, so that one way is all there is.
/// `root`: the one rank that stores the result; negative: all do.
template <class T, class Op>
struct reduce_few {
  ATOLL_ANYWHERE void operator()(device_team team, reduction_view view, T const* in, T* out, std::size_t n,
                                 std::int32_t root, Op op) const {
    std::int32_t const me = team.rank_me();
    std::int32_t const ranks = team.rank_n();
    std::uint64_t* const own = view.words(me);
    std::uint64_t const number = next_reduction(own);
    auto const all = this_grid();
    for (std::size_t i = all.rank(); i < n; i += all.size()) {
      for (std::int32_t k = 1; k < ranks; ++k) {
        std::int32_t const to = (me + k) % ranks;
        words::store_stamped(view.values(to, number, ranks, me) + i, device::bits_of(in[i]), number);
      }
    }
    bool given_up = false;
    for (std::size_t i = all.rank(); i < n; i += all.size()) {
      T total{};
      for (std::int32_t r = 0; r < ranks; ++r) {
        T const next =
            r == me ? in[i]
                    : team.template wait_stamped<T>(view.values(me, number, ranks, r) + i, number, &given_up);
        total = r == 0 ? next : op(total, next);
      }
      if (given_up) break;  // there is no result
      if (has_result(me, root)) out[i] = total;
    }
    auto const mine = this_block();
    if (!mine.sync_and(!given_up)) return;
    if (mine.rank() == 0 && is_last_block(own)) end_reduction(own, number);
  }
};

/// Many: each rank reduces its part of all ranks' arrays, and writes the result to all, or to the root.
template <class T, class Op>
struct reduce_many {
  static constexpr std::size_t together = 16 / sizeof(T);  ///< elements of a pack
  struct alignas(16) pack {
    T of[together];
  };
  static constexpr std::int32_t most_ranks = 16;

  ATOLL_ANYWHERE void operator()(device_team team, reduction_view view, std::uint64_t in, std::uint64_t out,
                                 std::size_t n, std::int32_t root, Op op) const {
    std::int32_t const me = team.rank_me();
    std::int32_t const ranks = team.rank_n();
    std::uint64_t* const own = view.words(me);
    std::uint64_t const number = next_reduction(own);
    auto const all = this_grid();
    auto const mine = this_block();
    // Every stream has come here: its array may be read and written. Offers by themselves order nothing, so
    // there are fences: of who gives one, and of who has found one, for its block.
    for (std::size_t r = all.rank(); r < static_cast<std::size_t>(ranks); r += all.size()) {
      words::fence();
      auto& offer = view.offers(static_cast<std::int32_t>(r), number, ranks)[me];
      words::store_stamped(&offer.in, in, number);
      words::store_stamped(&offer.out, out, number);
    }
    // Threads look at the same time, and once for their block: every look takes as long as a way to memory.
    ATOLL_ON_DEVICE(__shared__) std::uint64_t places[2 * most_ranks];
    bool given_up = false;
    for (std::size_t i = mine.rank(); i < 2 * static_cast<std::size_t>(ranks); i += mine.size()) {
      auto const& offer = view.offers(me, number, ranks)[i / 2];
      std::uint64_t const begin = view.peers[i / 2];
      places[i] = begin + team.template wait_stamped<std::uint64_t>(i % 2 == 0 ? &offer.in : &offer.out,
                                                                    number, &given_up);
      words::fence();
    }
    if (!mine.sync_and(!given_up)) return;  // there are no arrays
    std::uint64_t all_bits = 0;
    for (std::int32_t i = 0; i < 2 * ranks; ++i) all_bits |= places[i];
    // Parts are whole packs.
    std::size_t const packs = n / together;
    std::size_t const share = (packs + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
    std::size_t const begin = least{}(share * static_cast<std::size_t>(me), packs);
    std::size_t const end = least{}(begin + share, packs);
    if (all_bits % sizeof(pack) == 0) {
      reduce<pack>(places, me, ranks, root, begin, end, all, op);
    } else {
      reduce<T>(places, me, ranks, root, begin * together, end * together, all, op);
    }
    if (me == ranks - 1) reduce<T>(places, me, ranks, root, packs * together, n, all, op);
    // The last block tells all ranks, and waits for theirs. What each block has written is in place before it is
    // counted.
    mine.sync();
    bool is_last = true;
    if (mine.rank() == 0) {
      words::fence();
      is_last = is_last_block(own);
    }
    if (!mine.sync_and(is_last)) return;
    for (std::size_t r = mine.rank(); r < static_cast<std::size_t>(ranks); r += mine.size()) {
      words::store_release(view.ended(static_cast<std::int32_t>(r)) + me, number);
    }
    team.wait_all(mine, view.ended(me), static_cast<std::size_t>(ranks), number);
    if (mine.rank() == 0) end_reduction(own, number);
  }

 private:
  ATOLL_ANYWHERE static T combine(T const& a, T const& b, Op const& op) { return op(a, b); }
  ATOLL_ANYWHERE static pack combine(pack const& a, pack const& b, Op const& op) {
    pack both;
    for (std::size_t k = 0; k < together; ++k) both.of[k] = op(a.of[k], b.of[k]);
    return both;
  }
  /// `places`: of each rank's two arrays.
  template <class Piece>
  ATOLL_ANYWHERE static void reduce(std::uint64_t const* places, std::int32_t me, std::int32_t ranks,
                                    std::int32_t root, std::size_t begin, std::size_t end, grid all,
                                    Op const& op) {
    // A thread reads of several ranks at a time: what crosses a link is long on its way, and if all read of one rank after the
    // other, they share the links of one at a time. More under way than this is slower again (four H200).
    constexpr std::int32_t ranks_at_once = 4;
    for (std::size_t i = begin + all.rank(); i < end; i += all.size()) {
      Piece total{};
      for (std::int32_t r = 0; r < ranks; r += ranks_at_once) {
        // GCC does not see that what is read was set, and warns.
        Piece got[ranks_at_once] ATOLL_ON_HOST({});
        for (std::int32_t j = 0; j < ranks_at_once; ++j) {
          if (r + j < ranks) got[j] = reinterpret_cast<Piece const*>(places[2 * (r + j)])[i];
        }
        for (std::int32_t j = 0; j < ranks_at_once; ++j) {
          if (r + j < ranks) total = r + j == 0 ? got[j] : combine(total, got[j], op);
        }
      }
      if (root >= 0) {
        reinterpret_cast<Piece*>(places[2 * root + 1])[i] = total;
        continue;
      }
      for (std::int32_t k = 1; k <= ranks; ++k) {
        reinterpret_cast<Piece*>(places[2 * ((me + k) % ranks) + 1])[i] = total;
      }
    }
  }
};

}  // namespace device

/// Reductions over the ranks of a team, of arrays in an allocator's segments, for all or for one. All ranks make the same calls
/// in the same order, each with whichever stream of the allocator's device, one after the other. The job ends,
/// with a message, if operations, numbers or types of elements differ (operations of the program's own are not told apart from
/// each other, nor are types that are no numbers), when a rank makes user-level progress next; or in
/// destroy(), if one rank has made more calls. Of what is captured into graphs each new call is compared: a call
/// is captured on all ranks or on none, new ones in the same order.
template <class Device, class Compiler = device::this_compiler>
class stream_reduction {
 public:
  template <class T>
  using pointer = upcxx::global_ptr<T, Device::kind>;

  /// Takes 32 bytes for each of `few` elements and rank from the allocator, 8 (at least 4 KiB a rank) and what
  /// stream_collectives takes where kernels of the library do the reductions, and nothing where hosts do; it must be active and stay. Collective over the team.
  ///
  /// @throws          upcxx::bad_shared_alloc on all ranks if one has no room.
  /// @param few       up to so many elements go the fastest way; the same on all ranks.
  /// @param patience  as for make_device_team().
  /// @progress        user.
  explicit stream_reduction(upcxx::device_allocator<Device>& gpu, upcxx::team const& over = upcxx::world(),
                            std::size_t few = 8192, double patience = 0)
      : gpu_(&gpu), over_(over), made_(std::make_unique<detail::matching_calls>("stream_reduction", over)) {
    ATOLL_CHECK(gpu.is_active(),
                "atl::stream_reduction: the allocator is not active: no device, or destroyed");
    detail::check_same("atl::stream_reduction", "elements for the fastest way", few, over);
    kernels_run_ = detail::on_all(device::kernels_run<Compiler>(Device::kind), over);
    if (kernels_run_) team_.emplace(atl::make_device_team(gpu, over, patience));
    // The hosts do it if any of the devices does not reach all others, and need no memory there.
    by_kernels_ = kernels_run_ && detail::on_all(reaches_all(), over);
    if (!by_kernels_) {
      end_team();
      if (!kernels_run_) by_library_.make(gpu, over, few);
      hosts_ = std::make_unique<upcxx::dist_object<device::host_reductions>>(over, over.rank_n());
      return;
    }
    auto const ranks = static_cast<std::size_t>(over.rank_n());
    std::size_t const bytes = device::reduction_view::bytes(ranks, few);
    std::vector<char> image(bytes + ranks * sizeof(std::uint64_t));
    allocate(image.size());
    upcxx::dist_object<pointer<char>> const all(own_, over);
    auto* const peers = reinterpret_cast<std::uint64_t*>(image.data() + bytes);
    for (std::size_t r = 0; r < ranks; ++r) {
      auto const theirs = all.fetch(static_cast<upcxx::intrank_t>(r)).wait();
      peers[r] = reinterpret_cast<std::uint64_t>(team_->local(theirs, bytes));
    }
    upcxx::copy(image.data(), own_, image.size()).wait();
    auto* const here = team_->local(own_, image.size());
    view_.peers = reinterpret_cast<std::uint64_t const*>(here + bytes);
    view_.few = few;
    upcxx::barrier(over);  // nobody writes before all is zero
  }
  stream_reduction(stream_reduction const&) = delete;
  stream_reduction& operator=(stream_reduction const&) = delete;
  ~stream_reduction() { ATOLL_CHECK(made_ == nullptr, "atl::stream_reduction: destroy() it before it goes"); }

  /// What follows in the stream finds in `out` the reduction of all ranks' `in`, in the order of the ranks:
  /// equal bits on all, in every run. Both are n elements of the allocator's memory, or the same array.
  ///
  /// - Kernels of the program do it on CUDA devices, if nvcc has compiled the file, and on simulated ones, where all devices
  ///   reach each other and are at most 16.
  /// - If another compiler has, kernels of the library do it on CUDA devices for device::plus, least and greatest, and
  ///   elements that are float, double or signed integers. They move all arrays to all ranks, at least as many elements at a
  ///   time as the object was made for.
  /// - Else hosts do it when the stream comes there, as copies with on_stream() that a device cannot do. That takes progress
  ///   of the master persona, too, and ends the job, in words, if the stream is captured.
  ///
  /// If there is no room in the shared heap for what this rank's host needs, the call throws upcxx::bad_shared_alloc and nothing
  /// has happened: make it again when there is some, as others wait.
  ///
  /// @param op  associative, for kernels: device::plus, least, greatest, or the like.
  template <class T, class Op>
  void reduce_all(stream const& s, pointer<T> in, pointer<T> out, std::size_t n, Op op) {
    constexpr char const* call = "stream_reduction::reduce_all";
    ATOLL_CHECK(made_ != nullptr, "%s: the object was destroyed", call);
    reduce(call, s, name_of<T, Op>(detail::stream_call::operation::reduce_all, n, -1), in, out, op);
  }
  /// The same for one rank: what follows in the root's stream finds the reduction in `out`. Others' `out` is not used,
  /// and may be null.
  ///
  /// @param root  a rank of the team, the same on all.
  template <class T, class Op>
  void reduce_one(stream const& s, upcxx::intrank_t root, pointer<T> in, pointer<T> out, std::size_t n,
                  Op op) {
    constexpr char const* call = "stream_reduction::reduce_one";
    ATOLL_CHECK(made_ != nullptr, "%s: the object was destroyed", call);
    ATOLL_CHECK(root >= 0 && root < over_->rank_n(), "%s: rank %d is outside the team of %d ranks", call,
                static_cast<int>(root), static_cast<int>(over_->rank_n()));
    reduce(call, s, name_of<T, Op>(detail::stream_call::operation::reduce_one, n, root), in,
           over_->rank_me() == root ? out : in, op);
  }

  /// Ends the object. Collective over the team; no stream is in it any more.
  ///
  /// @progress  user.
  void destroy() {
    ATOLL_CHECK(made_ != nullptr, "stream_reduction::destroy: the object was destroyed already");
    made_->close();  // says if the ranks' calls differ
    upcxx::barrier(*over_);
    made_.reset();
    hosts_.reset();
    by_library_.end();
    if (!own_.is_null()) gpu_->deallocate(std::exchange(own_, pointer<char>()));
    end_team();
  }

 private:
  static constexpr std::size_t warp = 32;
  static constexpr std::size_t most_threads = 512;
  static constexpr std::size_t most_few_blocks = 32;

  template <class T, class Op>
  static detail::stream_call name_of(detail::stream_call::operation what, std::size_t n, std::int32_t root) {
    using function = detail::stream_call::function;
    constexpr function by = std::is_same_v<Op, device::plus>       ? function::plus
                            : std::is_same_v<Op, device::least>    ? function::least
                            : std::is_same_v<Op, device::greatest> ? function::greatest
                                                                   : function::other;
    return {what, sizeof(T), n, root, 0, by, detail::type_of_elements<T>};
  }

  template <class T, class Op>
  void reduce(char const* call, stream const& s, detail::stream_call const& what, pointer<T> in,
              pointer<T> out, Op op) {
    static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                  "stream_reduction: elements have 4 or 8 bytes");
    detail::call_run const noted(what);
    std::size_t const n = what.count;
    std::int32_t const root = what.root;  // as for kernels
    if (n == 0) return made_->note(noted, s.is_captured());
    check_array(call, "source", in, n);
    check_array(call, "destination", out, n);
    ATOLL_CHECK(
        in == out || out - in >= static_cast<std::ptrdiff_t>(n) || in - out >= static_cast<std::ptrdiff_t>(n),
        "%s: source and destination overlap; they may be the same, or apart", call);
    if (!by_kernels_) {
      if constexpr (device::is_known_to_library<T, Op>) {
        if (by_library_.take(n * sizeof(T), *over_) || (by_library_.exist() && s.is_captured())) {
          detail::stream_steps steps(s);
          steps.call([&] { made_->note(noted, s.is_captured()); });
          by_library_.template add_to<T, Op>(steps, *over_, root, in, out, n);
          return steps.start();
        }
      }
      if (s.is_captured()) refuse_capture(call);
      detail::heap_word held_by = detail::make_heap_word(0);  // what may throw comes first
      made_->note(noted, false);
      return by_hosts(s, std::move(held_by), root, in, out, n, op);
    }
    made_->note(noted, s.is_captured());
    if (n <= view_.few) {
      // As few threads as there is work for: they start sooner, and one block does not have to be counted.
      auto const threads = std::min<std::size_t>((n + warp - 1) / warp * warp, most_threads);
      start(s, std::min((n + threads - 1) / threads, most_few_blocks), static_cast<unsigned>(threads),
            device::reduce_few<T, Op>{}, view_, static_cast<T const*>(team_->local(in, n)),
            team_->local(out, n), n, root, op);
    } else {
      using access = upcxx::detail::global_ptr_access;
      using kernel = device::reduce_many<T, Op>;
      constexpr std::size_t packs_of_thread = 2;
      auto const of_block =
          packs_of_thread * most_threads * kernel::together * static_cast<std::size_t>(over_->rank_n());
      std::uint64_t const begin = access::address(own_);
      start(s, (n + of_block - 1) / of_block, most_threads, kernel{}, view_, access::address(in) - begin,
            access::address(out) - begin, n, root, op);
    }
  }
  /// Whether kernels of this rank's device reach the segments of all ranks, and are made for so many.
  [[nodiscard]] bool reaches_all() const {
    device::team_state const& t = team_->state();
    bool reached = over_->rank_n() <= device::reduce_many<double, device::plus>::most_ranks &&
                   t.view.local_n == static_cast<std::uint32_t>(over_->rank_n());
    for (device::range const& r : t.ranges) {
      reached = reached && (r.here != 0 || device::team_view::is_heap({r.owner, r.begin}));
    }
    return reached;
  }
  void end_team() {
    if (team_) team_->destroy();
    team_.reset();
  }
  [[noreturn]] void refuse_capture(char const* call) const {
    check_failed(
        "%s: the stream is captured into a graph, but hosts reduce the arrays of this object: %s", call,
        kernels_run_
            ? "its devices do not all reach each other, or are more than 16"
            : "no kernels of this program run on its devices (compile the file with nvcc, for CUDA devices), and the library's, where it has "
              "some, know device::plus, least and greatest of float, double and signed integers");
  }
  /// What is left of the object goes if one rank has no room.
  void allocate(std::size_t bytes) {
    try {
      detail::allocate_together(
          [&] {
            own_ = gpu_->template allocate<char>(bytes, 256);
            if (!own_.is_null()) return;
            throw upcxx::bad_shared_alloc("stream_reduction: no room in this rank's device segment");
          },
          *over_, "stream_reduction", "room in its device's segment");
    } catch (upcxx::bad_shared_alloc const&) {
      gpu_->deallocate(std::exchange(own_, pointer<char>()));
      end_team();
      throw;
    }
  }
  template <class T>
  void check_array(char const* call, char const* what, pointer<T> array, std::size_t n) const {
    upcxx::detail::check_range(array, n, call, what);
    ATOLL_CHECK(array.where() == upcxx::rank_me(), "%s: the %s is memory of rank %d; each rank gives its own",
                call, what, static_cast<int>(array.where()));
    ATOLL_CHECK(by_kernels_ ? team_->local(array, n) != nullptr
                            : upcxx::device_allocator<Device>::device_id(array) == gpu_->device_id(),
                "%s: the %s, %zu elements, is not in the segment of the allocator of the object", call, what,
                n);
  }
  template <class Kernel, class... Args>
  void start(stream const& s, std::size_t blocks, unsigned threads, Kernel kernel, Args... args) {
    // One that finds no place is refused in words.
    int const most = std::max(1, team_->template max_blocks<Compiler>(kernel, threads, 0, *team_, args...));
    auto const enough = static_cast<unsigned>(std::min<std::size_t>(blocks, static_cast<std::size_t>(most)));
    device::launch<Compiler>(*team_, s, {enough, threads, 0, true}, kernel, *team_, args...);
  }
  template <class T, class Op>
  void by_hosts(stream const& s, detail::heap_word held_by, std::int32_t root, pointer<T> in, pointer<T> out,
                std::size_t n, Op op) {
    std::uint64_t const number = ++calls_;
    auto const combine = [op](std::vector<std::vector<char>> const& all) {
      std::size_t const length = all[0].size() / sizeof(T);
      std::vector<T> total(length);
      std::memcpy(total.data(), all[0].data(), length * sizeof(T));
      for (std::size_t r = 1; r < all.size(); ++r) {
        for (std::size_t i = 0; i < length; ++i) {
          T next;
          std::memcpy(&next, all[r].data() + i * sizeof(T), sizeof(T));
          total[i] = op(total[i], next);
        }
      }
      std::vector<char> bytes(length * sizeof(T));
      std::memcpy(bytes.data(), total.data(), bytes.size());
      return bytes;
    };
    bool const wanted = device::has_result(over_->rank_me(), root);
    detail::by_host(s, std::move(held_by), [root, wanted, in, out, n, number, combine, &hosts = *hosts_] {
      auto const values = std::make_shared<std::vector<char>>(n * sizeof(T));
      auto const from = upcxx::reinterpret_pointer_cast<char>(in);
      auto const to = upcxx::reinterpret_pointer_cast<char>(out);
      return upcxx::copy(from, values->data(), values->size())
          .then([=, &hosts] {
            // The caller's persona may be that of a thread beside the one that has the master persona.
            return upcxx::master_persona().lpc(
                [=, &hosts] { return device::reduce_by_hosts(hosts, number, root, values, combine); });
          })
          .then(
              [=] { return wanted ? upcxx::copy(values->data(), to, values->size()) : upcxx::make_future(); })
          .then([values] {});
    });
  }

  upcxx::device_allocator<Device>* gpu_;
  detail::kept_team over_;
  std::optional<device_team> team_;  ///< none but for kernels of the program
  std::unique_ptr<detail::matching_calls> made_;
  pointer<char> own_;  ///< null but for kernels of the program
  detail::reductions_by_library<Device> by_library_;
  device::reduction_view view_;
  bool kernels_run_ = false;
  bool by_kernels_ = false;
  std::uint64_t calls_ = 0;  ///< that hosts do
  std::unique_ptr<upcxx::dist_object<device::host_reductions>> hosts_;
};

}  // namespace atl::inline UPCXX_MODE
