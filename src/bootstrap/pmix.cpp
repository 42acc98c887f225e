#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "bootstrap/factories.hpp"
#include "bootstrap/foreign.hpp"
#include "bootstrap/launched_channel.hpp"
#include "bootstrap/pmix_api.hpp"
#include "bootstrap/started_by_rank.hpp"

// Ranks started by a PMIx server: Open MPI's mpirun, prterun, srun --mpi=pmix.
//
// libpmix is opened at run time and is the same one that an MPI library in the process uses; it counts its
// initialisations, so MPI_Init may come before or after us. Exchange is put, commit, fence of the host's ranks with
// collection, get; a key may be put only once, so every round has its own. At the start one such exchange is over the
// job: eight bytes of each rank tell who shares its host. Cards are put for the job but not collected: a get asks the server of
// the rank that left one.
//
// PMIx_Finalize is called when the process exits after the library was finalised: servers take the exit of
// a process that is still connected for a failure. A rank that exits without finalize ends the job, as some servers would only
// note that it is gone. A later init after a complete PMIx_Finalize would not be portable, hence not earlier.

namespace atl::bootstrap {
namespace {

namespace api = pmix_api;
using api::library;

void require(api::status code, char const* what) {
  if (code != api::success) {
    throw bootstrap_error(format("%s failed: %s", what, library().error_string(code)));
  }
}

api::info flag(char const* key) {
  api::info set{};
  std::strncpy(set.key, key, sizeof set.key - 1);
  set.content.type = api::type_bool;
  set.content.data.flag = true;
  return set;
}

/// Of a list like "4,5,7", in their order; empty for anything else.
std::vector<std::int32_t> numbers_in(std::string_view list) {
  std::vector<std::int32_t> all;
  char const* at = list.data();
  char const* const end = at + list.size();
  while (at < end) {
    std::int32_t value = 0;
    auto const read = std::from_chars(at, end, value);
    if (read.ec != std::errc{} || value < 0 || (read.ptr < end && *read.ptr != ',')) return {};
    all.push_back(value);
    at = read.ptr + 1;
  }
  std::sort(all.begin(), all.end());
  return all;
}

class pmix_channel final : public launched_channel {
 public:
  pmix_channel() {
    connect();
    everyone_ = self_;
    everyone_.rank = api::rank_wildcard;
    watch_exit();
  }

  std::string_view name() const override { return "pmix"; }

  std::vector<std::string> exchange(std::string_view mine) override {
    std::string const key = format("atoll.exchange.%u", round_++);
    put(one_node_ ? api::scope_local : api::scope_global, key, mine);
    fence(host_);
    std::vector<std::string> all;
    all.reserve(static_cast<std::size_t>(where().local_size));
    host_ranks const here = where().ranks_of_host();
    for (std::uint32_t local = 0; local < here.count(); ++local) {
      std::int32_t const rank = here.world_rank(local);
      all.push_back(rank == where().rank ? std::string(mine) : get(rank, key));
    }
    return all;
  }

