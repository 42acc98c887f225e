#include "upcxx/global_ptr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace {

using upcxx::global_ptr;
using upcxx::memory_kind;
using access = upcxx::detail::global_ptr_access;
using any_ptr = global_ptr<int, memory_kind::any>;
using cuda_ptr = global_ptr<int, memory_kind::cuda_device>;

struct base_a {
  int a = 1;
};
struct base_b {
  double b = 2;
};
struct derived : base_a, base_b {
  int c = 3;
};
struct polymorphic_base {
  virtual ~polymorphic_base() = default;
  int x = 0;
};
struct polymorphic : base_b, polymorphic_base {
  int y = 0;
};
struct incomplete;

struct inner {
  char tag;
  double values[3];
};
struct outer {
  int head;
  inner nested;
  int const fixed = 7;
  int grid[2][3];
};
struct not_standard_layout {
  int a;

 private:
  int hidden_ = 0;

 public:
  double b;
  int touch() const { return hidden_; }
};

/// Three ranks, 5 to 7, of which this process is 6, in one private array.
class global_ptr_test : public testing::Test {
 protected:
  static constexpr std::size_t stride = 65536;
  static constexpr std::uint64_t heap_begin = 4096;
  static constexpr std::uint64_t heap_end = 60000;

  void SetUp() override {
    atl::engine::hosts = {memory_.data(), stride, heap_end, 5, 3, 1, heap_begin, heap_end};
  }
  void TearDown() override { atl::engine::hosts = {}; }

  template <typename T>
  T* at(std::uint32_t rank, std::uint64_t offset) {
    return reinterpret_cast<T*>(memory_.data() + (rank - 5) * stride + offset);
  }
  template <typename T>
  static std::string text(T const& value) {
    std::ostringstream out;
    out << value;
    return out.str();
  }

  alignas(64) std::vector<std::byte> memory_ = std::vector<std::byte>(3 * stride);
};

template <typename T, memory_kind Kind>
constexpr bool deduces_constant(global_ptr<T const, Kind>) {
  return true;
}

TEST(global_ptr_static, has_the_layout_that_other_processes_expect) {
  struct {
    std::uint32_t rank = 0x01020304;
    std::uint16_t segment = 0x0506;
    std::uint8_t kind = 2;
    std::uint8_t pad = 0;
    std::uint64_t address = 0x1122334455667788;
  } const expected;
  cuda_ptr const pointer = access::make_device<int, memory_kind::cuda_device>(
      0x01020304, 0x0506, memory_kind::cuda_device, 0x1122334455667788);
  EXPECT_EQ(std::memcmp(&pointer, &expected, sizeof pointer), 0);
}

TEST(global_ptr_static, has_the_properties_that_the_specification_names) {
  using pointer = global_ptr<double>;
  static_assert(std::is_same_v<pointer::element_type, double>);
  static_assert(std::is_same_v<global_ptr<double const>::element_type, double const>);
  static_assert(std::is_same_v<global_ptr<double const>::pointer_type, double const*>);
  static_assert(pointer::kind == memory_kind::host && any_ptr::kind == memory_kind::any);
  static_assert(std::is_base_of_v<global_ptr<double const>, pointer>);
  static_assert(std::is_nothrow_default_constructible_v<pointer>);
  static_assert(std::is_trivially_copyable_v<any_ptr> &&
                std::is_trivially_copyable_v<global_ptr<incomplete>>);
  static_assert(!std::is_convertible_v<pointer, bool> && std::is_constructible_v<bool, pointer>);
  static_assert(!std::is_convertible_v<pointer, int> && !std::is_convertible_v<double*, pointer>);
  static_assert(!std::is_convertible_v<global_ptr<derived>, global_ptr<base_a>>);
  static_assert(!std::is_convertible_v<any_ptr, global_ptr<int>>);
  static_assert(!std::is_convertible_v<global_ptr<int const>, global_ptr<int>>);
  static_assert(std::is_convertible_v<global_ptr<int>, any_ptr> && std::is_convertible_v<cuda_ptr, any_ptr>);
  static_assert(std::is_convertible_v<global_ptr<int>, global_ptr<int const, memory_kind::any>>);
  static_assert(std::is_convertible_v<any_ptr, global_ptr<int const, memory_kind::any>>);
  static_assert(std::is_same_v<decltype(++std::declval<pointer&>()), pointer&>);
  static_assert(std::is_same_v<decltype(std::declval<pointer&>()++), pointer>);
  static_assert(std::is_same_v<decltype(std::declval<pointer&>() += 1), pointer&>);
  static_assert(std::is_same_v<decltype(std::declval<pointer>() + 1), pointer>);
  static_assert(std::is_same_v<decltype(1 + std::declval<pointer>()), pointer>);
  static_assert(std::is_same_v<decltype(std::declval<pointer>() - 1), pointer>);
  static_assert(std::is_same_v<decltype(std::declval<pointer>() - std::declval<pointer>()), std::ptrdiff_t>);
  static_assert(std::is_same_v<decltype(std::declval<pointer>().local()), double*>);
  static_assert(std::is_same_v<decltype(std::declval<global_ptr<double const>>().local()), double const*>);
  static_assert(deduces_constant(pointer()));
  memory_kind const* const address_of_kind = &pointer::kind;
  EXPECT_EQ(*address_of_kind, memory_kind::host);
}

