#include "scale/model.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include <atoll/base/round_up.hpp>
#include <atoll/engine/am.hpp>

#include "bootstrap/placement.hpp"
#include "engine/collectives/hierarchy.hpp"
#include "engine/collectives/matching.hpp"
#include "engine/collectives/teams.hpp"
#include "engine/collectives/under_way.hpp"
#include "engine/host/host_domain.hpp"
#include "engine/network/network_messages.hpp"
#include "engine/progress/passing_on.hpp"
#include "engine/progress/progress_engine.hpp"
#include "memory/host/arena.hpp"
#include "transport/message_pool.hpp"
#include "transport/shm/endpoint.hpp"

namespace atl::scale {

using engine::host_domain;
using engine::network_messages;
using engine::progress_engine;
using transport::message;
using transport::storage;

namespace {

/// Address space for what a rank stages; memory is taken as it is touched.
constexpr std::size_t transit_bytes = std::size_t{4} << 20;
constexpr std::size_t page_bytes = round_up(sizeof(engine::rank_page), std::size_t{4096});
constexpr std::size_t message_limit = std::size_t{1} << 30;

/// Ranks of a host, of the one job that there is.
std::int32_t ranks_per_host = 1;

class mapping {
 public:
  explicit mapping(std::size_t bytes)
      : bytes_(bytes),
        begin_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                      0)) {
    if (begin_ == MAP_FAILED)
      throw std::runtime_error("no address space for " + std::to_string(bytes) + " bytes");
  }
  ~mapping() { ::munmap(begin_, bytes_); }
  mapping(mapping const&) = delete;
  mapping& operator=(mapping const&) = delete;
  [[nodiscard]] std::byte* begin() const { return static_cast<std::byte*>(begin_); }

 private:
  std::size_t bytes_;
  void* begin_;
};

message* message_of(transport::outgoing const& out) {
  return reinterpret_cast<message*>(static_cast<std::uintptr_t>(out.position));
}

}  // namespace

model* model::current_ = nullptr;

/// Regions of all ranks, and one endpoint of shared memory. Nothing is sent by that: the engine asks it for limits.
struct model::host_memory {
  static constexpr std::size_t stride = page_bytes + transit_bytes;

  explicit host_memory(std::int32_t ranks)
      : regions(static_cast<std::size_t>(ranks) * stride),
        layout(shm::region_layout::compute(page_bytes, 1, 4096)),
        unused(layout.end),
        transit(unused.begin() + layout.arena_offset, layout.arena_bytes, nullptr, memory::arena::rest::no),
        messages(message_limit),
        endpoint(config()) {}

  shm::endpoint_config config() {
    shm::endpoint_config c;
    c.base = unused.begin();
    c.layout = layout;
    c.bells = &reinterpret_cast<engine::rank_page*>(unused.begin())->bell;
    c.transit = &transit;
    c.read_peers = true;
    c.memory = &messages;
    return c;
  }
  [[nodiscard]] std::byte* region(std::int32_t rank) const {
    return regions.begin() + static_cast<std::size_t>(rank) * stride;
  }

  mapping regions;
  shm::region_layout layout;
  mapping unused;
  memory::arena transit;
  transport::message_memory messages;
  shm::endpoint endpoint;
};

/// What a rank has of the engine, as world_state has it.
struct model::virtual_rank {
  virtual_rank(model& all, bootstrap::placement const& at, bootstrap::host_ranks const& of_host)
      : place(at),
        transit(all.memory_->region(place.rank) + page_bytes, transit_bytes, nullptr,
                memory::arena::rest::no),
        host({all.memory_->region(of_host.world_rank(0)), host_memory::stride, of_host,
              static_cast<std::uint32_t>(place.local_rank), true, true},
             transit),
        memory(message_limit),
        net(place.hosts == 1 ? nullptr
                             : new counting_network(all, place.rank, all.shape_.connections,
                                                    all.shape_.bundles != bundling::none)),
        network(net == nullptr ? nullptr : open(net, memory, place, all.shape_.bundles)),
        progress(all.memory_->endpoint, network.get(), host, {true, 0}, false),
        teams(host),
        calls(progress),
        collectives(progress.open) {
    engine::add_first_teams(teams, place, of_host, all.shape_.flat);
    // Everybody sleeps: whoever publishes something rings those who may wait for it.
    host.own_page().bell.word.store(1, std::memory_order_relaxed);
    host.page(0).sleepers.store(1, std::memory_order_relaxed);
  }
  static std::unique_ptr<network_messages> open(counting_network* net, transport::message_memory& memory,
                                                bootstrap::placement const& place, bundling bundles) {
    network_messages::shape what;
    if (bundles == bundling::by_host) engine::bundle_by_host(what, place);
    what.card_of = [](std::int32_t) { return engine::card(); };
    return std::make_unique<network_messages>(std::unique_ptr<transport::network>(net), std::move(what),
                                              memory);
  }

