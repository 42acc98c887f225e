#pragma once

/// A device whose streams are threads, over memory of this process: kernels really run at the same time, and
/// ThreadSanitizer sees every access that no mark orders.
///
/// Nothing may order threads but what orders streams on a device, or races would go unseen.
/// So there is no lock: work goes from the host to a stream through a list that only the stream takes from,
/// and back come marks alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "backends/accelerator.hpp"
#include "backends/host_tiles.hpp"
#include "thread_capture.hpp"

namespace heat3d {

/// Waits without telling anybody. Seventy threads that look every 20 microseconds keep two cores busy with looking.
template <class Condition>
void wait_until(Condition is_true) {
  for (int round = 0; !is_true(); ++round) {
    if (round < 10) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20 << std::min(round / 10 - 1, 5)));
    }
  }
}

/// Work that runs one after the other in a thread.
class work_stream {
 public:
  explicit work_stream(unsigned seed) : random_(seed), thread_([this] { run(); }) {}
  ~work_stream() {
    start({});  // the end
    thread_.join();
    delete first_;
  }
  work_stream(work_stream const&) = delete;
  work_stream& operator=(work_stream const&) = delete;

  void start(std::function<void()> work) {
    if (work && captured && captured(work)) return;
    auto* const item = new node{std::move(work), {}};
    last_->next.store(item, std::memory_order_release);
    last_ = item;
    ++started_;
  }
  /// True where the work is captured instead. Of the host.
  std::function<bool(std::function<void()> const&)> captured;
  bool is_idle() const { return done_.load(std::memory_order_acquire) == started_; }

 private:
  struct node {
    std::function<void()> work;
    std::atomic<node*> next{};
  };

  void run() {
    for (;;) {
      node* item = nullptr;
      wait_until([&] { return (item = first_->next.load(std::memory_order_acquire)) != nullptr; });
      delete std::exchange(first_, item);
      if (!item->work) return;
      if (random_() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(30));
      item->work();
      done_.fetch_add(1, std::memory_order_release);
    }
  }

  node* first_ = new node;  ///< done already; the next one is to come
  node* last_ = first_;     ///< of the host
  std::int64_t started_ = 0;
  std::atomic<std::int64_t> done_{0};
  std::minstd_rand random_;
  std::thread thread_;
};

class thread_device final : public accelerator {
 public:
  thread_device(unsigned seed, block const& own, bool captures = false)
      : flags_(tiling_of(inner_box(own), 5, 3, {100, 1})), captures_(captures) {
    for (int s = 0; s < stream_n; ++s) {
      streams_[s] = std::make_unique<work_stream>(++seed);
      streams_[s]->captured = [this, s](std::function<void()> const& work) {
        if (capture_) capture_->work(s, [this, s, work] { streams_[s]->start(work); });
        return capture_.has_value();
      };
    }
  }

  ~thread_device() override { EXPECT_TRUE(pinned_.empty()) << "pins outlive their device"; }

  bool pin(void const* memory, std::int64_t /*bytes*/) override { return pinned_.insert(memory).second; }
  void unpin(void const* memory) override { EXPECT_EQ(pinned_.erase(memory), 1u); }

  void sweep_inner(sweep_work const& work) override {
    streams_[inner_stream]->start([this, work] {
      flags_.sweep(work, [this](swept const& found) { radiated_[inner_stream].add(found.radiated); });
    });
  }
  void sweep_surface(face stream, sweep_work const& work) override {
    streams_[stream]->start([this, stream, work] {
      for (std::uint32_t i = 0; i < work.part.cell_n(); ++i)
        radiated_[stream].add(sweep_cell(work, flags_.device(), i));
    });
  }
  void sweep_boundary(face stream, sweep_work const& work, boundary_work const& boundary,
                      plane_words const& words) override {
    streams_[stream]->start([this, stream, work, boundary, words] {
      for (auto const* const heard : words.heard) {
        if (heard == nullptr) continue;
        std::atomic_ref const word(*const_cast<std::uint64_t*>(heard));
        wait_until([&] { return word.load(std::memory_order_acquire) == words.heard_value; });
      }
      for (std::uint32_t i = 0; i < boundary.cell_n(); ++i)
        radiated_[stream].add(sweep_boundary_cell(work, boundary, flags_.device(), i));
      for (auto* const told : words.told) {
        if (told != nullptr) std::atomic_ref(*told).store(words.told_value, std::memory_order_release);
      }
    });
  }
  bool uses_words() const override { return true; }
  void pack(face stream, plane_work const& work, double* to) override {
    streams_[stream]->start([work, to] {
      for (std::int64_t j = 0; j < work.height; ++j) {
        for (std::int64_t i = 0; i < work.width; ++i)
          to[i + work.width * j] = work.origin[i * work.stride_i + j * work.stride_j];
      }
    });
  }
  void copy_in(face stream, double* to, double const* host, std::int64_t n) override {
    streams_[stream]->start([=] { std::copy_n(host, n, to); });
  }
  void copy_out(face stream, double* host, double const* from, std::int64_t n) override {
    streams_[stream]->start([=] { std::copy_n(from, n, host); });
  }

