// The message-passing variants, over MPI alone: no call of Atoll is made, so that what is timed is MPI.
//
// "mpi" is the natural form: per neighbour a non-blocking receive and directly after it the matching send,
// with one tag; before the surface cells all sends are waited for, then all receives. "mpi-tuned" takes away
// what the study suspects to cost time: its receives are persistent and posted one step ahead, so that no
// message ever meets a rank that does not expect it. Two buffers per face then alternate, as in the one-sided
// variant.
//
// "mpi-cuda" is the natural form with planes in device memory, for an MPI that takes such pointers. With the
// others a device's planes are staged through host memory by the back end.

// Open MPI's and MPICH's old C++ bindings are of no use here and give warnings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <limits>
#include <string>
#include <string_view>

#include "exchanges/communicator.hpp"

namespace heat3d {
namespace {

using plane = std::vector<double>;

class natural_exchange final : public halo_exchange {
 public:
  natural_exchange(block const& own, device_memory* device) : own_(own) {
    for (int f = 0; f < face_n; ++f) {
      if (!own.has_neighbor(face(f))) continue;
      auto const n = face_cells(own.extent(), face(f));
      for (auto* buffer : {&out_[f], &in_[f]}) {
        if (device == nullptr) host_.emplace_back(n);
        *buffer = device != nullptr ? device->allocate(n) : host_.back().data();
      }
    }
  }

  double* outgoing(face f) override { return out_[f]; }
  void start(face f, double const* sent) override {
    constexpr int tag = 1;
    auto const n = static_cast<int>(face_cells(own_.extent(), f));
    MPI_Irecv(in_[f], n, MPI_DOUBLE, own_.neighbor[f], tag, MPI_COMM_WORLD, &receives_[started_]);
    MPI_Isend(sent, n, MPI_DOUBLE, own_.neighbor[f], tag, MPI_COMM_WORLD, &sends_[started_]);
    ++started_;
  }
  void wait() override {
    MPI_Waitall(started_, sends_.data(), MPI_STATUSES_IGNORE);
    MPI_Waitall(started_, receives_.data(), MPI_STATUSES_IGNORE);
    started_ = 0;
  }
  double const* incoming(face f) override { return in_[f]; }
  void next_step() override {}

 private:
  block own_;
  std::vector<plane> host_;
  std::array<double*, face_n> out_{};
  std::array<double*, face_n> in_{};
  std::array<MPI_Request, face_n> sends_{};
  std::array<MPI_Request, face_n> receives_{};
  int started_ = 0;
};

class tuned_exchange final : public halo_exchange {
 public:
  explicit tuned_exchange(block const& own) : own_(own) {
    for (int parity = 0; parity < 2; ++parity) {
      auto& s = steps_[parity];
      s.receives.fill(MPI_REQUEST_NULL);
      s.sends.fill(MPI_REQUEST_NULL);
      for (int f = 0; f < face_n; ++f) {
        if (!own.has_neighbor(face(f))) continue;
        s.out[f].resize(face_cells(own.extent(), face(f)));
        s.in[f].resize(s.out[f].size());
        auto const n = static_cast<int>(s.in[f].size());
        MPI_Recv_init(s.in[f].data(), n, MPI_DOUBLE, own.neighbor[f], parity, MPI_COMM_WORLD, &s.receives[f]);
        MPI_Send_init(s.out[f].data(), n, MPI_DOUBLE, own.neighbor[f], parity, MPI_COMM_WORLD, &s.sends[f]);
      }
      post_receives(s);
    }
  }
  ~tuned_exchange() override {
    for (auto& s : steps_) {
      for (auto* requests : {&s.receives, &s.sends}) {
        for (auto& request : *requests) {
          if (request == MPI_REQUEST_NULL) continue;
          if (requests == &s.receives) MPI_Cancel(&request);
          MPI_Wait(&request, MPI_STATUS_IGNORE);
          MPI_Request_free(&request);
        }
      }
    }
  }

  double* outgoing(face f) override { return steps_[parity_].out[f].data(); }
  void start(face f, double const*) override { MPI_Start(&steps_[parity_].sends[f]); }
  void wait() override {
    MPI_Waitall(face_n, steps_[parity_].receives.data(), MPI_STATUSES_IGNORE);
    MPI_Waitall(face_n, steps_[parity_].sends.data(), MPI_STATUSES_IGNORE);
  }
  double const* incoming(face f) override {
    return own_.has_neighbor(f) ? steps_[parity_].in[f].data() : nullptr;
  }
  void next_step() override {
    post_receives(steps_[parity_]);
    parity_ ^= 1;
  }

