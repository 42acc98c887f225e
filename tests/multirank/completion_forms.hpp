#pragma once

/// Operations as types, so that every form of completion can be tried with every operation.
///
/// Each operation offers: the events it has, the values of its operation event, `start(cx)` which every rank
/// calls in the same order, and `arrived()` which says whether the effect is visible to the initiator.

#include <array>
#include <numeric>
#include <string>

#include "common.hpp"

namespace multirank::forms {

/// Two arrays in every rank's shared heap (`landing` is written by others), plus private memory.
///
/// Every operation that starts takes the next slot of `count` elements, since operations in flight must not
/// touch the same memory.
struct arena {
  static constexpr std::size_t count = 300;
  static constexpr std::size_t slots = 64;
  arena() : landing(total), origin(total), private_source(total), private_dest(total, -1) {
    for (std::size_t i = 0; i < total; ++i) {
      origin.local()[i] = value(upcxx::rank_me(), i % count);
      landing.local()[i] = -1;
      private_source[i] = value(upcxx::rank_me(), i % count);
    }
    upcxx::barrier();
  }
  ~arena() { upcxx::barrier(); }

  static int value(int rank, std::size_t i) { return rank * 10000 + static_cast<int>(i); }
  int me() const { return upcxx::rank_me(); }
  int right() const { return (me() + 1) % upcxx::rank_n(); }

  void next_slot() {
    offset += count;
    ASSERT_LT(offset, total) << "more operations in one test than slots";
  }
  upcxx::global_ptr<int> landing_at(int rank) const {
    return landing.at(rank) + static_cast<std::ptrdiff_t>(offset);
  }
  upcxx::global_ptr<int> origin_at(int rank) const {
    return origin.at(rank) + static_cast<std::ptrdiff_t>(offset);
  }
  int* source() { return private_source.data() + offset; }
  int* dest() { return private_dest.data() + offset; }

  /// What is at the right neighbour's current landing slot now.
  std::vector<int> remote_landing() const {
    std::vector<int> out(count);
    upcxx::rget(landing_at(right()), out.data(), count).wait();
    return out;
  }
  std::vector<int> my_values() const {
    std::vector<int> out(count);
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = value(me(), i);
    }
    return out;
  }

  static constexpr std::size_t total = count * slots;
  std::size_t offset = 0;
  shared_array<int> landing;
  shared_array<int> origin;
  std::vector<int> private_source;
  std::vector<int> private_dest;
};

struct operation {
  arena& a;
  static constexpr bool is_collective = false;
};
struct collective : operation {
  static constexpr bool is_collective = true;
};

struct rput_value : operation {
  static constexpr bool has_source = false, has_remote = true;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::rput(arena::value(a.me(), 7), a.landing_at(a.right()) + 7, std::forward<Cx>(cx));
  }
  bool arrived() { return a.remote_landing()[7] == arena::value(a.me(), 7); }
  int remote_rank() { return a.right(); }
};

struct rput_bulk : operation {
  static constexpr bool has_source = true, has_remote = true;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::rput(a.source(), a.landing_at(a.right()), arena::count, std::forward<Cx>(cx));
  }
  bool arrived() { return a.remote_landing() == a.my_values(); }
  int remote_rank() { return a.right(); }
};

struct rput_empty : operation {
  static constexpr bool has_source = true, has_remote = true;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::rput(a.source(), a.landing_at(a.right()), 0, std::forward<Cx>(cx));
  }
  bool arrived() { return a.remote_landing() == std::vector<int>(arena::count, -1); }
  int remote_rank() { return a.right(); }
};

struct copy_private_to_global : operation {
  static constexpr bool has_source = true, has_remote = true;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::copy(a.source(), a.landing_at(a.right()), arena::count, std::forward<Cx>(cx));
  }
  bool arrived() { return a.remote_landing() == a.my_values(); }
  int remote_rank() { return a.right(); }
};

struct copy_global_to_private : operation {
  static constexpr bool has_source = true, has_remote = true;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::copy(a.origin_at(a.right()), a.dest(), arena::count, std::forward<Cx>(cx));
  }
  bool arrived() {
    for (std::size_t i = 0; i < arena::count; ++i) {
      if (a.dest()[i] != arena::value(a.right(), i)) {
        return false;
      }
    }
    return true;
  }
  int remote_rank() { return a.me(); }  // a raw destination is the caller's own
};

struct copy_global_to_global : operation {
  static constexpr bool has_source = true, has_remote = true;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::copy(a.origin_at(a.me()), a.landing_at(a.right()), arena::count, std::forward<Cx>(cx));
  }
  bool arrived() { return a.remote_landing() == a.my_values(); }
  int remote_rank() { return a.right(); }
};

struct copy_empty : operation {
  static constexpr bool has_source = true, has_remote = true;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::copy(a.origin_at(a.me()), a.landing_at(a.right()), 0, std::forward<Cx>(cx));
  }
  bool arrived() { return a.remote_landing() == std::vector<int>(arena::count, -1); }
  int remote_rank() { return a.right(); }
};

struct rget_value : operation {
  static constexpr bool has_source = false, has_remote = false;
  using future_type = upcxx::future<int>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::rget(a.origin_at(a.right()) + 11, std::forward<Cx>(cx));
  }
  int expected() { return arena::value(a.right(), 11); }
  bool arrived() { return true; }
};

