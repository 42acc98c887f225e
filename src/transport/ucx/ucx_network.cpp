#include "transport/ucx/ucx_network.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace atl::transport::ucx {
namespace {

constexpr std::size_t most_events_a_poll = 256;
constexpr int most_progress_a_poll = 8;
constexpr std::uint32_t host_memory = 1U << 1;  // memory::kind_id::host
/// For libucp's endpoints to go at the end. What remains then goes with the worker.
constexpr auto longest_end = std::chrono::seconds(2);

}  // namespace

ucx_network::ucx_network(std::unique_ptr<context> opened, network_config const& config)
    : context_(std::move(opened)), me_(config.rank), has_atomics_(ucp_minor() < 16) {
  std::uint32_t const mark = address_mark;
  auto const* const mark_bytes = reinterpret_cast<std::byte const*>(&mark);
  address_.assign(mark_bytes, mark_bytes + sizeof mark);
  address_.insert(address_.end(), context_->address().begin(), context_->address().end());

  bool const adapters = context_->has_adapters();
  ability const native{support::native, !adapters};
  ability const emulated{support::emulated, !adapters};
  abilities_.put = abilities_.get = native;
  abilities_.put_pieces = abilities_.get_pieces = emulated;
  abilities_.put_notified = {support::emulated, true};
  abilities_.late_payload = {support::native, true};
  abilities_.atomics_with_processor = true;
  abilities_.stale_keys = stale_key::undetected;
  abilities_.losses = loss_notice::of_ends;
  abilities_.memory_kinds = host_memory;
  for (device_memory const& each : kinds_of_devices) {
    abilities_.memory_kinds |= static_cast<std::uint32_t>(context_->memory_types() >> each.type & 1U)
                               << static_cast<unsigned>(each.kind);
  }
  abilities_.stages_devices = !adapters;

  limits_.put_bytes = limits_.get_bytes = std::size_t{1} << 30;
  limits_.pieces = 16;
  limits_.inline_bytes = block_pool::small;
  limits_.address_bytes = address_.size();
  limits_.key_bytes = 512;
  limits_.payload_alignment = 1;
  limits_.notification_bits = 64;
  limits_.idle_poll_ns = adapters ? 0 : 300;
  limits_.message_ns = adapters ? 200 : 4000;

  sizes_.header =
      std::min<std::size_t>(block_pool::headers - sizeof(wire), context_->longest_header() - sizeof(wire));
  sizes_.eager = sizes_.in_place = block_pool::large;
  sizes_.late = std::size_t{1} << 40;
  // Over TCP a rendezvous is two more messages.
  longest_in_place_ = adapters ? block_pool::large : block_pool::largest;
  set_receivers();
}

ucx_network::~ucx_network() {
  target_ = nullptr;  // whatever comes is dropped
  for (remote_key* const key : keys_) {
    ucp.rkey_destroy(key->handle);
    delete key;
  }
  for (kept_message* const k : kept_) {
    ucp.am_data_release(context_->worker(), k->data);
    delete k;
  }
  auto const end = std::chrono::steady_clock::now() + longest_end;
  for (bool all = false; !all && std::chrono::steady_clock::now() < end;) {
    all = true;
    for (auto const& [rank, p] : peers_) {
      if (p->endpoint == nullptr) continue;
      p->given_up = p->now == peer::link::connected || p->now == peer::link::closing;
      all = release_endpoint(*p) && all;
    }
    if (!all) static_cast<void>(ucp.worker_progress(context_->worker()));
  }
  for (registration* const r : registered_) {
    static_cast<void>(ucp.mem_unmap(context_->handle(), r->handle));
    delete r;
  }
  context_.reset();  // callbacks of what was left may still come: records are there
}

unsigned ucx_network::poll(receiver& target) {
  target_ = &target;
  told_ = 0;
  unsigned moved = 0;
  for (int i = 0; i < most_progress_a_poll && told_ == 0; ++i) {
    unsigned const n = ucp.worker_progress(context_->worker());
    moved += n;
    if (n == 0) break;
  }
  if (!events_.empty() || !listed_.empty()) [[unlikely]]
    settle();
  target_ = nullptr;
  return told_ + static_cast<unsigned>(moved != 0);
}

/// Tells events, and looks at connections that change.
void ucx_network::settle() {
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

bool ucx_network::arm() {
  return events_.empty() && listed_.empty() && ucp.worker_arm(context_->worker()) == UCS_OK;
}

}  // namespace atl::transport::ucx

namespace atl::transport {

char const* const module_name = "ucx";

std::unique_ptr<network> open_network(network_config const& config, std::string& problem) {
  problem = ucx::open_ucp(config.library);
  if (!problem.empty()) return nullptr;
  auto opened = std::make_unique<ucx::context>();
  problem = opened->open(config);
  if (!problem.empty()) return nullptr;
  return std::make_unique<ucx::ucx_network>(std::move(opened), config);
}

}  // namespace atl::transport
