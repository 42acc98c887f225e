#include "engine/copies/arrivals.hpp"

#include "engine/progress/messages.hpp"

namespace atl::engine {

arrivals::word_queue& arrivals::queue_of(std::atomic<std::uint64_t> const& word) {
  for (word_queue& each : queues_) {
    if (each.word == &word) return each;
  }
  return queues_.emplace_back(word_queue{&word, {}});
}

void arrivals::keep(std::atomic<std::uint64_t> const& word, std::uint64_t value, message* call) {
  queue_of(word).calls.push_back({value, call});
  work_.count(1);
}

bool arrivals::let_go() {
  bool moved = false;
  for (word_queue& each : queues_) {
    // Acquire: the data was written before the word.
    while (!each.calls.empty() && each.word->load(std::memory_order_acquire) >= each.calls.front().value) {
      message* const call = each.calls.front().call;
      each.calls.pop_front();
      work_.count(-1);
      message_sink(call);
      moved = true;
    }
  }
  return moved;
}

}  // namespace atl::engine
