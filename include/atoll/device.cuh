#pragma once

/// Communication by kernels: put, get, signals, atomics, barriers and reductions from within a kernel, by the
/// global pointers that the host uses. Header only; for CUDA 12 and 13, devices from sm_70 on, and for plain
/// C++, where threads of the host play the blocks of kernels on simulated devices. Not part of upcxx.hpp.
///
///     auto team = atl::make_device_team(gpu);                    // collective, once
///     struct exchange {
///       ATOLL_ANYWHERE void operator()(atl::device_team team, double const* plane, ghost_ptr theirs,
///                                      signal_ptr their_news, std::uint64_t const* news,
///                                      std::uint64_t step) const {
///         auto const block = atl::device::this_block();
///         team.put_signal(block, plane, theirs, 100, their_news, step);
///         team.wait(block, news, step);                          // the ghost is there
///       }
///     };
///     atl::device::launch(team, s, {1, 256}, exchange{}, team, team.local(plane), ...);
///     atl::wait(s);                                              // with progress, which kernels may need
///     team.destroy();                                            // collective
///
/// Memory that the kernel's device reaches (own, that of devices of the same host which are linked to it, the
/// shared heaps of the host) is read and written by loads and stores. For everything else, other hosts'
/// memory above all, the kernel asks its host, which must make progress meanwhile: atl::wait(stream) does.
///
/// **Order.** Each call says what it orders, in terms of the C++ memory model at system scope. Data that
/// changes while a kernel runs must not be read by non-coherent loads: no __ldg, no const __restrict__
/// pointers to it.
///
/// **Residency.** A block that waits for another one that is not there waits for ever. Kernels that wait are
/// launched with at most device_team::max_blocks() blocks, by launch(), which sees to that. Two ranks on one
/// device share it in turns, unless the multi-process service runs.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>

#include <atoll/base/config.hpp>
#include <atoll/extensions/device/launch.hpp>
#include <atoll/extensions/device/runs.hpp>
#include <atoll/extensions/device/scopes.hpp>
#include <atoll/extensions/device/signals.hpp>
#include <atoll/extensions/device/team_calls.hpp>
#include <atoll/extensions/device/team_state.hpp>
#include <atoll/extensions/device/view.hpp>
#include <atoll/extensions/device/words.hpp>
#include <upcxx/global_ptr.hpp>

namespace atl::inline UPCXX_MODE {

/// Ranks whose kernels communicate. A handle: copies mean the same team; kernels get it by value.
///
/// In signatures, `s` is a scope (atl::device::this_thread(), this_warp(), this_block(), this_grid()), all of
/// whose threads make the call with the same arguments. Calls that may give up say so, when the time-out of
/// make_device_team() is over, or another wait of this rank has given up; the host then ends the job and says
/// where. They return false, or, where they return a value, set `*given_up` to true if that is not null, and
/// leave it alone otherwise.
class device_team {
 public:
  // What kernels call.

  [[nodiscard]] ATOLL_ANYWHERE std::int32_t rank_me() const { return view_.rank_me; }
  [[nodiscard]] ATOLL_ANYWHERE std::int32_t rank_n() const { return view_.rank_n; }

  /// The address by which kernels of this rank reach an object, and `n - 1` behind it; null if they do not.
  /// Valid as long as the memory.
  template <class T, upcxx::memory_kind Kind>
  [[nodiscard]] ATOLL_ANYWHERE T* local(upcxx::global_ptr<T, Kind> p, std::size_t n = 1) const {
    ATOLL_ON_DEVICE(return reinterpret_cast<T*>(view_.find(name_of(p), n * sizeof(T)));)
    ATOLL_ON_HOST(if (device::played().all == nullptr)
                      device::check_open(state_);  // kernels run in open teams
                  return reinterpret_cast<T*>(state_->view_of_host.find(name_of(p), n * sizeof(T)));)
  }

