#include "base/bell_events.hpp"

#include <iterator>
#include <utility>

namespace atl {
namespace {

std::vector<os::unique_fd>& events() {
  static std::vector<os::unique_fd> all;
  return all;
}

}  // namespace

std::uint32_t add_bell_events(std::vector<os::unique_fd> more) {
  auto const first = static_cast<std::uint32_t>(events().size());
  events().insert(events().end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return first;
}

void clear_bell_events() noexcept { events().clear(); }

int bell_event(std::uint32_t number) noexcept {
  return number < events().size() ? events()[number].get() : -1;
}

}  // namespace atl
