#include "transport/sim/sim_network.hpp"

#include "base/error.hpp"

namespace atl::transport::sim {
sim_network::sim_network(config const& how)
    : how_(how.how),
      me_(how.me),
      ranks_(how.ranks),
      event_(how.event),
      remote_fences_(how.remote_fences),
      tell_(how.tell),
      reach_(how.reach),
      wire_(how_, how.base, how.me),
      choices_(how_.seed * 1'000'003 + static_cast<std::uint64_t>(how.me)),
      address_(address_magic | static_cast<std::uint32_t>(how.me)),
      peers_(static_cast<std::size_t>(how.ranks)),
      checked_(how_.timed() || how_.reorder != 0 || how_.ordered) {
  if (how_.eager == 0) how_.eager = how_.packet;
  auto const done = [this](bool offered) {
    return offered ? ability{support::native, !how_.adapter} : ability{};
  };
  abilities_.put = done(how_.put);
  abilities_.get = done(how_.get);
  abilities_.put_pieces = done(how_.put && how_.vectors);
  abilities_.get_pieces = done(how_.get && how_.vectors);
  abilities_.put_notified = done(how_.put && how_.notified);
  abilities_.late_payload = how_.late ? ability{support::native, true} : ability{};
  abilities_.needs_local_registration = how_.registers;
  abilities_.put_before_message = how_.ordered;
  abilities_.ordered_messages = how_.ordered;
  abilities_.atomics_with_processor = how_.coherent;
  abilities_.loopback = how_.loopback;
  abilities_.stale_keys = how_.stale;
  abilities_.losses = how_.losses;
  abilities_.memory_kinds = 1U << static_cast<unsigned>(memory::kind_id::host);
  if (how_.gpu && reach_ != nullptr) abilities_.memory_kinds |= 0b11100;  // cuda, hip, ze
  limits_.put_bytes = limits_.get_bytes = how_.longest;
  limits_.pieces = how_.vectors ? how_.pieces : 1;
  limits_.inline_bytes = std::min(how_.eager, wire_.room() - longest_header);
  limits_.address_bytes = sizeof address_;
  limits_.key_bytes = 24;
  limits_.notification_bits = 64;
  limits_.idle_poll_ns = how_.idle_ns;
  limits_.message_ns = how_.message_ns;
  limits_.connections = how_.connections;

  rank_page* const page = wire_.map().page_of(how.base, me_);
  for (unsigned which = 0; which < queues; ++which) {
    rings_[which].emplace(&page->rings[which], wire_.map().ring(how.base, me_, which), wire_.map().cells());
  }
  page->bell.event.store(static_cast<std::uint32_t>(event_ + 1), std::memory_order_relaxed);
  wire_.hold_back(!how_.passive);
  if (how_.lockstep) in_step_ = std::make_unique<lockstep>(wire_.map(), how.base, ranks_, me_, how_);
  page->state.store(lives, std::memory_order_release);
}

sim_network::~sim_network() {
  wire_.hold_back(false);
  for (std::int32_t const rank : used_peers_) {
    peer_record& with = *peers_[static_cast<std::size_t>(rank)];
    if (!with.up() || how_.losses != loss_notice::always) continue;
    slot s;
    // Without room the peer finds out by itself.
    if (wire_.open(s, with.way, remote_queue, 0, false)) {
      wire_.publish(s, with.way, remote_queue, kind::lost, 0);
    }
  }
  wire_.map().page_of(wire_.base(), me_)->state.store(gone, std::memory_order_release);
  if (in_step_ != nullptr) {
    if (tell_) in_step_->tell();
    in_step_->leave();
  }
  for (open_operation const& record : operations_) delete record.fetched;
  for (registration const* const memory : registrations_) delete memory;
}

std::string sim_network::description() const {
  std::string const text = to_text(how_);
  return text.empty() ? "simulated, everything at rest" : "simulated: " + text;
}

std::size_t sim_network::under_way() const {
  if (open_operations_ == 0 && !busy()) [[likely]]
    return 0;
  return open_operations_ + jobs_.size() + wire_.parked() + changing_ + late_events_.size() +
         atomics_.size() + breaks_.size();
}

}  // namespace atl::transport::sim