  void publish(std::string_view card) override { put(api::scope_global, card_key(++cards_), card); }
  /// A server answers with what the rank has left so far, even if that is something else, and remembers it: so
  /// waiting is asking again, and not for what is remembered.
  std::string published_by(std::int32_t rank) override {
    std::string const key = card_key(cards_);
    std::string card;
    api::info const fresh = flag(api::key_refresh_cache);
    api::info const* how = nullptr;
    std::uint64_t const patience = 600'000'000;
    std::uint64_t waited = 0;
    for (unsigned pause = 500;; pause = std::min(2 * pause, 50'000U), how = &fresh) {
      api::status const code = try_get(rank, key, how, card);
      if (code == api::success) return card;
      if (code != api::not_found || waited > patience) fail_to_get(rank, key, code);
      if (how != nullptr) ::usleep(pause);
      waited += pause;
    }
  }

 private:
  void connect() {
    api::status const code = library().init(&self_, nullptr, 0);
    if (code == api::success) return;
    std::string ours;
    pmix_available(ours);
    char const* const servers = std::getenv("PMIX_VERSION");
    throw bootstrap_error(format(
        "PMIx_Init of %s failed: %s. The launcher's library is %s. If that server still runs, the two cannot talk to each other: let the "
        "program find the launcher's (LD_LIBRARY_PATH), or use a launcher that was built with this one",
        ours.c_str(), library().error_string(code),
        servers != nullptr ? servers : "of a version that it does not tell"));
  }

  void join() override {
    std::vector<std::int32_t> const node = ranks_of_node();
    find_places(static_cast<std::int32_t>(self_.rank),
                static_cast<std::int32_t>(number(everyone_, api::key_job_size)),
                own_host_identity(node.empty() ? -1 : node.front()), node, "PMIX_RANK");
    one_node_ = settings::host().empty();
    host_.assign(1, everyone_);
    if (where().hosts == 1) return;
    host_.assign(static_cast<std::size_t>(where().local_size), self_);
    host_ranks const here = where().ranks_of_host();
    for (std::uint32_t local = 0; local < here.count(); ++local)
      host_[local].rank = static_cast<std::uint32_t>(here.world_rank(local));
  }

  void leave(char const* what, std::string_view bytes) override {
    put(api::scope_global, format("atoll.%s", what), bytes);
  }
  void meet_job() override { fence({everyone_}); }
  std::string find(char const* what, std::int32_t rank) override {
    return get(rank, format("atoll.%s", what));
  }
  void end_job(int status) noexcept override {
    library().abort(status, "atoll: a rank ended the job", nullptr, 0);
  }
  void leave_launcher() noexcept override { library().finalize(nullptr, 0); }

  /// The ranks of the launcher's node, or none if it does not say who is there. The launcher's own numbers of
  /// ranks in a node are something else: they may follow the mapping to cores.
  [[nodiscard]] std::vector<std::int32_t> ranks_of_node() const {
    api::value* result = nullptr;
    if (library().get(&everyone_, api::key_local_peers, nullptr, 0, &result) != api::success) return {};
    std::vector<std::int32_t> all;
    if (result->type == api::type_string && result->data.text != nullptr) {
      all = numbers_in(result->data.text);
      std::free(result->data.text);
    }
    std::free(result);
    return all;
  }

  static void fence(std::vector<api::proc> const& among) {
    api::info const collect = flag(api::key_collect_data);
    api::status const code = library().fence(among.data(), among.size(), &collect, 1);
    // "PARTIAL SUCCESS", "LOST CONNECTION" and the like are no words for that.
    if (code != api::success)
      throw bootstrap_error(
          format("meeting the other ranks failed, of which one may have ended: PMIx_Fence: %s",
                 library().error_string(code)));
  }

  static std::uint32_t number(api::proc const& of, char const* key) {
    api::value* result = nullptr;
    require(library().get(&of, key, nullptr, 0, &result), key);
    std::uint32_t const found = result->type == api::type_uint16 ? result->data.uint16 : result->data.uint32;
    bool const known = result->type == api::type_uint16 || result->type == api::type_uint32;
    std::free(result);
    if (!known) throw bootstrap_error(format("PMIx_Get: unexpected type of %s", key));
    return found;
  }

  static std::string card_key(unsigned number) { return format("atoll.card.%u", number); }

  static void put(std::uint8_t scope, std::string const& key, std::string_view text) {
    // One byte in front, because an empty byte object is not portable.
    std::string blob(1, '=');
    blob += text;
    api::value content{};
    content.type = api::type_byte_object;
    content.data.bo = {blob.data(), blob.size()};
    require(library().put(scope, key.c_str(), &content), "PMIx_Put");
    require(library().commit(), "PMIx_Commit");
  }
  std::string get(std::int32_t rank, std::string const& key) const {
    std::string text;
    if (api::status const code = try_get(rank, key, nullptr, text); code != api::success)
      fail_to_get(rank, key, code);
    return text;
  }

  api::status try_get(std::int32_t rank, std::string const& key, api::info const* how,
                      std::string& into) const {
    api::proc peer = self_;
    peer.rank = static_cast<std::uint32_t>(rank);
    api::value* theirs = nullptr;
    api::status const code = library().get(&peer, key.c_str(), how, how == nullptr ? 0 : 1, &theirs);
    if (code != api::success) return code;
    if (theirs->type != api::type_byte_object || theirs->data.bo.size == 0) {
      throw bootstrap_error(format("PMIx_Get: unexpected answer for rank %d", static_cast<int>(rank)));
    }
    into.assign(theirs->data.bo.bytes + 1, theirs->data.bo.size - 1);
    std::free(theirs->data.bo.bytes);
    std::free(theirs);
    return api::success;
  }
  [[noreturn]] static void fail_to_get(std::int32_t rank, std::string const& key, api::status code) {
    throw bootstrap_error(format("PMIx_Get of %s of rank %d failed: %s", key.c_str(), static_cast<int>(rank),
                                 library().error_string(code)));
  }

  api::proc self_{};
  api::proc everyone_{};
  std::vector<api::proc> host_;  ///< whom an exchange is among
  bool one_node_ = true;         ///< of the launcher: local data reach all of the host
  unsigned round_ = 0;           ///< of exchanges
  unsigned cards_ = 0;           ///< published
};

/// The environment that the process was started with; empty where it cannot be read.
std::vector<std::string> environment_at_start() {
  std::ifstream file("/proc/self/environ", std::ios::binary);
  std::vector<std::string> all;
  for (std::string line; std::getline(file, line, '\0');) all.push_back(std::move(line));
  return all;
}

}  // namespace

/// MPI_Init without a launcher of its own makes a job of one rank, and sets the variables of a PMIx launcher for itself. So where
/// the process was started by another launcher, what that has set counts.
bool started_by_pmix() noexcept {
  if (std::getenv("PMIX_NAMESPACE") == nullptr || std::getenv("PMIX_RANK") == nullptr) return false;
  if (started_by_rank("pmix")) return false;
  std::vector<std::string> const at_start = environment_at_start();
  auto const value = [&](std::string_view name) -> char const* {
    auto const found = std::find_if(at_start.begin(), at_start.end(), [&](std::string const& line) {
      return line.starts_with(name) && line.size() > name.size() && line[name.size()] == '=';
    });
    return found == at_start.end() ? nullptr : found->c_str() + name.size() + 1;
  };
  return value("PMIX_NAMESPACE") != nullptr ||
         (value("ATOLL_JOB") == nullptr && !find_foreign_task(value).has_value());
}

bool pmix_available(std::string& reason) {
  try {
    reason = library().version();
    // "OpenPMIx 4.2.2rc2 (PMIx Standard: ...)" and the like.
    reason = reason.substr(0, reason.find(" ("));
    return true;
  } catch (startup_error const& error) {
    reason = error.what();
    return false;
  }
}

std::unique_ptr<channel> make_pmix() {
  if (!started_by_pmix())
    throw startup_error("ATOLL_BOOTSTRAP=pmix, but no PMIx launcher started this process");
  try {
    return std::make_unique<pmix_channel>();
  } catch (startup_error const& error) {
    throw startup_error(
        format("started by a PMIx launcher (PMIX_RANK=%s), but %s. ATOLL_BOOTSTRAP=solo runs each "
               "process as a job of its own",
               std::getenv("PMIX_RANK"), error.what()));
  }
}

}  // namespace atl::bootstrap
