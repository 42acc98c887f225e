#include "engine/collectives/rings.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <atoll/engine/am.hpp>
#include <atoll/engine/job.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "engine/collectives/given_lists.hpp"
#include "engine/collectives/inquiries.hpp"
#include "engine/collectives/matching.hpp"
#include "engine/host/call_sites.hpp"
#include "engine/network/decision_clock.hpp"
#include "engine/progress/guard.hpp"

namespace atl::engine {
namespace {

constexpr std::uint64_t first_ask_ns = 500'000'000;
constexpr std::uint64_t longest_gap_ns = 30'000'000'000;
/// Futures may take their time.
constexpr std::uint64_t patience_ns = 3'000'000'000;

/// One rank's wait.
struct link {
  std::uint64_t team;
  collective_signature signature;
  std::uint32_t number;
  std::int32_t rank;  ///< in the job
  char list[88];      ///< that it gave, if it forms a team
};

constexpr std::uint32_t shown_links = 8;

void asked(message* m) {
  if (rings::exists()) rings::here().take_in(m);
  release(m);
}

void answered(message* m) {
  if (rings::exists()) rings::here().take_in_answer(m);
  release(m);
}

/// "barrier (collective no. 2 on world)".
std::string describe_call(link const& l) {
  return format("%s (collective no. %u on %s)", atl::describe(l.signature).c_str(), l.number + 1,
                describe_team(l.team).c_str());
}

std::string describe(link const& l) {
  return format("rank %d waits in %s", l.rank, describe_call(l).c_str());
}

}  // namespace

constinit std::atomic<bool> rings::distrusted{false};
constinit std::atomic<blocking_call*> blocking_call::innermost{nullptr};
constinit std::atomic<pthread_t> blocking_call::in_it{};

/// The last link is the sender's wait, the first the asker's.
struct rings::question {
  std::uint32_t serial;
  std::uint32_t links;
  link chain[shown_links];  ///< the first ones, and the last in the last place