 private:
  struct step {
    std::array<plane, face_n> out;
    std::array<plane, face_n> in;
    std::array<MPI_Request, face_n> sends;
    std::array<MPI_Request, face_n> receives;
  };
  static void post_receives(step& s) {
    for (auto& request : s.receives) {
      if (request != MPI_REQUEST_NULL) MPI_Start(&request);
    }
  }

  block own_;
  std::array<step, 2> steps_;
  int parity_ = 0;
};

[[noreturn]] void refuse_device_memory(int /*signal*/) {
  constexpr std::string_view text =
      "atoll-heat3d: --exchange mpi-cuda: this MPI does not take device memory; use mpi, which is staged\n";
  [[maybe_unused]] auto const written = write(STDERR_FILENO, text.data(), text.size());
  _exit(2);
}

/// Ends the job, with the reason, if MPI does not take such pointers. Only trying tells: MPI does not know
/// what a library below it can do, such as UCX, and one that cannot follows the pointer.
void try_device_memory(device_memory& device, int rank) {
  constexpr int n = 512;
  std::vector<double> sent(n, rank + 0.5);
  std::vector<double> got(n, 0.0);
  auto* const from = device.allocate(n);
  auto* const to = device.allocate(n);
  device.put(from, sent.data(), n);
  device.put(to, got.data(), n);
  device.finish();
  struct sigaction refuse {};
  refuse.sa_handler = refuse_device_memory;
  struct sigaction before[2];
  sigaction(SIGSEGV, &refuse, &before[0]);
  sigaction(SIGBUS, &refuse, &before[1]);
  constexpr int tag = 3;
  MPI_Sendrecv(from, n, MPI_DOUBLE, rank, tag, to, n, MPI_DOUBLE, rank, tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  sigaction(SIGSEGV, &before[0], nullptr);
  sigaction(SIGBUS, &before[1], nullptr);
  device.get(got.data(), to, n);
  device.finish();
  if (got != sent) {
    throw failure{
        "--exchange mpi-cuda: MPI does not move device memory as it should; use mpi, which is staged"};
  }
}

class mpi_communicator final : public communicator {
 public:
  mpi_communicator(int* argc, char*** argv, two_sided how) : tuned_(how == two_sided::tuned) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~mpi_communicator() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void start_sum(std::span<double> values) override {
    MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM,
                   MPI_COMM_WORLD, &sum_);
  }
  bool sum_done() override {
    int done = 0;
    MPI_Test(&sum_, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }
  void finish_sum() override { MPI_Wait(&sum_, MPI_STATUS_IGNORE); }
  void max(std::span<double> values) override {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
  }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  std::vector<std::vector<double>> gather(std::span<double const> mine) override;
  std::unique_ptr<halo_exchange> make_exchange(block const& own, device_memory* device) override {
    if (device != nullptr) try_device_memory(*device, rank_);
    for (int f = 0; f < face_n; ++f) {
      if (face_cells(own.extent(), face(f)) > std::numeric_limits<int>::max()) {
        throw failure{"a face of this block has more cells than an MPI message; use more ranks"};
      }
    }
    if (tuned_) return std::make_unique<tuned_exchange>(own);
    return std::make_unique<natural_exchange>(own, device);
  }

 private:
  bool tuned_;
  int rank_ = 0;
  int size_ = 1;
  MPI_Request sum_ = MPI_REQUEST_NULL;
};

std::vector<std::vector<double>> mpi_communicator::gather(std::span<double const> mine) {
  constexpr int tag = 2;
  constexpr std::size_t most = std::size_t{1} << 27;  // doubles per message, whose count is an int
  std::vector<std::int64_t> sizes(size_);
  auto const size = static_cast<std::int64_t>(mine.size());
  MPI_Gather(&size, 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  std::vector<std::vector<double>> all;
  if (rank_ != 0) {
    for (std::size_t i = 0; i < mine.size(); i += most) {
      MPI_Send(mine.data() + i, static_cast<int>(std::min(most, mine.size() - i)), MPI_DOUBLE, 0, tag,
               MPI_COMM_WORLD);
    }
    return all;
  }
  all.emplace_back(mine.begin(), mine.end());
  for (int r = 1; r < size_; ++r) {
    auto& theirs = all.emplace_back(sizes[r]);
    for (std::size_t i = 0; i < theirs.size(); i += most) {
      MPI_Recv(theirs.data() + i, static_cast<int>(std::min(most, theirs.size() - i)), MPI_DOUBLE, r, tag,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  return all;
}

}  // namespace

std::unique_ptr<communicator> make_mpi_communicator(int* argc, char*** argv, two_sided how) {
  return std::make_unique<mpi_communicator>(argc, argv, how);
}

}  // namespace heat3d