TEST(global_ptr_static, works_before_init) {
  static global_ptr<int> in_static_memory;
  EXPECT_TRUE(in_static_memory.is_null());
  EXPECT_TRUE(in_static_memory.is_local());
  EXPECT_EQ(in_static_memory.local(), nullptr);
  int x = 0;
  EXPECT_TRUE(upcxx::try_global_ptr(&x).is_null());
}

TEST(global_ptr_static, computes_at_compile_time) {
  constexpr global_ptr<int> p = access::make_host<int>(3, 64);
  static_assert((p + 2) - p == 2 && p < p + 1 && p != nullptr && !p.is_null() && p.where() == 3);
  static_assert(upcxx::reinterpret_pointer_cast<char>(p) + 4 == upcxx::reinterpret_pointer_cast<char>(p + 1));
  static_assert(global_ptr<int>() == nullptr);
}

TEST_F(global_ptr_test, translates_for_every_rank_of_the_host) {
  for (std::uint32_t rank : {5u, 6u, 7u}) {
    for (std::uint64_t offset : {heap_begin, heap_begin + 8, heap_end - 8}) {
      long* const raw = at<long>(rank, offset);
      global_ptr<long> const pointer = upcxx::to_global_ptr(raw);
      EXPECT_EQ(pointer.where(), static_cast<int>(rank));
      EXPECT_EQ(access::address(pointer), offset);
      EXPECT_TRUE(pointer.is_local());
      EXPECT_EQ(pointer.local(), raw);
      EXPECT_EQ(pointer.dynamic_kind(), memory_kind::host);
      EXPECT_TRUE(upcxx::try_global_ptr(raw) == pointer);
      EXPECT_TRUE(upcxx::to_global_ptr(static_cast<long const*>(raw)) == pointer);
    }
  }
}

TEST_F(global_ptr_test, addresses_outside_the_heaps_give_null) {
  int on_stack = 0;
  EXPECT_TRUE(upcxx::try_global_ptr(&on_stack).is_null());
  for (std::uint32_t rank : {5u, 6u, 7u}) {
    EXPECT_TRUE(upcxx::try_global_ptr(at<char>(rank, 0)).is_null()) << "control area";
    EXPECT_TRUE(upcxx::try_global_ptr(at<char>(rank, heap_begin - 1)).is_null());
    EXPECT_TRUE(upcxx::try_global_ptr(at<char>(rank, heap_end)).is_null()) << "between regions";
  }
  EXPECT_TRUE(upcxx::try_global_ptr(memory_.data() - 1).is_null());
  EXPECT_TRUE(upcxx::try_global_ptr(memory_.data() + memory_.size()).is_null());
  EXPECT_TRUE(upcxx::try_global_ptr(static_cast<int*>(nullptr)).is_null());
  EXPECT_TRUE(upcxx::to_global_ptr(static_cast<int*>(nullptr)).is_null());
}

TEST_F(global_ptr_test, memory_of_other_hosts_and_devices_is_not_local) {
  EXPECT_FALSE(access::make_host<int>(4, heap_begin).is_local());
  EXPECT_FALSE(access::make_host<int>(8, heap_begin).is_local());
  cuda_ptr const device =
      access::make_device<int, memory_kind::cuda_device>(6, 1, memory_kind::cuda_device, 4096);
  EXPECT_FALSE(device.is_local());
  EXPECT_FALSE(any_ptr(device).is_local());
  EXPECT_EQ(device.where(), 6);
  EXPECT_EQ(any_ptr(device).dynamic_kind(), memory_kind::cuda_device);
}