  /// Copies n objects, which any thread of the scope may copy: the scope synchronises before, if others wrote
  /// them. The source may be written again when all threads have returned, if the destination is reached by
  /// the device, else after quiet(). Where that is not so, the source must be in the rank's segment or shared
  /// heap. Order: none until signal(), put_signal(), fence() or quiet().
  template <class Scope, class T, upcxx::memory_kind Kind>
  ATOLL_ANYWHERE void put(Scope s, T const* from, upcxx::global_ptr<T, Kind> to, std::size_t n) const {
    put_and_change(s, from, name_of(to), n, {}, engine::word_operation::none, 0);
  }
  /// A value of at most 8 bytes, by this thread.
  template <class T, upcxx::memory_kind Kind>
  ATOLL_ANYWHERE void put(std::type_identity_t<T> const& value, upcxx::global_ptr<T, Kind> to) const {
    check_value<T>();
    if (T* const here = local(to)) {
      device::store_value(here, value);
    } else {
      view_.put_by_host(name_of(to), {0, device::bits_of(value)}, sizeof(T), {}, engine::word_operation::none,
                        0);
    }
  }
  /// The same with a signal behind it: see the other put_signal().
  template <class T, upcxx::memory_kind Kind, upcxx::memory_kind WordKind>
  ATOLL_ANYWHERE void put_signal(std::type_identity_t<T> const& value, upcxx::global_ptr<T, Kind> to,
                                 upcxx::global_ptr<std::uint64_t, WordKind> word, std::uint64_t signal_value,
                                 signal_op op = signal_op::set) const {
    check_value<T>();
    if (T* const here = local(to)) {
      device::store_value(here, value);
      view_.change(name_of(word), operation_of(op), signal_value);
    } else {
      view_.put_by_host(name_of(to), {0, device::bits_of(value)}, sizeof(T), name_of(word), operation_of(op),
                        signal_value);
    }
  }
  /// Copies, and then gives a signal. Who sees the signal (wait, test, atl::wait(stream, ...)) sees the data,
  /// and all that the scope had stored itself before (release); what put() has left to the host may come
  /// later, which signal() waits for. Of two calls that the host does the second may end first: not on one
  /// word. `add`: see fetch_add().
  template <class Scope, class T, upcxx::memory_kind Kind, upcxx::memory_kind WordKind>
  ATOLL_ANYWHERE void put_signal(Scope s, T const* from, upcxx::global_ptr<T, Kind> to, std::size_t n,
                                 upcxx::global_ptr<std::uint64_t, WordKind> word, std::uint64_t value,
                                 signal_op op = signal_op::set) const {
    put_and_change(s, from, name_of(to), n, name_of(word), operation_of(op), value);
  }
  /// The same to addresses that local() gave, which is what a loop saves that looks them up before: 0.1 us on
  /// an H200.
  template <class Scope, class T>
  ATOLL_ANYWHERE void put_signal(Scope s, T const* from, T* to, std::size_t n, std::uint64_t* word,
                                 std::uint64_t value) const {
    static_assert(std::is_trivially_copyable_v<T>, "put_signal: objects that are copied byte by byte");
    device::copy_run(s, to, from, n * sizeof(T));
    s.sync();
    if (s.rank() == 0) words::store_release(word, value);
  }
  /// `rows` runs of n objects, at distances of so many objects from each other.
  template <class Scope, class T, upcxx::memory_kind Kind>
  ATOLL_ANYWHERE void put_strided(Scope s, T const* from, std::ptrdiff_t from_stride,
                                  upcxx::global_ptr<T, Kind> to, std::ptrdiff_t to_stride, std::size_t n,
                                  std::size_t rows) const {
    if (rows == 0 || n == 0) return;
    T* const here = local(to);
    T* const end = local(to + static_cast<std::ptrdiff_t>(rows - 1) * to_stride, n);
    if (here != nullptr && end != nullptr) {
      // All threads at once: runs may be shorter than the scope.
      for (std::size_t i = s.rank(); i < rows * n; i += s.size()) {
        auto const row = static_cast<std::ptrdiff_t>(i / n);
        auto const column = static_cast<std::ptrdiff_t>(i % n);
        here[row * to_stride + column] = from[row * from_stride + column];
      }
      return;
    }
    for (std::size_t row = 0; row < rows; ++row) {
      put(s, from + static_cast<std::ptrdiff_t>(row) * from_stride,
          to + static_cast<std::ptrdiff_t>(row) * to_stride, n);
    }
  }
  /// Copies n objects from elsewhere; they are there when the call returns, for all threads of the scope but
  /// a grid's. What a signal that was seen before has announced is read. False: given up.
  template <class Scope, class T, upcxx::memory_kind Kind>
  ATOLL_ANYWHERE bool get(Scope s, upcxx::global_ptr<T, Kind> from, std::remove_const_t<T>* to,
                          std::size_t n) const {
    if (n == 0) {
      s.sync();
      return true;
    }
    if (auto const* const here = local(from, n)) {
      device::copy_run(s, to, here, n * sizeof(T));
      s.sync();
      return true;
    }
    s.sync();
    return s.sync_and(s.rank() != 0 || view_.get_by_host(name_of(from), 0, to, 0, n * sizeof(T), 1));
  }
  /// The same with `rows` runs of n objects, at distances of so many objects from each other.
  template <class Scope, class T, upcxx::memory_kind Kind>
  ATOLL_ANYWHERE bool get_strided(Scope s, upcxx::global_ptr<T, Kind> from, std::ptrdiff_t from_stride,
                                  std::remove_const_t<T>* to, std::ptrdiff_t to_stride, std::size_t n,
                                  std::size_t rows) const {
    if (rows == 0 || n == 0) {
      s.sync();
      return true;
    }
    auto const* const here = local(from);
    if (here != nullptr && local(from + static_cast<std::ptrdiff_t>(rows - 1) * from_stride, n) != nullptr) {
      for (std::size_t i = s.rank(); i < rows * n; i += s.size()) {
        auto const row = static_cast<std::ptrdiff_t>(i / n);
        auto const column = static_cast<std::ptrdiff_t>(i % n);
        to[row * to_stride + column] = here[row * from_stride + column];
      }
      s.sync();
      return true;
    }
    s.sync();
    auto const bytes = [](std::ptrdiff_t stride) { return stride * static_cast<std::ptrdiff_t>(sizeof(T)); };
    return s.sync_and(s.rank() != 0 || view_.get_by_host(name_of(from), bytes(from_stride), to,
                                                         bytes(to_stride), n * sizeof(T), rows));
  }
  /// A value of at most 8 bytes, by this thread. What a signal that was seen before has announced is read. Where
  /// the device does not reach it the host fetches it, one by one: take many by the other get().
  template <class T, upcxx::memory_kind Kind>
  [[nodiscard]] ATOLL_ANYWHERE std::remove_const_t<T> get(upcxx::global_ptr<T, Kind> from,
                                                          bool* given_up = nullptr) const {
    check_value<T>();
    if (T const* const here = local(from)) return *here;
    return device::from_bits<T>(view_.ask_for_value(name_of(from), sizeof(T), given_up));
  }

