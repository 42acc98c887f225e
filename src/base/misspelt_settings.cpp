// Nobody reads a variable whose name is almost that of a setting, so that it is missed only when what it should do does
// not happen.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/settings.hpp"

namespace atl::settings {
namespace {

/// Letters that have to be changed, left out, added, or swapped with the next one to make one word of the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const changed = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({changed, above[j] + 1, row[j - 1] + 1});
      bool const swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// The setting that is meant; null where that is not clear.
entry const* meant_by(std::string_view name) {
  constexpr std::size_t tolerated = 2;
  entry const* closest = nullptr;
  std::size_t least = tolerated + 1;
  entry const* longer = nullptr;
  bool one_is_longer = false;
  for (entry const& item : all()) {
    if (name == item.name) return nullptr;
    if (std::size_t const d = distance(name, item.name); d < least) {
      least = d;
      closest = &item;
    }
    if (std::string_view(item.name).starts_with(name))
      one_is_longer = std::exchange(longer, &item) == nullptr;
  }
  return closest != nullptr ? closest : one_is_longer ? longer : nullptr;
}

}  // namespace

std::vector<misspelt> all_misspelt() {
  std::vector<misspelt> found;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    std::string_view const line = *at;
    // Names that begin otherwise may be anybody's.
    if (!line.starts_with("ATOLL_") && !line.starts_with("UPCXX_")) continue;
    std::string_view const name = line.substr(0, line.find('='));
    if (entry const* const meant = meant_by(name)) found.push_back({std::string(name), meant->name});
  }
  return found;
}

}  // namespace atl::settings
