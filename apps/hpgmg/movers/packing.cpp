#include "movers/packing.hpp"

namespace hpgmg {
namespace {

/// The region as it is within a message, at either end.
region packed_at(region r, bool source) {
  auto& step = source ? r.source_step : r.destination_step;
  step[0] = r.extent[0];
  step[1] = step[0] * r.extent[1];
  return r;
}

}  // namespace

std::vector<bundle> bundles_of(std::vector<region> const& regions) {
  std::vector<bundle> result;
  for (region const& r : regions) {
    if (result.empty() || result.back().peer != r.peer) result.push_back({r.peer, {}, 0});
    result.back().regions.push_back(r);
    result.back().doubles += r.size();
  }
  return result;
}

void pack(bundle const& b, double const* source, double* message) {
  for (region const& r : b.regions) {
    copy_cells(message, source + r.source, packed_at(r, false));
    message += r.size();
  }
}

void unpack(bundle const& b, double const* message, double* destination) {
  for (region const& r : b.regions) {
    copy_cells(destination + r.destination, message, packed_at(r, true));
    message += r.size();
  }
}

}  // namespace hpgmg
