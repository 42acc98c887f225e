#pragma once

/// The host's side of a device_team: what kernels will reach is found and made reachable once, since beside
/// kernels that wait drivers do not take everything.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <atoll/base/check.hpp>
#include <atoll/engine/kernels.hpp>
#include <atoll/extensions/detail/allocate_together.hpp>
#include <atoll/extensions/detail/kept_team.hpp>
#include <atoll/extensions/detail/progress_until.hpp>
#include <atoll/extensions/device/launch.hpp>
#include <atoll/extensions/device/notice_handlers.hpp>
#include <atoll/extensions/device/team_calls.hpp>
#include <atoll/extensions/device/view.hpp>
#include <upcxx/allocate.hpp>
#include <upcxx/collectives.hpp>
#include <upcxx/copy.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/dist_object.hpp>
#include <upcxx/progress.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::device {

struct team_state : engine::notice_listener {
  team_view view;             ///< for kernels
  team_view view_of_host;     ///< finds the same, by tables of the host
  std::vector<range> ranges;  ///< its
  std::optional<atl::detail::kept_team> over;
  upcxx::global_ptr<engine::kernel_mailbox> box;
  std::vector<std::uint64_t> owners;  ///< of ranges
  std::function<void()> give_back;    ///< what lies in the device's segment
  atl::rt::persona_state* persona = nullptr;
  std::shared_ptr<notice_handlers> handlers = std::make_shared<notice_handlers>();
  int device = -1;
  std::uint64_t segment = 0;  ///< first word of pointers into the allocator's
  bool by_host = false;       ///< threads play its kernels
  host_play::counter played = std::make_shared<std::atomic<int>>(0);

  /// Asked of the run time once, which takes longer than a launch.
  struct kernel_size {
    void const* code;
    unsigned threads;
    std::size_t shared_bytes;
    int most_blocks;  ///< were the rank alone there
  };
  mutable std::vector<kernel_size> kernel_sizes;
  mutable std::mutex sizes_lock;  ///< threads may launch at once

  team_state() : engine::notice_listener{&hear, &end} {}

  /// Ranks that share the device, also those of other teams; asked anew, since others open devices later.
  [[nodiscard]] int sharers() const { return engine::ranks_on_device(segment); }

  /// A notice on its way to the persona.
  struct notice : atl::rt::task {
    std::shared_ptr<notice_handlers const> to;
    std::int32_t from;
    std::uint32_t number;
    std::uint64_t argument;
  };
  static void hear(engine::notice_listener* self, std::int32_t from, std::uint32_t number,
                   std::uint64_t argument) noexcept {
    auto const& team = *static_cast<team_state const*>(self);
    auto* const heard = new notice;
    heard->to = team.handlers;
    heard->from = from;
    heard->number = number;
    heard->argument = argument;
    heard->run = [](atl::rt::task* t) {
      std::unique_ptr<notice> const n(static_cast<notice*>(t));
      n->to->run(n->from, n->number, n->argument);
    };
    atl::rt::enqueue(*team.persona, heard);
  }
  static void end(engine::notice_listener* self) noexcept { delete static_cast<team_state*>(self); }
};

/// Handles are copied, and know of no end.
inline void check_open([[maybe_unused]] team_state const* t) {
  ATOLL_CHECK(
      engine::is_listening(t),
      "device_team: destroyed already, through this handle or a copy of it, or by finalize(): no calls any more");
}

/// What members of a team must know of each other.
struct member {
  std::uint64_t segment = 0;  ///< first word of pointers into it
  std::uint64_t words = 0;    ///< address of the team_words
};