  /// Gives a signal: what all threads of the scope have written before, directly or by put(), is visible to
  /// who sees it (release).
  template <class Scope, upcxx::memory_kind Kind>
  ATOLL_ANYWHERE void signal(Scope s, upcxx::global_ptr<std::uint64_t, Kind> word, std::uint64_t value,
                             signal_op op = signal_op::set) const {
    s.sync();
    if (s.rank() != 0) return;
    if (view_.wait_for_host()) view_.change(name_of(word), operation_of(op), value);
  }
  /// Waits for a signal in memory of this rank (an address, as local() gives): what its giver wrote before is
  /// visible to all threads of the scope (acquire). False: given up.
  template <class Scope>
  ATOLL_ANYWHERE bool wait(Scope s, std::uint64_t const* word, std::uint64_t value,
                           signal_cmp how = signal_cmp::at_least) const {
    return device::wait_for_word(view_, s, word, value, how == signal_cmp::equal);
  }
  /// The same for all of n signals that follow each other.
  template <class Scope>
  ATOLL_ANYWHERE bool wait_all(Scope s, std::uint64_t const* words_begin, std::size_t n, std::uint64_t value,
                               signal_cmp how = signal_cmp::at_least) const {
    bool come = true;
    for (std::size_t i = s.rank(); i < n; i += s.size()) {
      come = device::wait_for_word(view_, device::this_thread(), words_begin + i, value,
                                   how == signal_cmp::equal, device::call::wait_all) &&
             come;
    }
    return s.sync_and(come);
  }
  /// Index of one of n signals that has come; looks at number `first` first. n: given up, or n is 0. By this
  /// thread.
  ATOLL_ANYWHERE std::size_t wait_any(std::uint64_t const* words_begin, std::size_t n, std::uint64_t value,
                                      std::size_t first = 0, signal_cmp how = signal_cmp::at_least) const {
    return device::wait_for_any_word(view_, words_begin, n, value, how == signal_cmp::equal, first);
  }
  /// Waits for one of n at least, and writes the indices of all that have come; how many. 0: given up, or n
  /// is 0. By this thread.
  ATOLL_ANYWHERE std::size_t wait_some(std::uint64_t const* words_begin, std::size_t n, std::uint64_t value,
                                       std::size_t* which, signal_cmp how = signal_cmp::at_least) const {
    std::size_t const first = wait_any(words_begin, n, value, 0, how);
    if (first == n) return 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      // That one has come, whatever its word is now.
      if (i == first || test(words_begin + i, value, how)) which[count++] = i;
    }
    return count;
  }
  /// Whether a signal has come (acquire), by this thread.
  [[nodiscard]] ATOLL_ANYWHERE bool test(std::uint64_t const* word, std::uint64_t value,
                                         signal_cmp how = signal_cmp::at_least) const {
    return device::is_reached(words::load_acquire(word), value, how == signal_cmp::equal);
  }
  /// What a signal of this rank is now (acquire).
  [[nodiscard]] ATOLL_ANYWHERE std::uint64_t fetch(std::uint64_t const* word) const {
    return words::load_acquire(word);
  }
  /// Sets a signal of this rank back to 0, and says what it was (acquire and release). Not beside others that
  /// add() to it where has_atomics() is false.
  ATOLL_ANYWHERE std::uint64_t reset(std::uint64_t* word) const { return words::exchange(word, 0); }

