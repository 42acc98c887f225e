#include "memory/sim/sim_streams.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include <atoll/base/check.hpp>

#include "base/copy_watched.hpp"
#include "base/error.hpp"
#include "memory/played_exchange.hpp"
#include "memory/sim/random.hpp"
#include "memory/sim/sim_segment.hpp"

namespace atl::memory::sim {
namespace {

std::atomic_ref<std::uint64_t> word_at(std::byte const* place) noexcept {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(place)));
}

}  // namespace

stream_handle sim_streams::make(int device) {
  queues_.push_back(std::make_unique<queue>(queue{device, {}}));
  return queues_.back().get();
}

sim_streams::queue& sim_streams::find(stream_handle s) {
  for (auto const& each : queues_) {
    if (each.get() == s) return *each;
  }
  check_failed("stream: %p is no stream of a simulated %s device: atl::make_stream makes those", s,
               to_string(shown_as_));
}

void sim_streams::drop(stream_handle s) {
  auto const found =
      std::find_if(queues_.begin(), queues_.end(), [s](auto const& each) { return each.get() == s; });
  if (found == queues_.end()) return;
  if (!(*found)->tasks.empty()) {
    check_failed(
        "stream: a stream of simulated %s device %d ends before it has come to its end (things left: %zu): atl::wait for it first",
        to_string(shown_as_), (*found)->device, (*found)->tasks.size());
  }
  queues_.erase(found);
}

void sim_streams::refuse_unpin(memory_range range) const {
  for (auto const& each : queues_) {
    for (task const& t : each->tasks) {
      if (t.what != task::sort::copy ||
          (!overlap(range, {t.to, t.number}) && !overlap(range, {const_cast<std::byte*>(t.from), t.number})))
        continue;
      check_failed(
          "stream: memory is unpinned before a stream of simulated %s device %d has come to a copy of it: atl::wait for the "
          "stream first",
          to_string(shown_as_), each->device);
    }
  }
}

void sim_streams::start(stream_handle s, task t) {
  queue& on = find(s);
  if (on.into != nullptr) {
    on.into->tasks.push_back(std::move(t));
  } else {
    append(on, std::move(t));
  }
}

void sim_streams::append(queue& on, task t) {
  t.started = ++started_;
  on.tasks.push_back(std::move(t));
}

// ---- graphs ----------------------------------------------------------------------------------------

bool sim_streams::begin_capture(stream_handle s) {
  find(s).into = std::make_shared<graph>(graph{++captures_, {}, {}});
  return true;
}

graph_handle sim_streams::end_capture(stream_handle s) {
  graphs_.push_back(std::exchange(find(s).into, nullptr));
  return graphs_.back().get();
}

std::uint64_t sim_streams::capture_of(stream_handle s) {
  queue const& q = find(s);
  return q.into == nullptr ? 0 : q.into->number;
}

bool sim_streams::keep_for_graph(stream_handle s, std::shared_ptr<void> held) {
  find(s).into->held.push_back(std::move(held));
  return true;
}

void sim_streams::launch(graph_handle g, stream_handle s) {
  queue& on = find(s);
  auto const found =
      std::find_if(graphs_.begin(), graphs_.end(), [g](auto const& each) { return each.get() == g; });
  // Executions of a graph come one after the other, in whatever streams they are.
  task turn{task::sort::play};
  turn.turn = [g = *found, before = (*found)->launched++] { return g->ended == before; };
  append(on, std::move(turn));
  for (task t : (*found)->tasks) {
    t.part_of = *found;
    append(on, std::move(t));
  }
  task end{task::sort::play};
  end.turn = [g = *found] { return ++g->ended != 0; };
  append(on, std::move(end));
}

void sim_streams::drop_graph(graph_handle g) {
  std::erase_if(graphs_, [g](auto const& each) { return each.get() == g; });
}

void sim_streams::play(stream_handle s, std::function<bool()> turn) {
  task t{task::sort::play};
  t.turn = std::move(turn);
  start(s, std::move(t));
}

// ----------------------------------------------------------------------------------------------------

bool sim_streams::has_ended(std::uint64_t number) const noexcept {
  return std::all_of(queues_.begin(), queues_.end(), [number](auto const& each) {
    return each->tasks.empty() || each->tasks.front().started > number;
  });
}

