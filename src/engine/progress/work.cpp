#include "engine/progress/work.hpp"

namespace atl::engine {

bool open_work::advance() {
  bool moved = false;
  // By position: advancing one may let callers of ours begin work of another.
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i]->open() != 0) moved |= sources_[i]->advance();
  }
  return moved;
}

work_source::work_source(open_work& all, ending how) : all_(all), how_(how) { all.sources_.push_back(this); }

work_source::~work_source() {
  count(-static_cast<std::ptrdiff_t>(open()));
  std::erase(all_.sources_, this);
}

void work_source::count(std::ptrdiff_t more) noexcept {
  open_work::add(open_, more);
  open_work::add(all_.items_, more);
  if (how_ == ending::silent) open_work::add(all_.silent_, more);
}

}  // namespace atl::engine
