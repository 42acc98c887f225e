#pragma once

/// Communication in the order of a stream: what CUDA programs start there happens between their kernels, and
/// no host waits in between. Not part of upcxx.hpp.
///
///     kernel<<<grid, block, 0, s>>>(...);                  // fills `plane`
///     upcxx::copy(plane, their_ghost, count,               // when the kernel is done, and then
///                 atl::on_stream(s) | atl::remote_cx::as_signal(their_news, step));
///     atl::wait(s, news, step);                            // what follows in s sees the neighbour's plane
///     next<<<grid, block, 0, s>>>(...);                    // reads `ghost`
///     atl::signal(s, their_credit, step);                  // which may be overwritten now
///     atl::wait(s, credit, step);                          // as may the other one's
///     atl::wait(s);                                        // the host, which makes progress meanwhile
///
/// A signal is a word of 8 bytes in memory of a device, or in the shared heap: allocate it like other
/// objects, and set it before others use it. Whoever sees the value of a signal sees all that the stream had
/// written before.
///
/// Memory is used when the stream comes there: it must live until then. Streams are cudaStream_t, hipStream_t
/// (never run on hardware: its waits for signals need this rank's progress, and nothing is captured), and those
/// that make_stream() gives, also of simulated devices. While a stream is captured into a graph (atoll/graph.hpp,
/// or by calls of CUDA) the same calls become nodes of the graph.

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/copy_batch.hpp>
#include <atoll/engine/streams.hpp>
#include <atoll/extensions/detail/copy_piece.hpp>
#include <atoll/extensions/signal_op.hpp>
#include <atoll/extensions/stream/standing.hpp>
#include <upcxx/allocate.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/copy.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/late_copy.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/future.hpp>
#include <upcxx/persona.hpp>
#include <upcxx/progress.hpp>
#include <upcxx/promise.hpp>
#include <upcxx/when_all.hpp>

struct CUstream_st;
struct ihipStream_t;

namespace atl::inline UPCXX_MODE {

namespace detail {

/// What the null stream means, which programs choose file by file.
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
inline constexpr std::uintptr_t null_stream = 2;
#else
inline constexpr std::uintptr_t null_stream = 0;
#endif
#ifdef HIP_API_PER_THREAD_DEFAULT_STREAM
inline constexpr std::uintptr_t null_hip_stream = 2;
#else
inline constexpr std::uintptr_t null_hip_stream = 0;
#endif

}  // namespace detail

/// A stream of a device of this process: a cudaStream_t or hipStream_t, which it names and does not own.
class stream {
 public:
  /// The null stream is the default one of the device that is current in this thread; with
  /// CUDA_API_PER_THREAD_DEFAULT_STREAM the thread's.
  template <std::uintptr_t Null = detail::null_stream>
  stream(CUstream_st* cuda)  // NOLINT: implicit, so that programs pass what they have
      : name_{static_cast<unsigned>(upcxx::memory_kind::cuda_device),
              cuda == nullptr ? reinterpret_cast<CUstream_st*>(Null) : cuda} {}
  /// The null stream of HIP, alike, with HIP_API_PER_THREAD_DEFAULT_STREAM. `nullptr` itself is CUDA's.
  template <std::same_as<ihipStream_t*> Hip, std::uintptr_t Null = detail::null_hip_stream>
  stream(Hip hip)  // NOLINT: as above
      : name_{static_cast<unsigned>(upcxx::memory_kind::hip_device),
              hip == nullptr ? reinterpret_cast<ihipStream_t*>(Null) : hip} {}
  explicit stream(engine::stream_name name) : name_(name) {}

  /// For the driver or the run time of CUDA.
  [[nodiscard]] CUstream_st* native() const { return static_cast<CUstream_st*>(name_.handle); }
  /// For that of HIP.
  [[nodiscard]] ihipStream_t* native_hip() const { return static_cast<ihipStream_t*>(name_.handle); }
  /// Its device, as the device_id() of an allocator there.
  [[nodiscard]] int device_id() const { return engine::stream_device(name_); }
  /// True between the begin and the end of a capture.
  [[nodiscard]] bool is_captured() const { return engine::is_captured(name_); }

