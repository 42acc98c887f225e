#include "grid/level.hpp"

#include "grid/job.hpp"

namespace hpgmg {

level::level(job& all, grid_shape shape, int ghosts, bool periodic, box_order order, int vectors)
    : shape_(shape), layout_(shape.box, ghosts), periodic_(periodic), vectors_(vectors), me_(all.rank()) {
  owner_ = assign_boxes(shape.boxes, shape.ranks, order);
  std::vector<int> count(static_cast<std::size_t>(shape.ranks));
  for (int const rank : owner_) place_.push_back(count[static_cast<std::size_t>(rank)]++);
  int const mine = me_ < shape.ranks ? count[static_cast<std::size_t>(me_)] : 0;
  memory_ = all.allocate(std::ptrdiff_t{mine} * vectors * layout_.volume());
  for (int id = 0; id < static_cast<int>(owner_.size()); ++id) {
    if (owner(id) != me_) continue;
    boxes_.push_back({id, box_at(id, shape.boxes),
                      memory_->local + std::ptrdiff_t{place(id)} * vectors * layout_.volume()});
  }
}

int level::neighbor(box_index at, std::array<int, 3> direction) const {
  for (std::size_t d = 0; d < 3; ++d) {
    at[d] += direction[d];
    if (at[d] >= 0 && at[d] < shape_.boxes) continue;
    if (!periodic_) return -1;
    at[d] = (at[d] + shape_.boxes) % shape_.boxes;
  }
  return box_id(at, shape_.boxes);
}

}  // namespace hpgmg
