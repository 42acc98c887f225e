#include "array_mover.hpp"

#include <atoll/array.hpp>
#include <upcxx/upcxx.hpp>

namespace hpgmg {
namespace {

using cells = atl::array<double, 3>;

struct array_mover final : mover {
  atl::transfer<double, 3> moves;
  explicit array_mover(atl::transfer<double, 3>&& planned) : moves(std::move(planned)) {}
  void run(std::ptrdiff_t source, std::ptrdiff_t destination, bool disturbed, move_times& times) override {
    double const begin = now();
    if (disturbed) moves.shake_hands();
    moves.start(source, destination);
    double const started = now();
    moves.finish();
    times.send += started - begin;
    times.wait += now() - started;
  }
};

/// Cells of box `id`, which is n wide on its grid, with ghosts; at `p` is the first of them.
cells box_cells(double* p, int id, int boxes, int n, int ghost, std::ptrdiff_t row, std::ptrdiff_t plane) {
  box_index const at = box_at(id, boxes);
  atl::point<3> const lower{at[0] * n, at[1] * n, at[2] * n};
  atl::domain<3> const inner{lower, lower + atl::point<3>::all(n)};
  return {upcxx::to_global_ptr(p), inner.grow(ghost), {1, row, plane}};
}
std::vector<cells> boxes_of(level const& l, int ghost) {
  std::vector<cells> all;
  box_layout const& b = l.layout();
  for (auto const& own : l.boxes()) {
    double* const first = l.cells(own, 0) - b.at(ghost, ghost, ghost);
    all.push_back(box_cells(first, own.id, l.shape().boxes, b.n, ghost, b.row, b.plane));
  }
  return all;
}
std::vector<cells> slots(std::vector<parcel> const& list, double* memory, int boxes, int n, bool all) {
  std::vector<cells> result;
  for (parcel const& p : list) {
    if (all || p.other < 0) result.push_back(box_cells(memory + p.slot, p.fine, boxes, n, 0, n, n * n));
  }
  return result;
}

}  // namespace

std::unique_ptr<mover> make_array_exchange(level const& l, ghost_shape shape) {
  constexpr atl::shape shapes[] = {atl::shape::all, atl::shape::faces, atl::shape::faces_edges};
  std::optional<atl::domain<3>> periodic;
  if (l.periodic()) periodic = atl::domain<3>{{}, atl::point<3>::all(l.shape().cells)};
  return std::make_unique<array_mover>(atl::ghost_exchange<double, 3>(
      boxes_of(l, l.layout().ghost), l.layout().ghost, shapes[static_cast<int>(shape)], periodic));
}

std::unique_ptr<mover> make_array_restriction(level const& fine, level const& coarse,
                                              restriction_plan const& what) {
  return std::make_unique<array_mover>(atl::transfer<double, 3>(
      slots(what.parcels, what.moves.source->local, fine.shape().boxes, fine.layout().n / 2, false),
      boxes_of(coarse, 0)));
}

std::unique_ptr<mover> make_array_interpolation(level const& /*coarse*/, level const& fine,
                                                interpolation_plan const& what) {
  int const boxes = fine.shape().boxes;
  int const n = fine.layout().n;
  return std::make_unique<array_mover>(
      atl::transfer<double, 3>(slots(what.parcels, what.moves.source->local, boxes, n, false),
                               slots(what.landings, what.moves.destination->local, boxes, n, true)));
}

}  // namespace hpgmg
