// The program over MPI alone, packed by hand: what Atoll is held against. No call of Atoll is made.

// Open MPI's and MPICH's old C++ bindings are of no use here and give warnings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "movers/packing.hpp"
#include "movers/runtime.hpp"

namespace hpgmg {
namespace {

class mpi_group final : public group {
 public:
  explicit mpi_group(MPI_Comm members) : members_(members) {}
  ~mpi_group() override {
    if (members_ != MPI_COMM_WORLD) MPI_Comm_free(&members_);
  }
  double max(double mine) override { return reduce(mine, MPI_MAX); }
  double sum(double mine) override { return reduce(mine, MPI_SUM); }
  void barrier() override { MPI_Barrier(members_); }

 private:
  double reduce(double mine, MPI_Op op) {
    double result = 0;
    MPI_Allreduce(&mine, &result, 1, MPI_DOUBLE, op, members_);
    return result;
  }
  MPI_Comm members_;
};

struct private_arena final : arena {
  explicit private_arena(std::ptrdiff_t doubles) : memory(static_cast<std::size_t>(doubles) / 8 + 1) {
    local = memory.data()->doubles;
  }
  struct alignas(64) cache_line {
    double doubles[8];
  };
  std::vector<cache_line> memory;
};

class mpi_mover final : public mover {
 public:
  mpi_mover(plan const& moves, int tag)
      : source_(moves.source),
        destination_(moves.destination),
        locals_(moves.locals),
        sends_(bundles_of(moves.sends)),
        receives_(bundles_of(moves.receives)),
        tag_(tag) {
    for (bundle const& b : sends_) out_.emplace_back(static_cast<std::size_t>(b.doubles));
    for (bundle const& b : receives_) in_.emplace_back(static_cast<std::size_t>(b.doubles));
    requests_.resize(sends_.size() + receives_.size());
  }

  void run(std::ptrdiff_t source_offset, std::ptrdiff_t destination_offset, bool /*disturbed*/,
           move_times& times) override {
    double const* const source = source_->local + source_offset;
    double* const destination = destination_->local + destination_offset;
    lap_timer lap;
    for (std::size_t i = 0; i < receives_.size(); ++i) {
      MPI_Irecv(in_[i].data(), static_cast<int>(in_[i].size()), MPI_DOUBLE, receives_[i].peer, tag_,
                MPI_COMM_WORLD, &requests_[i]);
    }
    lap.add_to(times.wait);
    for (std::size_t i = 0; i < sends_.size(); ++i) pack(sends_[i], source, out_[i].data());
    lap.add_to(times.pack);
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      MPI_Isend(out_[i].data(), static_cast<int>(out_[i].size()), MPI_DOUBLE, sends_[i].peer, tag_,
                MPI_COMM_WORLD, &requests_[receives_.size() + i]);
    }
    lap.add_to(times.send);
    for (region const& r : locals_) copy_cells(destination + r.destination, source + r.source, r);
    lap.add_to(times.local);
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    lap.add_to(times.wait);
    for (std::size_t i = 0; i < receives_.size(); ++i) unpack(receives_[i], in_[i].data(), destination);
    lap.add_to(times.unpack);
  }

 private:
  arena* source_;
  arena* destination_;
  std::vector<region> locals_;
  std::vector<bundle> sends_;
  std::vector<bundle> receives_;
  int tag_;
  std::vector<std::vector<double>> out_;
  std::vector<std::vector<double>> in_;
  std::vector<MPI_Request> requests_;
};

class mpi_runtime final : public runtime {
 public:
  mpi_runtime(int* argc, char*** argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    world_ = std::make_unique<mpi_group>(MPI_COMM_WORLD);
  }
  ~mpi_runtime() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  group& world() override { return *world_; }
  std::unique_ptr<group> split(bool in) override {
    MPI_Comm members = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, rank_, &members);
    return in ? std::make_unique<mpi_group>(members) : nullptr;
  }
  std::unique_ptr<arena> allocate(std::ptrdiff_t doubles) override {
    return std::make_unique<private_arena>(doubles);
  }
  std::unique_ptr<mover> make_mover(plan const& moves, group* /*members*/) override {
    // Plans are made in the same order everywhere; their messages do not mix.
    return std::make_unique<mpi_mover>(moves, ++plans_);
  }

 private:
  int rank_ = 0;
  int size_ = 1;
  int plans_ = 0;
  std::unique_ptr<group> world_;
};

}  // namespace

std::unique_ptr<runtime> make_mpi_runtime(int* argc, char*** argv) {
  return std::make_unique<mpi_runtime>(argc, argv);
}

}  // namespace hpgmg
