#include "bootstrap/keeper/further_ways.hpp"

#include <algorithm>
#include <utility>

#include "bootstrap/keeper/own_link.hpp"

namespace atl::keeping {
namespace {

constexpr std::int64_t longest_call_ms = 1000;
constexpr std::int64_t between_further_calls_ms = 500;
constexpr std::int64_t beats_awaited = 3;  ///< until it is called anew

further_ways::way unmet(neighbour const& whom) {
  return {neighbour(whom.host(), whom.words()), neighbour(whom.host(), whom.words()), {}, 0, false};
}

void stand(further_ways::way& which, neighbour with) {
  which.now = std::move(with);
  which.own = own_end(which.now.descriptor());
  which.interface = interface_of(which.own);
  which.stood = true;
}

}  // namespace

further_ways::further_ways(orders const& what, std::span<std::byte const> secret, neighbour const& next,
                           std::int64_t beat)
    : orders_(what), secret_(secret), beat_(beat) {
  for (std::size_t i = 0; i < most_addresses; ++i) next_.push_back(unmet(next));
}

void further_ways::call(std::size_t but) {
  std::int64_t const now = now_ms();
  for (std::size_t i = 0; i < next_.size(); ++i) {
    way& each = next_[i];
    neighbour& calling = each.calling;
    if (i == but || orders_.next.addresses[i].family == 0 || each.now.now() == neighbour::state::over)
      continue;
    if (calling.now() == neighbour::state::up) {
      stand(each, std::exchange(calling, neighbour(calling.host(), calling.words())));
    } else if (calling.now() == neighbour::state::greeting) {
      if (now - calling.since() > longest_call_ms) calling.finish(neighbour::state::none);
    } else {
      bool const up = each.now.now() == neighbour::state::up;
      if (up && now - each.now.heard() <= beats_awaited * beat_) continue;
      if (!calling.why().empty() && now - calling.since() < between_further_calls_ms) continue;
      calling.call(orders_.next.addresses[i], secret_, orders_.host, orders_.patience_ms, role::watcher);
    }
  }
}

void further_ways::take(neighbour caller) {
  address const own = own_end(caller.descriptor());
  auto found =
      std::find_if(previous_.begin(), previous_.end(), [&](way const& w) { return is_same(w.own, own); });
  if (found == previous_.end()) found = previous_.insert(previous_.end(), unmet(caller));
  stand(*found, std::move(caller));
}

void further_ways::beat() {
  for_each([&](way& w) {
    if (now_ms() - w.now.said() >= beat_) w.now.say(news::alive, orders_.host, -1, false, "");
  });
}

void further_ways::add_to(std::vector<pollfd>& all) const {
  for (auto const* const side : {&next_, &previous_}) {
    for (way const& w : *side) {
      all.push_back({w.now.descriptor(), w.now.events(), 0});
      all.push_back({w.calling.descriptor(), w.calling.events(), 0});
    }
  }
}

void further_ways::work(std::vector<pollfd>::iterator& found,
                        std::function<void(neighbour&, frame const&)> const& tell) {
  for_each([&](way& w) {
    w.now.work((found++)->revents, [&](frame const& f) { tell(w.now, f); });
    w.calling.work((found++)->revents, [&](frame const& f) { tell(w.calling, f); });
  });
}

void further_ways::say(news what, std::uint32_t host, std::int32_t rank, bool said, std::string_view words,
                       neighbour const* but) {
  for_each([&](way& w) {
    if (&w.now != but) w.now.say(what, host, rank, said, words);
  });
}

further_ways::way const* further_ways::find(std::function<bool(way const&)> const& is_so) const {
  for (auto const* const side : {&next_, &previous_}) {
    for (way const& w : *side) {
      if (w.stood && w.now.now() != neighbour::state::over && is_so(w)) return &w;
    }
  }
  return nullptr;
}

}  // namespace atl::keeping