TEST_F(global_ptr_test, walks_an_array_like_a_raw_pointer) {
  global_ptr<double> const first = upcxx::to_global_ptr(at<double>(7, heap_begin));
  global_ptr<double> p = first;
  EXPECT_TRUE(p++ == first);
  EXPECT_EQ(p - first, 1);
  EXPECT_TRUE(++p == first + 2);
  EXPECT_TRUE(p-- == 2 + first);
  EXPECT_TRUE(--p == first);
  p += 10;
  EXPECT_EQ(p.local(), at<double>(7, heap_begin) + 10);
  p -= 4;
  EXPECT_TRUE(p - 6 == first);
  EXPECT_TRUE(p + -6 == first);
  EXPECT_EQ(first - p, -6);
  global_ptr<double const> const constant = p;
  EXPECT_EQ(constant - first, 6);
  EXPECT_EQ(first - constant, -6);
  global_ptr<double const> q = constant;
  q++;
  --q;
  EXPECT_TRUE(q == p && p == q);
}

TEST_F(global_ptr_test, null_is_one_value) {
  global_ptr<int> null;
  EXPECT_TRUE(null == nullptr && nullptr == null && !(null != nullptr));
  EXPECT_TRUE(null + 0 == null && null - 0 == null);
  EXPECT_EQ(null - global_ptr<int>(), 0);
  null = nullptr;
  EXPECT_FALSE(null);
  any_ptr const from_host = null;
  any_ptr const from_device = cuda_ptr();
  EXPECT_TRUE(from_host == from_device && from_host == any_ptr());
  EXPECT_EQ(text(from_host), text(from_device));
  EXPECT_EQ(std::hash<any_ptr>()(from_host), std::hash<any_ptr>()(from_device));
  EXPECT_TRUE(upcxx::static_kind_cast<memory_kind::cuda_device>(from_host).is_null());
  EXPECT_TRUE(upcxx::static_pointer_cast<base_b>(global_ptr<derived>()).is_null());
  EXPECT_TRUE(
      (any_ptr(access::make_device<int, memory_kind::any>(3, 2, memory_kind::cuda_device, 0)).is_null()));
  EXPECT_TRUE((access::make_device<int, memory_kind::any>(3, 2, memory_kind::cuda_device, 0) == nullptr));
}

TEST_F(global_ptr_test, orders_all_pointers_and_elements_by_index) {
  global_ptr<int> const a = upcxx::to_global_ptr(at<int>(5, heap_begin));
  global_ptr<int> const b = upcxx::to_global_ptr(at<int>(6, heap_begin));
  EXPECT_TRUE(a < a + 1 && a <= a && a + 1 > a && a >= a && !(a < a));
  global_ptr<int const> const constant = a;
  EXPECT_TRUE(constant == a && a == constant && constant < a + 1 && a < constant + 1 && a + 1 > constant);
  std::vector<any_ptr> all = {
      b + 1,
      a,
      nullptr,
      any_ptr(access::make_device<int, memory_kind::cuda_device>(5, 0, memory_kind::cuda_device, 8)),
      a + 3,
      b,
      a + 1,
      any_ptr(access::make_device<int, memory_kind::cuda_device>(5, 1, memory_kind::cuda_device, 8))};
  std::sort(all.begin(), all.end(), std::less<any_ptr>());
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < all.size(); ++j) {
      EXPECT_EQ(std::less<any_ptr>()(all[i], all[j]), i < j);
      EXPECT_EQ(std::greater_equal<any_ptr>()(all[i], all[j]), i >= j);
      EXPECT_EQ(all[i] == all[j], i == j);
    }
  }
  EXPECT_EQ(std::set<any_ptr>(all.begin(), all.end()).size(), all.size());
  EXPECT_EQ((std::unordered_set<any_ptr>(all.begin(), all.end()).size()), all.size());
}

TEST_F(global_ptr_test, compares_across_kinds) {
  global_ptr<int> const host = upcxx::to_global_ptr(at<int>(5, heap_begin));
  any_ptr const any = host;
  EXPECT_TRUE(any == host);
  EXPECT_TRUE(host == any);
  EXPECT_FALSE(any != host);
  EXPECT_TRUE(any < host + 1);
}

