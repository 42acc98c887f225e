// Calls that travel ahead of the data they are for. The initiator sends them when it starts the copy; its
// device writes the data and then a word of the initiator's region, which the target reads. The initiator's
// processor is not needed for that.

#include <cstring>
#include <deque>
#include <vector>

#include <atoll/engine/host_map.hpp>
#include <atoll/engine/memory_copy.hpp>

#include "engine/copies/copies.hpp"
#include "engine/world.hpp"

namespace atl::engine {
namespace {

struct held_message {
  std::uint64_t value;
  message* call;
};

/// Calls that wait for one word. A device writes growing numbers there, so they are let go in order.
struct word_queue {
  std::atomic<std::uint64_t> const* word;
  std::deque<held_message> calls;
};

/// Under the engine's lock.
std::vector<word_queue>& queues() {
  static auto* const all = new std::vector<word_queue>;
  return *all;
}

word_queue& queue_of(std::atomic<std::uint64_t> const* word) {
  for (word_queue& each : queues()) {
    if (each.word == word) return each;
  }
  return queues().emplace_back(word_queue{word, {}});
}

}  // namespace

std::span<memory::announcement_line> own_announcements() noexcept {
  return world->host->own_page().announcements;
}

void hold_announced(message* m) {
  announced_trailer trailer;
  std::memcpy(&trailer, m->base + m->bytes - sizeof trailer, sizeof trailer);
  m->kind = message_kind::request;
  auto const* const word = reinterpret_cast<std::atomic<std::uint64_t> const*>(
      hosts.to_address(static_cast<std::uint32_t>(m->source), trailer.offset));
  queue_of(word).calls.push_back({trailer.value, m});
  count(device_work, 1);
}

bool release_announced() {
  bool moved = false;
  for (word_queue& each : queues()) {
    // Acquire: the data was written before the word.
    while (!each.calls.empty() && each.word->load(std::memory_order_acquire) >= each.calls.front().value) {
      message* const call = each.calls.front().call;
      each.calls.pop_front();
      count(device_work, -1);
      message_sink(call);
      moved = true;
    }
  }
  return moved;
}

void drop_announced() noexcept { queues().clear(); }

}  // namespace atl::engine
