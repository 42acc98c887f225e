#pragma once

/// Atomic operations on shared memory. Specification chapter "Atomics".
///
/// On memory of this host an operation is the processor's own, done when the call returns; with eager
/// completion the returned future is then ready, and nothing is allocated. On that of other hosts the owner or the
/// network does it, and it completes during progress. (A network may want to do those on this host, too, so as not to
/// meet a processor at one word.)

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <atoll/engine/host_map.hpp>
#include <atoll/engine/period.hpp>
#include <atoll/engine/rma.hpp>
#include <atoll/engine/team.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/detail/atomic_apply.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/completion_now.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/detail/remote_atomic.hpp>
#include <upcxx/detail/transfer.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/team.hpp>

namespace atl::rt {

/// What a domain object holds; all zero is inactive.
struct atomic_domain_state {
  std::uint64_t team = 0;                                  ///< id
  std::uint32_t operations = 0;                            ///< one bit for each atomic_op
  engine::atomics_by by = engine::atomics_by::processors;  ///< those on memory that is not `here`
  engine::host_map::reach here;  ///< memory on which this process does them: that of its host, or none
  std::uint64_t period = 0;      ///< of the library; with the end of that the domain is inactive

  [[nodiscard]] bool is_active() const { return operations != 0 && period == engine::periods_ended(); }
};

/// Type of a domain's cells, for messages and for comparing.
struct atomic_cell {
  std::uint16_t bytes;
  bool is_float;
  bool is_signed;
};

/// Collective over the team: meets its members, making user-level progress. With `compare` it ends the job if
/// they do not construct the same domain.
ATOLL_EXPORT atomic_domain_state open_atomic_domain(engine::team_view& team, std::uint32_t operations,
                                                    atomic_cell cell, bool compare);
/// Collective over the team: meets its members, calling `progress` meanwhile; null: does not meet them.
ATOLL_EXPORT void close_atomic_domain(atomic_domain_state& domain, bool (*progress)());
/// Ends the job if the library is initialised: an active domain goes away without destroy().
ATOLL_EXPORT ATOLL_COLD void abandon_atomic_domain() noexcept;
/// Ends the job unless `operation` (an atomic_op) may be done by this domain on this cell in this order.
ATOLL_EXPORT void check_atomic(atomic_domain_state const& domain, int operation, std::uint64_t owner,
                               std::uint64_t address, std::size_t bytes, int order) noexcept;

}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE {

namespace detail {

template <class T>
using atomic_value_events = operation_events<false, false, true, type_list<T>>;
using atomic_events = operation_events<false, false, true>;

}  // namespace detail

/// Atomic access of a team's members to objects of type T in their shared memory: float, double, or any
/// integral type of 32 or 64 bits.
///
/// Once an object has been used through a domain it is accessed through that domain only. Operations are
/// one-sided, non-blocking, and may be called by any thread. In flight they are not ordered, not even those
/// of one rank on one object: an operation that must follow another is started after its completion.
///
/// Common to all operations:
///   p            an object of host memory with affinity to a member of the team; not null, aligned
///   order        load: relaxed, acquire; store: relaxed, release; others: relaxed, acquire, release, acq_rel
///   dst          where the value before is stored instead of handing it to the completion, which then has no
///                value; private memory that must stay untouched until operation completion
///   completions  operation completion; by default a future of the value before (of nothing, where the
///                operation does not fetch or stores to `dst`)
///   progress     internal; never runs callbacks
/// Checked builds stop the job where the domain was not constructed for the operation, the order is not
/// allowed, or the object lies outside the team's shared heaps.
template <typename T>
class atomic_domain final {
  static_assert(detail::is_atomic_type<T>,
                "atomic_domain<T>: T must be float, double, or an integral type of 32 or 64 bits");

 public:
  /// Inactive; may be assigned to. May be constructed while the library is not initialised.
  atomic_domain() = default;

  /// Collective over `members`: a domain for the operations `ops`, which are the same on all members,
  /// and not empty.
  ///
  /// @progress  user.
  atomic_domain(std::vector<atomic_op> const& ops, team const& members = world()) {
    std::uint32_t operations = 0;
    for (atomic_op const op : ops) operations |= bit(op);
    state_ = atl::rt::open_atomic_domain(detail_team_access::view(members), operations,
                                         {sizeof(T), std::is_floating_point_v<T>, std::is_signed_v<T>},
                                         ATOLL_CHECKED != 0);
  }

  /// The source becomes inactive. Needs the master persona.
  atomic_domain(atomic_domain&& other) noexcept : state_(take(other)) {}
  /// The target must be inactive.
  atomic_domain& operator=(atomic_domain&& other) noexcept {
    if (this == &other) return *this;
    if (is_active()) atl::rt::abandon_atomic_domain();
    state_ = take(other);
    return *this;
  }
  /// Ends the job if the domain is active and the library is initialised: destroy() comes first.
  ~atomic_domain() {
    if (is_active()) [[unlikely]]
      atl::rt::abandon_atomic_domain();
  }

  /// Collective over the domain's team. After the entry barrier (on entry, without one) all operations of the
  /// domain must have signalled completion.
  ///
  /// @progress  user with entry_barrier::user, else internal.
  void destroy(entry_barrier lev = entry_barrier::user) {
    atl::rt::close_atomic_domain(state_, detail::progress_of(lev));
  }

  /// False after default construction, destroy(), being moved from, and the finalize that ends the library.
  [[nodiscard]] bool is_active() const { return state_.is_active(); }

  /// Reads the object.
  template <typename Cx = decltype(operation_cx::as_future())>
  ATOLL_NODISCARD_FUTURE auto load(global_ptr<T const> p, std::memory_order order,
                                   Cx&& completions = operation_cx::as_future()) const {
    return fetch<atomic_op::load>(p, order, T(), T(), std::forward<Cx>(completions));
  }
  template <typename Cx = decltype(operation_cx::as_future())>
  ATOLL_NODISCARD_FUTURE auto load(global_ptr<T const> p, T* dst, std::memory_order order,
                                   Cx&& completions = operation_cx::as_future()) const {
    return fetch_to<atomic_op::load>(dst, p, order, T(), T(), std::forward<Cx>(completions));
  }

  /// Writes the object.
  template <typename Cx = decltype(operation_cx::as_future())>
  ATOLL_NODISCARD_FUTURE auto store(global_ptr<T> p, T val, std::memory_order order,
                                    Cx&& completions = operation_cx::as_future()) const {
    return change<atomic_op::store>(p, order, val, std::forward<Cx>(completions));
  }

  /// Writes `val2` if the object has the bits of `val1`.
  template <typename Cx = decltype(operation_cx::as_future())>
  ATOLL_NODISCARD_FUTURE auto compare_exchange(global_ptr<T> p, T val1, T val2, std::memory_order order,
                                               Cx&& completions = operation_cx::as_future()) const {
    return fetch<atomic_op::compare_exchange>(p, order, val1, val2, std::forward<Cx>(completions));
  }
  template <typename Cx = decltype(operation_cx::as_future())>
  ATOLL_NODISCARD_FUTURE auto compare_exchange(global_ptr<T> p, T val1, T val2, T* dst,
                                               std::memory_order order,
                                               Cx&& completions = operation_cx::as_future()) const {
    return fetch_to<atomic_op::compare_exchange>(dst, p, order, val1, val2, std::forward<Cx>(completions));
  }

  /// NAME(p, val, order): combines the object with `val`; fetch_NAME also gives the value before. Integers
  /// wrap around; bit operations are for integers only; a NaN is neither smaller nor larger than anything.
#define ATOLL_ATOMIC_WITH_OPERAND(NAME)                                                               \
  template <typename Cx = decltype(operation_cx::as_future())>                                        \
  ATOLL_NODISCARD_FUTURE auto NAME(global_ptr<T> p, T val, std::memory_order order,                   \
                                   Cx&& completions = operation_cx::as_future()) const {              \
    return change<atomic_op::NAME>(p, order, val, std::forward<Cx>(completions));                     \
  }                                                                                                   \
  template <typename Cx = decltype(operation_cx::as_future())>                                        \
  ATOLL_NODISCARD_FUTURE auto fetch_##NAME(global_ptr<T> p, T val, std::memory_order order,           \
                                           Cx&& completions = operation_cx::as_future()) const {      \
    return fetch<atomic_op::fetch_##NAME>(p, order, val, T(), std::forward<Cx>(completions));         \
  }                                                                                                   \
  template <typename Cx = decltype(operation_cx::as_future())>                                        \
  ATOLL_NODISCARD_FUTURE auto fetch_##NAME(global_ptr<T> p, T val, T* dst, std::memory_order order,   \
                                           Cx&& completions = operation_cx::as_future()) const {      \
    return fetch_to<atomic_op::fetch_##NAME>(dst, p, order, val, T(), std::forward<Cx>(completions)); \
  }
  ATOLL_ATOMIC_WITH_OPERAND(add)
  ATOLL_ATOMIC_WITH_OPERAND(sub)
  ATOLL_ATOMIC_WITH_OPERAND(mul)
  ATOLL_ATOMIC_WITH_OPERAND(min)
  ATOLL_ATOMIC_WITH_OPERAND(max)
  ATOLL_ATOMIC_WITH_OPERAND(bit_and)
  ATOLL_ATOMIC_WITH_OPERAND(bit_or)
  ATOLL_ATOMIC_WITH_OPERAND(bit_xor)
