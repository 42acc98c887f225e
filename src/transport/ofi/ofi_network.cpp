#include "transport/ofi/ofi_network.hpp"

#include <algorithm>
#include <utility>

#include "transport/ofi/windows.hpp"

namespace atl::transport::ofi {
namespace {

constexpr std::size_t most_events_a_poll = 256;
constexpr unsigned polls_between_events = 64;
constexpr std::uint32_t host_memory = 1U << 1;  // memory::kind_id::host

}  // namespace

ofi_network::ofi_network(std::unique_ptr<context> opened, std::vector<info_ptr> alike,
                         network_config const& config)
    : context_(std::move(opened)),
      me_(config.rank),
      ranks_(config.ranks),
      inject_(std::min(context_->info().tx_attr->inject_size, longest_inject)),
      small_(*context_, small_payload),
      large_(*context_, large_payload),
      long_(*context_, long_payload),
      receives_(context_->waits_for_receives() ? long_ : large_) {
  open_rails(std::move(alike), config);
  bool const adapter = context_->has_adapter();
  bool const alone = context_->moves_alone();
  abilities_.put = abilities_.get = ability{support::native, !alone};
  abilities_.put_pieces = abilities_.get_pieces = ability{support::emulated, !alone};
  abilities_.late_payload = ability{support::emulated, true};
  abilities_.ordered_messages = true;
  abilities_.put_before_message = context_->orders_messages_behind_puts();
  // One way, where the word about it goes right behind the put.
  abilities_.put_notified =
      ability{abilities_.put_before_message ? support::native : support::emulated, true};
  abilities_.stale_keys = context_->gives_keys() ? stale_key::undetected : stale_key::breaks;
  bool const connectionless = context_->connectionless();
  abilities_.losses = connectionless ? loss_notice::none : loss_notice::of_ends;
  abilities_.ends_what_is_lost = !connectionless;
  abilities_.memory_kinds = host_memory;
  for (home_of_kind const& each : homes_of_kinds) {
    if (context_->takes_devices()) abilities_.memory_kinds |= 1U << static_cast<unsigned>(each.kind);
  }
  abilities_.stages_devices = !adapter;

  limits_.put_bytes = limits_.get_bytes =
      std::min(std::size_t{1} << 30, context_->info().ep_attr->max_msg_size);
  limits_.pieces = 16;
  limits_.inline_bytes = small_payload;
  limits_.address_bytes = context_->address().size();
  limits_.key_bytes = 32 + rails_.size() * sizeof(std::uint64_t);
  limits_.payload_alignment = 8;
  limits_.notification_bits = 64;
  limits_.connections = connectionless ? 0 : most_connections;
  limits_.idle_poll_ns = adapter ? 0 : 300;
  limits_.message_ns = adapter ? 200 : 4000;

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

unsigned ofi_network::poll(receiver& target) {
  target_ = &target;
  told_ = 0;
  moved_ = 0;
  if (unsettled_ != 0 || armed_ || ++since_events_ >= polls_between_events) [[unlikely]] {
    armed_ = false;
    since_events_ = 0;
    moved_ += read_events();
  }
  drained_ = read_completions(*context_);
  if (!rails_.empty()) [[unlikely]]
    drained_ = poll_rails() && drained_;
  if (drained_ && !(dead_records_.empty() && dead_blocks_.empty())) [[unlikely]]
    forget_the_dead();
  if (!events_.empty() || !listed_.empty()) [[unlikely]]
    settle();
  target_ = nullptr;
  return told_ + static_cast<unsigned>(moved_ != 0);
}

/// Tells events, and looks at connections that change.
void ofi_network::settle() {
  for (std::size_t n = most_events_a_poll; n != 0 && !events_.empty(); --n) {
    event const next = events_.front();
    events_.pop_front();
    if (next.whom != nullptr) {
      --next.whom->events;
      touch_if_ending(*next.whom);
    }
    ++told_;
    next.whose->on_event(*next.whose, next.what, next.how);
  }
  looked_at_.swap(listed_);
  for (peer* const p : looked_at_) p->listed = false;
  for (peer* const p : looked_at_) tend(*p);
  looked_at_.clear();
}

bool ofi_network::arm() {
  if (!events_.empty() || !listed_.empty()) return false;
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
  return std::make_unique<ofi::ofi_network>(std::move(opened), std::move(alike), config);
}

}  // namespace atl::transport
