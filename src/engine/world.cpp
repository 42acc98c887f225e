// Start and stop of the engine: joins the job, maps the host's memory, opens the transports, makes the teams.

#include "engine/world.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <atoll/base/round_up.hpp>
#include <atoll/engine/host_map.hpp>
#include <atoll/engine/job.hpp>
#include <atoll/engine/token.hpp>

#include "base/bell_events.hpp"
#include "base/doorbell.hpp"
#include "base/error.hpp"
#include "base/os/cores.hpp"
#include "base/os/membarrier.hpp"
#include "base/os/memory.hpp"
#include "base/os/own_namespace.hpp"
#include "base/os/ptracer.hpp"
#include "base/settings.hpp"
#include "bootstrap/bells.hpp"
#include "bootstrap/debugging.hpp"
#include "bootstrap/mpi_singletons.hpp"
#include "engine/host/set_host_map.hpp"
#include "engine/network/opening.hpp"
#include "engine/progress/passing_on.hpp"
#include "engine/start_report.hpp"
#include "engine/tokens/modules.hpp"
#include "engine/tokens/one_copy.hpp"
#include "memory/host/host_heap.hpp"
#include "memory/kind.hpp"

namespace atl::engine {

world_state* world = nullptr;

namespace {

/// What a rank tells the others of its host before messages can flow.
struct introduction {
  shm::peer_process process;
  std::int64_t parent;  ///< that process' parent
  std::uint64_t private_limit;
  bool remote_fences;     ///< it has joined (base/os/membarrier.hpp)
  std::uint64_t network;  ///< its network namespace
  bool flat;              ///< it would take part in flat collectives
  bool spare_cores;       ///< it has a core to itself, as far as it knows
};

using exchange_function = std::vector<std::string> (bootstrap::channel::*)(std::string_view);

template <class T>
std::vector<T> exchange_values(bootstrap::channel& channel, T const& mine,
                               exchange_function exchange = &bootstrap::channel::exchange) {
  std::vector<std::string> const blobs =
      (channel.*exchange)(std::string_view(reinterpret_cast<char const*>(&mine), sizeof mine));
  std::vector<T> values(blobs.size());
  for (std::size_t i = 0; i < blobs.size(); ++i) std::memcpy(&values[i], blobs[i].data(), sizeof(T));
  return values;
}

/// Memory that messages may take in this rank's private memory: a share of what the machine has, unless set.
std::size_t private_limit(std::int32_t ranks_of_machine) {
  if (auto const set = settings::message_memory()) return *set;
  std::uint64_t const share =
      os::read_memory_limits().available() / 2 / static_cast<std::uint64_t>(ranks_of_machine);
  return std::max<std::uint64_t>(share, std::uint64_t{64} << 20);
}

/// Cores that the ranks of this machine may use together: each may be bound to a part of them.
int cores_of_machine(bootstrap::channel& channel) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  for (int const core : os::affinity_cores()) {
    if (core < CPU_SETSIZE) CPU_SET(core, &mine);
  }
  cpu_set_t all;
  CPU_ZERO(&all);
  for (cpu_set_t const& peer : exchange_values(channel, mine, &bootstrap::channel::exchange_machine)) {
    CPU_OR(&all, &all, &peer);
  }
  int const cores = CPU_COUNT(&all);
  double const quota = os::cgroup_core_quota();
  return quota > 0 && quota < cores ? std::max(1, static_cast<int>(quota)) : cores;
}

/// Reads a word of a rank's private memory, to find out whether the system allows it and the number of the
/// process means the same here as there. The next rank of each is enough: where ranks have several process
/// namespaces, some rank's next one is in a namespace that it cannot see.
bool can_read(shm::peer_process const& peer) {
  std::uint64_t word = 0;
  return shm::read_peer(peer, &word, peer.mark_address, sizeof word) == nullptr && word == peer.mark;
}

/// What the transport must know; all ranks of the host tell each other. Also the barrier after which all
/// regions are reserved and may be touched.
void agree_with_host(bootstrap::channel& channel, memory::host_region const& region, start_plan& plan) {
  bootstrap::placement const& place = channel.where();
  shm::endpoint_config& config = plan.transport;
  config.base = region.base();
  config.stride = region.stride();
  config.count = static_cast<std::uint32_t>(place.local_size);
  config.me = static_cast<std::uint32_t>(place.local_rank);
  config.ranks = place.ranks_of_host();
  config.bells = &reinterpret_cast<rank_page*>(region.base())->bell;
  plan.message_limit = private_limit(channel.machine().local_size);

  bool const reading = settings::read_peers();
  // Before anybody may try.
  if (reading && config.count > 1) os::let_anybody_read_memory();
  introduction const mine{shm::introduce_process(), ::getppid(),
                          plan.message_limit,       os::join_remote_fences(),
                          os::own_namespace("net"), settings::flat_collectives(),
                          plan.waiting.spare_cores};
  plan.remote_fences = true;
  std::vector<introduction> const all = exchange_values(channel, mine);
  bool one_parent = true;
  for (introduction const& peer : all) {
    config.peers.push_back(peer.process);
    one_parent = one_parent && peer.parent == mine.parent;
    // Each saw a little more or less free memory; a message that one may send, all may receive.
    plan.message_limit = std::min<std::size_t>(plan.message_limit, peer.private_limit);
    plan.remote_fences = plan.remote_fences && peer.remote_fences;
    plan.one_network = plan.one_network && peer.network == mine.network;
    plan.flat = plan.flat && peer.flat;
    plan.waiting.spare_cores =
        plan.waiting.spare_cores && peer.spare_cores;  // the lengths of pieces depend on it
  }

  std::uint32_t const next = (config.me + 1) % config.count;
  // The launcher has started them all and stays: then nobody else need be let in.
  if (reading && config.count > 1 && one_parent) os::let_read_memory(static_cast<pid_t>(mine.parent));
  bool const allowed = reading && can_read(config.peers[next]);
  config.read_peers = true;
  for (char const peer_allowed : exchange_values(channel, static_cast<char>(allowed))) {
    config.read_peers = config.read_peers && peer_allowed != 0;
  }
  if (reading && config.count > 1 && !config.read_peers) os::let_read_memory(0);
  // The lines by which ranks know each other; cells of rings and all else are entered when they are used.
  region.populate(0, config.layout.ring_offset);
}

std::unique_ptr<network_messages> open_messages(bootstrap::channel& channel, simulated_machine* machine,
                                                shm::endpoint const& neighbours,
                                                transport::message_memory& memory) {
  std::unique_ptr<transport::network> network = open_network(channel, machine);
  if (network == nullptr) return nullptr;
  network_messages::shape what;
  what.card_of = [&channel, name = network->name()](std::int32_t rank) {
    return card_of(channel, rank, name);
  };
  what.ranks = channel.where().size;
  what.period = neighbours.period();
  what.neighbours = &neighbours;
  what.credit = std::clamp(memory.limit() / 16, network_messages::least_credit, std::size_t{256} << 10);
  if (settings::bundles_by_host()) bundle_by_host(what, channel.where());
  return std::make_unique<network_messages>(std::move(network), std::move(what), memory);
}

/// Ranks that wait for a network sleep on descriptors; where that cannot be, they sleep briefly.
waiting_policy sleep_on_network(host_domain& host, network_messages* messages, start_plan const& plan) {
  waiting_policy how = plan.waiting;
  if (messages == nullptr) return how;
  transport::network const& network = messages->transport();
  std::uint64_t const pause = network.limits().longest_pause_ns;
  if (pause != 0) how.longest_sleep_ns = std::min(how.longest_sleep_ns, static_cast<std::int64_t>(pause / 2));
  if (plan.bell_event >= 0 && network.descriptor() >= 0) {
    host.sleep_on(network.descriptor(), static_cast<std::uint32_t>(plan.bell_event));
  } else {
    how.longest_sleep_ns = std::min(how.longest_sleep_ns, brief_sleep_ns);
  }
  return how;
}

/// Lets failures of this process end the job, and only the first one speak.
void report_failures_to_job() {
  abort_hook = [] {
    if (bootstrap::channel* const channel = bootstrap::attached()) channel->abort(1);
  };
  first_to_fail = [] {
    // Asked again it is the first still: by a program that answers SIGABRT with exit(). Relaxed: nothing else is read by who comes second.
    std::uint32_t none = 0;
    auto const mine = static_cast<std::uint32_t>(job.rank_me) + 1;
    bool const first = world == nullptr ||
                       world->host.page(0).failed.compare_exchange_strong(
                           none, mine, std::memory_order_relaxed, std::memory_order_relaxed) ||
                       none == mine;
    bootstrap::channel* const channel = bootstrap::attached();
    return first && (channel == nullptr || channel->claim_failure());
  };
}

/// Who waits for room in transit memory may wait for its own messages to be read, not for memory: others leave it
/// free for this, so that only something outside the job can have taken it.
std::string claim_transit(memory::host_region const& region, std::uint64_t offset, std::uint64_t bytes) {
  std::string const problem = region.claim(offset, bytes);
  if (!problem.empty()) fatal("messages", "no memory for messages in transit: %s", problem.c_str());
  return problem;
}

shm::endpoint_config with_memory(shm::endpoint_config config, memory::arena& transit,
                                 transport::message_memory& messages) {
  config.transit = &transit;
  config.memory = &messages;
  return config;
}

}  // namespace

