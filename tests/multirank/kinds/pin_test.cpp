// Private memory that is pinned: over simulated devices, over the fake CUDA driver, which ends the process if memory is unregistered under a
// copy and takes none that crosses a border, and over GPUs.

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>

#include <atoll/copy_batch.hpp>
#include <atoll/pin.hpp>
#include <atoll/stream.hpp>

#include "multirank/kinds/on_devices.hpp"

namespace {

using device = upcxx::gpu_default_device;
using gpu_ptr = upcxx::global_ptr<int, device::kind>;
using upcxx::operation_cx;

constexpr std::size_t count = 20'000;

/// What the fake driver was told.
bool is_refused() {
  char const* const fake = std::getenv("FAKE_CUDA");
  return fake != nullptr && std::strstr(fake, "refuse=register") != nullptr;
}

std::size_t bytes_of(std::vector<int> const& v) { return v.size() * sizeof(int); }

int arrived;

}  // namespace

class pin_test : public on_devices<device> {
 protected:
  void SetUp() override {
    on_devices::SetUp();
    if (!gpu_.is_active()) return;
    own_ = gpu_.allocate<int>(count);
    theirs_ = of_all(own_)[static_cast<std::size_t>(right)];
  }
  std::vector<int> numbers(int first) const {
    std::vector<int> v(count);
    std::iota(v.begin(), v.end(), first + 1000 * me);
    return v;
  }

  gpu_ptr own_;
  gpu_ptr theirs_;
};

TEST_F(pin_test, pinned_memory_is_copied_to_every_device_and_back) {
  auto values = numbers(1);
  std::vector<int> found(count, -1);
  auto const pinned = atl::pin(values.data(), bytes_of(values));
  auto const of_found = atl::pin(found.data(), bytes_of(found));
  EXPECT_EQ(pinned.is_pinned(), !is_refused());
  arrived = 0;
  upcxx::barrier();
  upcxx::copy(values.data(), theirs_, count,
              upcxx::remote_cx::as_rpc([] { ++arrived; }) | operation_cx::as_future())
      .wait();
  multirank::spin_until([] { return arrived == 1; });
  upcxx::copy(own_, found.data(), count).wait();
  auto expected = numbers(1);
  for (int& v : expected) v += 1000 * (left - me);
  EXPECT_EQ(found, expected);
  upcxx::copy(theirs_, found.data(), count).wait();
  EXPECT_EQ(found, values);
}