  /// A value of at most 8 bytes and its number in one store: what is fastest between two kernels. No order
  /// towards other memory. To a word pair of any rank, 16 bytes that are a multiple of 16.
  template <class T, upcxx::memory_kind Kind>
  ATOLL_ANYWHERE void put_stamped(T const& value, std::uint64_t stamp,
                                  upcxx::global_ptr<stamped, Kind> to) const {
    check_value<T>();
    if (stamped* const here = local(to)) {
      words::store_stamped(here, device::bits_of(value), stamp);
      return;
    }
    device::place const p = name_of(to);
    view_.put_by_host(p, {0, device::bits_of(value)}, 8, {p.owner, p.address + 8},
                      engine::word_operation::set, stamp);
  }
  /// The same to an address that local() gave.
  template <class T>
  ATOLL_ANYWHERE void put_stamped(T const& value, std::uint64_t stamp, stamped* to) const {
    check_value<T>();
    words::store_stamped(to, device::bits_of(value), stamp);
  }
  /// Waits until a pair of this rank has at least that number, by this thread; the value that came with it
  /// or, if the giver does not wait for an answer, a later one.
  template <class T>
  ATOLL_ANYWHERE T wait_stamped(stamped const* from, std::uint64_t stamp, bool* given_up = nullptr) const {
    stamped x{};
    bool const come =
        view_.look_until(device::call::wait, const_cast<stamped*>(from), stamp, [&](std::uint64_t& found) {
          x = words::load_stamped(from);
          found = x.stamp;
          return device::is_reached(x.stamp, stamp, false);
        });
    if (!come && given_up != nullptr) *given_up = true;
    return device::from_bits<T>(x.value);
  }

  /// Whether atomics of kernels on device memory of the team, or on its shared heaps, are done by the
  /// devices. If not, hosts do them.
  [[nodiscard]] ATOLL_ANYWHERE bool has_atomics(bool on_heaps = false) const {
    return on_heaps ? view_.atomic_heaps : view_.atomic_devices;
  }
  // Atomic operations of 8 bytes, by this thread; acquire and release. All who use such a word must use these
  // calls, or signal_op::add: where the devices' own would not be atomic for all, everything goes through the
  // host of the owner.

  template <upcxx::memory_kind Kind>
  ATOLL_ANYWHERE std::uint64_t fetch_add(upcxx::global_ptr<std::uint64_t, Kind> word, std::uint64_t value,
                                         bool* given_up = nullptr) const {
    if (std::uint64_t* const here = atomic_word(word)) return words::fetch_add(here, value);
    return view_.ask_for_word(name_of(word), engine::word_operation::add, value, 0, given_up);
  }
  template <upcxx::memory_kind Kind>
  ATOLL_ANYWHERE std::uint64_t exchange(upcxx::global_ptr<std::uint64_t, Kind> word, std::uint64_t value,
                                        bool* given_up = nullptr) const {
    if (std::uint64_t* const here = atomic_word(word)) return words::exchange(here, value);
    return view_.ask_for_word(name_of(word), engine::word_operation::set, value, 0, given_up);
  }
  template <upcxx::memory_kind Kind>
  ATOLL_ANYWHERE std::uint64_t compare_exchange(upcxx::global_ptr<std::uint64_t, Kind> word,
                                                std::uint64_t expected, std::uint64_t value,
                                                bool* given_up = nullptr) const {
    if (std::uint64_t* const here = atomic_word(word)) return words::compare_exchange(here, expected, value);
    return view_.ask_for_word(name_of(word), engine::word_operation::exchange_if_equal, value, expected,
                              given_up);
  }
  template <upcxx::memory_kind Kind>
  ATOLL_ANYWHERE std::uint64_t load(upcxx::global_ptr<std::uint64_t, Kind> word,
                                    bool* given_up = nullptr) const {
    return fetch_add(word, 0, given_up);
  }