bool sim_streams::copy(stream_handle s, copy_end to, copy_end from, std::size_t bytes, bool /*gathered*/) {
  start(s, {task::sort::copy, place_of(to), place_of(from), bytes});
  return true;
}

void sim_streams::exchange(stream_handle s, rank_exchange how, exchange_ends const& ends) {
  auto const at = [](copy_end end) { return reinterpret_cast<std::uintptr_t>(place_of(end)); };
  how.from = at(ends.from);
  for (std::int32_t r = 0; r < how.ranks; ++r) {
    how.to[r] = at(ends.to[r]);
    how.words[r] = at(ends.words[r]);
    if (how.few) how.landing[r] = at(ends.landing[r]);
  }
  auto const kept = std::make_shared<rank_exchange const>(how);
  for (int step = 0; step < played_exchange::steps; ++step) {
    task t{task::sort::exchange};
    t.number = static_cast<std::uint64_t>(step);
    t.exchange = kept;
    start(s, std::move(t));
  }
}

bool sim_streams::write(stream_handle s, copy_end word, std::uint64_t value) {
  start(s, {task::sort::write, place_of(word), nullptr, value});
  return true;
}

bool sim_streams::wait(stream_handle s, copy_end word, std::uint64_t value, comparison c) {
  task t{task::sort::wait, nullptr, place_of(word), value, c};
  t.address = word.address;
  start(s, std::move(t));
  return true;
}

bool sim_streams::wait_and_write(stream_handle s, copy_end word, std::uint64_t value, comparison c,
                                 std::uint64_t then) {
  return wait(s, word, value, c) && write(s, word, then);
}

bool sim_streams::add(stream_handle s, copy_end word, std::uint64_t value) {
  start(s, {task::sort::add, place_of(word), nullptr, value});
  return true;
}

void sim_streams::report(stream_handle s, copy_record* record) {
  task t{task::sort::report};
  t.record = record;
  start(s, t);
}

bool sim_streams::stands_still(queue const& q) noexcept {
  if (q.tasks.empty()) return true;
  task const& next = q.tasks.front();
  if (next.what == task::sort::exchange)
    return !played_exchange::is_ready(*next.exchange, static_cast<int>(next.number));
  if (next.what != task::sort::wait) return false;
  std::uint64_t const now = word_at(next.from).load(std::memory_order_acquire);
  // As devices compare: the difference counts, so that values may wrap around.
  return next.how == comparison::equal ? now != next.number
                                       : static_cast<std::int64_t>(now - next.number) < 0;
}

std::string sim_streams::where(stream_handle s) {
  queue const& q = find(s);
  if (q.tasks.empty() || !stands_still(q)) return {};
  task const& next = q.tasks.front();
  if (next.what == task::sort::exchange) return "it is in a call of a collective";
  return format("it waits for the signal at 0x%llx, which is %llu, not %s%llu as expected",
                static_cast<unsigned long long>(next.address),
                static_cast<unsigned long long>(word_at(next.from).load(std::memory_order_acquire)),
                next.how == comparison::equal ? "" : "at least ",
                static_cast<unsigned long long>(next.number));
}

bool sim_streams::need_polls() const noexcept {
  return std::any_of(queues_.begin(), queues_.end(), [](auto const& each) { return !each->tasks.empty(); });
}

/// Of kernels that are played; what else there is takes one turn.
bool sim_streams::is_over(task& t) { return t.what != task::sort::play || t.turn(); }

bool sim_streams::poll() {
  if (queues_.empty() || random(dice_) % 2 == 0) return false;
  queue& on = *queues_[random(dice_) % queues_.size()];
  if (stands_still(on)) return false;
  if (!is_over(on.tasks.front())) return false;
  task const now = std::move(on.tasks.front());
  on.tasks.pop_front();
  switch (now.what) {
    case task::sort::copy:
      copy_watched(now.to, now.from, now.number);
      break;
    case task::sort::write:
      word_at(now.to).store(now.number, std::memory_order_release);
      break;
    case task::sort::add:
      word_at(now.to).fetch_add(now.number, std::memory_order_acq_rel);
      break;
    case task::sort::wait:
    case task::sort::play:
      break;
    case task::sort::exchange:
      played_exchange::take(*now.exchange, static_cast<int>(now.number));
      break;
    case task::sort::report:
      now.record->landed(now.record);
      break;
  }
  return true;
}

}  // namespace atl::memory::sim