struct rget_bulk : operation {
  static constexpr bool has_source = false, has_remote = false;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::rget(a.origin_at(a.right()), a.dest(), arena::count, std::forward<Cx>(cx));
  }
  bool arrived() { return a.dest()[5] == arena::value(a.right(), 5) && a.dest()[arena::count - 1] != -1; }
};

struct rget_empty : operation {
  static constexpr bool has_source = false, has_remote = false;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::rget(a.origin_at(a.right()), a.dest(), 0, std::forward<Cx>(cx));
  }
  bool arrived() { return a.private_dest == std::vector<int>(arena::total, -1); }
};

struct rpc_void : operation {
  static constexpr bool has_source = true, has_remote = false;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::rpc(
        a.right(), std::forward<Cx>(cx), [](upcxx::global_ptr<int> p, int v) { *p.local() = v; },
        a.landing_at(a.right()), 77);
  }
  bool arrived() { return a.remote_landing()[0] == 77; }
};

struct rpc_int : operation {
  static constexpr bool has_source = true, has_remote = false;
  using future_type = upcxx::future<int>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::rpc(
        upcxx::world(), a.right(), std::forward<Cx>(cx), [](int x) { return x + upcxx::rank_me(); }, 500);
  }
  int expected() { return 500 + a.right(); }
  bool arrived() { return true; }
};

struct barrier_op : collective {
  static constexpr bool has_source = false, has_remote = false;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::barrier_async(upcxx::world(), std::forward<Cx>(cx));
  }
  bool arrived() { return true; }
};

struct broadcast_value : collective {
  static constexpr bool has_source = false, has_remote = false;
  using future_type = upcxx::future<int>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::broadcast(a.me() + 4000, upcxx::rank_n() - 1, upcxx::world(), std::forward<Cx>(cx));
  }
  int expected() { return upcxx::rank_n() - 1 + 4000; }
  bool arrived() { return true; }
};

struct broadcast_bulk : collective {
  static constexpr bool has_source = false, has_remote = false;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::broadcast(a.source(), arena::count, 0, upcxx::world(), std::forward<Cx>(cx));
  }
  bool arrived() { return a.source()[9] == arena::value(0, 9) && a.source()[299] == arena::value(0, 299); }
};

struct reduce_one_value : collective {
  static constexpr bool has_source = false, has_remote = false;
  using future_type = upcxx::future<int>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    // Maximum at the root; the others' value is undefined, so that they check nothing (see expected()).
    return upcxx::reduce_one(a.me() == 0 ? 9 : 3, upcxx::op_fast_max, 0, upcxx::world(),
                             std::forward<Cx>(cx));
  }
  static constexpr bool only_root_has_value = true;
  int expected() { return 9; }
  bool arrived() { return true; }
};

struct reduce_all_value : collective {
  static constexpr bool has_source = false, has_remote = false;
  using future_type = upcxx::future<int>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::reduce_all(a.me() + 1, upcxx::op_fast_add, upcxx::world(), std::forward<Cx>(cx));
  }
  int expected() { return upcxx::rank_n() * (upcxx::rank_n() + 1) / 2; }
  bool arrived() { return true; }
};

struct reduce_all_bulk : collective {
  static constexpr bool has_source = false, has_remote = false;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::reduce_all(a.source(), a.dest(), arena::count, upcxx::op_fast_max, upcxx::world(),
                             std::forward<Cx>(cx));
  }
  bool arrived() { return a.dest()[20] == arena::value(upcxx::rank_n() - 1, 20); }
};

struct reduce_one_bulk : collective {
  static constexpr bool has_source = false, has_remote = false;
  using future_type = upcxx::future<>;
  template <class Cx>
  auto start(Cx&& cx) {
    a.next_slot();
    return upcxx::reduce_one(a.source(), a.dest(), arena::count, upcxx::op_fast_max, 0, upcxx::world(),
                             std::forward<Cx>(cx));
  }
  bool arrived() { return a.me() != 0 || a.dest()[20] == arena::value(upcxx::rank_n() - 1, 20); }
};

template <class Op>
Op make(arena& a) {
  if constexpr (Op::is_collective) {
    return Op{{{a}}};
  } else {
    return Op{{a}};
  }
}

template <class Op>
constexpr bool has_value = !std::is_same_v<typename Op::future_type, upcxx::future<>>;

/// True where the operation's value is defined on this rank.
template <class Op>
bool value_is_defined() {
  if constexpr (requires { Op::only_root_has_value; }) {
    return upcxx::rank_me() == 0;
  }
  return true;
}

/// A promise that can take the values of the operation event.
template <class Op>
using value_promise = std::conditional_t<has_value<Op>, upcxx::promise<int>, upcxx::promise<>>;

/// Waits, and checks the value that the operation event must carry.
template <class Op>
void expect_result(Op& op, typename Op::future_type f) {
  f.wait_tuple();
  ASSERT_TRUE(f.ready());
  if constexpr (has_value<Op>) {
    if (value_is_defined<Op>()) {
      EXPECT_EQ(f.result(), op.expected());
    }
  }
  EXPECT_TRUE(op.arrived());
}

/// What the functions of as_rpc do.
namespace remote {
inline int runs;
inline int sum;
inline bool always_in_progress;
inline bool always_with_master;
inline std::string text;
inline void reset() {
  runs = sum = 0;
  always_in_progress = always_with_master = true;
  text.clear();
}
inline void note(int value) {
  ++runs;
  sum += value;
  always_in_progress = always_in_progress && upcxx::in_progress();
  always_with_master = always_with_master && upcxx::master_persona().active_with_caller();
}
}  // namespace remote

}  // namespace multirank::forms
