#include "run/options.hpp"

#include <string>

#include "base/error.hpp"
#include "base/settings.hpp"

namespace atl::tools {

std::string segment_size(std::string const& heap) {
  settings::size_value const size = settings::parse_heap_size(heap, "--shared-heap");
  return size.percent < 0 ? format("%lluB/P", static_cast<unsigned long long>(size.bytes))
                          : format("%.4f/H", size.percent / 100);
}

}  // namespace atl::tools
