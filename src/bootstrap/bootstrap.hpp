#pragma once

/// Who am I, how many are we, who shares my host; exchange of small blobs at start-up; abort.
///
/// One interface, several implementations (solo, local, pmix, pmi) chosen at run time by looking at the
/// environment. Nothing here is fast; it is used in init, finalize and on the way down.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/error.hpp"
#include "base/os/unique_fd.hpp"
#include "bootstrap/placement.hpp"

namespace atl::bootstrap {

/// A peer was lost, or the launcher's services failed, during start-up.
class bootstrap_error : public startup_error {
 public:
  using startup_error::startup_error;
};

/// Connection to whatever started this process. Lives from the first init to the end of the process.
class channel {
 public:
  virtual ~channel() = default;
  channel(channel const&) = delete;
  channel& operator=(channel const&) = delete;

  /// The first thing that is called, by attach(), and collective: finds out who else is there. Throws bootstrap_error; then
  /// nothing but abort() works.
  virtual void meet() {}

  /// "solo", "local", "pmix" or "pmi"; simulated hosts keep the name.
  virtual std::string_view name() const = 0;
  virtual placement const& where() const = 0;
  /// The same, by machines instead of hosts. They differ where hosts are simulated (simulated_hosts.hpp): ranks of one
  /// machine share its cores and memory, whatever hosts they are on.
  virtual placement const& machine() const { return where(); }
  /// Unique among jobs alive on this host; same on all ranks.
  virtual std::string_view job_id() const = 0;

  // Collective: every rank gives a blob of at most 1 KiB and gets all of them. Blocks. Throws bootstrap_error when a
  // peer is lost. Simulated hosts exchange together: all ranks of a machine make the same exchanges in the same order.

  /// Over the ranks of this host; indexed by local rank.
  virtual std::vector<std::string> exchange(std::string_view mine) = 0;
  /// Over the ranks of this machine; indexed by their local rank in `machine()`.
  virtual std::vector<std::string> exchange_machine(std::string_view mine) { return exchange(mine); }

  /// One word over all ranks of the job: theirs, at most 1 KiB each, put together in any grouping but in the order of hosts. The same on
  /// all ranks. Each host puts its own together; then its first rank asks for those of all hosts, after one meeting of the job. For what
  /// a job must agree on before it can talk.
  using combiner = std::function<std::string(std::string const&, std::string const&)>;
  virtual std::string agree(std::string_view mine, combiner const& put_together);

  // What other hosts need of a rank, such as its address in a network, is asked for one by one.

  /// Leaves a card of at most 1 KiB for all ranks of the job. Every rank does so equally often, at the same
  /// times: with some launchers that meets all.
  virtual void publish(std::string_view card) = 0;
  /// The card that a rank left when it published as often as this one has; waits for that. Throws bootstrap_error when
  /// the job is being ended.
  virtual std::string published_by(std::int32_t rank) = 0;

  /// Record that outsiders can read; never null.
  virtual rank_diagnostics& diagnostics() = 0;

  /// Value that a variable has in the environment of the console that started the job, or null.
  virtual char const* console_env(char const* name) = 0;

  /// Called before a rank explains a mistake that ends the job. False if the launcher knows that another rank
  /// does so already.
  virtual bool claim_failure() noexcept { return true; }

  /// Called before a rank says that it cannot reach another one any more, and ends the job. Returns at once where nobody
  /// else can know why; elsewhere whoever knows says so and ends this process meanwhile, if all is well.
  virtual void await_explanation() noexcept {}

  /// Ends the whole job, with the last eight bits of that status, or 1 if these are 0. The message has been printed already.
  [[noreturn]] virtual void abort(int exit_code) = 0;

  /// Called at the beginning and end of init, and at the end of finalize: lets the launcher tell a clean exit from a lost rank.
  virtual void mark(rank_state state) = 0;

 protected:
  channel() = default;
};

/// All of several words put together, the first ones first.
std::string put_all_together(std::vector<std::string> const& words, channel::combiner const& put_together);

/// The channel of this process; made at the first call, by looking at the environment. Throws startup_error
/// when the environment promises a launcher that cannot be reached. Not collective.
channel& attach();
/// The channel if there is one; also while attach() fails because of what it is to be used for. For the way down.
channel* attached() noexcept;
/// channel::await_explanation(), if there is a channel.
void await_explanation() noexcept;

/// The rank that whoever started this process says it has; 0 if nobody does. For what happens before the launcher is asked.
std::int32_t rank_in_environment();

/// What `attach` would choose, and why the others were not; one line for each bootstrap.
struct candidate {
  std::string name;
  bool usable = false;
  bool chosen = false;
  std::string reason;  ///< "started by mpirun, libpmix 4.2.2", "not started by `atoll run`"
};
std::vector<candidate> candidates();

/// Collective over the ranks of this host: local rank 0 gives a descriptor, every rank returns one for the
/// same open file (rank 0 its own; the others close-on-exec). Nothing with a name is left on disk; other
/// users of the host are refused. Throws bootstrap_error on every rank of the machine when it fails on one, and
/// includes their exchanges: simulated hosts share at the same time, each its own.
int share_descriptor(channel& with, int descriptor);
/// The same over the ranks of this machine, whatever hosts are simulated on it.
int share_descriptor_on_machine(channel& with, int descriptor);

enum class sharers : std::uint8_t { host, machine };
/// The same for several at once, of any sort: all ranks give as many, and get the first rank's (who keeps its own).
/// Collective over the machine. False on all ranks if some could not be reached; then nothing is of use.
bool share_descriptors(channel& with, sharers who, std::vector<os::unique_fd>& descriptors);

}  // namespace atl::bootstrap
