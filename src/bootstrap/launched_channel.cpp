#include "bootstrap/launched_channel.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <new>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/os/await_end.hpp"
#include "base/os/host_name.hpp"
#include "base/os/memfd.hpp"
#include "base/os/own_namespace.hpp"
#include "base/os/pipe.hpp"
#include "base/settings.hpp"
#include "bootstrap/factories.hpp"
#include "bootstrap/keeper/explained.hpp"
#include "bootstrap/keeper/post.hpp"
#include "bootstrap/last_words.hpp"
#include "bootstrap/late_ranks.hpp"

namespace atl::bootstrap {
namespace {

/// A pipe that nothing is written to, of this process: its keeper sees by its end that this process is going before a launcher can see
/// it by that of the output. For good, since a rank may come to another period.
int lifeline() noexcept {
  static int const reading = [] {
    int ends[2];
    return os::make_pipe_above(ends) ? ends[0] : -1;
  }();
  return reading;
}

/// Until `atoll run --timeout` ends the job, as it has told in the environment: that time, by the clock of the system, and how long it was
/// then, both in milliseconds. 0: never. Clocks of hosts may differ.
std::uint32_t time_left_ms() {
  char const* const told = std::getenv("ATOLL_JOB_ENDS");
  long long at = 0;
  long long whole = 0;
  if (told == nullptr || std::sscanf(told, "%lld,%lld", &at, &whole) != 2 || whole <= 0) return 0;
  auto const now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  long long const left = at - now;
  constexpr long long most = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(left > 0 && left <= whole ? left : whole, most));
}

/// How long the keeper leaves a rank that was killed to the launcher. Open MPI's mpirun says which rank that was, and ends the others with SIGTERM
/// after one second and SIGKILL after two: it needs no second voice. With srun --mpi=pmix the host's service ends the job after one second, or never,
/// and what is written then is lost.
std::uint32_t launchers_turn_ms() {
  if (std::getenv("OMPI_COMM_WORLD_RANK") != nullptr) return 4000;
  return std::getenv("SLURM_PROCID") != nullptr ? 500 : 1000;
}

}  // namespace

void launched_channel::meet() {
  late_ranks late;
  late_ = &late;
  join();
  late_ = nullptr;
  met_ = true;
  // On one host there is no other to lose, but `atoll run` may be asked what ranks are doing, and srun by itself lets the others go on for ever
  // when one is killed.
  bool const is_asked = std::getenv(keeping::job_variable) != nullptr;
  bool const is_slurm = where_.size > 1 && std::getenv("SLURM_PROCID") != nullptr;
  last_words_place last_words;
  if ((where_.hosts > 1 || is_asked || is_slurm) && settings::host_timeout_ms() != 0) {
    keeping::place* const board = find_keeper();
    if (board != nullptr) last_words = {board, kept_place_, where_.host, settings::host_timeout_ms()};
  }
  if (settings::crash_reports()) install_last_words(where_.rank, where_.size, last_words);
}

char const* launched_channel::console_env(char const* name) { return std::getenv(name); }

void launched_channel::abort(int exit_code) {
  int const status = failure_status(exit_code);
  tell_keeper(keeping::standing::ends_job);
  // srun and Hydra lose what ranks have written just then.
  if (std::getenv("SLURM_PROCID") != nullptr || std::getenv("PMI_RANK") != nullptr)
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  end_job(status);
  ::_exit(status);
}

/// The process will abort, which must not look as if somebody had killed it. Ranks of one host have found out who of them speaks;
/// keepers find out which host does.
bool launched_channel::claim_failure() noexcept {
  nothing_to_add_to_last_words();
  tell_keeper(keeping::standing::ends_job);
  if (kept_place_ == nullptr) return true;
  return !keeping::is_explained_by_another(*kept_place_, where_.host, settings::host_timeout_ms());
}

void launched_channel::watch_exit() {
  diagnostics().pid.store(static_cast<std::int32_t>(::getpid()), std::memory_order_relaxed);
  ::on_exit([](int status, void* self) { static_cast<launched_channel*>(self)->at_exit(status); }, this);
}

