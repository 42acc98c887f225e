// `--backend kokkos` where Kokkos computes on CUDA devices: the order of kernels of the device back end, and
// Kokkos' kernels in one execution-space instance per face and one for the inner cells. Written to what
// Kokkos 3.4 offers: instances wrap streams, and between them are the events of the CUDA run time.
//
// Compiled by the CUDA compiler, without contraction of multiply and add.

#include "backends/kokkos_common.hpp"
// After Kokkos, so that cell functions are marked for its execution spaces.
#include <array>

#include "backends/cuda_streams.hpp"
#include "backends/device_cells.hpp"
#include "problem/decomposition.hpp"

namespace heat3d {
namespace {

using instance = Kokkos::Cuda;
using index = Kokkos::IndexType<std::int64_t>;
constexpr int threads_of_tile = 256;
/// On a multiprocessor. Those of architecture 7.5 run 1024 threads.
#ifdef KOKKOS_ARCH_TURING75
constexpr int tiles_at_a_time = 4;
#else
constexpr int tiles_at_a_time = 5;
#endif
constexpr int pack_width = 32;
constexpr int pack_height = threads_of_tile / pack_width;
using line_policy = Kokkos::RangePolicy<instance, index>;
// Narrow indices, and not a range in three dimensions, which takes registers of its own.
using tile_policy = Kokkos::RangePolicy<instance, Kokkos::IndexType<int>,
                                        Kokkos::LaunchBounds<threads_of_tile, tiles_at_a_time>>;
using plane_policy =
    Kokkos::MDRangePolicy<instance, Kokkos::Rank<2, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                          Kokkos::IndexType<int>>;

/// Kernels as small as ours are launched with their arguments at hand, whatever their size.
template <class Policy>
auto light(Policy const& policy) {
  return Kokkos::Experimental::require(policy, Kokkos::Experimental::WorkItemProperty::HintLightWeight);
}

/// Each thread of a sweep has a slot, and adds what its cells radiate to it, if they do.
KOKKOS_INLINE_FUNCTION void add_radiated(double radiated, compensated_sum& slot) {
  if (radiated != 0) slot.add(radiated);
}

/// The first number of those that the threads of this block have: the same for all, which the compiler does not see in their own.
__device__ int first_of_block() { return static_cast<int>(blockIdx.x * (blockDim.x * blockDim.y)); }

/// Ends the thread. Kokkos calls in a loop, for grids that are smaller than their range: ours are not, and that loop takes
/// registers without which fewer tiles are computed at a time.
[[noreturn]] __device__ void end_thread() {
  asm volatile("exit;");
  __builtin_unreachable();
}

/// Columns of cells, each thread one of a tile. What is left of its threads has none.
struct inner_kernel {
  sweep_work work;
  tile_flags flags;
  compensated_sum* slots;

  __device__ void operator()(int i) const {
    constexpr int beyond_all = 1 << 28;
    auto const tile = tile_place::numbered(first_of_block() / threads_of_tile, flags.tiles);
    int const thread = i % threads_of_tile;
    int const y = thread / flags.tiles.width;
    int const x = y < flags.tiles.height ? thread - y * flags.tiles.width : beyond_all;
    add_radiated(sweep_tile(work, flags, tile, x, y).radiated, slots[i]);
    end_thread();
  }
};

struct surface_kernel {
  sweep_work work;
  tile_flags flags;
  compensated_sum* slots;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    add_radiated(sweep_cell(work, flags, static_cast<std::uint32_t>(i)), slots[i]);
  }
};

struct boundary_kernel {
  sweep_work work;
  boundary_work boundary;
  tile_flags flags;
  compensated_sum* slots;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    add_radiated(sweep_boundary_cell(work, boundary, flags, static_cast<std::uint32_t>(i)), slots[i]);
  }
};

struct stamp_kernel {
  step_clock clock;
  int parity;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t) const { clock.stamp(parity); }
};

struct pack_kernel {
  plane_work work;
  double* to;

  KOKKOS_INLINE_FUNCTION void operator()(int i, int j) const {
    to[i + work.width * j] = work.origin[i * work.stride_i + j * work.stride_j];
  }
};

struct sum_kernel {
  double const* field;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i, kokkos_sum& into) const { into.sum.add(field[i]); }
};

/// Adds up the slots and clears them.
struct collect_kernel {
  compensated_sum* slots;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i, kokkos_sum& into) const {
    into.sum.add(slots[i]);
    slots[i] = compensated_sum{};
  }
};