  bootstrap::placement const place;
  memory::arena transit;
  host_domain host;
  transport::message_memory memory;
  counting_network* net;  ///< null on one host
  std::unique_ptr<network_messages> network;
  progress_engine progress;
  engine::team_registry teams;
  engine::call_log calls;
  engine::collectives_under_way collectives;
};

model::model(job_shape const& shape) : shape_(shape), memory_(std::make_unique<host_memory>(shape.ranks)) {
  current_ = this;
  auto const n = static_cast<std::size_t>(shape.ranks);
  auto const hosts = static_cast<std::size_t>(shape.hosts());
  clocks_.resize(n);
  finished_.resize(n);
  depths_.resize(n);
  sent_.resize(n);
  sent_bytes_.resize(n);
  adapters_out_.resize(hosts);
  adapters_in_.resize(hosts);
  ranks_.reserve(n);
  ranks_per_host = shape.per_host;
  engine::pretend_hosts([](std::int32_t rank) { return rank / ranks_per_host; }, shape.hosts());
  // All share what is known of hosts; the ranks of the own one are given apart from that.
  auto table = std::make_shared<bootstrap::rank_table>();
  for (std::int32_t r = 0; r < shape.ranks && shape.bundles == bundling::by_host; ++r)
    table->host_of.push_back(r / shape.per_host);
  std::size_t const before = heap_in_use();
  for (std::int32_t r = 0; r < shape.ranks; ++r) {
    bootstrap::placement place;
    if (!table->host_of.empty()) place.table = table;
    place.rank = r;
    place.size = shape.ranks;
    place.host = r / shape.per_host;
    place.hosts = shape.hosts();
    std::int32_t const first = place.host * shape.per_host;
    place.local_rank = r - first;
    place.local_size = std::min(shape.per_host, shape.ranks - first);
    place.largest_host = shape.per_host;
    now_ = r;
    ranks_.push_back(std::make_unique<virtual_rank>(
        *this, place, bootstrap::host_ranks(first, static_cast<std::uint32_t>(place.local_size))));
  }
  heap_at_start_ = heap_in_use() - before;
}

model::~model() {
  for (std::int32_t r = 0; r < shape_.ranks; ++r) {
    take_turn(r);
    ranks_[static_cast<std::size_t>(r)].reset();
  }
  engine::pretend_hosts(nullptr, 0);
  current_ = nullptr;
}