world_state::world_state(bootstrap::channel& job_channel, memory::host_region memory_of_host, start_plan plan)
    : channel(job_channel),
      region(std::move(memory_of_host)),
      transit_memory(
          0, plan.transport.layout.arena_bytes,
          [this, begin = plan.transport.layout.arena_offset](std::uint64_t offset, std::uint64_t bytes) {
            return claim_transit(region, begin + offset, bytes);
          }),
      transit(region.part(plan.transport.me) + plan.transport.layout.arena_offset,
              plan.transport.layout.arena_bytes, &transit_memory,
              plan.waiting.spare_cores ? memory::arena::rest::yes : memory::arena::rest::no),
      host({region.base(), region.stride(), plan.transport.ranks, plan.transport.me, plan.remote_fences,
            plan.one_network},
           transit),
      messages(plan.message_limit),
      shm(with_memory(std::move(plan.transport), transit, messages)),
      machine(std::move(plan.machine)),
      network(open_messages(channel, machine.get(), shm, messages)),
      progress(shm, network.get(), host, sleep_on_network(host, network.get(), plan),
               plan.threaded || plan.progress_thread),
      flags(progress.open),
      teams(host),
      questions(progress.open, host),
      calls(progress),
      waits(host),
      collectives(progress.open),
      remote(progress),
      copies(progress),
      several_threads(plan.threaded),
      wants_progress_thread(plan.progress_thread) {}

