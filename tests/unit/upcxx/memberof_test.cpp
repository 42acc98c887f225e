#include "upcxx/memberof.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>

namespace {

using upcxx::future;
using upcxx::global_ptr;
using upcxx::memory_kind;
using access = upcxx::detail::global_ptr_access;

struct plain {
  int a;
  double grid[2][3];
};
struct with_string {  // an aggregate, neither standard-layout nor trivially copyable
  std::string name;
  plain inner;
};
struct top {
  int shared = 1;
};
struct left : virtual top {
  int l = 2;
};
struct right : virtual top {
  double r = 3;
};
struct bottom : left, right {
  bottom() = default;
  bottom(bottom const&) = default;
  std::string name = "bottom";
  int const fixed = 4;
  int row[5] = {};
};
struct offsets_in_private {
  offsets_in_private() {}
  std::string s;

 private:
  int hidden_ = 0;

 public:
  int tail = 9;
  int touch() const { return hidden_; }
};

class memberof_general_test : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 65536;
  void SetUp() override {
    memory_ = static_cast<std::byte*>(std::aligned_alloc(4096, bytes));
    atl::engine::hosts = {memory_, bytes, bytes, 3, 1, 0, 4096, bytes};
  }
  void TearDown() override {
    atl::engine::hosts = {};
    std::free(memory_);
  }
  template <typename T>
  T* place() {
    return ::new (memory_ + 8192) T();
  }
  std::byte* memory_ = nullptr;
};

TEST_F(memberof_general_test, constant_offsets_are_known_without_the_object) {
  auto const far = access::make_host<plain>(77, 4096);
  future<global_ptr<int>> const a = upcxx_memberof_general(far, a);
  EXPECT_TRUE(a.ready());
  EXPECT_TRUE(a.result() == access::make_host<int>(77, 4096 + offsetof(plain, a)));
  static_assert(std::is_same_v<decltype(upcxx_memberof_general(far, grid)), future<global_ptr<double>>>);
  EXPECT_TRUE(upcxx_memberof_general(far, grid).result() ==
              access::make_host<double>(77, 4096 + offsetof(plain, grid)));
  auto const device =
      access::make_device<plain, memory_kind::cuda_device>(77, 0, memory_kind::cuda_device, 4096);
  EXPECT_EQ(access::address(upcxx_memberof_general(device, grid).result()), 4096 + offsetof(plain, grid));
  auto const text = access::make_host<with_string>(77, 4096);
  EXPECT_TRUE(upcxx_memberof_general(text, inner.grid).ready());
}

/// Nothing is known of it but its members: virtual functions, a base of its own, private members.
class with_everything : public offsets_in_private {
 public:
  with_everything() {}
  virtual ~with_everything() = default;
  double value = 1;
  std::string names[3];

 private:
  std::unique_ptr<int> hidden_too_;
};

TEST_F(memberof_general_test, classes_without_virtual_bases_need_no_object_on_devices_either) {
  static_assert(!std::is_aggregate_v<with_everything> && !std::is_standard_layout_v<with_everything>);
  with_everything const here;
  auto const place = [&here](auto const& member) {
    return static_cast<std::uint64_t>(reinterpret_cast<char const*>(&member) -
                                      reinterpret_cast<char const*>(&here));
  };
  auto const device =
      access::make_device<with_everything, memory_kind::cuda_device>(77, 0, memory_kind::cuda_device, 4096);
  EXPECT_EQ(access::address(upcxx_memberof_general(device, value).result()), 4096 + place(here.value));
  EXPECT_EQ(access::address(upcxx_memberof_general(device, names).result()), 4096 + place(here.names));
  EXPECT_EQ(access::address(upcxx_memberof_general(device, tail).result()), 4096 + place(here.tail));
  auto const own_member =
      access::make_device<bottom, memory_kind::cuda_device>(77, 0, memory_kind::cuda_device, 4096);
  EXPECT_TRUE(upcxx_memberof_general(own_member, name).ready());  // a virtual base is elsewhere
  auto const far = access::make_host<with_everything>(77, 4096);
  EXPECT_TRUE(upcxx_memberof_general(far, value).ready());
}

TEST_F(memberof_general_test, own_objects_are_asked) {
  auto* const object = place<bottom>();
  global_ptr<bottom> const p = upcxx::to_global_ptr(object);
  EXPECT_EQ(upcxx_memberof_general(p, shared).result().local(), &object->shared);
  EXPECT_EQ(upcxx_memberof_general(p, r).result().local(), &object->r);
  EXPECT_EQ(upcxx_memberof_general(p, name).result().local(), &object->name);
  EXPECT_EQ(upcxx_memberof_general(p, row).result().local(), &object->row[0]);
  static_assert(std::is_same_v<decltype(upcxx_memberof_general(p, fixed)), future<global_ptr<int const>>>);
  global_ptr<bottom const> const constant = p;
  static_assert(
      std::is_same_v<decltype(upcxx_memberof_general(constant, shared)), future<global_ptr<int const>>>);
  // Seen as a base of its own, the virtual base lies elsewhere than in a complete `right`.
  global_ptr<right> const as_right = upcxx::static_pointer_cast<right>(p);
  EXPECT_EQ(upcxx_memberof_general(as_right, shared).result().local(), &object->shared);
  std::destroy_at(object);
}

template <typename T>
auto tail_of(global_ptr<T> p) {
  return upcxx_memberof_general(p, tail);
}

TEST_F(memberof_general_test, works_in_templates_and_evaluates_its_pointer_once) {
  auto* const object = place<offsets_in_private>();
  int evaluated = 0;
  auto const once = [&] {
    ++evaluated;
    return upcxx::to_global_ptr(object);
  };
  EXPECT_EQ(tail_of(once()).result().local(), &object->tail);
  EXPECT_EQ(upcxx_memberof_general(once(), tail).result().local(), &object->tail);
  EXPECT_EQ(evaluated, 2);
  std::destroy_at(object);
}

}  // namespace