#undef ATOLL_ATOMIC_WITH_OPERAND

  /// NAME(p, order): adds one, or takes one away; fetch_NAME also gives the value before.
#define ATOLL_ATOMIC_STEP(NAME)                                                                       \
  template <typename Cx = decltype(operation_cx::as_future())>                                        \
  ATOLL_NODISCARD_FUTURE auto NAME(global_ptr<T> p, std::memory_order order,                          \
                                   Cx&& completions = operation_cx::as_future()) const {              \
    return change<atomic_op::NAME>(p, order, T(), std::forward<Cx>(completions));                     \
  }                                                                                                   \
  template <typename Cx = decltype(operation_cx::as_future())>                                        \
  ATOLL_NODISCARD_FUTURE auto fetch_##NAME(global_ptr<T> p, std::memory_order order,                  \
                                           Cx&& completions = operation_cx::as_future()) const {      \
    return fetch<atomic_op::fetch_##NAME>(p, order, T(), T(), std::forward<Cx>(completions));         \
  }                                                                                                   \
  template <typename Cx = decltype(operation_cx::as_future())>                                        \
  ATOLL_NODISCARD_FUTURE auto fetch_##NAME(global_ptr<T> p, T* dst, std::memory_order order,          \
                                           Cx&& completions = operation_cx::as_future()) const {      \
    return fetch_to<atomic_op::fetch_##NAME>(dst, p, order, T(), T(), std::forward<Cx>(completions)); \
  }
  ATOLL_ATOMIC_STEP(inc)
  ATOLL_ATOMIC_STEP(dec)
