// What the user hears of ranks: which host explains a mistake of several, and what all are doing when the time is up.

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "bootstrap/keeper/keeper.hpp"
#include "bootstrap/picture.hpp"

namespace atl::keeping {

place const* keeper::mistake() const {
  auto const found = std::find_if(board_, board_ + wards_.size(), [](place const& each) {
    return each.how.load(std::memory_order_acquire) == standing::ends_job;
  });
  return found == board_ + wards_.size() ? nullptr : found;
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
void keeper::draw(neighbour const* from) {
  if (picture_at_ != 0) return;
  picture_at_ = now_ms() + std::min<std::int64_t>(20 * orders_.host, 500);
  tell_all(news::picture, orders_.host, -1, "", from);
}

void keeper::print_picture() const {
  std::vector<bootstrap::seen_rank> seen;
  for (std::size_t i = 0; i < wards_.size(); ++i) {
    bool const running =
        !wards_[i].ended && board_[i].how.load(std::memory_order_acquire) != standing::may_end;
    seen.push_back({wards_[i].rank, static_cast<int>(wards_[i].number), running, &board_[i].record});
  }
  print(format("what its ranks are doing:\n%s", bootstrap::picture_of(seen).c_str()));
}

}  // namespace atl::keeping