 protected:
  engine::stream_name name_;

 private:
  friend engine::stream_name name_of(stream const& s) { return s.name_; }
};

/// A stream that ends with its object, or with the library. Nothing may be left to be done there (`atl::wait`): simulated devices end
/// the job over that. One that was default-constructed or moved from is none.
class owned_stream : public stream {
 public:
  owned_stream() noexcept : stream(engine::stream_name()) {}
  owned_stream(owned_stream&& other) noexcept : stream(std::exchange(other.name_, {})) {}
  owned_stream& operator=(owned_stream&& other) noexcept {
    if (this != &other) {
      end();
      name_ = std::exchange(other.name_, {});
    }
    return *this;
  }
  ~owned_stream() { end(); }

 private:
  explicit owned_stream(engine::stream_name made) : stream(made) {}
  void end() noexcept {
    if (name_.handle != nullptr) engine::drop_stream(name_);
  }
  template <class Device>
  friend owned_stream make_stream(upcxx::device_allocator<Device> const& gpu);
};

/// A stream of the device of an allocator, which must be active; also where that device is simulated.
template <class Device>
[[nodiscard]] owned_stream make_stream(upcxx::device_allocator<Device> const& gpu) {
  return owned_stream(engine::make_stream(static_cast<unsigned>(Device::kind), gpu.device_id()));
}

/// What a stream waits for: the word is at least the value, or equal. The signed difference counts, so that
/// epochs may wrap around.
enum class signal_cmp { at_least, equal };

namespace detail {

struct stream_item {
  using event = upcxx::detail::operation_event;
  using into_stream = void;
  engine::stream_name on;
};
struct signal_item {
  using event = upcxx::detail::remote_event;
  using of_streams = void;
  engine::memory_place word;
  std::uint64_t value;
  signal_op op;
};

template <class T, upcxx::memory_kind Kind>
engine::memory_place place_of_signal(upcxx::global_ptr<T, Kind> word, char const* call) {
  static_assert(std::is_same_v<T, std::uint64_t>,
                "a signal is a std::uint64_t: devices write, add to and wait for words of that size");
  upcxx::detail::check_range(word, 1, call, "signal");
  return {upcxx::detail::global_ptr_access::owner(word), upcxx::detail::global_ptr_access::address(word)};
}

/// A request that a record of the copy must keep, as a completion object; else one without requests.
template <class Item>
constexpr auto kept_part(Item&& item) {
  using type = std::remove_cvref_t<Item>;
  if constexpr (std::is_same_v<type, stream_item> || std::is_same_v<type, signal_item>) {
    return upcxx::detail::completions<>{};
  } else {
    return upcxx::detail::completions<type>{{std::forward<Item>(item), {}}};
  }
}

constexpr auto kept_parts() { return upcxx::detail::completions<>{}; }
template <class First, class... More>
constexpr auto kept_parts(First&& first, More&&... more) {
  return upcxx::detail::join(detail::kept_part(std::forward<First>(first)),
                             detail::kept_parts(std::forward<More>(more)...));
}

}  // namespace detail

/// A request beside others of upcxx::copy: the copy happens at the end of a stream, in its order. Alone or
/// with signals nothing is returned: what follows in the stream knows that the copy is complete. With
/// operation_cx, source_cx and remote_cx::as_rpc the host hears of it as of other copies, during progress,
/// when the stream has come by; not while it is captured, and not by source_cx::as_blocking or as_buffered,
/// which would have to wait for that.
///
/// A copy between devices, the shared heaps of one host and pinned memory (cudaMallocHost, cudaHostRegister)
/// needs no host to go on. One with an end that the stream's device does not reach (on another host; in
/// memory that only its owner reaches; in private memory that is not pinned) is done by this rank's
/// user-level progress, for which the stream waits, and cannot be captured. The host needs a word or two of
/// the shared heap for that: where there is no room, bad_shared_alloc is thrown and nothing has happened.
inline auto on_stream(stream const& s) {
  return upcxx::detail::completions<detail::stream_item>{{{name_of(s)}, {}}};
}

/// @cond  The reference knows one class of this name.
/// Requests about remote completion, those of upcxx::remote_cx among them.
struct remote_cx : upcxx::remote_cx {
  /// When the data is in place, a signal gets a value, or that is added to it. With on_stream(). Several of one copy are given in the
  /// order of the requests.
  ///
  /// @param word  a std::uint64_t of any rank that the copy's stream could copy to.
  template <class T, upcxx::memory_kind Kind>
  static auto as_signal(upcxx::global_ptr<T, Kind> word, std::uint64_t value, signal_op op = signal_op::set) {
    return upcxx::detail::completions<detail::signal_item>{
        {{detail::place_of_signal(word, "as_signal"), value, op}, {}}};
  }
};
/// @endcond

namespace detail {

/// A future of what `start` begins, which is given the completion to tell.
template <class Start>
upcxx::future<> future_of(Start const& start) {
  using upcxx::detail::pending_copy;
  auto const wanted = upcxx::operation_cx::as_future();
  auto* const asked = new pending_copy<std::remove_cvref_t<decltype(wanted)>>(upcxx::rank_me(), wanted);
  auto futures = asked->register_all(wanted);
  start(asked);
  return upcxx::detail::unwrap(std::move(futures));
}

/// Before something is put into a stream: makes user-level progress while the driver would have the caller wait for what is there, since
/// that may come by this progress alone. Callbacks, where there is none, put in what they like.
inline void make_room(stream const& s, std::size_t operations = 1) {
  while (!engine::has_room(name_of(s), operations) && !upcxx::in_progress()) {
    upcxx::progress();
    std::this_thread::yield();
  }
}

}  // namespace detail

/// A future that becomes ready when the stream has done all that is in it now.
///
/// @progress  user-level progress of the persona that called makes it ready. No thread waits for it.
[[nodiscard]] inline upcxx::future<> when(stream const& s) {
  return detail::future_of(
      [&s](engine::copy_completion* asked) { engine::stream_reached(name_of(s), asked); });
}

/// Waits until the stream has done all that is in it; makes user-level progress meanwhile, so that nobody
/// stands still who waits for this rank, as would in cudaStreamSynchronize. With ATOLL_STREAM_PATIENCE the job ends
/// if that lasts longer, and says where streams stand.
inline void wait(stream const& s) {
  upcxx::future<> const come = when(s);
  if (upcxx::in_progress() && !come.is_ready()) {
    check_failed(
        "atl::wait: waiting for a stream inside a callback would never end: callbacks run inside user-level progress (the restricted "
        "context), which sees where streams are and cannot be nested. Attach the rest with atl::when(stream).then() instead");
  }
  if (engine::patience_with_streams() == 0) [[likely]]
    return come.wait();
  detail::wait_with_patience(name_of(s), come);
}

/// What the stream has put and signalled is in place, wherever that is, for what follows in it. Copies and
/// signals of a stream are complete when it goes on, those that the host does for it, too, so this has
/// nothing to add, unlike in libraries whose puts in a stream end later; it is there to say what a program
/// relies on.
inline void quiet(stream const& /*s*/) noexcept {}

/// What follows in the stream happens once a signal has the value.
///
/// @param word  in memory of this rank.
/// @progress    none; user where the stream is full, as in all calls that put something into one: the library has put more than 640
///              operations there that it has not come to. A driver takes some thousand, and would have the caller wait without progress.
///              Inside callbacks none.
template <class T, upcxx::memory_kind Kind>
void wait(stream const& s, upcxx::global_ptr<T, Kind> word, std::uint64_t value,
          signal_cmp how = signal_cmp::at_least) {
  engine::memory_place const place = detail::place_of_signal(word, "wait");
  detail::make_room(s);
  engine::stream_wait(name_of(s), place, value, how == signal_cmp::equal);
}

/// The same, and then the signal is `next`, in one call of the driver and one node of a graph. What is added
/// to the signal between the two is lost: who counts waits, and adds the negative number that it has waited
/// for.
template <class T, upcxx::memory_kind Kind>
void wait_and_reset(stream const& s, upcxx::global_ptr<T, Kind> word, std::uint64_t value,
                    signal_cmp how = signal_cmp::at_least, std::uint64_t next = 0) {
  engine::memory_place const place = detail::place_of_signal(word, "wait_and_reset");
  detail::make_room(s);
  engine::stream_wait_and_write(name_of(s), place, value, how == signal_cmp::equal, next);
}

namespace detail {

/// Holds the stream until a future is ready, which sets a word of the shared heap that is 0 now; and frees
/// that.
template <class... T>
void hold(stream const& s, upcxx::global_ptr<std::uint64_t> word, upcxx::future<T...> const& ready) {
  engine::stream_wait(name_of(s), place_of_signal(word, "wait"), 1, false);
  auto const set = ready.then([word](T const&...) {
    std::atomic_ref<std::uint64_t>(*word.local()).store(1, std::memory_order_release);
  });
  upcxx::when_all(when(s), set).then([word] { upcxx::delete_(word); });
}

/// A word of the shared heap, since devices reach that.
struct end_of_heap_word {
  void operator()(std::uint64_t* gone) const { upcxx::delete_(upcxx::to_global_ptr(gone)); }
};
using heap_word = std::unique_ptr<std::uint64_t, end_of_heap_word>;
inline heap_word make_heap_word(std::uint64_t value) {
  return heap_word(upcxx::new_<std::uint64_t>(value).local());
}

/// Has the host do something when the stream comes there, which goes on when that is complete.
/// `word`: what the stream waits for meanwhile; 0 now.
template <class Start>
void by_host(stream const& s, heap_word word, Start&& start) {
  engine::refuse_capture(name_of(s), engine::needs_host::memory);
  detail::hold(s, upcxx::to_global_ptr(word.release()), when(s).then(std::forward<Start>(start)));
}

/// By whom the word can be reached: for a stream that has come here and whose device cannot add to it.
inline upcxx::future<> add_from_here(engine::memory_place word, std::uint64_t value) {
  if (engine::add_on_host(word, value)) return upcxx::make_future();
  return future_of(
      [word, value](engine::copy_completion* asked) { engine::add_on_device(word, value, asked); });
}

/// What a signal gets at a stream's end: by the stream's device, or by the host where that cannot do it.
class signal_change {
 public:
  signal_change(stream const& s, engine::memory_place word, std::uint64_t value, signal_op op)
      : on_(s), word_(word), value_(value), adds_(op == signal_op::add) {}
  /// Takes what the host needs, if it will be asked: this may throw, and then start() does not.
  void prepare() {
    if (!engine::stream_can_change(name_of(on_), word_, adds_)) take_words();
  }
  void start() {
    bool const by_device = adds_ ? engine::stream_add(name_of(on_), word_, value_)
                                 : engine::stream_write(name_of(on_), word_, value_);
    if (by_device) return;
    if (held_by_ == nullptr) take_words();
    adds_ ? add_by_host() : write_by_host();
  }

