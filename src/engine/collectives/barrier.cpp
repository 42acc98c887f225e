#include "engine/collectives/barrier.hpp"

#include "engine/collectives/exchange.hpp"
#include "engine/collectives/flat.hpp"
#include "engine/collectives/matching.hpp"
#include "engine/collectives/rings.hpp"
#include "engine/collectives/run_to_end.hpp"
#include "engine/collectives/under_way.hpp"
#include "engine/progress/guard.hpp"

namespace atl::engine {

namespace {

class flat_barrier final : public flat_collective {
 public:
  void begin() override { published_ = publish(nullptr, 0); }
  bool advance() override {
    if (!published_) begin();
    return published_ && all_there();
  }

 private:
  bool published_ = false;
};

void start_barrier(team_view& team, collective_signature signature, on_done done) {
  if (goes_flat(team)) {
    launch_flat(make<flat_barrier>(team, signature, done));
  } else {
    launch(make_dissemination(team, signature, done));
  }
}

}  // namespace

void start_barrier(team_view& team, on_done done) {
  start_barrier(team, sign(collective_kind::barrier), done);
}

void wait_barrier(team_view& team, bool (*progress)()) {
  meet(team, sign(collective_kind::barrier), progress);
}

namespace {

/// Publishes this rank's arrival on the team's channel, if it has one on which nothing else is under way.
bool arrive_at_once(team_data& team, collective_signature signature, flat_meeting& here) {
  guard const held;
  if (!goes_flat(team) || !team.flat_queue.empty() || team.meeting != nullptr || !flat_room(team))
    return false;
  here.call = number_collective(team, signature);
  flat_publish(team, here.call, nullptr, 0);
  team.meeting = &here;
  // The others need not wait for what is only written down.
  note_collective(team, here.call);
  return true;
}

/// Only this thread, which has the master persona, can let others take part, from callbacks.
bool over(team_data& team, flat_meeting const& here) {
  if (!here.followed) [[likely]]
    return flat_met(team);
  guard const held;
  return here.over;
}

[[gnu::noinline]] void meet_in_queue(team_data& team, collective_signature signature, bool (*progress)()) {
  waiting_note const note(activity::barrier);
  blocking_call const waits(team, team, {signature, team.next_number, 0});
  run_to_end(progress, [&](on_done done) { start_barrier(team, signature, done); });
  progress();
}

}  // namespace

void meet(team_view& view, collective_signature signature, bool (*progress)()) {
  auto& team = static_cast<team_data&>(view);
  flat_meeting here;
  if (!arrive_at_once(team, signature, here)) return meet_in_queue(team, signature, progress);
  waiting_note const note(activity::barrier);
  blocking_call const waits(team, team, here.call);
  bool waited = false;
  wait_while([&] { return !over(team, here); },
             [&] {
               waited = true;
               return progress();
             });
  // A caller may rely on what had been taken in before having been used.
  if (!waited) progress();
}

}  // namespace atl::engine
