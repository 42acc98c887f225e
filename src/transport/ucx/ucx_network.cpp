#include "transport/ucx/ucx_network.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace atl::transport::ucx {
namespace {

constexpr int most_progress_a_poll = 8;
/// For libucp's endpoints to go at the end. What remains then goes with the worker.
constexpr auto longest_end = std::chrono::seconds(2);

}  // namespace

ucx_network::ucx_network(std::unique_ptr<context> opened, network_config const& config)
    : module_network(config, opened->has_adapters()),
      context_(std::move(opened)),
      has_atomics_(ucp_minor() < 16) {
  std::vector<std::byte> const& of_worker = context_->address();
  introduction_.resize(before_address + of_worker.size());
  std::memcpy(introduction_.data(), &job_, sizeof job_);
  std::memcpy(introduction_.data() + sizeof job_, &address_mark, sizeof address_mark);
  std::memcpy(introduction_.data() + before_address, of_worker.data(), of_worker.size());

  bool const adapters = context_->has_adapters();
  ability const native{support::native, !adapters};
  ability const emulated{support::emulated, !adapters};
  abilities_.put = abilities_.get = native;
  abilities_.put_pieces = abilities_.get_pieces = emulated;
  abilities_.put_notified = {support::emulated, true};
  abilities_.late_payload = {support::native, true};
  abilities_.inside_only = std::all_of(context_->devices().begin(), context_->devices().end(),
                                       [](device const& d) { return d.name == "lo"; });
  abilities_.atomics_with_processor = true;
  abilities_.stale_keys = stale_key::undetected;
  abilities_.losses = loss_notice::of_ends;
  for (device_memory const& each : kinds_of_devices) {
    abilities_.memory_kinds |= static_cast<std::uint32_t>(context_->memory_types() >> each.type & 1U)
                               << static_cast<unsigned>(each.kind);
  }

  limits_.inline_bytes = block_pool::small;
  limits_.address_bytes = address().size();
  limits_.key_bytes = 512;
  limits_.payload_alignment = 1;

  sizes_.header = std::min<std::size_t>(longest_header, context_->longest_header() - sizeof(wire));
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

void ucx_network::advance() {
  for (int i = 0; i < most_progress_a_poll && told_ == 0; ++i) {
    unsigned const n = ucp.worker_progress(context_->worker());
    moved_ += n;
    if (n == 0) break;
  }
}

bool ucx_network::arm() { return is_quiet() && ucp.worker_arm(context_->worker()) == UCS_OK; }

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
