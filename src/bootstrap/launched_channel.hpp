#pragma once

/// What the channels to launchers of clusters have in common, whatever they speak: at the start ranks find out who shares their
/// host, in jobs of several hosts a keeper is started on each (keeper/keeper.hpp), and a rank that exits before the end ends its job.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/host_identity.hpp"
#include "bootstrap/keeper/orders.hpp"

namespace atl::bootstrap {

class late_ranks;

class launched_channel : public channel {
 public:
  void meet() final;
  placement const& where() const final { return where_; }
  std::string_view job_id() const final { return job_id_; }
  rank_diagnostics& diagnostics() final {
    return kept_place_ != nullptr ? kept_place_->record : diagnostics_;
  }
  char const* console_env(char const* name) final;
  [[noreturn]] void abort(int exit_code) final;
  void mark(rank_state state) final;
  std::string agree(std::string_view mine, combiner const& put_together) final;
  void await_explanation() noexcept final;
  bool claim_failure() noexcept final;

 protected:
  launched_channel() = default;
  /// From here on the end of the process is seen to. Once; the object stays to the end.
  void watch_exit();
  /// Finds where(), and a job_id() of rank 0's making. Collective over the job. Throws bootstrap_error. `node`: ranks that the launcher has started where
  /// this one is, in their order, or empty; `variable` tells a process its rank.
  void find_places(std::int32_t rank, std::int32_t size, host_identity const& mine,
                   std::vector<std::int32_t> const& node, char const* variable);
  /// Whether all ranks of the host are known to be in one network namespace; after find_places().
  [[nodiscard]] bool one_network() const noexcept { return one_network_; }

 private:
  /// All of meet(), find_places() included.
  virtual void join() = 0;
  /// Leaves bytes with the launcher's service under a name, for all ranks.
  virtual void leave(char const* what, std::string_view bytes) = 0;
  /// Afterwards every rank finds what every other one has left.
  virtual void meet_job() = 0;
  virtual std::string find(char const* what, std::int32_t rank) = 0;
  /// Asks the launcher to end all ranks.
  virtual void end_job(int status) noexcept = 0;
  /// Ends the connection at the exit of a rank that has come to its end.
  virtual void leave_launcher() noexcept = 0;

  void at_exit(int status);
  keeping::place* find_keeper();
  void take_place(keeping::place* mine);
  std::string post_keeper(int board);
  void tell_keeper(keeping::standing how) noexcept;

  placement where_;
  std::string job_id_;
  rank_diagnostics diagnostics_;  ///< unless a keeper looks at it
  unsigned agreements_ = 0;
  bool met_ = false;  ///< meet() is done
  bool one_network_ = false;
  late_ranks* late_ = nullptr;            ///< while ranks join
  keeping::place* kept_place_ = nullptr;  ///< null: nobody watches
};

}  // namespace atl::bootstrap
