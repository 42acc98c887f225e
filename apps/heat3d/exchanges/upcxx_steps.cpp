// `--exchange device`: one kernel for many steps, which stores planes into the neighbours' halos, with a word for each chunk of them.

#include <algorithm>
#include <array>
#include <atoll/device.cuh>
#include <atoll/stream.hpp>
#include <cstddef>
#include <upcxx/upcxx.hpp>
#include <vector>

#include "backends/kernel_exchange.hpp"
#include "exchanges/communicator.hpp"
#include "exchanges/upcxx_kernel.hpp"
#include "exchanges/upcxx_neighbors.hpp"
#include "exchanges/upcxx_segment.hpp"

namespace heat3d {
namespace {

using plane_pointer = upcxx::global_ptr<double, gpu::kind>;
using word_pointer = upcxx::global_ptr<std::uint64_t, gpu::kind>;

/// What a neighbour must know to store into our halos: null where nothing arrives.
struct kernel_mailbox {
  std::array<std::array<plane_pointer, face_n>, 2> halos;  ///< by parity of the step that reads them
  std::array<word_pointer, face_n> heard;                  ///< a word for each of its chunks
};

class planes_in_kernels final : public kernel_exchange {
 public:
  planes_in_kernels(block const& own, segment& memory);

  void restart() override {
    upcxx::barrier();  // kernels store for a step after their last one, which nobody awaits
    std::vector<std::uint64_t> const none(heard_n_);
    if (heard_n_ > 0) upcxx::copy(none.data(), heard_, none.size()).wait();
    upcxx::barrier();  // nobody says anything before all are reset
  }
  kernel_shape const& shape() const override { return shape_; }
  void start(kernel_work work, void* stream) override;

 private:
  void allocate(std::array<std::uint32_t, face_n> const& their_chunks);
  double* seen(double const* p, std::size_t n) const { return team_.local(memory_.global(p), n); }

  block own_;
  segment& memory_;
  owned_team team_;
  kernel_shape shape_;
  kernel_mailbox mine_;
  word_pointer heard_;
  std::uint32_t heard_n_ = 0;
  kernel_work reached_{};  ///< our part of it
};

/// Collective.
kernel_choice agreed_kernel(atl::device_team const& team, block const& own) {
  auto const [keeps_tiles, cell_n] = possible_kernel(team, own);
  bool const all = upcxx::reduce_all(keeps_tiles ? 1 : 0, upcxx::op_fast_min).wait() != 0;
  return {all, upcxx::reduce_all(cell_n, upcxx::op_fast_max).wait()};
}

planes_in_kernels::planes_in_kernels(block const& own, segment& memory)
    : own_(own),
      memory_(memory),
      team_((require_one_host(own, "device"), atl::make_device_team(memory.allocator()))),
      shape_(shape_of_kernel(team_, own, agreed_kernel(team_, own))) {
  std::array<std::uint32_t, face_n> their_chunks{};
  upcxx::dist_object<std::uint32_t> chunks(chunks_of(own, shape_.chunk_cells));
  for (int f = 0; f < face_n; ++f) {
    if (own.has_neighbor(face(f))) their_chunks[f] = chunks.fetch(own.neighbor[f]).wait();
  }
  all_or_none([&] { allocate(their_chunks); });

  upcxx::dist_object<kernel_mailbox> published(mine_);
  std::array<bool, face_n> reached{};
  for (int f = 0; f < face_n; ++f) {
    if (!own.has_neighbor(face(f))) continue;
    auto const theirs = published.fetch(own.neighbor[f]).wait();
    auto const there = opposite(face(f));
    auto const n = static_cast<std::size_t>(face_cells(own.extent(), face(f)));
    for (int parity = 0; parity < 2; ++parity) {
      reached_.sweeps[parity].halos[f] = team_.local(mine_.halos[parity][f], n);
      reached_.boundaries[parity].planes[f] = team_.local(theirs.halos[1 - parity][there], n);
    }
    reached_.told[f] = team_.local(theirs.heard[there], *chunks);
    reached[f] = reached_.boundaries[0].planes[f] != nullptr && reached_.boundaries[1].planes[f] != nullptr &&
                 reached_.told[f] != nullptr;
  }
  reached_.chunk_n = *chunks;
  reached_.heard = heard_n_ > 0 ? team_.local(heard_, heard_n_) : nullptr;
  reached_.heard_n = heard_n_;
  upcxx::barrier();  // nobody may ask any more when a rank ends
  require_neighbors(own, "device", "have some that do not reach each other; use rma", [&](int rank) {
    auto const f = std::ranges::find(own.neighbor, rank) - own.neighbor.begin();
    return reached[static_cast<std::size_t>(f)];
  });
}

void planes_in_kernels::allocate(std::array<std::uint32_t, face_n> const& their_chunks) {
  for (auto n : their_chunks) heard_n_ += n;
  if (heard_n_ == 0) return;
  heard_ = upcxx::reinterpret_pointer_cast<std::uint64_t>(memory_.global(memory_.allocate(heard_n_)));
  auto next = heard_;
  for (int f = 0; f < face_n; ++f) {
    if (!own_.has_neighbor(face(f))) continue;
    mine_.heard[f] = next;
    next += their_chunks[f];
    for (auto& halos : mine_.halos)
      halos[f] = memory_.global(memory_.allocate(face_cells(own_.extent(), face(f))));
  }
}

void planes_in_kernels::start(kernel_work work, void* stream) {
  auto const cell_n = static_cast<std::size_t>(own_.cells.cell_n());
  for (int parity = 0; parity < 2; ++parity) {
    auto& sweep = work.sweeps[parity];
    sweep.from = seen(sweep.from, cell_n);
    sweep.to = seen(sweep.to, cell_n);
    std::ranges::copy(reached_.sweeps[parity].halos, sweep.halos);
    std::ranges::copy(reached_.boundaries[parity].planes, work.boundaries[parity].planes);
  }
  work.chunk_n = reached_.chunk_n;
  work.heard = reached_.heard;
  work.heard_n = reached_.heard_n;
  std::ranges::copy(reached_.told, work.told);
  start_kernel(team_, atl::stream(static_cast<CUstream_st*>(stream)), shape_, work);
}

}  // namespace

std::unique_ptr<kernel_exchange> make_upcxx_kernel_exchange(block const& own, device_memory& memory) {
  return std::make_unique<planes_in_kernels>(own, static_cast<segment&>(memory));
}

}  // namespace heat3d
