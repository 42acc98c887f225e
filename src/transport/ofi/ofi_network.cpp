#include "transport/ofi/ofi_network.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "transport/ofi/windows.hpp"

namespace atl::transport::ofi {
namespace {

/// Connections are looked at after so many polls, or so long, whichever is first: a rank that computes may poll rarely.
constexpr unsigned polls_between_events = 64;
constexpr std::uint64_t between_events_ns = 100'000;
/// The clock costs as much as a poll that is free.
constexpr unsigned free_polls_between_clocks = 8;

}  // namespace

ofi_network::ofi_network(std::unique_ptr<context> opened, std::vector<info_ptr> alike,
                         network_config const& config)
    : module_network(config, opened->has_adapter()),
      context_(std::move(opened)),
      inject_(std::min(context_->info().tx_attr->inject_size, longest_inject)),
      small_(*context_, small_payload),
      large_(*context_, large_payload),
      long_(*context_, long_payload),
      receives_(context_->waits_for_receives() ? long_ : large_) {
  open_rails(std::move(alike), config);
  bool const alone = context_->moves_alone();
  abilities_.put = abilities_.get = ability{support::native, !alone};
  abilities_.put_pieces = abilities_.get_pieces = ability{support::emulated, !alone};
  abilities_.late_payload = ability{support::emulated, true};
  abilities_.ordered_messages = true;
  abilities_.inside_only = is_loop_back(context_->info());
  abilities_.put_before_message = context_->orders_messages_behind_puts();
  // One way, where the word about it goes right behind the put.
  abilities_.put_notified =
      ability{abilities_.put_before_message ? support::native : support::emulated, true};
  abilities_.stale_keys = context_->gives_keys() ? stale_key::undetected : stale_key::breaks;
  bool const connectionless = context_->connectionless();
  abilities_.losses = connectionless ? loss_notice::none : loss_notice::of_ends;
  abilities_.ends_what_is_lost = !connectionless;
  for (home_of_kind const& each : homes_of_kinds) {
    if (context_->takes_devices()) abilities_.memory_kinds |= 1U << static_cast<unsigned>(each.kind);
  }

  limits_.get_bytes = std::min(limits_.get_bytes, context_->info().ep_attr->max_msg_size);
  limits_.put_bytes = std::min(limits_.put_bytes, longest_put(context_->info(), context_->says_delivered()));
  limits_.inline_bytes = small_payload;
  limits_.address_bytes = context_->address().size();
  limits_.key_bytes = 32 + rails_.size() * sizeof(std::uint64_t);
  limits_.payload_alignment = 8;
  limits_.connections = connectionless ? 0 : most_connections;

  sizes_.header = block_pool::headers - sizeof(wire) - sizeof(late_payload);
  sizes_.eager = sizes_.in_place =
      std::min(large_payload, context_->info().ep_attr->max_msg_size - block_pool::headers);
  sizes_.late = limits_.get_bytes;
  longest_in_place_ = context_->waits_for_receives() ? long_payload : sizes_.in_place;

  if (context_->registers_local()) {
    static_cast<void>(context_->enter(confirmed_, sizeof confirmed_, FI_READ, confirmed_entered_));
  }
  nobody_.endpoint = context_->endpoint();
  if (context_->shared_receives() != nullptr) post_receives(nullptr);
  // Later it would be a message that waits for ever.
  if (!context_->registers_local()) return;
  can_send_ = small_.has_one() && large_.has_one();
}

ofi_network::~ofi_network() {
  for (auto const& [rank, p] : peers_) {
    drop_wish(*p);
    if (context_->connectionless()) {
      // A word to those who live, if there is room.
      if (p->endpoint != nullptr) static_cast<void>(inject(*p, wire::gone, {}, nullptr, 0));
    } else {
      close_object(p->endpoint);
    }
    for (record* r = p->first; r != nullptr; r = r->after) close_object(r->entered);
  }
  close_rails();
  for (remote_key* const key : keys_) delete key;
  for (registration* const r : registered_) {
    close_memory(*r);
    delete r;
  }
  close_object(confirmed_entered_);
  small_.close_memory();
  large_.close_memory();
  long_.close_memory();
  context_->close_endpoint();
}

/// Has a connection perhaps changed, and nobody looked for long?
bool ofi_network::events_are_due() {
  ++since_events_;
  if (unsettled_ != 0 || armed_ || since_events_ >= polls_between_events) return true;
  unsigned const polls = limits_.idle_poll_ns == 0 ? free_polls_between_clocks : 1;
  return since_events_ % polls == 0 && now_ns() >= next_events_ns_;
}

void ofi_network::advance() {
  if (events_are_due()) [[unlikely]] {
    armed_ = false;
    since_events_ = 0;
    next_events_ns_ = now_ns() + between_events_ns;
    moved_ += read_events();
  }
  drained_ = read_completions(*context_);
  if (!rails_.empty()) [[unlikely]]
    drained_ = poll_rails() && drained_;
  if (drained_ && !(dead_records_.empty() && dead_blocks_.empty())) [[unlikely]]
    forget_the_dead();
}

bool ofi_network::arm() {
  if (!is_quiet()) return false;
  armed_ = true;
  for (rail const& each : rails_) {
    if (!each.opened->arm()) return false;
  }
  return context_->arm();
}

}  // namespace atl::transport::ofi

namespace atl::transport {

char const* const module_name = "ofi";

std::unique_ptr<network> open_network(network_config const& config, std::string& problem) {
  problem = ofi::open_libfabric(config.library);
  if (!problem.empty()) return nullptr;
  ofi::device chosen = ofi::choose_device(config);
  problem = chosen.why_not;
  if (!problem.empty()) return nullptr;
  std::vector<ofi::info_ptr> alike = std::move(chosen.alike);
  auto opened = std::make_unique<ofi::context>();
  problem = opened->open(std::move(chosen), config);
  if (!problem.empty()) return nullptr;
  auto made = std::make_unique<ofi::ofi_network>(std::move(opened), std::move(alike), config);
  if (made->can_receive() && made->can_send()) return made;
  problem =
      made->can_receive()
          ? "libfabric takes no memory for messages that leave: `ulimit -l` may be too low"
          : "libfabric takes no memory for messages that arrive; where it registers memory, `ulimit -l` may be too low";
  return nullptr;
}

}  // namespace atl::transport