template <class Device>
team_state* make_team(upcxx::device_allocator<Device>& gpu, upcxx::team const& over, double patience) {
  using upcxx::detail::global_ptr_access;
  constexpr auto host = upcxx::memory_kind::host;
  ATOLL_CHECK(gpu.is_active(), "make_device_team: the allocator is not active: no device, or destroyed");
  if (!(patience >= 0)) check_failed("make_device_team: a patience of %g s; 0 is one without end", patience);
  auto made = std::make_unique<team_state>();
  team_state& t = *made;
  t.over.emplace(over);
  t.persona = atl::rt::this_thread().current;
  t.device = gpu.device_id();
  auto const kind = static_cast<unsigned>(Device::kind);
  t.by_host = engine::host_plays_kernels(kind);
  if (!t.by_host && Device::kind != upcxx::memory_kind::cuda_device)
    check_failed("make_device_team: kernels communicate on CUDA devices and simulated ones, no others yet");

  // Members of this host, by world rank.
  std::vector<upcxx::intrank_t> locals;
  for (upcxx::intrank_t r = 0; r < upcxx::local_team().rank_n(); ++r) {
    upcxx::intrank_t const world = upcxx::local_team()[r];
    if (over.from_world(world, -1) >= 0) locals.push_back(world);
  }
  std::sort(locals.begin(), locals.end());

  // One piece of the segment: words, then tables.
  std::size_t const words_bytes = (sizeof(team_words) + 255) / 256 * 256;
  std::size_t const range_bytes = 2 * locals.size() * sizeof(range);
  std::size_t const partner_bytes = 2 * most_rounds * sizeof(partner);
  std::size_t const bytes = words_bytes + range_bytes + partner_bytes;
  auto const piece = gpu.template allocate<char>(bytes, 256);
  t.box = upcxx::allocate<engine::kernel_mailbox>(1, alignof(engine::kernel_mailbox));
  try {
    atl::detail::allocate_together(
        [&] {
          if (!piece.is_null() && !t.box.is_null()) return;
          char text[200];
          std::snprintf(
              text, sizeof text,
              "make_device_team: rank %d has no room for %zu B in its device's segment and %zu B in its shared heap",
              static_cast<int>(upcxx::rank_me()), bytes, sizeof(engine::kernel_mailbox));
          throw upcxx::bad_shared_alloc(text);
        },
        over, "make_device_team", "room in its device's segment, or in its shared heap");
  } catch (upcxx::bad_shared_alloc const&) {
    gpu.deallocate(piece);
    upcxx::deallocate(t.box);
    throw;
  }
  t.give_back = [&gpu, piece] {
    ATOLL_CHECK(gpu.is_active(),
                "device_team::destroy: the team's allocator was destroyed before it: end teams first");
    gpu.deallocate(piece);
  };
  std::vector<char> image(bytes);

  member mine{global_ptr_access::owner(piece), global_ptr_access::address(piece)};
  t.segment = mine.segment;
  upcxx::dist_object<member> members(mine, over);
  auto const member_of = [&](upcxx::intrank_t rank_in_team) { return members.fetch(rank_in_team).wait(); };

  std::vector<range>& ranges = t.ranges;
  bool atomic_devices = true;
  bool atomic_heaps = true;
  for (upcxx::intrank_t const world : locals) {
    member const theirs = member_of(over.from_world(world));
    for (std::uint64_t const owner :
         {theirs.segment, global_ptr_access::pack(static_cast<std::uint32_t>(world), 0, host)}) {
      engine::kernel_range const r = engine::range_for_kernels(kind, t.device, owner);
      t.owners.push_back(owner);
      ranges.push_back({owner, r.begin, r.bytes, r.here});
      (team_view::is_heap({owner, 0}) ? atomic_heaps : atomic_devices) &= r.atomic && r.here != 0;
    }
    if (world == upcxx::rank_me()) t.view.own_index = static_cast<std::uint32_t>(ranges.size() / 2 - 1);
  }
  // One rule for all, or nobody's operation would be atomic for the others.
  bool const one_host = static_cast<upcxx::intrank_t>(locals.size()) == over.rank_n();
  unsigned const able = (atomic_devices && one_host ? 1U : 0U) | (atomic_heaps && one_host ? 2U : 0U);
  unsigned const all_able = upcxx::reduce_all(able, upcxx::op_fast_bit_and, over).wait();
  t.view.atomic_devices = (all_able & 1) != 0;
  t.view.atomic_heaps = (all_able & 2) != 0;

  t.view.local_n = static_cast<std::uint32_t>(locals.size());
  t.view.first = static_cast<std::uint32_t>(locals.front());
  t.view.rank_me = over.rank_me();
  t.view.rank_n = over.rank_n();
  constexpr double without_end = 1e9;  // 30 years
  t.view.patience_ns = patience >= without_end ? 0 : static_cast<std::uint64_t>(patience * 1e9);
  t.view.consecutive = locals.back() - locals.front() + 1 == static_cast<upcxx::intrank_t>(locals.size());
  if (t.view.local_n <= team_view::most_near) std::copy(ranges.begin(), ranges.end(), t.view.near);
  t.view.ranges = ranges.data();
  std::vector<partner> partners(2 * most_rounds);
  device::find_partners(t.view, partners.data(), [&](upcxx::intrank_t r) {
    member const theirs = member_of(r);
    place const p{theirs.segment, theirs.words};
    return partner{reinterpret_cast<std::uint64_t>(t.view.find(p, sizeof(team_words))), p};
  });

  // Where kernels find all that.
  char* const here = t.view.find({mine.segment, mine.words}, image.size());
  if (here == nullptr) check_failed("make_device_team: kernels do not reach the segment of their own device");
  std::memcpy(image.data() + words_bytes, ranges.data(), range_bytes);
  std::memcpy(image.data() + words_bytes + range_bytes, partners.data(), partner_bytes);
  upcxx::copy(image.data(), piece, image.size()).wait();
  std::memset(static_cast<void*>(t.box.local()), 0, sizeof(engine::kernel_mailbox));
  char* const box = t.view.find({global_ptr_access::owner(t.box), global_ptr_access::address(t.box)},
                                sizeof(engine::kernel_mailbox));
  t.view.end = reinterpret_cast<std::uint64_t*>(engine::end_word_for_kernels(kind, t.device));
  if (box == nullptr || t.view.end == nullptr) {
    check_failed(
        "make_device_team: the device does not reach the shared heap, where kernels talk to their host: it could not be pinned (a "
        "warning says why)");
  }
  t.view_of_host = t.view;
  t.view.box = reinterpret_cast<engine::kernel_mailbox*>(box);
  t.view.own = reinterpret_cast<team_words*>(here);
  t.view.ranges = reinterpret_cast<range const*>(here + words_bytes);
  t.view.ahead = reinterpret_cast<partner const*>(here + words_bytes + range_bytes);
  t.view.across = t.view.ahead + most_rounds;

  std::uint64_t const wanted = engine::new_kernel_team();
  std::uint64_t const name = upcxx::broadcast(wanted, 0, over).wait();
  engine::serve_kernels(t.box.local(), name, &t);
  upcxx::barrier(over);  // nobody's kernels begin before all can be told
  return made.release();
}