 private:
  void take_words() {
    // Of the shared heap, since devices reach it. Goes as well if there is no room for what follows.
    if (!adds_) sent_ = make_heap_word(value_);
    held_by_ = make_heap_word(0);
  }
  void write_by_host() {
    std::shared_ptr<std::uint64_t> const from(std::move(sent_));
    by_host(on_, std::move(held_by_), [word = word_, from] {
      return upcxx::detail::copy_later(word, place_of_signal(upcxx::to_global_ptr(from.get()), "signal"),
                                       sizeof(std::uint64_t), static_cast<std::int32_t>(word.owner),
                                       upcxx::operation_cx::as_future())
          .then([from] {});
    });
  }
  void add_by_host() {
    by_host(on_, std::move(held_by_), [word = word_, value = value_] {
      if (engine::add_on_host(word, value)) return upcxx::make_future();
      upcxx::promise<> added;
      ask_owner(word, value, added);
      return added.get_future();
    });
  }
  /// In a callback, where a message that finds no memory is tried again by this persona's next progress.
  static void ask_owner(engine::memory_place const& word, std::uint64_t more, upcxx::promise<> const& added) {
    try {
      upcxx::rpc(
          static_cast<upcxx::intrank_t>(static_cast<std::uint32_t>(word.owner)),
          [](engine::memory_place const& own, std::uint64_t value) { return add_from_here(own, value); },
          word, more)
          .then([added]() mutable { added.fulfill_anonymous(1); });
    } catch (upcxx::bad_shared_alloc const&) {
      upcxx::current_persona().lpc_ff([word, more, added] { ask_owner(word, more, added); });
    }
  }

