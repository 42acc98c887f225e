#include "grid/plan.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "grid/level.hpp"

namespace hpgmg {
namespace {

template <int N>
void copy_rows(double* to, double const* from, region const& r) {
  for (int k = 0; k < r.extent[2]; ++k) {
    double* t = to + r.destination_step[1] * k;
    double const* s = from + r.source_step[1] * k;
    for (int j = 0; j < r.extent[1]; ++j) {
      if constexpr (N != 0) {
        for (int i = 0; i < N; ++i) t[i] = s[i];
      } else {
        std::memcpy(t, s, sizeof(double) * static_cast<std::size_t>(r.extent[0]));
      }
      t += r.destination_step[0];
      s += r.source_step[0];
    }
  }
}

/// A region and what its place among those of the same two ranks depends on.
struct keyed {
  region what;
  int box;
  int direction;
};

std::vector<region> in_order(std::vector<keyed>& list) {
  std::ranges::stable_sort(list, {},
                           [](keyed const& a) { return std::tuple(a.what.peer, a.box, a.direction); });
  std::vector<region> result;
  for (keyed const& each : list) result.push_back(each.what);
  return result;
}

/// How boxes of two levels belong together.
struct relation {
  int ratio;       ///< fine boxes per coarse box and dimension
  int half;        ///< coarse cells of a fine box, per dimension
  int fine_boxes;  ///< per dimension
  int coarse_boxes;