#undef ATOLL_ATOMIC_STEP

 private:
  using access = detail::global_ptr_access;
  static constexpr std::uint32_t bit(atomic_op op) { return std::uint32_t{1} << static_cast<int>(op); }

  /// The cell, or null if it is not for this process to change it.
  template <atomic_op Op>
  ATOLL_INLINE T* find(global_ptr<T const> p, [[maybe_unused]] std::memory_order order) const {
    static_assert(!detail::is_bitwise(Op) || std::is_integral_v<T>,
                  "atomic_domain<T>: bit_and, bit_or and bit_xor need an integral T");
#if ATOLL_CHECKED
    atl::rt::check_atomic(state_, static_cast<int>(Op), access::owner(p), access::address(p), sizeof(T),
                          static_cast<int>(order));
#endif
    return const_cast<T*>(detail::unchecked_address_here(p, state_.here));
  }
  template <atomic_op Op>
  ATOLL_INLINE static T apply(T* cell, std::memory_order order, T a, T b) {
    if constexpr (!detail::is_bitwise(Op) || std::is_integral_v<T>) {
      return detail::apply_atomic<Op>(cell, order, a, b);
    } else {
      return T();  // one error is enough
    }
  }

  /// An operation whose value before goes to the completion.
  template <atomic_op Op, class Cx>
  ATOLL_INLINE auto fetch(global_ptr<T const> p, std::memory_order order, T a, T b, Cx&& completions) const {
    T* const cell = find<Op>(p, order);
    if (cell == nullptr) [[unlikely]] {
      return detail::take_in(detail::fetch_atomic_remotely<T>(Op, state_.by, access::rank(p),
                                                              access::address(p), order, a, b,
                                                              detail::handed_over<Cx>(completions)));
    }
    return detail::complete_now<detail::atomic_value_events<T>>(std::forward<Cx>(completions),
                                                                apply<Op>(cell, order, a, b));
  }
  /// One whose value before goes to `dst`.
  template <atomic_op Op, class Cx>
  ATOLL_INLINE auto fetch_to(T* dst, global_ptr<T const> p, std::memory_order order, T a, T b,
                             Cx&& completions) const {
    T* const cell = find<Op>(p, order);
    detail::check_buffer(dst, "atomic_domain", "place for the fetched value");
    if (cell == nullptr) [[unlikely]] {
      return detail::take_in(detail::atomic_remotely<T>(Op, state_.by, access::rank(p), access::address(p),
                                                        order, a, b, dst,
                                                        detail::handed_over<Cx>(completions)));
    }
    *dst = apply<Op>(cell, order, a, b);
    return detail::complete_now<detail::atomic_events>(std::forward<Cx>(completions));
  }
  /// One that gives nothing back.
  template <atomic_op Op, class Cx>
  ATOLL_INLINE auto change(global_ptr<T> p, std::memory_order order, T a, Cx&& completions) const {
    T* const cell = find<Op>(p, order);
    if (cell == nullptr) [[unlikely]] {
      return detail::take_in(detail::atomic_remotely<T>(Op, state_.by, access::rank(p), access::address(p),
                                                        order, a, T(), nullptr,
                                                        detail::handed_over<Cx>(completions)));
    }
    apply<Op>(cell, order, a, T());
    return detail::complete_now<detail::atomic_events>(std::forward<Cx>(completions));
  }

  static atl::rt::atomic_domain_state take(atomic_domain& other) noexcept {
#if ATOLL_CHECKED
    if (other.is_active() && atl::rt::initialized()) atl::rt::check_master("atomic_domain: its move");
#endif
    return std::exchange(other.state_, {});
  }

  atl::rt::atomic_domain_state state_;
};

}  // namespace upcxx::inline UPCXX_MODE
