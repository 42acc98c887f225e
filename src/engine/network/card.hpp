#pragma once

/// What ranks of other hosts need of a rank to reach it.

#include <string>

namespace atl::engine {

struct card {
  std::string host;     ///< its name, or the first bytes of a long one
  std::string address;  ///< in the network
};

}  // namespace atl::engine