  /// What this thread has put before is visible to whoever sees what it puts after. Waits for the host if
  /// that was asked for anything. False: given up.
  ATOLL_ANYWHERE bool fence() const {
    bool const come = view_.wait_for_host();
    words::fence();
    return come;
  }
  /// All that the threads of the scope have put is in place. False: given up.
  template <class Scope>
  ATOLL_ANYWHERE bool quiet(Scope s) const {
    s.sync();
    return s.sync_and(s.rank() != 0 || fence());
  }
  /// Of all ranks of the team, one scope of each: what was put before is in place, everywhere, for what comes
  /// after. False: given up.
  template <class Scope>
  ATOLL_ANYWHERE bool barrier(Scope s) const {
    return device::enter_barrier(view_, s);
  }
  /// A value of at most 8 bytes over all ranks of the team, one scope of each, which calls with the same
  /// operation: equal bits on all, and in every run. Barriers and reductions of a rank come one after the
  /// other.
  /// @param op  of two T, associative and commutative; that it is called on all ranks in the order of the ranks is not
  ///            promised, equal results are.
  /// @param given_up  set for all threads of the scope, also those of a grid; the result means nothing then.
  template <class Scope, class T, class Op>
  ATOLL_ANYWHERE T reduce_all(Scope s, T const& value, Op op, bool* given_up = nullptr) const {
    check_value<T>();
    return device::from_bits<T>(device::reduce_words(
        view_, s, device::bits_of(value),
        [&op](std::uint64_t a, std::uint64_t b) {
          return device::bits_of(T(op(device::from_bits<T>(a), device::from_bits<T>(b))));
        },
        given_up));
  }
  /// The host of a rank calls what was given to on_notice() under that number; by this thread. After what it
  /// has put before, but notices of one thread may come in any order.
  ATOLL_ANYWHERE void notify(std::int32_t world_rank, std::uint32_t number, std::uint64_t argument) const {
    static_cast<void>(view_.wait_for_stores());
    words::fence();
    engine::kernel_request r{};
    r.call = engine::kernel_call::notify;
    r.to_owner = static_cast<std::uint32_t>(world_rank);
    r.to = number;
    r.operand = argument;
    view_.ask(r);
  }

  // What the host calls.

  /// Whether threads of the host play this rank's kernels, as on simulated devices.
  [[nodiscard]] bool is_played() const { return state().by_host; }

  /// Ranks of this host that have memory on the team's device, this one among them, whatever teams they are in: their kernels share it.
  [[nodiscard]] int sharers() const { return state().sharers(); }

  /// The most blocks of a kernel of this rank that are there at once, beside as many of each other rank that shares the device. Not beside
  /// other kernels of this rank. 0 if the device has room for fewer of them than it has ranks: launch() then refuses any.
  /// @param kernel  a __global__ function, or a kernel for launch() with the arguments that it will get.
  template <class Compiler = device::this_compiler, class Kernel, class... Args>
  [[nodiscard]] int max_blocks(Kernel kernel, unsigned threads, std::size_t shared_bytes = 0,
                               Args const&... args) const;

  /// What notify() with that number calls on this rank, with the world rank whose kernel it was, and the
  /// argument. To be given before kernels may call it; may be given anew, also by what is called.
  ///
  /// @progress  user-level progress of the persona that made the team makes the calls; destroy() returns after them
  ///            if that is active in its thread, else they may come later.
  void on_notice(std::uint32_t number, std::function<void(std::int32_t, std::uint64_t)> call) const {
    device::check_open(state_);
    ATOLL_CHECK(call != nullptr, "device_team::on_notice: an empty function for number %u", number);
    state_->handlers->set(number, std::move(call));
  }

  /// Ends the team; kernels that use it have ended, the allocator has not. Collective. finalize() ends teams,
  /// too. Waits for kernels that threads of the host play, up to 10 s, and ends the job then.
  /// @progress  user.
  void destroy() { device::end_team(std::exchange(state_, nullptr)); }

  /// What make_device_team() has made.
  explicit device_team(device::team_state* made) : view_(made->view), state_(made) {}
  [[nodiscard]] device::team_state const& state() const {
    device::check_open(state_);
    return *state_;
  }

