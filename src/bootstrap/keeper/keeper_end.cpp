// What a keeper makes of the end of ranks: who hears of it, how those of its host are ended, and which keeper says why.

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <iterator>
#include <utility>

#include "bootstrap/keeper/keeper.hpp"
#include "bootstrap/keeper/own_link.hpp"

namespace atl::keeping {
namespace {

constexpr std::int64_t status_travels_ms = 500;  ///< of a rank that has ended the job, to the launcher
constexpr std::int64_t goodbye_ms = 1000;        ///< between SIGTERM and SIGKILL
constexpr std::int64_t words_travel_ms = 200;    ///< to the user, before ranks are ended
constexpr std::int64_t busy_percent = 3;         ///< of the patience, for others to be run
constexpr std::int64_t slow_host_ms = 2000;      ///< longer than it should take another one to speak
constexpr std::int64_t most_turns = 16;          ///< later hosts have theirs with that one

}  // namespace

void keeper::fall(std::uint32_t host, std::int32_t rank, std::string_view words, neighbour const* from) {
  if (std::find(fallen_.begin(), fallen_.end(), rank) != fallen_.end()) return;
  fallen_.push_back(rank);
  if (fell_ < 0) {
    fell_ = now_ms();
    fall_words_ = words;
    fall_host_ = host;
  }
  tell_all(news::fallen, host, rank, words, from);
}

void keeper::empties(std::uint32_t host, neighbour const* from) {
  if (emptied_.insert(host).second) tell_all(news::emptied, host, -1, "", from);
}

void keeper::end_job(std::uint32_t host, std::string_view words, bool said, neighbour const* from) {
  bool const more = said && !told_;
  told_ |= said;
  if (!std::exchange(ending_, true)) {
    reason_ = words;
    ending_since_ = now_ms();
    by_rank_ = said;
    tell_all(news::ending, host, -1, words, from);
  } else if (more) {
    tell_all(news::ending, host, -1, reason_, from);
  }
}

void keeper::look_at_clock() {
  std::int64_t const now = now_ms();
  look_for_pictures();
  tell_of_unreached();
  if (!ending_ && fell_ >= 0 && now - fell_ > orders_.launchers_turn_ms && has_survivors())
    end_job(fall_host_, fall_words_, false, nullptr);
  if (!ending_) return;
  if (!told_) speak();
  if (!told_) return;
  if (told_at_ == 0) told_at_ = now;
  // Launchers lose what was written just before ranks end, and the status of the rank over which the job ends when they see another
  // one end first.
  if (now - told_at_ >= (by_rank_ || fell_ >= 0 ? status_travels_ms : words_travel_ms) &&
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
  bool const apart = alone_ && orders_.host != 0;
  std::int64_t const turn = turn_to_speak();
  if (now_ms() - ending_since_ < (apart ? std::max(turn, patience_ * 15 / 100) : turn)) return;
  told_ = true;
  if (!apart || !is_unplugged(orders_.mine)) print(reason_);
  tell_all(news::ending, orders_.host, -1, reason_);
}

/// Hosts that still have ranks come first, as launchers may not hear the others any more.
std::int64_t keeper::turn_to_speak() const {
  auto const before = std::distance(emptied_.begin(), emptied_.lower_bound(orders_.host));
  auto const all = static_cast<std::int64_t>(emptied_.size());
  std::int64_t const place =
      emptied_.contains(orders_.host) ? orders_.hosts - all + before : orders_.host - before;
  // News of the first host's words may pass hosts that are busy: all but that one leave them time.
  return turn_ms_ * std::min(place, most_turns) + (place != 0 ? patience_ * busy_percent / 100 : 0);
}

/// By another host's keeper, as this one has no ranks any more. Hydra learns that a rank has ended when nobody has its output any more, this
/// process neither, and then ends all others at once, without a word of which rank it was, and takes nothing from other hosts any more. So this
/// one stays until that has been said, and the words have come.
bool keeper::is_fall_being_told() const {
  if (fell_ < 0 || emptied_.size() == orders_.hosts) return false;
  std::int64_t const longest =
      orders_.launchers_turn_ms + (most_turns + 1) * turn_ms_ + patience_ * busy_percent / 100 + slow_host_ms;
  return told_at_ != 0 ? now_ms() - told_at_ < words_travel_ms : now_ms() - fell_ <= longest;
}

/// Neither neighbour is heard of, although one may still have a moment until it counts as lost.
bool keeper::is_alone() const {
  auto const silent = [this](neighbour const& n) {
    return (n.now() != neighbour::state::up || now_ms() - n.heard() > silence_ / 2) && !is_heard_further(n);
  };
  return silent(previous_) && silent(next_);
}

}  // namespace atl::keeping
