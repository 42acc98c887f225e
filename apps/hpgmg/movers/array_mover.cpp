#include "movers/array_mover.hpp"

#include "movers/box_arrays.hpp"

namespace hpgmg {
namespace {

/// Ranks wait for each other inside the library only, and do nothing between the start of a run and its end.
constexpr atl::transfer_options by_host{.by_host = true};

struct array_mover final : mover {
  atl::transfer<double, 3> moves;
  explicit array_mover(atl::transfer<double, 3>&& planned) : moves(std::move(planned)) {}
  void run(std::ptrdiff_t source, std::ptrdiff_t destination, bool disturbed, move_times& times) override {
    lap_timer lap;
    if (disturbed) moves.shake_hands();
    moves.start(source, destination);
    lap.add_to(times.send);
    moves.finish();
    lap.add_to(times.wait);
  }
};

}  // namespace

std::unique_ptr<mover> make_array_exchange(level const& l, ghost_shape shape) {
  constexpr atl::shape shapes[] = {atl::shape::all, atl::shape::faces, atl::shape::faces_edges};
  int const ghosts = l.layout().ghost;
  // Without points in a dimension, that is not periodic.
  atl::domain<3> const periodic{{}, atl::point<3>::all(l.periodic() ? l.shape().cells : 0)};
  return std::make_unique<array_mover>(atl::ghost_exchange<double, 3>(
      arrays_of(l, ghosts), ghosts, shapes[static_cast<int>(shape)], periodic, upcxx::world(), by_host));
}

std::unique_ptr<mover> make_array_restriction(level const& fine, level const& coarse,
                                              restriction_plan const& what) {
  auto const computed = arrays_of(what.parcels, *what.moves.source, fine, fine.layout().n / 2);
  return std::make_unique<array_mover>(atl::transfer<double, 3>(computed, arrays_of(coarse, 0), by_host));
}

std::unique_ptr<mover> make_array_interpolation(level const& fine, interpolation_plan const& what) {
  auto const computed = arrays_of(what.parcels, *what.moves.source, fine, fine.layout().n);
  auto const landings = arrays_of(what.landings, *what.moves.destination, fine, fine.layout().n);
  return std::make_unique<array_mover>(atl::transfer<double, 3>(computed, landings, by_host));
}

}  // namespace hpgmg
