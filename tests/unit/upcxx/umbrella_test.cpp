// First, and before anything else that would include standard headers: what it makes visible is the test.
#include <upcxx/upcxx.hpp>

namespace {

/// Uses every standard header that programs rely on <upcxx/upcxx.hpp> for.
int use_what_the_header_brings() {
  std::forward_list<int> const list{3, 1, 2};
  std::ostringstream text;
  std::copy(list.begin(), list.end(), std::ostream_iterator<int>(text, " "));
  std::mutex mutex;
  std::lock_guard<std::mutex> const lock(mutex);
  std::function<int(int)> const twice = [](int i) { return 2 * i; };
  auto const owned = std::make_unique<int>(*std::max_element(list.begin(), list.end()));
  auto const shared = std::make_shared<int>(twice(*owned));
  if (!std::cout || std::numeric_limits<int>::max() < 0) return 0;
  return *shared + static_cast<int>(text.str().size());
}

}  // namespace

#include <gtest/gtest.h>

#include <filesystem>

#include <upcxx/compat.hpp>

TEST(umbrella, brings_the_standard_headers_that_programs_rely_on) {
  EXPECT_EQ(use_what_the_header_brings(), 12);
}

#if UPCXX_DEFER_COMPLETION != 0 || UPCXX_WARN_EMPTY_RMA != 0
#error these are 0 unless they are set
#endif
#ifdef UPCXX_CODEMODE
static_assert(UPCXX_ASSERT_ENABLED == 0);
#else
static_assert(UPCXX_ASSERT_ENABLED == 1);
#endif
#ifdef UPCXX_THREADMODE
static_assert(GASNET_PAR && UPCXX_BACKEND && UPCXX_BACKEND_GASNET_PAR);
#else
static_assert(GASNET_SEQ && UPCXX_BACKEND && UPCXX_BACKEND_GASNET_SEQ);
#endif
static_assert(upcxx::release_version() == UPCXX_VERSION && upcxx::spec_version() == UPCXX_SPEC_VERSION);

TEST(umbrella, operations_have_the_names_that_programs_reach_for) {
  using namespace upcxx::detail;
  static_assert(std::is_same_v<op_wrap<opfn_add>, std::remove_const_t<decltype(upcxx::op_fast_add)>>);
  static_assert(std::is_same_v<op_wrap<opfn_min_not_max<false>, true>,
                               std::remove_const_t<decltype(upcxx::op_fast_max)>>);
  EXPECT_EQ((op_wrap<opfn_mul, true>()(3, 4)), 12);
  EXPECT_EQ((op_wrap<opfn_min_not_max<true>, true>()(3, 4)), 3);
  EXPECT_EQ((op_wrap<opfn_add, false>()(std::string("a"), std::string("b"))), "ab");
  EXPECT_EQ((op_wrap<opfn_bit_xor>()(6, 3)), 5);
}

TEST(umbrella, results_may_be_given_as_a_tuple) {
  upcxx::promise<int, std::string> two(1);
  two.fulfill_result(std::make_tuple(1, "text"));
  EXPECT_EQ(two.get_future().result<1>(), "text");
  upcxx::promise<> none(1);
  none.fulfill_result(std::tuple<>());
  EXPECT_TRUE(none.get_future().ready());
  upcxx::promise<std::unique_ptr<int>> one(1);
  one.fulfill_result(std::make_tuple(std::make_unique<int>(5)));
  EXPECT_EQ(*one.get_future().result_reference(), 5);
  upcxx::promise<std::tuple<int, int>> itself(1);
  itself.fulfill_result(std::make_tuple(1, 2));
  EXPECT_EQ(itself.get_future().result(), std::make_tuple(1, 2));
}

TEST(umbrella, older_names_are_in_a_header_of_their_own) {
  struct of_any_layout {
    virtual ~of_any_layout() = default;
    int member = 0;
  };
  using pointer = upcxx::global_ptr<of_any_layout>;
  static_assert(std::is_same_v<decltype(upcxx_memberof_unsafe(pointer(), member)), upcxx::global_ptr<int>>);
  static_assert(std::is_same_v<upcxx::say, upcxx::experimental::say>);
  [[maybe_unused]] auto const aligned = [](upcxx::device_allocator<upcxx::cuda_device>& gpu) {
    return std::pair(upcxx::allocate<double, 64>(3), gpu.allocate<double, 64>());
  };
  EXPECT_EQ(upcxx::op_max(2, 3), 3);
  EXPECT_EQ(upcxx::os_env<int>("ATOLL_TEST_NO_SUCH_VARIABLE", 7), 7);
  [[maybe_unused]] auto const nontrivial = [] {
    return upcxx::reduce_all_nontrivial(std::string(), upcxx::op_add);
  };
}

TEST(umbrella, factories_of_completions_are_functions_whose_address_can_be_taken) {
  using upcxx::operation_cx;
  using upcxx::source_cx;
  [[maybe_unused]] auto* const future = &operation_cx::as_future;
  static_assert(std::is_same_v<decltype((*future)()), decltype(operation_cx::as_future())>);
  auto* const counting = &operation_cx::as_promise<>;
  auto* const taking = operation_cx::as_promise<int>;
  upcxx::promise<int> value;
  static_assert(std::is_same_v<decltype(taking(value)), decltype(operation_cx::as_promise<int>(value))>);
  static_assert(!std::is_same_v<decltype(taking(value)), decltype(counting(upcxx::promise<>()))>);
  static_assert(std::is_pointer_v<decltype(&source_cx::as_defer_promise<int, double>)>);
  void (*const body)() = nullptr;
  auto* const call = &source_cx::as_lpc<void (*const&)()>;
  static_assert(std::is_same_v<decltype(call(std::declval<upcxx::persona&>(), body)),
                               decltype(source_cx::as_lpc(std::declval<upcxx::persona&>(), body))>);
  static_assert(std::is_pointer_v<decltype(&upcxx::remote_cx::as_rpc<void (&)(int), int>)>);
}

// What a program says of a type that the library can carry, too, is what counts: whole classes here, the others are in
// serialization_values_test.cpp.
template <>
struct upcxx::serialization<std::filesystem::path> {
  template <typename Writer>
  static void serialize(Writer& writer, std::filesystem::path const& path) {
    writer.write(path.string() + "?");
  }
  template <typename Reader, typename Storage>
  static std::filesystem::path* deserialize(Reader& reader, Storage storage) {
    return storage.construct(reader.template read<std::string>());
  }
};

TEST(umbrella, a_programs_serialization_of_paths_wins) {
  EXPECT_EQ(upcxx::serialization_traits<std::filesystem::path>::deserialized_value("a/b"), "a/b?");
}