/// Kernels of devices have ended, or nobody knows; what threads play would go on in memory that is somebody else's.
inline void await_played(team_state const& t) {
  constexpr std::chrono::seconds patience(10);
  // Acquire pairs with the release of the last thread.
  auto const have_ended = [&t] { return t.played->load(std::memory_order_acquire) == 0; };
  if (atl::detail::progress_until(have_ended, patience)) return;
  check_failed(
      "device_team::destroy: kernels that were launched with the team (%d) have not ended %lld s later: atl::wait for their "
      "streams before",
      t.played->load(std::memory_order_relaxed), static_cast<long long>(patience.count()));
}

inline void end_team(team_state* t) {
  check_open(t);
  await_played(*t);
  upcxx::barrier(**t->over);
  while (engine::owes_kernels(t->box.local())) upcxx::progress();
  upcxx::barrier(**t->over);
  upcxx::progress();  // notices that have come
  engine::end_service(t->box.local());
  for (std::uint64_t const owner : t->owners) engine::forget_range(owner);
  upcxx::deallocate(t->box);
  t->give_back();
  delete t;
}

/// Of blocks for all ranks on the device.
inline int share_of(team_state const& t, int blocks) { return blocks / t.sharers(); }

#ifdef __CUDACC__
/// What the run time of CUDA refuses ends the job, with its words.
inline void check_call(cudaError_t code, char const* what) {
  if (code != cudaSuccess)
    check_failed("%s: %s (%s)", what, cudaGetErrorString(code), cudaGetErrorName(code));
}

/// Makes the team's device the current one for as long as it lives.
class on_device {
 public:
  explicit on_device(int device) : entered_(engine::enter_device(cuda, device)) {}
  ~on_device() {
    if (entered_) engine::leave_device(cuda);
  }
  on_device(on_device const&) = delete;
  on_device& operator=(on_device const&) = delete;

 private:
  static constexpr auto cuda = static_cast<unsigned>(upcxx::memory_kind::cuda_device);
  bool entered_;
};

