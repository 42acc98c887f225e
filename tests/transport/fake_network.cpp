// Modules that libatoll has to refuse; FAKE says which.

#include "transport/plugin.hpp"

#define FAKE_none 0
#define FAKE_version 1
#define FAKE_types 2
#define FAKE_NUMBER_(what) FAKE_##what
#define FAKE_NUMBER(what) FAKE_NUMBER_(what)

#if FAKE_NUMBER(FAKE) != FAKE_none
namespace {

namespace t = atl::transport;

constexpr t::atoll_network_plugin plugin{t::plugin_version + (FAKE_NUMBER(FAKE) == FAKE_version),
                                         t::plugin_types + (FAKE_NUMBER(FAKE) == FAKE_types), "fake",
                                         nullptr};

}  // namespace

extern "C" [[gnu::visibility("default")]] t::atoll_network_plugin const* atoll_network_plugin_1() {
  return &plugin;
}
#endif
