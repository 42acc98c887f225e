#pragma once

/// The collectives under way in this process: progresses them, and brings step messages to them.

#include <cstddef>
#include <vector>

#include "base/single.hpp"
#include "engine/collectives/collective.hpp"
#include "engine/progress/work.hpp"

namespace atl::engine {

/// Collectives are started by the holder of the master persona and progressed by whichever thread polls:
/// everything here is under the engine's lock.
class collectives_under_way final : public single<collectives_under_way>, public work_source {
 public:
  explicit collectives_under_way(open_work& all) : single(this), work_source(all, ending::rings) {}
  /// Drops what is not complete.
  ~collectives_under_way() override;

  /// Registers and starts a collective by messages.
  void launch(collective* c);
  /// Goes on by messages with what a flat collective could not do.
  void launch_rest(collective& flat, collective* rest);
  /// Queues a flat collective on its team's channel.
  void launch_flat(collective* c);
  /// The same of one among the members of this host, as a part of `whole`.
  void launch_inside(collective const& whole, collective* part);
  /// A collective that fell asleep has something new.
  void wake(collective& c);
  /// There is more for it to give.
  void go_on_inside(team_data& inside);

  /// A step message for whichever collective it belongs to, also one that has not begun here.
  void take_in(transport::message* m);
  /// A team that was just registered gets the messages that came for it before.
  void adopt_orphans(team_data& team);

  /// Says that so many bytes will come that cannot be used at once. False: they may not.
  [[nodiscard]] bool keep(std::size_t bytes) noexcept;
  /// They were used, or need not be kept any more.
  void keep_less(std::size_t bytes) noexcept { kept_ -= bytes; }

  // Bytes that this process has sent before it heard of their receivers.

  [[nodiscard]] bool may_run_ahead(std::size_t bytes) const noexcept;
  void ran_ahead(std::size_t bytes) noexcept { ahead_ += bytes; }
  void heard_of(std::size_t bytes) noexcept { ahead_ -= bytes; }

 private:
  bool advance() override;
  bool advance_all_flat();
  bool advance_by_messages();
  void accept(collective& c, transport::message* m);
  void take_in_for(team_data& team, transport::message* m);
  void take_early(collective& c);
  bool advance_flat(team_data& team);
  void enter(collective* c);
  void queue(collective* c);
  void show_open() const noexcept;

  std::vector<collective*> by_messages_;      ///< those that polls advance
  std::vector<team_data*> flat_;              ///< teams whose flat queue is not empty
  std::vector<transport::message*> orphans_;  ///< for teams that do not exist here yet
  std::size_t kept_ = 0;                      ///< bytes, of what comes before it can be used
  std::size_t ahead_ = 0;
};

/// The same, of this period, taking the lock.
void launch(collective* c);
void launch_flat(collective* c);

}  // namespace atl::engine
