#include <atoll/engine/host_map.hpp>

namespace atl::engine {

// Constant-initialised, so that pointers can be queried from static constructors and destructors of programs.
constinit host_map hosts{};

}  // namespace atl::engine
