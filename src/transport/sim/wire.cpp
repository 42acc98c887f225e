#include "transport/sim/wire.hpp"

#include <algorithm>
#include <cstring>

namespace atl::transport::sim {

route::route(layout const& map, std::byte* base, std::int32_t to, std::uint64_t cells)
    : rank(to),
      page(map.page_of(base, to)),
      rings{shm::ring_producer(&page->rings[0], map.ring(base, to, 0), cells),
            shm::ring_producer(&page->rings[1], map.ring(base, to, 1), cells),
            shm::ring_producer(&page->rings[2], map.ring(base, to, 2), cells)} {}

bool wire::open_parked(slot& s, std::size_t body_bytes) {
  s.kept = std::make_unique<std::byte[]>(body_bytes + 1);
  s.body = s.kept.get();
  s.bytes = body_bytes;
  return true;
}

/// `moved`: bytes that travel.
void wire::stamp(std::byte* body, std::size_t moved) {
  std::uint64_t const now = now_ns();
  std::uint64_t sent = now;
  if (how_.bytes_per_ns > 0) {
    auto const takes = static_cast<double>(moved) / how_.bytes_per_ns;
    sent = std::max(now, free_at_) + static_cast<std::uint64_t>(takes);
    free_at_ = sent;
  }
  write_words(body - 8, sent + how_.latency_ns);
}

bool wire::push_parked(route& to) {
  bool any = false;
  for (unsigned which = 0; which < queues; ++which) {
    auto& waiting = to.parked[which];
    while (!waiting.empty()) {
      parked_packet const& first = waiting.front();
      slot s;
      if (!open_ring(s, to, which, first.bytes)) break;
      copy_bytes(s.body, first.body.get(), first.bytes);
      publish_ring(s, to, which, first.kind, first.connection, first.token, first.moved);
      if (first.operation != no_operation) to.departures.push_back(first.operation);
      waiting.pop_front();
      --parked_;
      any = true;
    }
  }
  return any;
}

void wire::drop_parked(route& to, bool all) {
  for (unsigned which = 0; which < queues; ++which) {
    parked_ -= std::erase_if(to.parked[which], [&](parked_packet const& p) {
      if (of_connection(p.kind) && !all) return false;
      if (p.kind == kind::message_packet || p.kind == kind::message_part) {
        give_back(to.rank, which, static_cast<unsigned>(word(p.body.get(), 0)));
      } else if (p.kind == kind::put_packet || p.kind == kind::data_packet) {
        give_back(to.rank, which, static_cast<unsigned>(word(p.body.get(), 1)));
      }
      return true;
    });
  }
}

}  // namespace atl::transport::sim
