// How a keeper ends its ranks, and which keeper says why.

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <utility>

#include "bootstrap/keeper/keeper.hpp"
#include "bootstrap/keeper/own_link.hpp"

namespace atl::keeping {
namespace {

constexpr std::int64_t status_travels_ms = 500;  ///< of a rank that has ended the job, to the launcher
constexpr std::int64_t goodbye_ms = 1000;        ///< between SIGTERM and SIGKILL
constexpr std::int64_t words_travel_ms = 200;    ///< to the user, before ranks are ended
constexpr std::int64_t busy_percent = 3;         ///< of the patience, for others to be run
constexpr std::int64_t most_turns = 16;          ///< later hosts have theirs with that one

}  // namespace

void keeper::look_at_clock() {
  std::int64_t const now = now_ms();
  look_for_pictures();
  tell_of_unreached();
  if (!ending_ && fell_ >= 0 && now - fell_ > launchers_turn_ms && has_survivors())
    end_job(fall_host_, fall_words_, false, nullptr);
  if (!ending_) return;
  if (!told_) speak();
  if (!told_) return;
  if (told_at_ == 0) told_at_ = now;
  // Launchers lose what was written just before ranks end, and the status of a rank that has ended the job when they see another
  // one end first.
  if (now - told_at_ >= (by_rank_ ? status_travels_ms : words_travel_ms) &&
      !std::exchange(terminated_, true)) {
    signal_survivors(SIGTERM);
    kill_at_ = now + goodbye_ms;
  }
  // Again and again: ranks that have finalized may come to another period.
  if (terminated_ && now > kill_at_) signal_survivors(SIGKILL);
}

/// One of the keepers speaks: the first that still can. In a job that a cut has parted that is the side with the first host, or more than
/// one: the launcher, which may still reach both, then ends the other side before that has spoken. Who has lost its own cable
/// would be heard when all is over.
void keeper::speak() {
  std::int64_t turn = turn_ms_ * std::min<std::int64_t>(orders_.host, most_turns);
  bool const apart = alone_ && orders_.host != 0;
  // News of the first host's words may pass hosts that are busy: all but that one leave them time.
  if (orders_.host != 0) turn += patience_ * busy_percent / 100;
  if (apart) turn = std::max(turn, patience_ * 15 / 100);
  if (now_ms() - ending_since_ < turn) return;
  told_ = true;
  if (!apart || !is_unplugged(orders_.mine)) print(reason_);
  tell_all(news::ending, orders_.host, -1, reason_);
}

/// Neither neighbour is heard of, although one may still have a moment until it counts as lost.
bool keeper::is_alone() const {
  auto const silent = [this](neighbour const& n) {
    return (n.now() != neighbour::state::up || now_ms() - n.heard() > silence_ / 2) && !is_heard_further(n);
  };
  return silent(previous_) && silent(next_);
}

}  // namespace atl::keeping