class kokkos_accelerator final : public cuda_streams {
 public:
  explicit kokkos_accelerator(backend_setup const& setup);
  ~kokkos_accelerator() override { synchronize(); }

  void sweep_inner(sweep_work const& work) override {
    Kokkos::parallel_for("inner",
                         light(tile_policy(instances_[inner_stream], 0,
                                           static_cast<int>(flags_.tiles.tile_n() * threads_of_tile))),
                         inner_kernel{work, flags_, slots_of(inner_stream)});
  }
  void sweep_surface(face f, sweep_work const& work) override {
    Kokkos::parallel_for("surface", light(line_policy(instances_[f], 0, work.part.cell_n())),
                         surface_kernel{work, flags_, slots_of(f)});
  }
  void sweep_boundary(face f, sweep_work const& work, boundary_work const& boundary,
                      plane_words const& /*words*/) override {
    // The slots of all faces: nobody else uses any then.
    Kokkos::parallel_for("boundary", light(line_policy(instances_[f], 0, boundary.cell_n())),
                         boundary_kernel{work, boundary, flags_, slots_of(0)});
  }
  void stamp(int parity) override {
    Kokkos::parallel_for("clock", light(line_policy(instances_[inner_stream], 0, 1)),
                         stamp_kernel{flags_.clock, parity});
  }
  void pack(face f, plane_work const& work, double* to) override {
    Kokkos::parallel_for(
        "pack",
        light(plane_policy(instances_[f], {0, 0}, {work.width, work.height}, {pack_width, pack_height})),
        pack_kernel{work, to});
  }

  // Results in memory that the device reaches: nothing here waits.
  void sum(double const* field, std::int64_t n) override {
    auto const& inner = instances_[inner_stream];
    Kokkos::parallel_reduce("sum", line_policy(inner, 0, n), sum_kernel{field}, total(field_sum_));
    Kokkos::parallel_reduce("radiated", line_policy(inner, 0, static_cast<std::int64_t>(slots_.size())),
                            collect_kernel{slots_.data()}, total(radiated_sum_));
    record_sum(inner_stream);
  }
  sums finish_sum() override {
    wait_for_sum();
    return {field_sum_().sum, radiated_sum_().sum};
  }

 private:
  using result = Kokkos::View<kokkos_sum, Kokkos::CudaHostPinnedSpace>;
  static Kokkos::Sum<kokkos_sum, Kokkos::CudaHostPinnedSpace> total(result const& into) {
    return Kokkos::Sum<kokkos_sum, Kokkos::CudaHostPinnedSpace>(into);
  }
  compensated_sum* slots_of(int stream) const { return slots_.data() + first_slot_[stream]; }

  kokkos_runtime runtime_;  // first: what follows must be gone when it ends
  std::array<instance, stream_n> instances_;
  Kokkos::View<std::uint32_t*, Kokkos::CudaSpace> flag_words_;
  std::array<std::int64_t, stream_n> first_slot_{};  ///< kernels of different streams run at the same time
  Kokkos::View<compensated_sum*, Kokkos::CudaSpace> slots_;
  result field_sum_{"sum"};
  result radiated_sum_{"radiated"};
};

kokkos_accelerator::kokkos_accelerator(backend_setup const& setup)
    : cuda_streams(setup), runtime_(setup.device->device()) {
  for (int s = 0; s < stream_n; ++s) instances_[s] = instance(stream(s));
  auto const n = setup.own.extent();
  flags_.tiles = tiling_of(inner_box(setup.own), threads_of_tile, {processors(), tiles_at_a_time});
  auto const words = flags_.tiles.tile_n();
  flag_words_ = Kokkos::View<std::uint32_t*, Kokkos::CudaSpace>("small numbers", 2 * words);
  flags_.words[0] = flag_words_.data();
  flags_.words[1] = flag_words_.data() + words;
  std::int64_t slot_n = 0;
  for (int f = 0; f < face_n; ++f) {
    first_slot_[f] = slot_n;
    slot_n += face_cells(n, face(f));
  }
  first_slot_[inner_stream] = slot_n;
  slot_n += flags_.tiles.tile_n() * threads_of_tile;
  slots_ = Kokkos::View<compensated_sum*, Kokkos::CudaSpace>("radiated", slot_n);
  synchronize();
}

}  // namespace

std::unique_ptr<backend> make_kokkos_backend(backend_setup const& setup) {
  return make_device_backend(setup, std::make_unique<kokkos_accelerator>(setup));
}

}  // namespace heat3d