/// Allows a kernel so much dynamic shared memory on the current device: without that it may have 48 KiB, its static memory
/// among them. Others, such as another team, may have allowed it more, and have launches to come.
template <class Function>
void allow_shared_bytes(Function kernel, std::size_t shared_bytes) {
  if (shared_bytes == 0) return;
  cudaFuncAttributes now{};
  check_call(cudaFuncGetAttributes(&now, kernel), "device_team::max_blocks");
  if (shared_bytes <= static_cast<std::size_t>(now.maxDynamicSharedSizeBytes)) return;
  check_call(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shared_bytes)),
             "device_team::max_blocks");
}

template <class Function>
int resident_blocks(team_state const& t, Function kernel, unsigned threads, std::size_t shared_bytes) {
  auto const* const code = reinterpret_cast<void const*>(kernel);
  std::lock_guard const held(t.sizes_lock);
  for (team_state::kernel_size const& known : t.kernel_sizes) {
    if (known.code == code && known.threads == threads && known.shared_bytes == shared_bytes)
      return share_of(t, known.most_blocks);
  }
  on_device const current(t.device);
  allow_shared_bytes(kernel, shared_bytes);
  int each = 0;
  int processors = 0;
  check_call(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, static_cast<int>(threads), shared_bytes),
      "device_team::max_blocks");
  check_call(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, t.device),
             "device_team::max_blocks");
  t.kernel_sizes.push_back({code, threads, shared_bytes, each * processors});
  return share_of(t, each * processors);
}
#endif

/// Threads of the host that play blocks: a few, to show what goes wrong between blocks.
inline constexpr int most_played_blocks = 16;

template <class Compiler, class Kernel, class... Args>
int most_blocks(team_state const& t, [[maybe_unused]] Kernel kernel, [[maybe_unused]] unsigned threads,
                [[maybe_unused]] std::size_t shared_bytes) {
  if (t.by_host) return std::max(1, share_of(t, most_played_blocks));
#ifdef __CUDACC__
  if constexpr (std::is_pointer_v<Kernel>) {
    return resident_blocks(t, kernel, threads, shared_bytes);
  } else {
    return resident_blocks(t, &run_kernel<Kernel, Args...>, threads, shared_bytes);
  }
#else
  check_failed(
      "device_team: kernels run on this device only if the program's file is compiled for it (nvcc)");
#endif
}

template <class Compiler, class Kernel, class... Args>
void start_kernel(team_state const& t, atl::stream const& s, grid_shape shape, Kernel kernel, Args... args) {
  if (shape.blocks == 0 || shape.threads == 0) {
    check_failed("launch: %u blocks of %u threads: there is one of each at least", shape.blocks,
                 shape.threads);
  }
  ATOLL_CHECK(
      s.device_id() == t.device,
      "launch: the stream is of device %d, and the team's allocator is on device %d: kernels run there",
      s.device_id(), t.device);
  int const most =
      device::most_blocks<Compiler, Kernel, Args...>(t, kernel, shape.threads, shape.shared_bytes);
  if (shape.blocks > static_cast<unsigned>(most)) {
    check_failed(
        "launch: %u blocks of %u threads are asked for, but %d of this kernel are there at once on the device (ranks that share it: %d), and blocks "
        "that wait for others would wait for ever; %s",
        shape.blocks, shape.threads, most, t.sharers(),
        most == 0 ? "let fewer ranks share a device" : "ask device_team::max_blocks()");
  }
  if (t.by_host) return host_play::start(s, shape.blocks, t.played, kernel, args...);
#ifdef __CUDACC__
  engine::submit_gathered();
  on_device const current(t.device);
  void* values[] = {&kernel, &args...};
  auto const* const code = reinterpret_cast<void const*>(&run_kernel<Kernel, Args...>);
  auto* const native = reinterpret_cast<cudaStream_t>(s.native());
  dim3 const blocks(shape.blocks);
  dim3 const threads(shape.threads);
  check_call(shape.apart
                 ? cudaLaunchKernel(code, blocks, threads, values, shape.shared_bytes, native)
                 : cudaLaunchCooperativeKernel(code, blocks, threads, values, shape.shared_bytes, native),
             "launch");
#endif
}

}  // namespace atl::inline UPCXX_MODE::device
