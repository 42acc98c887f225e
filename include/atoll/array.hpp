#pragma once

/// Multi-dimensional arrays over global memory, after the array libraries of Titanium and UPC++: points,
/// rectangular domains and their algebra, arrays as views of any rank's memory, `copy` of the intersection of
/// two arrays, transfers between many arrays and ghost exchanges that are planned once and replayed, and
/// arrays distributed over a team. Not part of upcxx.hpp.

#include <atoll/extensions/array/dist_array.hpp>
#include <atoll/extensions/array/domain.hpp>
#include <atoll/extensions/array/ghosts.hpp>
#include <atoll/extensions/array/point.hpp>
#include <atoll/extensions/array/transfer.hpp>
#include <atoll/extensions/array/view.hpp>
