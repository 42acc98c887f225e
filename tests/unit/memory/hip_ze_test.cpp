// GPU memory through HIP and Level Zero, over fakes of both that share the devices of the fake CUDA driver.
// What does not depend on the vendor is tested with the cuda kind.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <type_traits>

#include "memory/gpu/gpu_kind.hpp"
#include "memory/hip/hip_driver.hpp"
#include "memory/ze/ze_driver.hpp"
#include "support/fake_cuda/control.hpp"
#include "unit/memory/gpu_copies.hpp"

namespace atl::memory {
namespace {

using way = export_record::way;

struct with_hip {
  using driver = hip::hip_driver;
  static constexpr char const* library = "FAKE_HIP_LIBRARY";
  static constexpr char const* no_driver = "no HIP runtime: libnot_there.so.1";
  static constexpr char const* lacks = "lacks hipInit; HIP 5.2";
  static constexpr char const* no_device = "the HIP runtime finds no device";
  static constexpr char const* refused = "the HIP runtime does not start: operation not supported";
  static constexpr char const* version = "HIP runtime 6.2\n";
  static constexpr char const* full = "HIP device 0: cannot allocate 5 MiB: out of memory";
  static constexpr char const* failed =
      "HIP: a copy in the library's stream 0x.* of device 0 failed: an illegal memory access";
};
struct with_ze {
  using driver = ze::ze_driver;
  static constexpr char const* library = "FAKE_ZE_LIBRARY";
  static constexpr char const* no_driver = "no Level Zero loader: libnot_there.so.1";
  static constexpr char const* lacks = "lacks zeInit; Level Zero 1.1";
  static constexpr char const* no_device = "Level Zero finds no driver";
  static constexpr char const* refused = "Level Zero does not start: unsupported feature";
  static constexpr char const* version = "Level Zero 1.3\n";
  static constexpr char const* full = "Level Zero device 0: cannot allocate 5 MiB: out of device memory";
  static constexpr char const* failed = "Level Zero: a copy of device 0 failed: device lost";
};

template <class Vendor>
class vendor_test : public testing::Test {
 protected:
  vendor_test() : library_(std::getenv(Vendor::library)), handle_(dlopen(library_.c_str(), RTLD_NOW)) {
    fake_ = reinterpret_cast<fake_cuda::get_control*>(dlsym(handle_, "fake_cuda"))();
  }
  ~vendor_test() override {
    expect_nothing_left(*fake_);
    for (char const* name : {"FAKE_CUDA", "FAKE_HIP", "ATOLL_GPU_DESCRIPTORS"}) unsetenv(name);
  }
  std::unique_ptr<gpu::gpu_kind> open(char const* what = "") {
    setenv("FAKE_CUDA", what, 1);
    fake_->restart();
    return another();
  }
  std::unique_ptr<gpu::gpu_kind> another() {
    auto driver = Vendor::driver::open(library_, why_);
    return driver == nullptr ? nullptr : std::make_unique<gpu::gpu_kind>(std::move(driver));
  }