 private:
  template <class T, upcxx::memory_kind Kind>
  ATOLL_ANYWHERE static device::place name_of(upcxx::global_ptr<T, Kind> const& p) {
    using access = upcxx::detail::global_ptr_access;
    return {access::owner(p), access::address(p)};
  }
  ATOLL_ANYWHERE static engine::word_operation operation_of(signal_op op) {
    return op == signal_op::set ? engine::word_operation::set : engine::word_operation::add;
  }
  template <class T>
  ATOLL_ANYWHERE static constexpr void check_value() {
    static_assert(
        std::is_trivially_copyable_v<T> && sizeof(T) <= 8,
        "device_team: values are copied byte by byte and have at most 8 bytes; put an array instead");
  }
  template <upcxx::memory_kind Kind>
  ATOLL_ANYWHERE std::uint64_t* atomic_word(upcxx::global_ptr<std::uint64_t, Kind> word) const {
    return view_.is_atomic(name_of(word)) ? local(word) : nullptr;
  }

  template <class Scope, class T>
  ATOLL_ANYWHERE void put_and_change(Scope s, T const* from, device::place to, std::size_t n,
                                     device::place word, engine::word_operation operation,
                                     std::uint64_t value) const {
    static_assert(std::is_trivially_copyable_v<T>, "put: objects that are copied byte by byte");
    std::size_t const bytes = n * sizeof(T);
    if (bytes == 0) {  // pointers may be null
      s.sync();
      if (s.rank() == 0 && operation != engine::word_operation::none) view_.change(word, operation, value);
      return;
    }
    if (char* const here = view_.find(to, bytes)) {
      device::copy_run(s, here, from, bytes);
      if (operation == engine::word_operation::none) return;
      // Looked up while the data are on their way, and by one warp only: the others' instructions would keep it waiting.
      char* const word_here = s.rank() == 0 ? view_.find(word, sizeof(std::uint64_t)) : nullptr;
      s.sync();
      if (s.rank() == 0) view_.change_at(reinterpret_cast<std::uint64_t*>(word_here), word, operation, value);
      return;
    }
    s.sync();
    if (s.rank() != 0) return;
    device::place source = view_.name_of(from, bytes);
    if (source.owner == 0 && bytes > sizeof source.address) {
      return view_.report({0, static_cast<std::uint64_t>(device::call::put), 0,
                           reinterpret_cast<std::uint64_t>(from), bytes, 0, 0},
                          engine::kernel_trouble::sort::not_nameable);
    }
    if (source.owner == 0) ::memcpy(&source.address, from, bytes);
    view_.put_by_host(to, source, bytes, word, operation, value);
  }

  device::team_view view_;
  device::team_state* state_;
};
static_assert(std::is_trivially_copyable_v<device_team>);

/// A team of kernels on the devices of an allocator, which is active on all ranks of the team and stays.
/// Takes 3 KiB there and 64 bytes for each of its ranks on this host, and 65 KiB of the shared heap. Collective over the team.
///
/// @throws          bad_shared_alloc on all ranks if one has no room.
///
/// @param patience  seconds after which a wait in a kernel gives up and the job ends, with a report; 0:
///                  never.
/// @progress        user.
template <class Device>
[[nodiscard]] device_team make_device_team(upcxx::device_allocator<Device>& gpu,
                                           upcxx::team const& over = upcxx::world(), double patience = 0) {
  return device_team(device::make_team(gpu, over, patience));
}

template <class Compiler, class Kernel, class... Args>
inline int device_team::max_blocks(Kernel kernel, unsigned threads, std::size_t shared_bytes,
                                   Args const&...) const {
  return device::most_blocks<Compiler, Kernel, Args...>(state(), kernel, threads, shared_bytes);
}

namespace device {

/// Starts a kernel in a stream of the team's device, all of whose blocks will be there at once. Ends the job
/// if they would not.
///
/// @param kernel  a function object, called with the arguments by all threads: `ATOLL_ANYWHERE void
///                operator()(...) const`. Simulated devices need no more than that it compiles for the host.
template <class Compiler = this_compiler, class Kernel, class... Args>
void launch(device_team const& team, atl::stream const& s, grid_shape shape, Kernel kernel, Args... args) {
  device::start_kernel<Compiler>(team.state(), s, shape, kernel, args...);
}

}  // namespace device

}  // namespace atl::inline UPCXX_MODE