/// Launchers differ in what they do to the others when a rank just ends, so that it says how it does. Of many that do, one says so.
void launched_channel::at_exit(int status) {
  // A process that this one has forked is no rank.
  if (diagnostics().pid.load(std::memory_order_relaxed) != static_cast<std::int32_t>(::getpid())) return;
  if (!met_ || diagnostics().state.load(std::memory_order_relaxed) != rank_state::finalized) {
    // abort() leaves by _exit(), before the C library would write what waits here: why the program exits, perhaps.
    std::cout.flush();
    std::fflush(nullptr);
    // Who was first ends the job, and with it this process.
    bool const speaks = first_to_fail != nullptr ? first_to_fail() : claim_failure();
    if (!speaks) os::await_end();
    warn("bootstrap", "the process exits with status %d without upcxx::finalize(), which ends the job",
         status);
    abort(status);
  }
  tell_keeper(keeping::standing::may_end);
  leave_launcher();
}

void launched_channel::find_places(std::int32_t rank, std::int32_t size, host_identity const& mine,
                                   std::vector<std::int32_t> const& node, char const* variable) {
  set_identity(rank, size, {});
  late_->watch(rank, size, node, variable, [this] { abort(1); });
  leave("host", {reinterpret_cast<char const*>(&mine), sizeof mine});
  if (rank == 0) {
    job_id_ = os::random_hex(16);
    leave("job", job_id_ + '\n' + settings::shared_by_job());
  }
  meet_job();
  std::vector<host_identity> all(static_cast<std::size_t>(size));
  for (std::int32_t r = 0; r < size; ++r) {
    std::string const theirs = find("host", r);
    if (theirs.size() != sizeof mine)
      throw bootstrap_error(format("rank %d left %zu bytes instead of %zu with the launcher's service",
                                   static_cast<int>(r), theirs.size(), sizeof mine));
    std::memcpy(&all[static_cast<std::size_t>(r)], theirs.data(), sizeof mine);
  }
  if (rank != 0) {
    std::string const first = find("job", 0);
    std::size_t const end = std::min(first.find('\n'), first.size());
    job_id_ = first.substr(0, end);
    settings::follow(std::string_view(first).substr(std::min(end + 1, first.size())));
  }
  where_ = place_by_identity(rank, all);
  host_ranks const here = where_.ranks_of_host();
  one_network_ = true;
  for (std::uint32_t local = 0; local < here.count(); ++local)
    one_network_ = one_network_ && share_network(mine, all[here.world_rank(local)]);
}

void launched_channel::mark(rank_state state) {
  diagnostics().state.store(state, std::memory_order_relaxed);
  tell_keeper(state == rank_state::finalized ? keeping::standing::may_end : keeping::standing::runs);
}

std::string launched_channel::agree(std::string_view mine, combiner const& put_together) {
  std::string const host = put_all_together(exchange(mine), put_together);
  if (where_.hosts == 1) return host;
  std::string const what = format("word%u", agreements_++);
  bool const leads = where_.local_rank == 0;
  if (leads) leave(what.c_str(), host);
  meet_job();
  std::string job;
  if (leads) {
    std::vector<std::string> words;
    for (std::int32_t const first : where_.first_ranks()) words.push_back(find(what.c_str(), first));
    job = put_all_together(words, put_together);
  }
  return exchange(job).front();
}

// ---- the keeper ----------------------------------------------------------------------------------

void launched_channel::tell_keeper(keeping::standing how) noexcept {
  if (kept_place_ != nullptr) kept_place_->how.store(how, std::memory_order_release);
}

/// Every rank takes a place on the board of its host, whose first rank starts the keeper. Collective over the job. The board, or null.
keeping::place* launched_channel::find_keeper() {
  std::size_t const bytes = sizeof(keeping::place) * static_cast<std::size_t>(where_.local_size);
  bool const leads = where_.local_rank == 0;
  os::unique_fd board = leads ? os::make_sealed_memfd("atoll keeper's board", bytes) : os::unique_fd();
  os::unique_fd shared;
  if (where_.local_size > 1) shared.reset(share_descriptor(*this, board.get()));
  if (leads) static_cast<void>(shared.release());
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, leads ? board.get() : shared.get(), 0);
  auto* const places = memory != MAP_FAILED ? static_cast<keeping::place*>(memory) : nullptr;
  if (places != nullptr) take_place(places + where_.local_rank);
  if (leads) {
    std::string const problem = post_keeper(board.get());
    for (std::int32_t i = 0; !problem.empty() && places != nullptr && i < where_.local_size; ++i)
      places[i].met.store(keeping::meeting::nobody, std::memory_order_release);
    // What is so on all hosts one of them says.
    if (!problem.empty() && (where_.rank == 0 || (!keeping::is_installed() && find("kept", 0) == "yes")))
      warn(
          "bootstrap",
          "no keeper can be started: %s. The loss of a host may go unnoticed (ATOLL_HOST_TIMEOUT=0 says that it may)",
          problem.c_str());
  } else {
    meet_job();
  }
  return places;
}

