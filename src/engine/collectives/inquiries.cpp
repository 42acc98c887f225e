#include "engine/collectives/inquiries.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <atoll/engine/am.hpp>
#include <atoll/engine/job.hpp>

#include "engine/collectives/given_lists.hpp"
#include "engine/host/call_sites.hpp"
#include "engine/network/decision_clock.hpp"

namespace atl::engine {

namespace {

/// As inside a host.
constexpr std::uint64_t answer_within_ns = 1'500'000'000;
constexpr std::uint64_t longest_between_ns = 30'000'000'000;
/// Members that are asked at a time, so that many ranks that wait do not flood the network.
constexpr int asked_at_once = 4;

void question_arrived(transport::message* m) {
  if (inquiries::exists()) inquiries::here().take_in(m);
  release(m);
}

void answer_arrived(transport::message* m) {
  if (inquiries::exists()) inquiries::here().take_in_answer(m);
  release(m);
}

}  // namespace

/// What the sender has started.
struct inquiries::question {
  std::uint64_t team;  ///< of the call that is suspect; 0: tell only what differs
  std::uint32_t suspect;
  std::uint32_t count;
  started_call calls[remembered_collectives];
};

struct inquiries::answer {
  difference first;
  char list[96];
  char place[call_site_bytes];
};

void inquiries::look() {
  if (job.host_n == 1 || stopped_ || end_) return;
  std::erase_if(looks_, [](auto const& one) { return team_registry::here().find(one.first) == nullptr; });
  team_registry::here().for_each([&](team_data const& team) {
    if (!team.open.empty() && team.hosts != nullptr) look(team, *team.open.front());
  });
}

void inquiries::look(team_data const& team, collective const& waits_in) {
  std::uint64_t const now = decision_clock::now_ns();
  auto& [number, next_ns, gap_ns] = looks_[team.id];
  if (gap_ns != 0 && number == waits_in.call.number) {
    if (now < next_ns) return;
    gap_ns = std::min(2 * gap_ns, longest_between_ns);
  } else {
    number = waits_in.call.number;
    gap_ns = progress_engine::here().suspicious_ns;
  }
  next_ns = now + gap_ns;
  ask_some_of(team);
}

void inquiries::ask_some_of(team_data const& team) {
  int left = asked_at_once;
  // Each begins with the member after itself, so that soon all are asked by somebody.
  for (std::int32_t i = 1; i < team.rank_n && left > 0; ++i) {
    auto const next = static_cast<std::int32_t>(asked_++ % static_cast<std::uint32_t>(team.rank_n - 1)) + 1;
    std::int32_t const other = team.to_world((team.rank_me + next) % team.rank_n);
    if (host_.has(other)) continue;
    question q{};
    send(other, q);
    --left;
  }
}

void inquiries::send(std::int32_t other, question& q) const {
  for (started_call const& s : started_calls(host_.own_page())) q.calls[q.count++] = s;
  am_short(other, token_cache<&question_arrived>::get(), &q, sizeof q, pressure::always);
}

void inquiries::ask(std::int32_t other, std::uint64_t team, std::uint32_t suspect,
                    std::function<void(told const&)> end) {
  if (end_) return;
  end_ = std::move(end);
  other_ = other;
  until_ns_ = decision_clock::now_ns() + answer_within_ns;
  count(1);
  question q{};
  q.team = team;
  q.suspect = suspect;
  send(other, q);
}

void inquiries::take_in(transport::message* m) {
  question q;
  std::memcpy(&q, m->payload(), sizeof q);
  answer a{};
  a.first = find_difference({q.calls, q.count}, started_calls(host_.own_page()));
  if (!a.first.found && q.team == 0) return;
  std::string const list = a.first.found ? list_of(host_, job.rank_me, a.first.team, a.first.mine.number)
                                         : list_of(host_, job.rank_me, q.team, q.suspect);
  list.copy(a.list, sizeof a.list - 1);
  write_call_site(a.place);
  am_short(m->source, token_cache<&answer_arrived>::get(), &a, sizeof a, pressure::always);
}

void inquiries::take_in_answer(transport::message* m) {
  answer a;
  std::memcpy(&a, m->payload(), sizeof a);
  told const what{a.first, a.list, a.place};
  if (end_) {
    if (m->source == other_) end_(what);
    return;
  }
  team_data const* const team = team_registry::here().find(a.first.team);
  if (a.first.found && team != nullptr) stop_over(*team, m->source, what);
}

bool inquiries::advance() {
  if (decision_clock::now_ns() > until_ns_) end_({});
  return false;
}

}  // namespace atl::engine