world_state::~world_state() {
  // Callbacks that are not done still use their arguments there; a mapping of the next period must not take
  // its place.
  if (shm.held_in_place() != 0) region.abandon();
  if (shm.config().read_peers && shm.config().count > 1) os::let_read_memory(0);
  publish_module_names(nullptr);
  memory::host_heap().reset();
  clear_bell_events();
  hosts = host_map{};
  job = job_info{};
}

void open_heap() {
  memory::host_heap().initialise(hosts.heap_begin, hosts.heap_end - hosts.heap_begin,
                                 world->region.part(world->region.me()),
                                 [&region = world->region](std::uint64_t offset, std::uint64_t bytes) {
                                   return region.reserve(offset, bytes);
                                 });
}

void start(bool threaded) {
  require_one_copy();
  bootstrap::install_debugging();
  report_failures_to_job();
  bootstrap::channel& channel = bootstrap::attach();
  channel.mark(rank_state::attached);  // no longer at the end of the period before
  bootstrap::install_backtraces(channel.where());
  bootstrap::placement const& place = channel.where();
  set_identity(place.rank, place.size, {});
  diagnostics = &channel.diagnostics();
  note_call(activity::init, -1);
  // Simulated hosts share what there is.
  std::int32_t const ranks_of_machine = channel.machine().local_size;
  int const cores = cores_of_machine(channel);
  std::optional<bool> const oversubscribed = settings::oversubscribed();

  // Whoever comes later than the program's own start of a driver comes too late.
  if (place.hosts > 1 || !settings::gpu_sharing()) memory::ask_for_queues(ranks_of_machine);

  start_plan plan;
  plan.threaded = threaded;
  plan.progress_thread = settings::progress_thread() && place.hosts > 1;
  plan.machine = join_simulated(channel);
  plan.transport.period = static_cast<std::uint32_t>(periods_ended() + 1);
  plan.waiting.spare_cores = !oversubscribed.value_or(ranks_of_machine > cores);
  // A region: the engine's page, the transport's memory, the heap. Heaps begin at one offset on all hosts.
  plan.transport.layout = shm::region_layout::compute(
      sizeof(rank_page), static_cast<std::size_t>(std::max(place.local_size, place.largest_host)),
      settings::transit_memory());
  std::size_t const heap_begin = plan.transport.layout.end;
  std::size_t const heap_bytes = round_up(settings::shared_heap_size(ranks_of_machine), std::size_t{4096});
  std::size_t const arena_begin = plan.transport.layout.arena_offset;
  memory::host_region region(channel, heap_begin + heap_bytes, arena_begin, heap_begin - arena_begin);
  agree_with_host(channel, region, plan);
  plan.waiting.longest_sleep_ns = settings::longest_sleep_ns();
  // In threaded programs a thread may complete what another one waits for, and does not ring.
  if (threaded || plan.progress_thread || !plan.remote_fences) {
    plan.waiting.longest_sleep_ns = std::min(plan.waiting.longest_sleep_ns, longest_unsure_sleep_ns);
  }
  if (place.hosts > 1) plan.bell_event = bootstrap::share_bell_events(channel, bootstrap::sharers::host);
  bool const flat = plan.flat;
  auto fresh = std::make_unique<world_state>(channel, std::move(region), std::move(plan));
  world_state& w = *fresh;

  job = {place.rank, place.size, place.local_rank, place.local_size, place.host, place.hosts};
  host_map map{};
  map.stride = w.region.stride();
  map.region_bytes = heap_begin + heap_bytes;
  map.heap_begin = heap_begin;
  map.heap_end = heap_begin + heap_bytes;
  set_host_map(place, w.region.base(), map);

  add_first_teams(w.teams, place, place.ranks_of_host(), flat);
  world = fresh.release();
  open_heap();
  // Handlers of this library run under the engine's lock, where nothing may wait for the loader: its module is in use from the start.
  static_cast<void>(token_of(reinterpret_cast<void const*>(&publish_module_names)));
  publish_module_names(&w.host.own_page().modules);
  w.host.own_page().own_address = reinterpret_cast<std::uintptr_t>(&w.host.own_page());
  // Nobody sends before everybody can receive: this is also the barrier.
  report_start(channel,
               {heap_bytes, cores, !w.progress.waiting.spare_cores, oversubscribed.has_value(),
                w.shm.config().read_peers, w.network != nullptr ? &w.network->transport() : nullptr},
               settings::verbosity());
  if (place.rank == 0 && periods_ended() == 0) {
    for (auto const& each : settings::all_misspelt()) {
      warn("init", "%s is set, but is no setting: is %s meant?", each.name.c_str(), each.meant);
    }
  }
  channel.mark(rank_state::initialized);
  bootstrap::look_for_mpi_singletons(channel);
}

void begin_progress_thread() {
  if (world->wants_progress_thread) world->helper = std::make_unique<progress_thread>(world->progress);
}

void end_progress_thread() noexcept { world->helper.reset(); }

void stop() noexcept {
  std::unique_ptr<world_state> const ending(world);
  bootstrap::look_for_mpi_singletons_again();
  ending->channel.mark(rank_state::finalized);
  world = nullptr;
}

}  // namespace atl::engine