std::size_t model::heap_in_use() {
  struct mallinfo2 const now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

// ---- turns

void model::take_turn(std::int32_t r) {
  now_ = r;
  virtual_rank& v = rank(r);
  if (v.network != nullptr) network_messages::take_turn(*v.network);
  progress_engine::take_turn(v.progress);
  engine::team_registry::take_turn(v.teams);
  engine::call_log::take_turn(v.calls);
  engine::collectives_under_way::take_turn(v.collectives);
}

/// As poll() and advance() of the engine, until nothing moves.
void model::go_on() {
  virtual_rank& v = rank(now_);
  for (bool moved = true; moved;) {
    moved = false;
    if (v.network != nullptr) {
      while (message* const m = v.network->receive({}, moved)) {
        reinterpret_cast<engine::handler>(engine::resolve_from(m->token, m->source))(m);
      }
      moved |= v.network->advance();
    }
    if (v.progress.open.any()) moved |= v.progress.open.advance();
  }
}

void model::play(occurrence const& o) {
  take_turn(o.rank);
  auto const r = static_cast<std::size_t>(o.rank);
  picoseconds const cost = o.what == nullptr ? line_gap : o.from_network ? costs_.overhead : inside_overhead;
  clocks_[r] = std::max(clocks_[r], o.time) + cost;
  depths_[r] = std::max(depths_[r], o.depth);
  if (o.from_network) {
    rank(o.rank).net->arrive(static_cast<packet*>(o.what));
  } else if (o.what != nullptr) {
    auto* const m = static_cast<message*>(o.what);
    reinterpret_cast<engine::handler>(engine::resolve_from(m->token, m->source))(m);
  }
  go_on();
}

void model::finish(std::int32_t r) {
  finished_[static_cast<std::size_t>(r)] = clock(r);
  --unfinished_;
}

tally model::run(std::function<void(engine::team_view&, std::int32_t, engine::on_done)> const& start) {
  struct ending {
    model* all;
    std::int32_t rank;
  };
  std::vector<ending> endings;
  endings.reserve(ranks_.size());
  for (auto* const times : {&clocks_, &finished_, &adapters_out_, &adapters_in_})
    std::fill(times->begin(), times->end(), 0);
  std::fill(depths_.begin(), depths_.end(), 0);
  std::fill(sent_.begin(), sent_.end(), 0);
  std::fill(sent_bytes_.begin(), sent_bytes_.end(), 0);
  now_counted_ = {};
  std::uint64_t made = 0;
  for (auto const& each : ranks_) made += each->net != nullptr ? each->net->made() : 0;
  unfinished_ = ranks_.size();
  for (std::int32_t r = 0; r < shape_.ranks; ++r) {
    take_turn(r);
    endings.push_back({this, r});
    start(*engine::team_registry::here().world, r,
          {[](void* e) { static_cast<ending*>(e)->all->finish(static_cast<ending*>(e)->rank); },
           &endings.back()});
    go_on();
  }
  while (!coming_.empty()) play(coming_.next());
  if (unfinished_ != 0)
    throw std::runtime_error(std::to_string(unfinished_) + " ranks wait, and nothing is on its way to them");

  tally& t = now_counted_;
  t.time = *std::max_element(finished_.begin(), finished_.end());
  t.depth = *std::max_element(depths_.begin(), depths_.end());
  t.most_sent = *std::max_element(sent_.begin(), sent_.end());
  t.most_bytes = *std::max_element(sent_bytes_.begin(), sent_bytes_.end());
  for (auto const& each : ranks_) {
    if (each->net == nullptr) continue;
    t.connects += each->net->made();
    t.most_connections = std::max(t.most_connections, each->net->most_standing());
    t.most_peers = std::max(t.most_peers, each->network->peers());
  }
  t.connects = (t.connects - made) / 2;  // each has two ends
  return t;
}

// ---- what leaves

void model::begin(transport::outgoing& out, std::size_t bytes, std::size_t alignment) {
  if (!is_inside(out.target)) {
    network_messages& network = *rank(now_).network;
    if (!network.begin_in_place(out, bytes, alignment))
      static_cast<void>(network.begin(out, bytes, alignment, transport::spill::unlimited));
    return;
  }
  // Arrived messages are made by who sends them; the memory is the target's.
  bool const pooled = bytes <= transport::pooled_room[2] && alignment <= transport::buffer_alignment;
  message* const m = transport::take_message(pooled ? bytes : 0);
  m->where = pooled ? storage::ring : storage::privately;
  if (!pooled)
    m->base = rank(out.target).memory.take_for_arrival(bytes, alignment, transport::admission::always);
  if (m->base == nullptr) throw std::bad_alloc();
  out.where = storage::ring;
  out.begin = m->base;
  out.capacity = bytes;
  out.position = reinterpret_cast<std::uintptr_t>(m);
}

void model::commit(transport::outgoing& out, transport::message_kind kind, std::uint64_t token,
                   std::size_t bytes) {
  if (out.where == storage::in_network) return rank(now_).network->commit_in_place(out, kind, token, bytes);
  if (out.where == storage::network) return rank(now_).network->commit(out, kind, token, bytes);
  message* const m = message_of(out);
  if (m->where == storage::privately) rank(out.target).memory.discharge_arrival(out.capacity - bytes);
  m->bytes = bytes;
  m->token = token;
  m->kind = kind;
  m->source = now_;
  ++now_counted_.inside;
  now_counted_.inside_bytes += bytes;
  picoseconds const leaves = clock(now_) += inside_overhead;
  coming_.add(leaves + line_latency + static_cast<picoseconds>(bytes) * inside_per_byte, out.target,
              depths_[static_cast<std::size_t>(now_)], m, false);
}

void model::cancel(transport::outgoing& out) noexcept {
  if (out.where == storage::in_network) return rank(now_).network->cancel_in_place(out);
  if (out.where == storage::network) return rank(now_).network->cancel(out);
  message* const m = message_of(out);
  if (m->where == storage::privately) rank(out.target).memory.give_arrival(m->base, out.capacity);
  transport::return_message(m);
}

void model::release(message* m) noexcept {
  if (m->where == storage::privately) rank(now_).memory.give_arrival(m->base, m->bytes);
  transport::return_message(m);
}

void model::rung(void const* bell) {
  auto const distance = static_cast<std::byte const*>(bell) - memory_->region(0);
  auto const target = static_cast<std::int32_t>(distance / static_cast<std::ptrdiff_t>(host_memory::stride));
  if (target == now_) return;
  ++now_counted_.lines;
  coming_.add(clock(now_) + line_latency, target, depths_[static_cast<std::size_t>(now_)], nullptr, false);
}

void model::carry(std::int32_t to, packet* what) {
  std::int32_t depth = depths_[static_cast<std::size_t>(now_)];
  if (what->what == packet::kind::message) {
    ++depth;
    ++now_counted_.between;
    now_counted_.between_bytes += what->bytes();
    ++sent_[static_cast<std::size_t>(now_)];
    sent_bytes_[static_cast<std::size_t>(now_)] += what->bytes();
  }
  picoseconds const busy = std::max(costs_.gap, static_cast<picoseconds>(what->bytes()) * costs_.per_byte);
  picoseconds& out = adapters_out_[host_of(now_)];
  picoseconds& in = adapters_in_[host_of(to)];
  out = std::max(out, clock(now_) += costs_.overhead) + busy;
  // All of it has come when it has gone through both adapters.
  in = std::max(out + costs_.latency, in + busy);
  coming_.add(in, to, depth, what, true);
}

}  // namespace atl::scale