  stream on_;
  engine::memory_place word_;
  std::uint64_t value_;
  bool adds_;
  heap_word sent_;
  heap_word held_by_;  ///< the stream, while the host does it
};

template <class Item>
void find_stream(Item const& item, engine::stream_name& found) {
  if constexpr (std::is_same_v<Item, stream_item>) found = item.on;
}
/// That of a request, if it asks for one.
template <class Item>
auto signal_of(stream const& s, Item const& item) {
  if constexpr (std::is_same_v<Item, signal_item>) {
    return std::tuple(signal_change(s, item.word, item.value, item.op));
  } else {
    return std::tuple<>();
  }
}

/// Copies at the end of a stream, in any order among themselves and before what follows there. What the stream's
/// device cannot copy the host does, all of it when the stream comes there.
class stream_copies {
 public:
  explicit stream_copies(stream const& s) : on_(s) {}
  /// Takes what the host needs, if it will be asked for that piece: this may throw, and then the rest does not.
  void prepare(copy_piece const& piece) {
    if (held_by_ == nullptr && !engine::stream_can_copy(name_of(on_), piece.to, piece.from, piece.bytes))
      held_by_ = make_heap_word(0);
  }
  void prepare(std::span<copy_piece const> pieces) {
    for (copy_piece const& each : pieces) prepare(each);
  }
  /// Before all: so many will be started.
  void expect(std::size_t pieces) const { make_room(on_, pieces); }
  /// May throw for the first piece of all, with nothing done, if that is not prepared.
  void start(copy_piece const& piece) {
    if (engine::stream_copy(name_of(on_), piece.to, piece.from, piece.bytes)) return;
    if (held_by_ == nullptr) held_by_ = make_heap_word(0);
    left_.push_back(piece);
  }
  /// Small ones together.
  void start(std::span<copy_piece const> pieces) {
    std::optional<copy_batch> together;
    if (pieces.size() > 1) together.emplace();
    for (copy_piece const& each : pieces) start(each);
  }
  /// All runs of a box; false, and nothing was done, if the device cannot.
  bool as_one(engine::memory_place to, engine::memory_place from, engine::prepared_box const& box) const {
    return engine::stream_copy_box(name_of(on_), to, from, box);
  }
  /// After the last one.
  void finish() {
    if (left_.empty()) return;
    by_host(on_, std::move(held_by_), [all = std::move(left_)] {
      upcxx::promise<> done;
      for (copy_piece const& each : all) {
        upcxx::detail::copy_later(each.to, each.from, each.bytes, upcxx::rank_me(),
                                  upcxx::operation_cx::as_promise(done));
      }
      return done.finalize();
    });
  }

