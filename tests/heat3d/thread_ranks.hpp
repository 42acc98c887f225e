#pragma once

/// Ranks that are threads, for tests in one process.

#include <array>
#include <atomic>
#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "backends/stream_planes.hpp"
#include "exchanges/communicator.hpp"
#include "thread_device.hpp"

namespace heat3d {

/// What the ranks share. Planes stay where their sender has them until their receiver takes them, as late as
/// it can: a sender that changes them too early is found.
struct thread_job {
  explicit thread_job(int n) : meeting(n), planes(n), boxes(n), contributions(n) {}

  int size() const { return static_cast<int>(planes.size()); }

  using per_face = std::array<std::atomic<double const*>, face_n>;
  std::barrier<> meeting;
  std::vector<std::array<per_face, 2>> planes;  ///< for each rank, by parity: null where none has come
  /// Of planes that travel in streams: where they arrive, by parity and face, and who says so.
  struct box {
    std::array<std::array<std::vector<double>, face_n>, 2> incoming;
    std::array<std::array<std::uint64_t, face_n>, 2> signals{};
  };
  std::vector<box> boxes;
  std::vector<std::vector<double>> contributions;
};

/// Planes that travel in the streams of thread_device, or are written by its kernels where they are read.
class thread_planes final : public stream_planes {
 public:
  /// Collective.
  thread_planes(thread_job& job, int rank, block const& own, bool by_kernels)
      : job_(job), rank_(rank), own_(own), by_kernels_(by_kernels) {
    for (int parity = 0; parity < 2; ++parity) {
      for (int f = 0; f < face_n; ++f) {
        if (!own.has_neighbor(face(f))) continue;
        out_[parity][f].resize(face_cells(own.extent(), face(f)));
        mine().incoming[parity][f].resize(out_[parity][f].size());
      }
    }
    job_.meeting.arrive_and_wait();
  }

  double* outgoing(face f, int turn) override {
    return by_kernels_ ? theirs(f).incoming[turn % 2][opposite(f)].data() : out_[turn % 2][f].data();
  }
  double const* incoming(face f, int turn) override { return mine().incoming[turn % 2][f].data(); }
  void send(face f, int turn, void* stream) override {
    auto const& from = out_[turn % 2][f];
    auto& to = theirs(f).incoming[turn % 2][opposite(f)];
    auto& signal = theirs(f).signals[turn % 2][opposite(f)];
    static_cast<work_stream*>(stream)->start(
        [&from, &to, &signal, copies = !by_kernels_, value = signal_of(turn)] {
          if (copies) std::ranges::copy(from, to.begin());
          std::atomic_ref(signal).store(value, std::memory_order_release);
        });
  }
  plane_words words(int turn) override {
    plane_words w{by_kernels_};
    if (!by_kernels_) return w;
    int const next = (turn + 1) % turn_n;
    w.heard_value = signal_of(turn);
    w.told_value = signal_of(next);
    for (int f = 0; f < face_n; ++f) {
      if (!own_.has_neighbor(face(f))) continue;
      w.heard[f] = &mine().signals[turn % 2][f];
      w.told[f] = &theirs(face(f)).signals[next % 2][opposite(face(f))];
    }
    return w;
  }
  void await(face f, int turn, void* stream) override {
    auto& signal = mine().signals[turn % 2][f];
    static_cast<work_stream*>(stream)->start([&signal, value = signal_of(turn)] {
      wait_until([&] { return std::atomic_ref(signal).load(std::memory_order_acquire) == value; });
    });
  }
  void restart() override {
    job_.meeting.arrive_and_wait();  // planes of a step that is not run have been sent
    for (auto& all : mine().signals) all.fill(0);
    job_.meeting.arrive_and_wait();
  }

 private:
  thread_job::box& mine() { return job_.boxes[rank_]; }
  thread_job::box& theirs(face f) { return job_.boxes[own_.neighbor[f]]; }

  thread_job& job_;
  int rank_;
  block own_;
  bool by_kernels_;
  std::array<std::array<std::vector<double>, face_n>, 2> out_;
};

class thread_exchange final : public halo_exchange {
 public:
  thread_exchange(thread_job& job, int rank, block const& own) : job_(job), rank_(rank), own_(own) {
    for (int parity = 0; parity < 2; ++parity) {
      for (int f = 0; f < face_n; ++f) {
        if (!own.has_neighbor(face(f))) continue;
        out_[parity][f].resize(face_cells(own.extent(), face(f)));
        in_[parity][f].resize(out_[parity][f].size());
      }
    }
  }

  double* outgoing(face f) override { return out_[parity_][f].data(); }
  void start(face f, double const* plane) override {
    job_.planes[own_.neighbor[f]][parity_][opposite(f)].store(plane, std::memory_order_release);
  }
  bool arrived(face f) override {
    auto const* const plane = job_.planes[rank_][parity_][f].load(std::memory_order_acquire);
    if (plane == nullptr) {
      std::this_thread::yield();
      return false;
    }
    std::copy_n(plane, in_[parity_][f].size(), in_[parity_][f].begin());
    return true;
  }
  void wait() override {}
  double const* incoming(face f) override { return in_[parity_][f].data(); }
  void next_step() override {
    for (auto& plane : job_.planes[rank_][parity_]) plane.store(nullptr, std::memory_order_relaxed);
    parity_ ^= 1;
  }

 private:
  thread_job& job_;
  int rank_;
  block own_;
  int parity_ = 0;
  std::array<std::array<std::vector<double>, face_n>, 2> out_;
  std::array<std::array<std::vector<double>, face_n>, 2> in_;
};

class thread_rank final : public communicator {
 public:
  thread_rank(thread_job& job, int rank) : job_(job), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return job_.size(); }
  void start_sum(std::span<double> values) override {
    summed_ = values;
    job_.contributions[rank_].assign(values.begin(), values.end());
  }
  bool sum_done() override { return false; }
  void finish_sum() override {
    combine(summed_, [](double a, double b) { return a + b; });
  }
  void max(std::span<double> values) override {
    job_.contributions[rank_].assign(values.begin(), values.end());
    combine(values, [](double a, double b) { return std::max(a, b); });
  }
  void barrier() override { job_.meeting.arrive_and_wait(); }
  std::vector<std::vector<double>> gather(std::span<double const> mine) override {
    job_.contributions[rank_].assign(mine.begin(), mine.end());
    barrier();
    auto all = rank_ == 0 ? job_.contributions : std::vector<std::vector<double>>();
    barrier();
    return all;
  }
  std::unique_ptr<halo_exchange> make_exchange(block const& own, device_memory*) override {
    return std::make_unique<thread_exchange>(job_, rank_, own);
  }

 private:
  template <class Combine>
  void combine(std::span<double> values, Combine both) {
    barrier();
    for (std::size_t i = 0; i < values.size(); ++i) {
      double result = job_.contributions[0][i];
      for (int r = 1; r < size(); ++r) result = both(result, job_.contributions[r][i]);
      values[i] = result;
    }
    barrier();
  }

  thread_job& job_;
  int rank_;
  std::span<double> summed_;
};

/// Calls `body(rank)` in as many threads as the job has ranks.
inline void run_ranks(thread_job& job, std::function<void(thread_rank&)> const& body) {
  std::vector<std::thread> threads;
  for (int r = 0; r < job.size(); ++r) {
    threads.emplace_back([&, r] {
      thread_rank rank(job, r);
      body(rank);
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace heat3d
