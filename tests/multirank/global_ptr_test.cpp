// global_ptr between ranks: ownership, translation, identity and transport (core digest, chapter 3).

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>

#include "common.hpp"

namespace {

using upcxx::global_ptr;
using upcxx::memory_kind;

struct base_a {
  int a = 1;
};
struct base_b {
  double b = 2;
};
struct derived : base_a, base_b {
  int c = 3;
};

struct incomplete;

template <class T>
bool accepts_pointer_to_const(global_ptr<T const> p) {
  return !p.is_null();
}

template <class T>
std::string text(T const& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

using global_ptr_test = multirank::fixture;

TEST_F(global_ptr_test, every_rank_sees_the_same_owner) {
  multirank::shared_array<int> cells(4);
  for (int r = 0; r < n; ++r) {
    EXPECT_EQ(cells.at(r).where(), r);
    EXPECT_EQ((cells.at(r) + 3).where(), r);
    EXPECT_EQ(cells.at(r).dynamic_kind(), memory_kind::host);
    EXPECT_FALSE(cells.at(r).is_null());
    EXPECT_TRUE(static_cast<bool>(cells.at(r)));
    EXPECT_EQ(cells.at(r).is_local(), upcxx::local_team_contains(r));
  }
}

TEST_F(global_ptr_test, local_of_a_peers_object_gives_its_memory) {
  multirank::shared_array<int> cells(1);
  *cells.local() = 1000 + me;
  upcxx::barrier();
  for (int r = 0; r < n; ++r) {
    if (cells.at(r).is_local()) {
      EXPECT_EQ(*cells.at(r).local(), 1000 + r);
    }
  }
  upcxx::barrier();
  if (cells.at(right).is_local()) {
    *cells.at(right).local() = 2000 + me;
  }
  upcxx::barrier();
  if (cells.at(left).is_local()) {
    EXPECT_EQ(*cells.local(), 2000 + left);
  }
}

TEST_F(global_ptr_test, to_global_ptr_of_a_peers_address_restores_the_owners_pointer) {
  multirank::shared_array<double> cells(10);
  for (int r = 0; r < n; ++r) {
    if (!cells.at(r).is_local()) {
      continue;
    }
    for (int i = 0; i < 10; ++i) {
      double* const raw = (cells.at(r) + i).local();
      EXPECT_TRUE(upcxx::to_global_ptr(raw) == cells.at(r) + i);
      EXPECT_TRUE(upcxx::try_global_ptr(raw) == cells.at(r) + i);
      EXPECT_EQ(upcxx::to_global_ptr(raw).where(), r);
      double const* const constant = raw;
      static_assert(std::is_same_v<decltype(upcxx::to_global_ptr(constant)), global_ptr<double const>>);
      EXPECT_TRUE(upcxx::to_global_ptr(constant) == cells.at(r) + i);
    }
  }
}

TEST_F(global_ptr_test, pointers_are_made_of_their_owners_addresses) {
  multirank::shared_array<int> cells(4);
  global_ptr<int> const mine = cells.at(me);
  global_ptr<int> const theirs = cells.at(right);
  EXPECT_EQ(atl::owner_address(mine), mine.local());
  EXPECT_TRUE(atl::global_ptr_of(me, mine.local() + 1) == mine + 1);
  // What the owner says of its memory is what we find out.
  int* const address =
      upcxx::rpc(
          right, [](global_ptr<int> const& p) { return reinterpret_cast<std::uintptr_t>(p.local()); }, theirs)
          .then([](std::uintptr_t word) { return reinterpret_cast<int*>(word); })
          .wait();
  EXPECT_EQ(atl::owner_address(theirs), address);
  global_ptr<int> const made = atl::global_ptr_of(right, address + 2);
  EXPECT_TRUE(made == theirs + 2);
  EXPECT_EQ(made.where(), right);
  // By the names that some libraries use.
  upcxx::detail::internal_only const on_purpose;
  EXPECT_TRUE((global_ptr<int>(on_purpose, right, address)) == theirs);
  EXPECT_TRUE((global_ptr<int const>(on_purpose, right, address)) == theirs);
  EXPECT_EQ(theirs.raw_internal(on_purpose), address);
  EXPECT_EQ((global_ptr<int const, memory_kind::any>(theirs).raw_internal(on_purpose)), address);
  EXPECT_TRUE(atl::global_ptr_of<int>(right, nullptr).is_null());
  EXPECT_EQ(atl::owner_address(global_ptr<int>()), nullptr);
  upcxx::barrier();
}

TEST_F(global_ptr_test, try_global_ptr_of_private_memory_is_null) {
  static int in_data_segment = 0;
  int on_stack = 0;
  auto on_heap = std::make_unique<int>(0);
  EXPECT_TRUE(upcxx::try_global_ptr(&in_data_segment).is_null());
  EXPECT_TRUE(upcxx::try_global_ptr(&on_stack).is_null());
  EXPECT_TRUE(upcxx::try_global_ptr(on_heap.get()).is_null());
  EXPECT_TRUE(upcxx::try_global_ptr(static_cast<int*>(nullptr)).is_null());
  EXPECT_TRUE(upcxx::to_global_ptr(static_cast<int*>(nullptr)).is_null());
}

TEST_F(global_ptr_test, null_is_local_everywhere_and_has_one_value) {
  global_ptr<int> by_default;
  global_ptr<int> by_null = nullptr;
  EXPECT_TRUE(by_default == by_null);
  EXPECT_TRUE(by_default == nullptr);
  EXPECT_TRUE(by_default.is_null());
  EXPECT_FALSE(by_default);
  EXPECT_TRUE(by_default.is_local());
  EXPECT_EQ(by_default.local(), nullptr);
  EXPECT_TRUE(by_default + 0 == by_default);
  EXPECT_EQ(by_default - by_null, 0);
  EXPECT_TRUE(upcxx::rpc(
                  right, [](global_ptr<int> p) { return p.is_null() && p == nullptr; }, by_default)
                  .wait());
  global_ptr<int, memory_kind::any> any_null = by_default;
  EXPECT_TRUE(any_null.is_null());
  EXPECT_TRUE(any_null == (global_ptr<int, memory_kind::any>()));
  global_ptr<int, memory_kind::any> device_null = global_ptr<int, memory_kind::cuda_device>();
  EXPECT_TRUE(any_null == device_null);
  EXPECT_EQ(text(any_null), text(device_null));
}

TEST_F(global_ptr_test, a_pointer_survives_transport_bit_for_bit) {
  multirank::shared_array<long> cells(3);
  global_ptr<long> const mine = cells.at(me) + 1;
  // There and back through another rank's containers.
  std::map<std::string, global_ptr<long>> sent{{"p", mine}};
  auto const back =
      upcxx::rpc(
          right, [](std::map<std::string, global_ptr<long>> const& m) { return m.at("p"); }, sent)
          .wait();
  EXPECT_TRUE(back == mine);
  EXPECT_EQ(std::memcmp(&back, &mine, sizeof mine), 0);
  EXPECT_EQ(back.local(), mine.local());
  // The same text and hash wherever they are computed.
  auto const remote =
      upcxx::rpc(
          right, [](global_ptr<long> p) { return std::make_pair(text(p), std::hash<global_ptr<long>>()(p)); },
          mine)
          .wait();
  EXPECT_EQ(remote.first, text(mine));
  EXPECT_EQ(remote.second, std::hash<global_ptr<long>>()(mine));
}

TEST_F(global_ptr_test, a_peer_can_write_through_a_pointer_it_was_sent) {
  global_ptr<int> cell = upcxx::new_<int>(0);
  upcxx::rpc(
      right, [](global_ptr<int> p) { return upcxx::rput(5000 + upcxx::rank_me(), p); }, cell)
      .wait();
  EXPECT_EQ(*cell.local(), 5000 + right);
  upcxx::delete_(cell);
}

TEST_F(global_ptr_test, pointers_of_different_ranks_differ_and_are_totally_ordered) {
  multirank::shared_array<int> cells(2);
  std::set<global_ptr<int>, std::less<global_ptr<int>>> ordered;
  std::unordered_map<global_ptr<int>, int> hashed;
  for (int r = 0; r < n; ++r) {
    for (int i = 0; i < 2; ++i) {
      ordered.insert(cells.at(r) + i);
      hashed[cells.at(r) + i] = 10 * r + i;
    }
  }
  ordered.insert(global_ptr<int>());
  EXPECT_EQ(ordered.size(), static_cast<std::size_t>(2 * n + 1));
  EXPECT_EQ(hashed.size(), static_cast<std::size_t>(2 * n));
  for (int r = 0; r < n; ++r) {
    EXPECT_EQ(hashed.at(upcxx::rpc(
                            r, [](global_ptr<int> p) { return p + 1; }, cells.at(r))
                            .wait()),
              10 * r + 1);
    for (int q = 0; q < n; ++q) {
      EXPECT_EQ(cells.at(r) == cells.at(q), r == q);
      EXPECT_EQ(cells.at(r) != cells.at(q), r != q);
      int const less = std::less<global_ptr<int>>()(cells.at(r), cells.at(q)) ? 1 : 0;
      int const greater = std::greater<global_ptr<int>>()(cells.at(r), cells.at(q)) ? 1 : 0;
      EXPECT_EQ(less + greater, r == q ? 0 : 1);
      EXPECT_EQ(std::less_equal<global_ptr<int>>()(cells.at(r), cells.at(q)), greater == 0);
      EXPECT_EQ(std::greater_equal<global_ptr<int>>()(cells.at(r), cells.at(q)), less == 0);
    }
  }
  // All ranks agree on the order.
  std::vector<global_ptr<int>> order(ordered.begin(), ordered.end());
  EXPECT_TRUE(upcxx::rpc(
                  right,
                  [](std::vector<global_ptr<int>> const& v) {
                    return std::is_sorted(v.begin(), v.end(), std::less<global_ptr<int>>());
                  },
                  order)
                  .wait());
}

TEST_F(global_ptr_test, arithmetic_follows_built_in_pointers_on_remote_memory) {
  multirank::shared_array<int> cells(8);
  global_ptr<int> const first = cells.at(right);
  global_ptr<int> const end = first + 8;
  EXPECT_EQ(end - first, 8);
  EXPECT_EQ(first - end, -8);
  EXPECT_TRUE(2 + first == first + 2);
  EXPECT_TRUE(end - 8 == first);
  EXPECT_TRUE(first < end && first <= end && end > first && end >= first && first <= first);
  global_ptr<int> p = first;
  global_ptr<int>& same = (p += 3);
  EXPECT_EQ(&same, &p);
  EXPECT_EQ(p - first, 3);
  EXPECT_EQ(&(p -= 1), &p);
  EXPECT_EQ(p - first, 2);
  EXPECT_TRUE(p++ == first + 2);
  EXPECT_TRUE(++p == first + 4);
  EXPECT_TRUE(p-- == first + 4);
  EXPECT_TRUE(--p == first + 2);
  static_assert(std::is_same_v<decltype(p + 1), global_ptr<int>>);
  static_assert(std::is_same_v<decltype(1 + p), global_ptr<int>>);
  static_assert(std::is_same_v<decltype(p - 1), global_ptr<int>>);
  static_assert(std::is_same_v<decltype(p - first), std::ptrdiff_t>);
  static_assert(std::is_same_v<decltype(++p), global_ptr<int>&>);
  static_assert(std::is_same_v<decltype(p++), global_ptr<int>>);
}

TEST_F(global_ptr_test, const_is_added_implicitly_and_removed_only_by_cast) {
  multirank::shared_array<int> cells(2);
  global_ptr<int> const p = cells.at(right);
  global_ptr<int const> const c = p;
  EXPECT_TRUE(c == p);
  EXPECT_TRUE(p == c);
  EXPECT_EQ((c + 1) - p, 1);
  EXPECT_EQ((p + 1) - c, 1);
  EXPECT_TRUE(accepts_pointer_to_const(p));
  EXPECT_TRUE(upcxx::const_pointer_cast<int>(c) == p);
  static_assert(std::is_same_v<decltype(upcxx::const_pointer_cast<int>(c)), global_ptr<int>>);
  static_assert(std::is_base_of_v<global_ptr<int const>, global_ptr<int>>);
  static_assert(!std::is_convertible_v<global_ptr<int const>, global_ptr<int>>);
  static_assert(!std::is_convertible_v<global_ptr<int>, bool>);
  static_assert(!std::is_convertible_v<int*, global_ptr<int>>);
  static_assert(!std::is_convertible_v<global_ptr<derived>, global_ptr<base_a>>);
  static_assert(std::is_same_v<global_ptr<int const>::element_type, int const>);
  static_assert(std::is_same_v<global_ptr<int>::element_type, int>);
  static_assert(std::is_same_v<global_ptr<int const>::pointer_type, int const*>);
  static_assert(std::is_same_v<decltype(c.local()), int const*>);
  static_assert(std::is_same_v<decltype(p.local()), int*>);
  static_assert(sizeof(global_ptr<int>) == sizeof(global_ptr<int const>));
  static_assert(std::is_trivially_copyable_v<global_ptr<int>> &&
                std::is_trivially_destructible_v<global_ptr<int>>);
  static_assert(upcxx::is_trivially_serializable<global_ptr<int>>::value);
  static_assert(global_ptr<int>::kind == memory_kind::host);
  memory_kind const& odr_used = global_ptr<int>::kind;
  EXPECT_EQ(odr_used, memory_kind::host);
}

TEST_F(global_ptr_test, casts_keep_the_owner_and_move_the_address_like_raw_pointers) {
  multirank::shared_array<derived> cells(2);
  global_ptr<derived> const d = cells.at(right);
  global_ptr<base_b> const b = upcxx::static_pointer_cast<base_b>(d);
  EXPECT_EQ(b.where(), right);
  EXPECT_TRUE(upcxx::static_pointer_cast<derived>(b) == d);
  if (d.is_local()) {
    EXPECT_EQ(b.local(), static_cast<base_b*>(d.local()));
  }
  EXPECT_TRUE(upcxx::static_pointer_cast<base_b>(global_ptr<derived>()).is_null());
  global_ptr<std::uint8_t> const bytes = upcxx::reinterpret_pointer_cast<std::uint8_t>(d);
  EXPECT_EQ(upcxx::reinterpret_pointer_cast<std::uint8_t>(d + 1) - bytes,
            static_cast<std::ptrdiff_t>(sizeof(derived)));
  EXPECT_TRUE(upcxx::reinterpret_pointer_cast<derived>(bytes) == d);
}

TEST_F(global_ptr_test, kinds_widen_implicitly_and_narrow_by_cast) {
  multirank::shared_array<int> cells(1);
  global_ptr<int> const p = cells.at(right);
  global_ptr<int, memory_kind::any> const any = p;
  global_ptr<int const, memory_kind::any> const any_const = p;
  EXPECT_EQ(any.dynamic_kind(), memory_kind::host);
  EXPECT_EQ(any.where(), right);
  EXPECT_TRUE(any == p);
  EXPECT_TRUE(any_const == any);
  EXPECT_TRUE(upcxx::static_kind_cast<memory_kind::host>(any) == p);
  EXPECT_TRUE(upcxx::dynamic_kind_cast<memory_kind::host>(any) == p);
  EXPECT_TRUE(upcxx::dynamic_kind_cast<memory_kind::cuda_device>(any).is_null());
  EXPECT_TRUE(upcxx::dynamic_kind_cast<memory_kind::any>(p) == any);
  static_assert(!std::is_convertible_v<global_ptr<int, memory_kind::any>, global_ptr<int>>);
  EXPECT_TRUE(
      upcxx::rpc(
          right, [](global_ptr<int, memory_kind::any> q) { return q.where() == upcxx::rank_me(); }, any)
          .wait());
}

TEST_F(global_ptr_test, text_is_equal_exactly_for_equal_pointers) {
  multirank::shared_array<int> cells(2);
  std::set<std::string> texts;
  for (int r = 0; r < n; ++r) {
    EXPECT_EQ(text(cells.at(r) + 1), text((cells.at(r) + 2) - 1));
    texts.insert(text(cells.at(r)));
    texts.insert(text(cells.at(r) + 1));
  }
  texts.insert(text(global_ptr<int>()));
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(2 * n + 1));
}

TEST_F(global_ptr_test, a_pointer_to_an_incomplete_type_can_be_held_compared_and_sent) {
  global_ptr<incomplete> null;
  global_ptr<int> cell = upcxx::new_<int>(1);
  auto const opaque = upcxx::reinterpret_pointer_cast<incomplete>(cell);
  EXPECT_FALSE(opaque == null);
  EXPECT_EQ(upcxx::rpc(
                right, [](global_ptr<incomplete> p) { return p.where(); }, opaque)
                .wait(),
            me);
  upcxx::delete_(cell);
}