  relation(level const& fine, level const& coarse)
      : ratio(fine.shape().boxes / coarse.shape().boxes),
        half(fine.layout().n / 2),
        fine_boxes(fine.shape().boxes),
        coarse_boxes(coarse.shape().boxes) {}
  [[nodiscard]] int parent(int id) const {
    auto const at = box_at(id, fine_boxes);
    return box_id({at[0] / ratio, at[1] / ratio, at[2] / ratio}, coarse_boxes);
  }
  /// First coarse cell of a fine box in its parent.
  [[nodiscard]] std::ptrdiff_t offset(int id, box_layout const& coarse) const {
    auto const at = box_at(id, fine_boxes);
    return coarse.at(at[0] % ratio * half, at[1] % ratio * half, at[2] % ratio * half);
  }
  [[nodiscard]] int count() const { return fine_boxes * fine_boxes * fine_boxes; }
};

std::ptrdiff_t cube(std::ptrdiff_t n) { return n * n * n; }

}  // namespace

std::vector<int> peers_of(plan const& moves) {
  std::vector<int> peers;
  for (auto const* list : {&moves.sends, &moves.receives}) {
    for (region const& r : *list) peers.push_back(r.peer);
  }
  std::ranges::sort(peers);
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

bool in_shape(ghost_shape shape, int direction) {
  int distance = 0;
  for (int const c : components(direction)) distance += c != 0 ? 1 : 0;
  return distance > 0 && distance <= (shape == ghost_shape::star         ? 1
                                      : shape == ghost_shape::no_corners ? 2
                                                                         : 3);
}

void copy_cells(double* to, double const* from, region const& r) {
  switch (r.extent[0]) {
    case 1:
      copy_rows<1>(to, from, r);
      break;
    case 2:
      copy_rows<2>(to, from, r);
      break;
    case 4:
      copy_rows<4>(to, from, r);
      break;
    default:
      copy_rows<0>(to, from, r);
  }
}

plan plan_exchange(level const& l, ghost_shape shape, int normal) {
  plan result;
  result.source = result.destination = &l.memory();
  box_layout const& b = l.layout();
  std::vector<keyed> sends;
  std::vector<keyed> receives;
  // Cells of box `from` in a direction, into the ghosts of box `to` on its opposite side.
  auto const between = [&](int from, int to, int direction) {
    region x;
    auto const c = components(direction);
    std::array<int, 3> first{};
    std::array<int, 3> lands{};
    for (std::size_t d = 0; d < 3; ++d) {
      x.extent[d] = c[d] == 0 ? b.n : b.ghost;
      first[d] = c[d] > 0 ? b.n - b.ghost : 0;
      lands[d] = first[d] - c[d] * b.n;
    }
    if (normal >= 0 && c[static_cast<std::size_t>(normal)] == 0) {
      std::array<int, 3> up{};
      up[static_cast<std::size_t>(normal)] = 1;
      bool const at_wall = l.neighbor(box_at(from, l.shape().boxes), up) < 0;
      x.extent[static_cast<std::size_t>(normal)] += at_wall ? 1 : 0;
    }
    x.source = l.offset(from) + b.at(first[0], first[1], first[2]);
    x.destination = l.offset(to) + b.at(lands[0], lands[1], lands[2]);
    x.source_step = x.destination_step = {b.row, b.plane};
    return x;
  };
  for (auto const& own : l.boxes()) {
    for (int direction = 0; direction < 27; ++direction) {
      int const other = in_shape(shape, direction) ? l.neighbor(own.at, components(direction)) : -1;
      if (other < 0) continue;
      region to = between(own.id, other, direction);
      to.peer = l.owner(other);
      if (to.peer == l.me()) {
        result.locals.push_back(to);
        continue;
      }
      sends.push_back({to, own.id, direction});
      region from = between(other, own.id, 26 - direction);
      from.peer = to.peer;
      receives.push_back({from, other, 26 - direction});
    }
  }
  result.sends = in_order(sends);
  result.receives = in_order(receives);
  return result;
}

std::ptrdiff_t restriction_scratch(level const& fine, level const& coarse) {
  relation const to(fine, coarse);
  std::ptrdiff_t slots = 0;
  for (auto const& own : fine.boxes()) slots += coarse.owner(to.parent(own.id)) != fine.me() ? 1 : 0;
  return slots * cube(to.half + 1);
}

restriction_plan plan_restriction(level const& fine, level const& coarse, int normal, arena& scratch) {
  restriction_plan result;
  result.moves.source = &scratch;
  result.moves.destination = &coarse.memory();
  relation const to(fine, coarse);
  box_layout const& b = coarse.layout();
  std::array<int, 3> extent{to.half, to.half, to.half};
  if (normal >= 0) ++extent[static_cast<std::size_t>(normal)];
  // Slots of a rank are in the order of its boxes.
  std::vector<std::ptrdiff_t> used(static_cast<std::size_t>(fine.shape().ranks));
  std::vector<keyed> sends;
  std::vector<keyed> receives;
  for (int id = 0; id < to.count(); ++id) {
    int const parent = to.parent(id);
    int const source = fine.owner(id);
    int const target = coarse.owner(parent);
    parcel p{id, fine.place(id), -1, to.offset(id, b), -1};
    if (source == target) {
      p.other = coarse.place(parent);
    } else {
      p.slot = used[static_cast<std::size_t>(source)]++ * cube(to.half + 1);
      region x;
      x.extent = extent;
      x.source = p.slot;
      x.source_step = {extent[0], std::ptrdiff_t{extent[0]} * extent[1]};
      x.destination = coarse.offset(parent) + p.at;
      x.destination_step = {b.row, b.plane};
      x.peer = source == fine.me() ? target : source;
      if (source == fine.me()) sends.push_back({x, id, 0});
      if (target == fine.me()) receives.push_back({x, id, 0});
    }
    if (source == fine.me()) result.parcels.push_back(p);
  }
  result.moves.sends = in_order(sends);
  result.moves.receives = in_order(receives);
  return result;
}

namespace {

/// Calls f(fine box, its parent, number of the slot of either side) for fine boxes whose parent
/// is another rank's.
template <class F>
void for_remote_children(level const& coarse, level const& fine, F&& f) {
  relation const to(fine, coarse);
  std::vector<std::ptrdiff_t> made(static_cast<std::size_t>(coarse.shape().ranks));
  std::vector<std::ptrdiff_t> landed(static_cast<std::size_t>(fine.shape().ranks));
  for (int id = 0; id < to.count(); ++id) {
    int const parent = to.parent(id);
    if (coarse.owner(parent) == fine.owner(id)) continue;
    f(id, parent, made[static_cast<std::size_t>(coarse.owner(parent))]++,
      landed[static_cast<std::size_t>(fine.owner(id))]++);
  }
}

}  // namespace

std::ptrdiff_t interpolation_scratch(level const& coarse, level const& fine) {
  std::ptrdiff_t slots = 0;
  for_remote_children(coarse, fine, [&](int, int parent, auto, auto) {
    slots += coarse.owner(parent) == coarse.me() ? 1 : 0;
  });
  return slots * cube(fine.layout().n);
}

std::ptrdiff_t interpolation_landing(level const& coarse, level const& fine) {
  std::ptrdiff_t slots = 0;
  for_remote_children(coarse, fine,
                      [&](int id, int, auto, auto) { slots += fine.owner(id) == fine.me() ? 1 : 0; });
  return slots * cube(fine.layout().n);
}

interpolation_plan plan_interpolation(level const& coarse, level const& fine, arena& scratch,
                                      arena& landing) {
  interpolation_plan result;
  result.moves.source = &scratch;
  result.moves.destination = &landing;
  relation const to(fine, coarse);
  std::ptrdiff_t const n = fine.layout().n;
  int const me = fine.me();
  std::vector<keyed> sends;
  std::vector<keyed> receives;
  for (int id = 0; id < to.count(); ++id) {
    int const parent = to.parent(id);
    if (fine.owner(id) != me || coarse.owner(parent) != me) continue;
    result.parcels.push_back({id, coarse.place(parent), fine.place(id), to.offset(id, coarse.layout()), -1});
  }
  for_remote_children(coarse, fine, [&](int id, int parent, std::ptrdiff_t made, std::ptrdiff_t landed) {
    int const source = coarse.owner(parent);
    int const target = fine.owner(id);
    if (source != me && target != me) return;
    region x;
    x.extent = {fine.layout().n, fine.layout().n, fine.layout().n};
    x.source = made * cube(n);
    x.destination = landed * cube(n);
    x.source_step = x.destination_step = {n, n * n};
    x.peer = source == me ? target : source;
    if (source == me) {
      sends.push_back({x, parent, id});
      result.parcels.push_back({id, coarse.place(parent), -1, to.offset(id, coarse.layout()), x.source});
    } else {
      receives.push_back({x, parent, id});
      result.landings.push_back({id, 0, fine.place(id), 0, x.destination});
    }
  });
  result.moves.sends = in_order(sends);
  result.moves.receives = in_order(receives);
  return result;
}

}  // namespace hpgmg