  link& last() { return chain[std::min(links, shown_links) - 1]; }
  link const& last() const { return chain[std::min(links, shown_links) - 1]; }
  void add(link const& l) {
    ++links;
    last() = l;
  }
};

blocking_call::blocking_call(team_data const& team, team_data const& route, noted_call const& call) noexcept
    : team_(team),
      route_(route),
      signature_(call.signature),
      number_(call.number),
      outer_(innermost.load(std::memory_order_relaxed)) {
  in_it.store(pthread_self(), std::memory_order_relaxed);
  innermost.store(this, std::memory_order_relaxed);
}

void blocking_call::forget() const noexcept {
  guard const held;
  if (!rings::exists()) return;
  rings& all = rings::here();
  if (all.waits_in_ == this) all.waits_in_ = nullptr;
  // Another call may live at the same address.
  if (all.asked_in_ == this) all.asked_in_ = nullptr;
  if (all.warned_in_ == this) all.warned_in_ = nullptr;
}

bool rings::find_wait(std::uint64_t waited_ns) {
  blocking_call* const call = blocking_call::innermost.load(std::memory_order_relaxed);
  if (call == nullptr ||
      pthread_equal(blocking_call::in_it.load(std::memory_order_relaxed), pthread_self()) == 0)
    return false;
  if (!call->known_) {
    next_ask_ns_ = first_ask_ns;
    since_ns_ = decision_clock::now_ns() - waited_ns;
  }
  call->known_ = true;
  waits_in_ = call;
  return true;
}

void rings::look(std::uint64_t waited_ns) {
  if (!find_wait(waited_ns)) return;
  blocking_call const* const call = waits_in_;
  // Questions that arrive begin a wait anew, but not the call.
  waited_ns = decision_clock::now_ns() - since_ns_;
  // Creation is where lists may differ, so only it asks: others that wait merely hand on.
  if (atl::kind_of(call->signature_) != collective_kind::create || waited_ns < next_ask_ns_) return;
  next_ask_ns_ = waited_ns + std::clamp(waited_ns, first_ask_ns, longest_gap_ns);
  ask();
}

void rings::ask() {
  asked_in_ = waits_in_;
  question q{};
  q.serial = ++asked_;
  hand_on(q);
}

/// With this rank's own wait as the last link, to all that it waits for.
void rings::hand_on(question const& q) {
  blocking_call const& call = *waits_in_;
  question next = q;
  link mine{call.route_.id, call.signature_, call.number_, job.rank_me, {}};
  list_of(host_, job.rank_me, mine.team, mine.number).copy(mine.list, sizeof mine.list - 1);
  next.add(mine);
  for (std::int32_t r = 0; r < call.team_.rank_n; ++r) {
    if (r == call.team_.rank_me) continue;
    am_short(call.team_.to_world(r), token_cache<&asked>::get(), &next, sizeof next, pressure::always);
  }
}

void rings::take_in(message* m) {
  question q;
  std::memcpy(&q, m->payload(), sizeof q);
  link const& theirs = q.last();
  team_data const* const team = team_registry::here().find(theirs.team);
  if (team == nullptr || distrusted.load(std::memory_order_relaxed)) return;
  if (static_cast<std::int32_t>(team->next_number - theirs.number) > 0) {
    // Started here: what is missing there is on its way, unless it was another list.
    creation const* const mine = find(theirs.team, theirs.number);
    if (mine != nullptr && !matches(mine->call.signature, theirs.signature))
      mismatch(*team, mine->call, m->source, theirs.signature);
    return;
  }
  if (waits_in_ == nullptr && !find_wait(0)) return tell(q);
  std::int32_t const asker = q.chain[0].rank;
  if (asker == job.rank_me) {
    if (q.serial == asked_ && waits_in_ == asked_in_) report(q);
    return;
  }
  std::uint32_t& last = handed_on_[asker];
  if (last == q.serial) return;
  last = q.serial;
  hand_on(q);
}

/// What a rank waits in that is not said to need anybody.
struct rings::answer {
  std::uint32_t serial;
  std::uint32_t seconds;
  link last_started;
  char place[call_site_bytes];
};

/// To the asker alone, since others know what they wait for. By the steady clock, as diagnostics are, and not by that of
/// decisions: nothing but words comes of it, in which runs in lockstep may differ.
void rings::tell(question const& q) const {
  std::uint64_t const since = diagnostics->entered_ns.load(std::memory_order_relaxed);
  if (q.links != 1 || diagnostics->waits_in.load(std::memory_order_relaxed) == activity::none || since == 0)
    return;
  std::uint64_t const waited_ns = now_ns() - since;
  if (waited_ns < patience_ns) return;
  answer mine{q.serial,
              static_cast<std::uint32_t>(waited_ns / 1'000'000'000),
              {diagnostics->collective_team.load(std::memory_order_relaxed),
               diagnostics->collective_signature.load(std::memory_order_relaxed),
               diagnostics->collective_number.load(std::memory_order_relaxed),
               job.rank_me,
               {}},
              {}};
  write_call_site(mine.place);
  am_short(q.chain[0].rank, token_cache<&answered>::get(), &mine, sizeof mine, pressure::always);
}

void rings::take_in_answer(message* m) {
  answer theirs;
  std::memcpy(&theirs, m->payload(), sizeof theirs);
  if (theirs.serial != asked_ || waits_in_ == nullptr || waits_in_ != asked_in_ || warned_in_ == waits_in_)
    return;
  warned_in_ = waits_in_;
  blocking_call const& call = *waits_in_;
  std::string last = "no collective";
  if (theirs.last_started.signature != 0) last = describe_call(theirs.last_started);
  warn(
      "team::create",
      "rank %d has not started %s, in which this rank waits for it. It has been waiting elsewhere for %u s; the "
      "last collective that it started is %s. If what it waits for needs this rank, neither goes on.%s%s",
      m->source, describe_call({call.route_.id, call.signature_, call.number_, m->source, {}}).c_str(),
      theirs.seconds, last.c_str(),
      theirs.place[0] == '\0' ? "" : format("\nrank %d is here:\n", m->source).c_str(), theirs.place);
}

void rings::report(question const& q) const {
  std::string chain;
  std::uint32_t const shown = std::min(q.links, shown_links);
  for (std::uint32_t i = 0; i < shown; ++i) {
    link const& next = q.chain[(i + 1) % shown];
    if (i + 1 == shown && q.links > shown) chain += format("(%u more ranks) ... ", q.links - shown);
    chain += describe(q.chain[i]);
    if (q.chain[i].list[0] != '\0') chain += format(" with the list %s", q.chain[i].list);
    chain += format(" for rank %d%s", next.rank, i + 1 == shown ? "" : ", ");
  }
  auto const stop = [chain](std::int32_t other, std::string const& place) {
    atl::stop(format(
        "team::create: ranks wait for each other in a ring, so none of them goes on: %s. All ranks that a "
        "list names must call team::create of the same parent with the same list, before they wait for "
        "these ranks elsewhere.\n%srank %d is here:",
        chain.c_str(), place.empty() ? "" : (format("rank %d is here:\n", other) + place).c_str(),
        job.rank_me));
  };
  std::int32_t const other = q.chain[1 % shown].rank;
  if (other == job.rank_me) stop(other, {});
  if (host_.has(other)) stop(other, ask_call_site(host_, host_.local_rank(other)));
  link const& first = q.chain[0];
  inquiries::here().ask(other, first.team, first.number, [=](told const& what) { stop(other, what.place); });
}

void rings::remember(std::uint64_t parent, noted_call const& call) {
  if (creations_.size() < remembered) {
    creations_.push_back({parent, call});
  } else {
    creations_[created_ % remembered] = {parent, call};
  }
  ++created_;
}

rings::creation const* rings::find(std::uint64_t parent, std::uint32_t number) const noexcept {
  auto const found = std::find_if(creations_.begin(), creations_.end(), [&](creation const& c) {
    return c.parent == parent && c.call.number == number;
  });
  return found == creations_.end() ? nullptr : &*found;
}

}  // namespace atl::engine