  std::string library_;
  void* handle_;
  std::string why_;
  fake_cuda::control* fake_ = nullptr;
};
using vendors = testing::Types<with_hip, with_ze>;
TYPED_TEST_SUITE(vendor_test, vendors);

TYPED_TEST(vendor_test, what_is_not_there_is_said) {
  EXPECT_EQ(TypeParam::driver::open("libnot_there.so.1", this->why_), nullptr);
  expect_words(this->why_, TypeParam::no_driver);
  EXPECT_EQ(TypeParam::driver::open("libm.so.6", this->why_), nullptr);
  expect_words(this->why_, TypeParam::lacks);
  EXPECT_EQ(this->open("devices=0"), nullptr);
  expect_words(this->why_, TypeParam::no_device);
  EXPECT_EQ(this->open("refuse=start"), nullptr);
  expect_words(this->why_, TypeParam::refused);
}

TYPED_TEST(vendor_test, devices_are_described) {
  auto const kind = this->open("memory=67108864");
  EXPECT_EQ(kind->device_n(), 2);
  EXPECT_NE(kind->uuid(0), kind->uuid(1));
  EXPECT_EQ(kind->uuid(1).find("00000000-0000-0000-0000"), std::string::npos);
  expect_words(kind->info(), TypeParam::version);
  expect_words(kind->info(), " device 1: fake device 1, 64 MiB, uuid ");
  expect_words(kind->info(), "copies directly to and from device 0");
}

TYPED_TEST(vendor_test, copies_go_between_all_memories_directly_or_through_the_host) {
  for (char const* const what : {"", "refuse=peer", "refuse=vmm"}) {
    bool const ze = std::is_same_v<TypeParam, with_ze>;
    if (ze && std::string(what) == "refuse=vmm") continue;  // all that the fake has
    auto const kind = this->open(what);
    auto const a = kind->create(0, mib + 5, nullptr);
    auto const b = kind->create(1, mib, nullptr);
    std::uint64_t const before = this->fake_->peer_copies;
    expect_travel(*kind, *a, *a);
    expect_travel(*kind, *b, *a);
    expect_travel(*kind, *a, *b);
    EXPECT_EQ(this->fake_->peer_copies - before, *what == '\0' || ze ? 0u : 2u) << what;
    move(*kind, end(*a), end(*b), 0);
  }
}

TYPED_TEST(vendor_test, large_copies_between_devices_that_do_not_reach_each_other_are_whole) {
  auto const kind = this->open("refuse=peer");
  std::vector<int> in(9 * mib / sizeof(int) + 3);
  std::vector<int> out(in.size());
  std::iota(in.begin(), in.end(), 1);
  std::size_t const bytes = in.size() * sizeof(int);
  auto const a = kind->create(0, bytes, nullptr);
  auto const b = kind->create(1, bytes, nullptr);
  move(*kind, end(*a), host(in.data()), bytes);
  move(*kind, end(*b), end(*a), bytes);
  move(*kind, host(out.data()), end(*b), bytes);
  EXPECT_EQ(in, out);
}

TYPED_TEST(vendor_test, a_full_device_refuses_and_stays_usable) {
  auto const kind = this->open("memory=8388608");
  auto const some = kind->create(0, 4 * mib, nullptr);
  expect_words(refusal([&] { kind->create(0, 5 * mib, nullptr); }), TypeParam::full);
  EXPECT_NE(kind->create(1, 5 * mib, nullptr), nullptr);
  expect_travel(*kind, *some, *some);
}

TYPED_TEST(vendor_test, peers_import_by_descriptor) {
  for (char const* const import : {"", "by_value"}) {
    setenv("FAKE_HIP", import, 1);
    auto const kind = this->open();
    auto const peer = this->another();
    auto own = kind->create(1, 3 * mib, nullptr);
    auto const theirs = peer->create(0, mib, nullptr);
    os::unique_fd descriptor;
    export_record const record = kind->export_segment(*own, descriptor);
    EXPECT_EQ(record.reach, way::descriptor);
    auto const imported = peer->import_segment(record, std::move(descriptor), own->base(), own->bytes());
    EXPECT_EQ(imported->base(), own->base());
    expect_travel(*peer, *imported, *theirs);
    int const in = 4711;
    int out = 0;
    move(*peer, end(*imported, 2 * mib), host(&in), 4);
    move(*kind, host(&out), end(*own, 2 * mib), 4);
    EXPECT_EQ(out, 4711);
  }
}

TYPED_TEST(vendor_test, what_the_driver_does_not_export_is_left_to_its_owner) {
  auto const kind = this->open("refuse=export");
  auto const own = kind->create(0, mib, nullptr);
  os::unique_fd descriptor;
  testing::internal::CaptureStderr();
  EXPECT_EQ(kind->export_segment(*own, descriptor).reach, way::none);
  expect_words(testing::internal::GetCapturedStderr(), "peers cannot import 1 MiB");
}

TYPED_TEST(vendor_test, many_copies_land_in_order_with_few_events) {
  auto const kind = this->open();
  auto const segment = kind->create(0, mib, nullptr);
  std::vector<noted_copy> records(400);
  std::vector<int> out(records.size());
  std::vector<int> in(records.size());
  std::iota(in.begin(), in.end(), 1);
  for (std::size_t i = 0; i < records.size(); ++i) {
    kind->copy(end(*segment, i * 4), host(&in[i]), 4, static_cast<std::uint32_t>(i), &records[i], nullptr);
    kind->poll();
  }
  while (std::any_of(records.begin(), records.end(), [](noted_copy const& r) { return !r.done; }))
    kind->poll();
  move(*kind, host(out.data()), end(*segment), out.size() * 4);
  EXPECT_EQ(in, out);
}

TYPED_TEST(vendor_test, copies_are_announced_where_streams_write) {
  alignas(4096) static announcement_line lines[1];
  for (char const* const what : {"", "refuse=write", "refuse=register"}) {
    testing::internal::CaptureStderr();
    lines[0].word = 0;
    auto const kind = this->open(what);
    auto const segment = kind->create(0, mib, nullptr);
    kind->know_host_memory(lines, sizeof lines);
    kind->use_announcements(lines);
    noted_copy record;
    announcement news;
    int const in = 77;
    kind->copy(end(*segment), host(&in), 4, 0, &record, &news);
    EXPECT_EQ(news.word != nullptr, *what == '\0' && (std::is_same_v<TypeParam, with_hip>)) << what;
    while (news.word != nullptr && news.word->load(std::memory_order_acquire) < news.value)
      std::this_thread::yield();
    EXPECT_FALSE(record.done);
    while (!record.done) kind->poll();
    testing::internal::GetCapturedStderr();
  }
}

TYPED_TEST(vendor_test, private_memory_is_pinned_until_copies_of_it_are_over) {
  alignas(4096) static std::byte memory[3 * 4096];
  memory_range const pages{memory + 4096, 4096};
  for (char const* const what : {"", "refuse=register"}) {
    auto const kind = this->open(what);
    auto const segment = kind->create(0, mib, nullptr);
    std::string const why = kind->pin(pages, pages);
    EXPECT_EQ(why.empty(), *what == '\0') << why;
    EXPECT_EQ(kind->is_pinned(pages), *what == '\0');
    EXPECT_EQ(this->fake_->registrations, *what == '\0' ? 1 : 0);
    noted_copy record;
    memory[8192] = std::byte{7};
    this->fake_->hold(*what == '\0');  // the fake may copy what is not pinned before the call returns
    kind->copy(end(*segment), host(memory + 100), 2 * 4096, 0, &record, nullptr);
    EXPECT_EQ(kind->unpin(pages), *what != '\0');
    this->fake_->hold(false);
    while (!kind->unpin(pages)) kind->poll();
    while (!record.done) kind->poll();
    EXPECT_EQ(this->fake_->registrations, 0);
    std::byte found{};
    move(*kind, host(&found), end(*segment, 8192 - 100), 1);
    EXPECT_EQ(found, std::byte{7});
  }
}

TYPED_TEST(vendor_test, a_copy_that_fails_ends_the_job_with_words) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto const fail = [&] {
    auto const kind = this->open("fail_copy=1");
    auto const segment = kind->create(0, mib, nullptr);
    noted_copy record;
    this->fake_->hold(true);  // until all is submitted
    kind->copy(end(*segment), end(*segment, 64), 4, 0, &record, nullptr);
    kind->poll();
    this->fake_->hold(false);
    while (!record.done) kind->poll();
  };
  EXPECT_DEATH(fail(), TypeParam::failed);
}

using hip_test = vendor_test<with_hip>;

TEST_F(hip_test, memory_of_the_program_serves_as_a_segment_and_stays_the_programs) {
  for (char const* const version : {"", "5"}) {
    setenv("FAKE_HIP", version, 1);
    auto const kind = open();
    hip::api hip;
    ASSERT_EQ(hip.load(library_.c_str()), nullptr);
    hip::pointer memory = nullptr;
    hip.device_set(1);
    hip.memory_alloc(&memory, 65536);
    hip.device_set(0);
    void* const inner = static_cast<char*>(memory) + 4096;
    {
      auto const segment = kind->create(1, 8192, inner);
      expect_travel(*kind, *segment, *segment);
      os::unique_fd descriptor;
      export_record const record = kind->export_segment(*segment, descriptor);
      EXPECT_EQ(record.reach, way::handle);
      EXPECT_EQ(record.offset, 4096u);
      EXPECT_EQ(record.whole, 65536u);
    }
    expect_words(refusal([&] { kind->create(0, 8192, inner); }), "not memory of device 0 but of device 1");
    expect_words(refusal([&] { kind->create(1, 65536, inner); }), "65536 bytes at 0x");
    int on_host = 0;
    expect_words(refusal([&] { kind->create(1, 4, &on_host); }), "not memory of device 1");
    EXPECT_EQ(hip.last_error(), hip::success);
    EXPECT_EQ(hip.memory_free(memory), hip::success);
  }
}

TEST_F(hip_test, memory_has_handles_where_there_are_no_descriptors) {
  auto const reach = [&](char const* what) {
    auto const kind = open(what);
    auto const own = kind->create(0, mib, nullptr);
    os::unique_fd descriptor;
    return kind->export_segment(*own, descriptor).reach;
  };
  EXPECT_EQ(reach("refuse=vmm"), way::handle);
  setenv("FAKE_HIP", "5", 1);
  EXPECT_EQ(reach(""), way::handle);
  unsetenv("FAKE_HIP");
  setenv("ATOLL_GPU_DESCRIPTORS", "no", 1);
  EXPECT_EQ(reach(""), way::handle);
}

TEST_F(hip_test, the_threads_device_and_last_error_stay_as_they_were) {
  auto const kind = open();
  hip::api hip;
  ASSERT_EQ(hip.load(library_.c_str()), nullptr);
  hip.device_set(1);
  auto const unchanged = [&] {
    int device = -1;
    hip.device_get(&device);
    return device == 1 && hip.last_error() == hip::success;
  };
  auto const segment = kind->create(0, mib, nullptr);
  os::unique_fd descriptor;
  export_record const record = kind->export_segment(*segment, descriptor);
  auto const imported = kind->import_segment(record, std::move(descriptor), 4096, mib);
  EXPECT_TRUE(unchanged());
  fake_->hold(true);
  noted_copy copied;
  kind->copy(end(*segment), end(*imported), 8, 0, &copied, nullptr);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(kind->poll());
  EXPECT_TRUE(unchanged());
  fake_->hold(false);
  while (!copied.done) kind->poll();
  refusal([&] { kind->create(0, 1000 * mib, nullptr); });
  EXPECT_TRUE(unchanged());
  hip.device_set(0);
}

using ze_test = vendor_test<with_ze>;

TEST_F(ze_test, memory_of_the_program_that_the_context_knows_serves_as_a_segment) {
  auto const kind = open();
  auto const own = kind->create(1, mib, nullptr);
  auto* const inner = reinterpret_cast<void*>(own->base() + 4096);
  {
    auto const segment = kind->create(1, 8192, inner);
    expect_travel(*kind, *segment, *own);
    os::unique_fd descriptor;
    export_record const record = kind->export_segment(*segment, descriptor);
    EXPECT_EQ(record.reach, way::descriptor);
    EXPECT_EQ(record.offset, 4096u);
    auto const imported = kind->import_segment(record, std::move(descriptor), segment->base(), 8192);
    expect_travel(*kind, *imported, *own);
  }
  expect_words(refusal([&] { kind->create(0, 8192, inner); }), "is not memory of device 0");
  expect_words(refusal([&] { kind->create(1, 4 * mib, inner); }), "reach beyond the allocation");
  int on_host = 0;
  expect_words(refusal([&] { kind->create(1, 4, &on_host); }), "that this library's context knows");
}

}  // namespace
}  // namespace atl::memory
