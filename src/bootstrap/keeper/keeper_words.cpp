// What the user hears of ranks: which host explains a mistake of several, and what all are doing when somebody asks or the time is up.

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "bootstrap/keeper/keeper.hpp"
#include "bootstrap/picture.hpp"

namespace atl::keeping {
namespace {

std::atomic<bool> asked_for = false;

constexpr std::int64_t between_pictures_ms = 1000;

/// Number of the one at the end of the job's time, whoever draws it first.
constexpr std::int32_t last_picture = std::numeric_limits<std::int32_t>::max();

}  // namespace

void ask_for_picture(int /*signal*/) noexcept { asked_for = true; }

place const* keeper::mistake() const {
  auto const found = std::find_if(board_, board_ + wards_.size(), [](place const& each) {
    return each.how.load(std::memory_order_acquire) == standing::ends_job;
  });
  return found == board_ + wards_.size() ? nullptr : found;
}

/// From then on news of other hosts come within a moment, or never.
void keeper::look_whether_met() {
  auto const unmet = [](neighbour const& n) { return n.now() == neighbour::state::none; };
  if (met_ || ((unmet(previous_) || unmet(next_)) && now_ms() - started_ < keeping::meeting_ms(patience_)))
    return;
  met_ = true;
  auto const heard = [](neighbour const& n) { return n.now() == neighbour::state::up; };
  meeting const how =
      orders_.hosts == 1 || heard(previous_) || heard(next_) ? meeting::held : meeting::failed;
  for (std::size_t i = 0; i < wards_.size(); ++i) board_[i].met.store(how, std::memory_order_release);
}

/// A rank of this host says what ends the job, unless it has heard that one of another host does.
void keeper::look_for_mistakes() {
  if (!explained_ && mistake() != nullptr) explains(orders_.host, nullptr);
}

/// Where several hosts do at once the first of them is the one: it is told of the others before it has told them itself, and
/// then lets them speak, or not at all.
void keeper::explains(std::uint32_t host, neighbour const* from) {
  if (std::find(explaining_.begin(), explaining_.end(), host) != explaining_.end()) return;
  explaining_.push_back(host);
  if (host != orders_.host && (host < orders_.host || mistake() == nullptr)) {
    explained_ = true;
    for (std::size_t i = 0; i < wards_.size(); ++i) board_[i].explained.store(1, std::memory_order_release);
  }
  tell_all(news::explaining, host, -1, "", from);
}

/// One host after the other, as people read.
void keeper::draw(std::int32_t number, neighbour const* from) {
  if (number <= pictures_) return;
  pictures_ = number;
  picture_asked_ = now_ms();
  picture_at_ = picture_asked_ + std::min<std::int64_t>(20 * orders_.host, 500);
  tell_all(news::picture, orders_.host, number, "", from);
}

/// Somebody asks here, or the job's time is about to be up: should the first host be gone another one sees to it.
void keeper::look_for_pictures() {
  std::int64_t const now = now_ms();
  std::int64_t const turn = std::min<std::int64_t>(100 * orders_.host, 500);
  if (orders_.picture_ms != 0 && now - started_ > orders_.picture_ms + turn) draw(last_picture, nullptr);
  // Who asks several keepers of a job means one picture.
  bool const again = pictures_ != 0 && now - picture_asked_ < between_pictures_ms;
  if (asked_for.exchange(false) && !again && pictures_ < last_picture) draw(pictures_ + 1, nullptr);
  if (picture_at_ == 0 || now < picture_at_) return;
  picture_at_ = 0;
  print_picture();
}

void keeper::print_picture() {
  std::vector<bootstrap::seen_rank> seen;
  for (std::size_t i = 0; i < wards_.size(); ++i) {
    bool const runs = board_[i].how.load(std::memory_order_acquire) == standing::runs;
    bool const running = !wards_[i].ended || (wards_[i].unwatched && runs);
    seen.push_back({wards_[i].rank, static_cast<int>(wards_[i].number), running,
                    wards_[i].number > 0 ? static_cast<int>(wards_[i].number) : 0, &board_[i].record});
  }
  print(format("what its ranks are doing:\n%s", bootstrap::picture_of(seen).c_str()));
}

}  // namespace atl::keeping
