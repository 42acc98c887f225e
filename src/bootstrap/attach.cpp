#include <cstdlib>
#include <mutex>

#include "base/settings.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/factories.hpp"

// Which bootstrap: the environment decides. A PMIx server comes before `atoll run`,
// because `atoll run` takes PMIx variables out of the environment of its ranks: where both are present,
// the PMIx server is the inner launcher.

namespace atl::bootstrap {
namespace {

std::unique_ptr<channel> make_channel() {
  std::string const wanted = settings::bootstrap();
  std::string reason;
  if (wanted == "solo") return make_solo();
  if (wanted == "pmix" || (wanted == "auto" && started_by_pmix())) return make_pmix();
  if (auto made = make_local(reason)) return made;
  if (wanted == "local") throw startup_error("ATOLL_BOOTSTRAP=local, but " + reason);
  // A program started by a rank inherits the rank's variables, and is no job that somebody asked for.
  bool const by_launcher = std::getenv("ATOLL_JOB") != nullptr;
  if (int const ranks = settings::ranks_without_launcher(); ranks > 1 && !by_launcher)
    return make_forked(ranks);
  return make_solo();
}

}  // namespace

channel& attach() {
  static std::mutex mutex;
  // Never destroyed: crash handlers and exit-time code use it until the process is gone.
  static channel* made = nullptr;
  std::lock_guard const lock(mutex);
  if (made == nullptr) made = make_channel().release();
  return *made;
}

std::vector<candidate> candidates() {
  int const ranks = settings::ranks_without_launcher();
  candidate solo{"solo", true, false,
                 ranks > 1 ? format("GASNET_PSHM_NODES: becomes %d ranks", ranks) : "a job of one rank"};
  candidate local{"local", std::getenv("ATOLL_JOB") != nullptr, false, ""};
  local.reason = local.usable ? "started by `atoll run`" : "not started by `atoll run`";
  candidate pmix{"pmix", false, false, ""};
  std::string library;
  bool const have_library = pmix_available(library);
  pmix.usable = have_library && started_by_pmix();
  pmix.reason =
      std::string(started_by_pmix() ? "started by a PMIx launcher" : "not started by a PMIx launcher") +
      "; " + library;
  std::string const wanted = settings::bootstrap();
  bool const any = wanted == "auto";
  pmix.chosen = wanted == "pmix" || (any && started_by_pmix());
  local.chosen = !pmix.chosen && (wanted == "local" || (any && local.usable));
  solo.chosen = !pmix.chosen && !local.chosen;
  return {solo, local, pmix};
}

}  // namespace atl::bootstrap
