// A libpmix that cannot talk to the launcher's server, as one of another version may not.

#include <cstddef>
#include <cstdint>

#include "bootstrap/pmix_api.hpp"

namespace api = atl::bootstrap::pmix_api;

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE api::status PMIx_Init(api::proc*, api::info*, std::size_t) { return -25; }
FAKE char const* PMIx_Error_string(api::status code) { return code == -25 ? "UNREACHABLE" : "?"; }
FAKE char const* PMIx_Get_version() { return "OpenPMIx 9.8.7 (PMIx Standard: 4.1)"; }
FAKE api::status PMIx_Finalize(api::info const*, std::size_t) { return -1; }
FAKE api::status PMIx_Get(api::proc const*, char const*, api::info const*, std::size_t, api::value**) {
  return -1;
}
FAKE api::status PMIx_Put(std::uint8_t, char const*, api::value*) { return -1; }
FAKE api::status PMIx_Commit() { return -1; }
FAKE api::status PMIx_Fence(api::proc const*, std::size_t, api::info const*, std::size_t) { return -1; }
FAKE api::status PMIx_Abort(int, char const*, api::proc*, std::size_t) { return -1; }