TEST_F(global_ptr_test, hash_agrees_with_equality_and_spreads) {
  global_ptr<int> const first = upcxx::to_global_ptr(at<int>(5, heap_begin));
  EXPECT_EQ(std::hash<global_ptr<int>>()(first), std::hash<global_ptr<int const>>()(first));
  EXPECT_EQ(std::hash<global_ptr<int>>()(first), std::hash<any_ptr>()(first));
  std::unordered_set<std::size_t> low_bits;
  for (int i = 0; i < 1024; ++i) low_bits.insert(std::hash<global_ptr<int>>()(first + 4 * i) & 1023);
  EXPECT_GT(low_bits.size(), 512u);
}

TEST_F(global_ptr_test, text_differs_exactly_where_pointers_differ) {
  global_ptr<int> const p = upcxx::to_global_ptr(at<int>(5, heap_begin));
  EXPECT_EQ(text(p), "global_ptr(rank 5, host+0x1000)");
  EXPECT_EQ(text(p), text(upcxx::to_global_ptr(at<int>(5, heap_begin))));
  EXPECT_EQ(text(global_ptr<int>()), "global_ptr(null)");
  auto const device = [](int rank, int segment, std::uint64_t address) {
    return any_ptr(access::make_device<int, memory_kind::any>(static_cast<std::uint32_t>(rank),
                                                              static_cast<std::uint16_t>(segment),
                                                              memory_kind::cuda_device, address));
  };
  std::set<std::string> const texts = {text(any_ptr(p)),       text(any_ptr(p + 1)),
                                       text(device(5, 0, 64)), text(device(5, 1, 64)),
                                       text(device(6, 0, 64)), text(device(5, 0, 128)),
                                       text(any_ptr()),        text(device(~0, 65535, ~std::uint64_t{0}))};
  EXPECT_EQ(texts.size(), 8u);
}

TEST_F(global_ptr_test, casts_do_what_raw_casts_do) {
  auto* const raw = new (at<derived>(6, heap_begin)) derived();
  global_ptr<derived> const p = upcxx::to_global_ptr(raw);
  global_ptr<base_b> const b = upcxx::static_pointer_cast<base_b>(p);
  EXPECT_EQ(b.local(), static_cast<base_b*>(raw));
  EXPECT_EQ(b.local()->b, 2);
  EXPECT_TRUE(upcxx::static_pointer_cast<derived>(b) == p);
  EXPECT_TRUE(upcxx::static_pointer_cast<derived const>(p) == p);
  EXPECT_TRUE(upcxx::const_pointer_cast<derived>(global_ptr<derived const>(p)) == p);
  EXPECT_EQ(static_cast<void*>(upcxx::reinterpret_pointer_cast<char>(p).local()), static_cast<void*>(raw));
  EXPECT_TRUE(upcxx::reinterpret_pointer_cast<derived>(upcxx::reinterpret_pointer_cast<incomplete>(p)) == p);
  EXPECT_TRUE(upcxx::static_pointer_cast<int>(upcxx::static_pointer_cast<void>(
                  upcxx::to_global_ptr(&raw->c))) == upcxx::to_global_ptr(&raw->c));

  auto* const object = new (at<polymorphic>(6, heap_begin + 256)) polymorphic();
  global_ptr<polymorphic> const q = upcxx::to_global_ptr(object);
  EXPECT_EQ(upcxx::static_pointer_cast<polymorphic_base>(q).local(), static_cast<polymorphic_base*>(object));
  EXPECT_TRUE(upcxx::static_pointer_cast<polymorphic>(upcxx::static_pointer_cast<polymorphic_base>(q)) == q);
  std::destroy_at(object);
}

