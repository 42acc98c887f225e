#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "bootstrap/factories.hpp"
#include "bootstrap/pmix_api.hpp"

// Ranks started by a PMIx server: Open MPI's mpirun, prterun, srun --mpi=pmix.
//
// libpmix is opened at run time and is the same one that an MPI library in the process uses; it counts its
// initialisations, so MPI_Init may come before or after us. Exchange is put, commit, fence with collection,
// get; a key may be put only once, so every round has its own.
//
// PMIx_Finalize is called when the process exits after the library was finalised: a server takes the exit of
// a process that is still connected for a failure, which is what we want for a rank that exits without
// finalize. A later init after a complete PMIx_Finalize would not be portable, hence not earlier.

namespace atl::bootstrap {
namespace {

namespace api = pmix_api;

template <class Function>
void find(void* library, Function*& into, char const* name) {
  into = reinterpret_cast<Function*>(::dlsym(library, name));
  if (into == nullptr) throw startup_error(format("libpmix.so.2 has no %s", name));
}

/// Opens libpmix once; it stays. Throws startup_error.
api::functions const& library() {
  static api::functions const loaded = [] {
    // Global, because the plugins of some builds of libpmix expect to find its symbols there.
    void* const handle = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) throw startup_error(format("cannot open libpmix.so.2: %s", ::dlerror()));
    api::functions f{};
    find(handle, f.init, "PMIx_Init");
    find(handle, f.finalize, "PMIx_Finalize");
    find(handle, f.get, "PMIx_Get");
    find(handle, f.put, "PMIx_Put");
    find(handle, f.commit, "PMIx_Commit");
    find(handle, f.fence, "PMIx_Fence");
    find(handle, f.abort, "PMIx_Abort");
    find(handle, f.error_string, "PMIx_Error_string");
    find(handle, f.version, "PMIx_Get_version");
    return f;
  }();
  return loaded;
}

void require(api::status code, char const* what) {
  if (code != api::success) {
    throw bootstrap_error(format("%s failed: %s", what, library().error_string(code)));
  }
}

/// FNV-1a, for job ids: equal inputs on all ranks, different ones for different jobs.
std::uint64_t hash(std::string_view text, std::uint64_t start) {
  for (char const c : text) start = (start ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return start;
}

class pmix_channel final : public channel {
 public:
  pmix_channel() {
    require(library().init(&self_, nullptr, 0), "PMIx_Init");
    everyone_ = self_;
    everyone_.rank = api::rank_wildcard;
    where_.rank = static_cast<std::int32_t>(self_.rank);
    where_.size = static_cast<std::int32_t>(number(everyone_, api::key_job_size));
    where_.local_size = static_cast<std::int32_t>(number(everyone_, api::key_local_size));
    // On one host the position among its ranks is the rank. The launcher's own local rank is something else:
    // it may follow the mapping to cores.
    where_.local_rank = where_.rank;
    if (where_.local_size != where_.size) {
      throw startup_error(
          format("%d ranks on this host of %d in the job: several hosts need the ucx transport, "
                 "which is not in this build; start all ranks on one host",
                 where_.local_size, where_.size));
    }
    // The server's address contains its port: together with the job's name that is unique on this host.
    char const* const server = std::getenv("PMIX_SERVER_URI2");
    std::string const seed = std::string(self_.nspace) + "|" + (server != nullptr ? server : "") + "|";
    job_id_ = format("%016llx%016llx", static_cast<unsigned long long>(hash(seed, 0xcbf29ce484222325)),
                     static_cast<unsigned long long>(hash(seed, 0x9ae16a3b2f90404f)));
    diagnostics_.pid.store(static_cast<std::int32_t>(::getpid()), std::memory_order_relaxed);
    current_ = this;
    std::atexit([] { current_->at_exit(); });
  }

  std::string_view name() const override { return "pmix"; }
  placement const& where() const override { return where_; }
  std::string_view job_id() const override { return job_id_; }
  rank_diagnostics& diagnostics() override { return diagnostics_; }
  char const* console_env(char const* name) override { return std::getenv(name); }

  std::vector<std::string> exchange(std::string_view mine) override {
    std::string const key = format("atoll.exchange.%u", round_++);
    put(api::scope_local, key, mine);
    api::info collect{};
    std::strncpy(collect.key, api::key_collect_data, sizeof collect.key - 1);
    collect.content.type = api::type_bool;
    collect.content.data.flag = true;
    require(library().fence(&everyone_, 1, &collect, 1), "PMIx_Fence");
    std::vector<std::string> all;
    for (int rank = 0; rank < where_.size; ++rank) {
      all.push_back(rank == where_.rank ? std::string(mine) : get(rank, key));
    }
    return all;
  }

  void publish(std::string_view card) override { put(api::scope_global, card_key(++cards_), card); }
  std::string published_by(std::int32_t rank) override { return get(rank, card_key(cards_)); }

  [[noreturn]] void abort(int exit_code) override {
    int const status = exit_code == 0 ? 1 : exit_code;
    library().abort(status, "atoll: a rank ended the job", nullptr, 0);
    ::_exit(status);
  }

  void mark(rank_state state) override { diagnostics_.state.store(state, std::memory_order_relaxed); }

 private:
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
  /// Waits until that rank has put it.
  std::string get(std::int32_t rank, std::string const& key) const {
    api::proc peer = self_;
    peer.rank = static_cast<std::uint32_t>(rank);
    api::value* theirs = nullptr;
    require(library().get(&peer, key.c_str(), nullptr, 0, &theirs), "PMIx_Get");
    if (theirs->type != api::type_byte_object || theirs->data.bo.size == 0) {
      throw bootstrap_error(format("PMIx_Get: unexpected answer for rank %d", static_cast<int>(rank)));
    }
    std::string const text(theirs->data.bo.bytes + 1, theirs->data.bo.size - 1);
    std::free(theirs->data.bo.bytes);
    std::free(theirs);
    return text;
  }

  void at_exit() {
    rank_state const state = diagnostics_.state.load(std::memory_order_relaxed);
    if (state != rank_state::initialized) library().finalize(nullptr, 0);
  }

  static inline pmix_channel* current_ = nullptr;
  placement where_;
  api::proc self_{};
  api::proc everyone_{};
  std::string job_id_;
  rank_diagnostics diagnostics_;
  unsigned round_ = 0;  ///< of exchanges
  unsigned cards_ = 0;  ///< published
};

}  // namespace

namespace {

/// Whether the environment had the variable when the program began; true where that cannot be read.
bool was_started_with(std::string_view assignment) noexcept {
  std::ifstream file("/proc/self/environ", std::ios::binary);
  std::string const text{std::istreambuf_iterator<char>(file), {}};
  return text.empty() || text.starts_with(assignment) ||
         text.find('\0' + std::string(assignment)) != std::string::npos;
}

}  // namespace

bool started_by_pmix() noexcept {
  if (std::getenv("PMIX_NAMESPACE") == nullptr || std::getenv("PMIX_RANK") == nullptr) return false;
  // MPI_Init without a launcher of its own makes a job of one rank and sets these for itself: under `atoll run`, only
  // what the process was started with tells of a launcher.
  return std::getenv("ATOLL_JOB") == nullptr || was_started_with("PMIX_NAMESPACE=");
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