/// The keeper of this host hears of all that happens to ranks and hosts, and has ended its ranks by then.
void launched_channel::await_explanation() noexcept {
  constexpr std::int64_t look_every_ms = 100;
  for (std::int64_t left = settings::host_timeout_ms(); left > 0 && kept_place_ != nullptr;
       left -= look_every_ms) {
    if (kept_place_->met.load(std::memory_order_acquire) == keeping::meeting::nobody) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(left, look_every_ms)));
  }
}

void launched_channel::take_place(keeping::place* mine) {
  rank_diagnostics& record = *::new (&mine->record) rank_diagnostics;
  record.pid.store(diagnostics_.pid.load(std::memory_order_relaxed), std::memory_order_relaxed);
  record.state.store(diagnostics_.state.load(std::memory_order_relaxed), std::memory_order_relaxed);
  kept_place_ = mine;
  kept_place_->pid.store(static_cast<std::int32_t>(::getpid()), std::memory_order_relaxed);
  kept_place_->rank.store(where_.rank, std::memory_order_relaxed);
  kept_place_->lifeline.store(lifeline(), std::memory_order_relaxed);
  kept_place_->pid_namespace.store(os::own_namespace("pid"), std::memory_order_relaxed);
  tell_keeper(keeping::standing::runs);
}

/// The first rank's part; empty, or why there is none.
std::string launched_channel::post_keeper(int board) {
  std::vector<std::int32_t> ranks;
  host_ranks const here = where_.ranks_of_host();
  for (std::uint32_t local = 0; local < here.count(); ++local) ranks.push_back(here.world_rank(local));
  std::string name = settings::host();
  if (name.empty()) name = os::host_name(format("%d", static_cast<int>(where_.host)).c_str());
  keeping::post mine = keeping::open_post(name, keeping::words_of_ranks(ranks), settings::network_devices());
  if (where_.hosts == 1) mine.listeners.clear();
  leave("keeper", {reinterpret_cast<char const*>(&mine.mine), sizeof mine.mine});
  std::array<std::uint8_t, keeping::secret_bytes> secret{};
  if (where_.rank == 0) {
    os::random_bytes(secret.data(), secret.size());
    leave("secret", {reinterpret_cast<char const*>(secret.data()), secret.size()});
    leave("kept", keeping::is_installed() ? "yes" : "no");
  }
  meet_job();

  keeping::orders all{};
  all.version = keeping::orders_version;
  all.host = static_cast<std::uint32_t>(where_.host);
  all.hosts = static_cast<std::uint32_t>(where_.hosts);
  all.local_ranks = static_cast<std::uint32_t>(where_.local_size);
  all.listeners = static_cast<std::uint32_t>(mine.listeners.size());
  all.patience_ms = settings::host_timeout_ms();
  all.picture_ms = time_left_ms();
  all.launchers_turn_ms = launchers_turn_ms();
  all.secret = secret;
  all.mine = mine.mine;
  auto const read = [this](char const* what, std::int32_t rank, void* into, std::size_t bytes) {
    std::string const found = find(what, rank);
    if (found.size() != bytes)
      throw bootstrap_error(format("rank %d left %zu bytes instead of %zu with the launcher's service",
                                   static_cast<int>(rank), found.size(), bytes));
    std::memcpy(into, found.data(), bytes);
  };
  std::vector<std::int32_t> const firsts = where_.first_ranks();
  auto const first_of = [&](std::int32_t host) { return firsts[static_cast<std::size_t>(host)]; };
  if (where_.rank != 0) read("secret", 0, all.secret.data(), all.secret.size());
  read("keeper", first_of((where_.host + 1) % where_.hosts), &all.next, sizeof all.next);
  read("keeper", first_of((where_.host + where_.hosts - 1) % where_.hosts), &all.previous,
       sizeof all.previous);
  return keeping::start_keeper(all, board, mine.listeners);
}

}  // namespace atl::bootstrap