TEST_F(global_ptr_test, kind_casts_check_the_kind) {
  any_ptr const host = upcxx::to_global_ptr(at<int>(5, heap_begin));
  any_ptr const device = access::make_device<int, memory_kind::any>(5, 0, memory_kind::cuda_device, 64);
  EXPECT_TRUE(upcxx::static_kind_cast<memory_kind::host>(host) == host);
  EXPECT_TRUE(upcxx::dynamic_kind_cast<memory_kind::host>(host) == host);
  EXPECT_TRUE(upcxx::dynamic_kind_cast<memory_kind::host>(device).is_null());
  EXPECT_TRUE(upcxx::dynamic_kind_cast<memory_kind::cuda_device>(host).is_null());
  EXPECT_TRUE(any_ptr(upcxx::dynamic_kind_cast<memory_kind::cuda_device>(device)) == device);
  EXPECT_TRUE(upcxx::dynamic_kind_cast<memory_kind::any>(device) == device);
  EXPECT_TRUE(upcxx::static_kind_cast<memory_kind::any>(upcxx::static_kind_cast<memory_kind::host>(host)) ==
              host);
  static_assert(
      std::is_same_v<decltype(upcxx::static_kind_cast<memory_kind::cuda_device>(device)), cuda_ptr>);
}

template <typename T>
auto second_value(global_ptr<T> pointer) {
  return upcxx_memberof(pointer, nested.values[1]);
}

TEST_F(global_ptr_test, memberof_finds_members_elements_and_first_scalars) {
  auto* const raw = at<outer>(7, heap_begin);
  global_ptr<outer> const p = upcxx::to_global_ptr(raw);
  EXPECT_EQ(upcxx_memberof(p, head).local(), &raw->head);
  EXPECT_EQ(upcxx_memberof(p, nested.tag).local(), &raw->nested.tag);
  EXPECT_EQ(second_value(p).local(), &raw->nested.values[1]);
  EXPECT_EQ(upcxx_memberof(p, grid).local(), &raw->grid[0][0]);
  EXPECT_EQ(upcxx_memberof(p, grid[1]).local(), &raw->grid[1][0]);
  static_assert(std::is_same_v<decltype(upcxx_memberof(p, grid)), global_ptr<int>>);
  static_assert(std::is_same_v<decltype(upcxx_memberof(p, fixed)), global_ptr<int const>>);
  global_ptr<outer const> const constant = p;
  static_assert(std::is_same_v<decltype(upcxx_memberof(constant, head)), global_ptr<int const>>);
  static_assert(std::is_same_v<decltype(upcxx_memberof(constant, grid)), global_ptr<int const>>);
  int evaluated = 0;
  auto const once = [&] {
    ++evaluated;
    return p;
  };
  EXPECT_EQ(upcxx_memberof(once(), nested).local(), &raw->nested);
  EXPECT_EQ(evaluated, 1);
  auto const device =
      access::make_device<outer, memory_kind::cuda_device>(5, 0, memory_kind::cuda_device, 4096);
  static_assert(std::is_same_v<decltype(upcxx_memberof(device, head)), cuda_ptr>);
  EXPECT_EQ(access::address(upcxx_memberof(device, nested)), 4096 + offsetof(outer, nested));
}

TEST_F(global_ptr_test, unsafe_memberof_serves_types_without_standard_layout) {
  auto* const raw = new (at<not_standard_layout>(7, heap_begin)) not_standard_layout();
  global_ptr<not_standard_layout> const p = upcxx::to_global_ptr(raw);
  EXPECT_EQ(upcxx_experimental_memberof_unsafe(p, b).local(), &raw->b);
  auto* const object = new (at<polymorphic>(7, heap_begin + 256)) polymorphic();
  EXPECT_EQ(upcxx_experimental_memberof_unsafe(upcxx::to_global_ptr(object), y).local(), &object->y);
  EXPECT_EQ(upcxx_experimental_memberof_unsafe(upcxx::to_global_ptr(object), x).local(), &object->x);
  std::destroy_at(object);
}

#if !defined(UPCXX_CODEMODE) || !UPCXX_CODEMODE
using global_ptr_death_test = global_ptr_test;

TEST_F(global_ptr_death_test, misuse_stops_checked_builds) {
  EXPECT_DEATH((void)access::make_host<int>(8, heap_begin).local(), "not in host memory");
  EXPECT_DEATH((void)(global_ptr<int>() + 1), "arithmetic on null");
  int on_stack = 0;
  EXPECT_DEATH((void)upcxx::to_global_ptr(&on_stack), "in no shared heap");
  any_ptr const host = upcxx::to_global_ptr(at<int>(5, heap_begin));
  EXPECT_DEATH((void)upcxx::static_kind_cast<memory_kind::cuda_device>(host), "another kind");
}
#endif

}  // namespace