  void sum(double const* field, std::int64_t n) override {
    ++sums_started_;
    streams_[inner_stream]->start([this, field, n] {
      sums_ = {};
      for (std::int64_t i = 0; i < n; ++i) sums_.field.add(field[i]);
      for (auto& radiated : radiated_) sums_.radiated.add(std::exchange(radiated, {}));
      sums_done_.fetch_add(1, std::memory_order_release);
    });
  }
  sums finish_sum() override {
    wait_until([&] { return sums_done_.load(std::memory_order_acquire) == sums_started_; });
    return sums_;
  }

  void record(mark m, int stream) override {
    if (capture_) return capture_->record(stream, m, [this, m, stream] { record(m, stream); });
    auto const at = static_cast<std::size_t>(m);
    auto const ticket = ++recorded_[at];
    streams_[stream]->start([this, at, ticket] { passed_[at].store(ticket, std::memory_order_release); });
  }
  void wait(int stream, mark m) override {
    if (capture_) return capture_->wait(stream, m, [this, stream, m] { wait(stream, m); });
    auto const at = static_cast<std::size_t>(m);
    auto const ticket = recorded_[at];
    streams_[stream]->start([this, at, ticket] {
      wait_until([&] { return passed_[at].load(std::memory_order_acquire) >= ticket; });
    });
  }
  bool reached(mark m) override {
    auto const at = static_cast<std::size_t>(m);
    if (passed_[at].load(std::memory_order_acquire) >= recorded_[at]) return true;
    std::this_thread::yield();
    return false;
  }
  void synchronize() override {
    for (auto const& stream : streams_) wait_until([&] { return stream->is_idle(); });
  }

  void restart() override { flags_.restart(); }
  void time_steps(std::int64_t n) override { flags_.time_steps(n); }
  void stamp(int parity) override {
    streams_[inner_stream]->start([this, parity] { flags_.device().clock.stamp(parity); });
  }
  std::vector<double> step_seconds(std::int64_t n) const override { return flags_.step_seconds(n); }
  void* native(int stream) override { return streams_[stream].get(); }
  bool begin_capture() override {
    if (captures_) capture_.emplace();
    return captures_;
  }
  std::unique_ptr<captured_work> end_capture() override {
    auto calls = capture_->end();
    capture_.reset();
    return std::make_unique<calls_made_again>(std::move(calls));
  }
  void load(double* to, double const* host, std::int64_t n) override { std::copy_n(host, n, to); }
  void store(double* host, double const* from, std::int64_t n) const override { std::copy_n(from, n, host); }

 private:
  host_tile_flags flags_;
  std::array<compensated_sum, stream_n> radiated_{};  ///< by the sweeps of each stream
  sums sums_{};
  std::int64_t sums_started_ = 0;
  std::atomic<std::int64_t> sums_done_{0};
  std::array<std::int64_t, mark_n> recorded_{};
  std::array<std::atomic<std::int64_t>, mark_n> passed_{};
  std::set<void const*> pinned_;
  bool captures_;
  std::optional<thread_capture> capture_;
  std::array<std::unique_ptr<work_stream>, stream_n> streams_;  // last: its threads use the others
};

/// Memory of this process in the place of a device's.
class thread_memory final : public device_memory {
 public:
  int device() const override { return 0; }
  std::string name() const override { return "threads"; }
  std::string uuid() const override { return "threads"; }
  double* allocate(std::int64_t n) override {
    return pieces_.emplace_back(static_cast<std::size_t>(n)).data();
  }
  void put(double* device, double const* host, std::int64_t n) override { std::copy_n(host, n, device); }
  void get(double* host, double const* device, std::int64_t n) override { std::copy_n(device, n, host); }
  void finish() override {}

 private:
  std::vector<std::vector<double>> pieces_;
};

}  // namespace heat3d