 private:
  stream on_;
  heap_word held_by_;  ///< while the host copies what is left
  std::vector<copy_piece> left_;
};

/// upcxx::copy with on_stream(), and copies of several pieces: copy_all(copies) starts them, or none if it throws.
template <class CopyAll, class Cx>
auto start_all_in_stream(CopyAll const& copy_all, std::int32_t owner, Cx&& cx) {
  upcxx::detail::check_requests<upcxx::detail::copy_events>(cx);
  engine::stream_name name;
  upcxx::detail::apply_items(
      [&]<class... Item>(Item const&... items) {
        static_assert((std::size_t{0} + ... + (std::is_same_v<Item, stream_item> ? 1 : 0)) == 1,
                      "copy: one stream at a time; on_stream() is given more than once");
        static_assert((!std::is_same_v<Item, upcxx::detail::blocking_item> && ...),
                      "copy: with on_stream() the source is read when the stream comes there, so "
                      "source_cx::as_blocking and as_buffered would wait for the stream; ask for a future");
        (detail::find_stream(items, name), ...);
      },
      cx.items);
  stream const s(name);
  make_room(s);
  auto signals = upcxx::detail::apply_items(
      [&s](auto const&... items) { return std::tuple_cat(detail::signal_of(s, items)...); }, cx.items);
  auto const start = [&] {
    std::apply([](auto&... each_signal) { (each_signal.prepare(), ...); }, signals);
    stream_copies all(s);
    copy_all(all);
    all.finish();
    std::apply([](auto&... each_signal) { (each_signal.start(), ...); }, signals);
  };
  using kept_type = decltype(upcxx::detail::apply_items(
      []<class... Item>(Item&&... items) { return detail::kept_parts(std::forward<Item>(items)...); },
      std::forward<Cx>(cx).items));
  if constexpr (std::is_same_v<kept_type, upcxx::detail::completions<>>) {
    start();
  } else {
    using pending = upcxx::detail::pending_copy<kept_type>;
    // What may throw comes first: nothing has happened then.
    auto kept = upcxx::detail::apply_items(
        []<class... Item>(Item&&... items) { return detail::kept_parts(std::forward<Item>(items)...); },
        std::forward<Cx>(cx).items);
    auto told = std::make_unique<pending>(owner, kept);
    start();
    auto* const started = told.release();
    auto futures = started->register_all(std::move(kept));
    engine::stream_reached(name, started);
    return upcxx::detail::unwrap(std::move(futures));
  }
}
template <class Cx>
auto start_in_stream(engine::memory_place to, engine::memory_place from, std::size_t bytes,
                     std::int32_t owner, Cx&& cx) {
  return detail::start_all_in_stream(
      [&](stream_copies& all) {
        all.start(copy_piece{to, from, bytes});
      },
      owner, std::forward<Cx>(cx));
}

}  // namespace detail

/// What follows in the stream happens once a future is ready. User-level progress of this rank must go on
/// until then. Not while the stream is captured.
template <class... T>
void wait(stream const& s, upcxx::future<T...> const& ready) {
  engine::refuse_capture(name_of(s), engine::needs_host::future);
  detail::make_room(s);
  if (!ready.is_ready()) detail::hold(s, upcxx::new_<std::uint64_t>(0), ready);
}

/// A signal gets a value, or that is added to it, when all that is before it in the stream is in place and
/// visible.
///
/// Additions by streams, wherever the signal is, lose nothing; beside one that sets the signal they come
/// before or after it.
///
/// The stream's device adds where its atomic operations reach the word: in its own memory, in that of devices
/// of this host which this process sees and whose link has atomics (NVLink has), in the shared heaps where
/// the link to the host has them. Elsewhere the stream waits until this host has done it (in a shared heap of
/// this host) or the owner has, whose device adds to its own memory; that takes user-level progress of this
/// rank and of the owner, and cannot be captured. Others may add, too: to a word of a device its kernels, and
/// those of devices whose atomic operations reach it; to one of a shared heap the processors of its host,
/// which are not those of a network.
///
/// @param word  a std::uint64_t of any rank that the stream's device could copy to; or the rank's own.
template <class T, upcxx::memory_kind Kind>
void signal(stream const& s, upcxx::global_ptr<T, Kind> word, std::uint64_t value,
            signal_op op = signal_op::set) {
  engine::memory_place const place = detail::place_of_signal(word, "signal");
  detail::make_room(s);
  detail::signal_change(s, place, value, op).start();
}

/// A signal is 0 when the stream has come here, or `value`. What others do to it at that time comes before or
/// after.
template <class T, upcxx::memory_kind Kind>
void reset(stream const& s, upcxx::global_ptr<T, Kind> word, std::uint64_t value = 0) {
  atl::signal(s, word, value);
}

/// Copies what a signal is when the stream comes there.
///
/// @param word  of any rank that the stream's device could copy from.
/// @param into  a std::uint64_t in any memory of the job; a plain pointer into memory that should be pinned,
/// as of
///              upcxx::copy.
template <class T, upcxx::memory_kind Kind, class Into>
void fetch(stream const& s, upcxx::global_ptr<T, Kind> word, Into into) {
  static_assert(std::is_same_v<T, std::uint64_t>,
                "a signal is a std::uint64_t; use upcxx::copy for other objects");
  upcxx::copy(word, into, 1, on_stream(s));
}

}  // namespace atl::inline UPCXX_MODE