TEST_F(pin_test, copies_across_its_borders_are_whole) {
  auto values = numbers(5);
  std::vector<int> found(count, -1);
  // Neither begins or ends with a page.
  auto const pinned = atl::pin(values.data() + 3001, 7003 * sizeof(int));
  auto const of_found = atl::pin(found.data() + 9, 11'111 * sizeof(int));
  upcxx::copy(values.data(), theirs_, count).wait();
  upcxx::copy(theirs_, found.data(), count).wait();
  EXPECT_EQ(found, values);
  std::fill(found.begin(), found.end(), -1);
  {
    atl::copy_batch const together;
    upcxx::promise<> all;
    for (std::size_t i = 0; i < count; i += 100)
      upcxx::copy(theirs_ + static_cast<std::ptrdiff_t>(i), found.data() + i, 100,
                  operation_cx::as_promise(all));
    all.finalize().wait();
  }
  EXPECT_EQ(found, values);
}

TEST_F(pin_test, the_end_of_a_pin_waits_for_copies) {
  for (int round = 0; round < 10; ++round) {
    auto const values = std::make_unique<std::vector<int>>(numbers(round));
    std::vector<int> found(count, -1);
    std::vector<upcxx::future<>> done;
    {
      auto const pinned = atl::pin(values->data(), bytes_of(*values));
      for (int i = 0; i < 5; ++i) done.push_back(upcxx::copy(values->data(), theirs_, count));
    }
    for (auto const& f : done) f.wait();
    {
      auto const pinned = atl::pin(found.data(), bytes_of(found));
      done.push_back(upcxx::copy(theirs_, found.data(), count));
    }
    done.back().wait();
    EXPECT_EQ(found, *values);
    upcxx::barrier();
  }
}

TEST_F(pin_test, pins_overlap_and_go_in_any_order) {
  auto values = numbers(7);
  std::vector<int> found(count, -1);
  auto whole = atl::pin(values.data(), bytes_of(values));
  auto part = atl::pin(values.data() + 5000, 9000 * sizeof(int));
  auto beside = atl::pin(values.data() + 14'000, 1000 * sizeof(int));
  upcxx::copy(values.data(), theirs_, count).wait();
  whole.unpin();
  EXPECT_FALSE(whole.is_pinned());
  EXPECT_EQ(part.is_pinned(), !is_refused());
  EXPECT_EQ(beside.is_pinned(), !is_refused());
  upcxx::copy(theirs_, found.data(), count).wait();
  EXPECT_EQ(found, values);
  std::fill(values.begin(), values.end(), me);
  upcxx::copy(values.data(), theirs_, count).wait();
  part = std::move(beside);  // ends what it had
  EXPECT_FALSE(beside.is_pinned());
  EXPECT_EQ(part.is_pinned(), !is_refused());
  upcxx::copy(theirs_, values.data(), count).wait();
  EXPECT_EQ(values, std::vector<int>(count, me));
}

TEST_F(pin_test, nothing_and_the_shared_heap_cost_nothing) {
  EXPECT_FALSE(atl::pinned_memory().is_pinned());
  EXPECT_FALSE(atl::pin(nullptr, 0).is_pinned());
  auto const shared = upcxx::new_array<int>(count);
  {
    auto const pinned = atl::pin(shared.local(), count * sizeof(int));
    EXPECT_EQ(pinned.is_pinned(), !is_refused());
    std::fill(shared.local(), shared.local() + count, me);
    upcxx::copy(shared.local(), theirs_, count).wait();
  }
  std::vector<int> found(count, -1);
  upcxx::copy(theirs_, found.data(), count).wait();
  EXPECT_EQ(found, std::vector<int>(count, me));
  upcxx::delete_array(shared);
}

TEST_F(pin_test, streams_reach_it_by_themselves) {
  auto const s = atl::make_stream(gpu_);
  auto const other = gpu_.allocate<int>(count);
  auto const values = numbers(9);
  std::vector<int> found = values;
  auto const pinned = atl::pin(found.data(), bytes_of(found));
  upcxx::copy(found.data(), other, count, atl::on_stream(s));
  atl::wait(s);
  std::fill(found.begin(), found.end(), -1);
  upcxx::copy(other, found.data(), count, atl::on_stream(s));
  atl::wait(s);
  EXPECT_EQ(found, values);
  gpu_.deallocate(other);
}

TEST_F(pin_test, a_callback_may_end_a_pin) {
  auto const values = numbers(11);
  auto copied = values;
  auto pinned = atl::pin(copied.data(), bytes_of(copied));
  auto const all = upcxx::copy(copied.data(), theirs_, count);
  auto const first = upcxx::copy(copied.data(), theirs_, 1).then([&] { pinned.unpin(); });
  upcxx::when_all(all, first).wait();
  upcxx::copy(theirs_, copied.data(), count).wait();
  EXPECT_EQ(copied, values);
}

#if defined(UPCXX_THREADMODE) && UPCXX_THREADMODE
TEST_F(pin_test, threads_pin_and_copy_at_once) {
  constexpr std::size_t threads = 4;
  constexpr std::size_t part = count / threads;
  auto values = numbers(13);
  std::vector<int> found(count, -1);
  std::atomic<std::size_t> left_to_do{threads};
  std::vector<std::thread> all;
  for (std::size_t t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      upcxx::persona mine;
      upcxx::persona_scope const scope(mine);
      // Parts share pages, so the pin of one ends beside copies of others.
      for (int round = 0; round < 30; ++round) {
        upcxx::future<> back;
        {
          auto const pinned = atl::pin(values.data() + t * part, part * sizeof(int));
          auto const of_found = atl::pin(found.data() + t * part, part * sizeof(int));
          auto const there = theirs_ + static_cast<std::ptrdiff_t>(t * part);
          upcxx::copy(values.data() + t * part, there, part).wait();
          back = upcxx::copy(there, found.data() + t * part, part);
        }
        back.wait();
      }
      --left_to_do;
    });
  }
  while (left_to_do != 0) upcxx::progress();
  for (auto& each : all) each.join();
  EXPECT_EQ(found, values);
}
#endif
