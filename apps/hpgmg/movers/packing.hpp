#pragma once

/// Packing by hand: all regions for one peer in one message.

#include <vector>

#include "grid/plan.hpp"

namespace hpgmg {

/// Regions that travel between this rank and another, behind each other.
struct bundle {
  int peer;
  std::vector<region> regions;
  std::ptrdiff_t doubles;
};

/// By peer, in the order of the list.
std::vector<bundle> bundles_of(std::vector<region> const& regions);
void pack(bundle const& b, double const* source, double* message);
void unpack(bundle const& b, double const* message, double* destination);

}  // namespace hpgmg
