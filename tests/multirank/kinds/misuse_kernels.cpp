// Misuse of communication by kernels; see misuse.cpp.

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <atoll/device.cuh>
#include <atoll/stream.hpp>
#include <upcxx/experimental/heap.hpp>
#include <upcxx/upcxx.hpp>

namespace {

namespace on = atl::device;
using device = upcxx::gpu_default_device;
template <class T>
using gpu_ptr = upcxx::global_ptr<T, device::kind>;

struct wait_for {
  void operator()(atl::device_team team, std::uint64_t const* word, std::uint64_t value) const {
    team.wait(on::this_block(), word, value);
  }
};

/// Says when the wait has given up; simulated devices only.
struct wait_and_say {
  void operator()(atl::device_team team, std::uint64_t const* word) const {
    has_given_up.store(!team.wait(on::this_block(), word, 7), std::memory_order_release);
  }
  static inline std::atomic<bool> has_given_up{false};
};

template <std::size_t N>
void say(char const (&text)[N]) {
  [[maybe_unused]] auto const sent = ::write(STDERR_FILENO, text, N - 1);
}

/// Dies when the kernel has ended.
void await_kernel(int) {
  while (!wait_and_say::has_given_up.load(std::memory_order_acquire)) ::usleep(1000);
  say("the kernel has given up before this process dies\n");
  ::_exit(3);
}

/// Dies when others have had time to go on where they should not.
void await_others(int) {
  ::sleep(1);
  say("rank 0 goes\n");
  ::_exit(3);
}

struct wait_in_second_block {
  void operator()(atl::device_team team, std::uint64_t const* word) const {
    if (on::block::index() == 1) team.wait(on::this_block(), word, 7);
  }
};

struct wait_for_all {
  void operator()(atl::device_team team) const {
    // Rank 0 does not come.
    if (team.rank_me() != 0) team.barrier(on::this_grid());
  }
};

struct put_private {
  void operator()(atl::device_team team, int const* from, gpu_ptr<int> to) const {
    team.put(on::this_block(), from, to, 100);
  }
};

struct get_private {
  void operator()(atl::device_team team, gpu_ptr<int> from, int* to) const {
    team.get(on::this_block(), from, to, 100);
  }
};

struct tell {
  void operator()(atl::device_team team, std::int32_t rank) const { team.notify(rank, 12, 1); }
};

struct nothing {
  void operator()() const {}
};

}  // namespace

int misuse_kernels(char const* what) {
  auto const is = [what](char const* name) { return std::strcmp(what, name) == 0; };
  int const me = upcxx::rank_me();
  int const next = (me + 1) % upcxx::rank_n();
  upcxx::device_allocator<device> none;
  if (is("kernel_inactive")) (void)atl::make_device_team(none);
  if (is("kernel_hip")) {
    auto other = upcxx::make_gpu_allocator<upcxx::hip_device>(1 << 20);
    (void)atl::make_device_team(other);
  }
  auto gpu = upcxx::make_gpu_allocator(1 << 20);
  auto team = atl::make_device_team(
      gpu, upcxx::world(),
      is("kernel_patience") ? -1
      : is("kernel_killed") || is("kernel_left_for_ever") || is("kernel_aborted") || is("kernel_unfinished")
          ? 0
          : 1);
  auto s = atl::make_stream(gpu);
  auto const words = gpu.allocate<std::uint64_t>(100);
  std::vector<std::uint64_t> const threes(100, 3);
  upcxx::copy(threes.data(), words, 100).wait();
  upcxx::dist_object<gpu_ptr<int>> all(upcxx::reinterpret_pointer_cast<int>(words));
  auto const theirs = all.fetch(next).wait();
  std::vector<int> values(100);
  upcxx::barrier();
  if (is("kernel_waits")) on::launch(team, s, {2, 1}, wait_in_second_block{}, team, team.local(words));
  if (is("kernel_barrier")) on::launch(team, s, {1, 1}, wait_for_all{}, team);
  if (is("kernel_no_blocks")) on::launch(team, s, {0, 1}, nothing{});
  if (is("kernel_no_threads")) on::launch(team, s, {1, 0}, nothing{});
  if (is("kernel_other_device")) {
    device second((gpu.device_id() + 1) % device::device_n());
    upcxx::device_allocator<device> elsewhere(second, 1 << 20);
    on::launch(team, atl::make_stream(elsewhere), {1, 1}, nothing{});
  }
  if (is("kernel_stream_moved")) {
    auto const moved = std::move(s);
    on::launch(team, s, {1, 1}, nothing{});
  }
  if (is("kernel_heap_gone")) upcxx::experimental::destroy_heap();
  if (is("kernel_empty_handler")) team.on_notice(3, nullptr);
  if (is("kernel_blocks")) on::launch(team, s, {1000, 1}, nothing{});
  if (is("kernel_puts_private")) on::launch(team, s, {1, 1}, put_private{}, team, values.data(), theirs);
  if (is("kernel_gets_private")) on::launch(team, s, {1, 1}, get_private{}, team, theirs, values.data());
  if (is("kernel_tells_nobody") && me == 0) on::launch(team, s, {1, 1}, tell{}, team, next);
  if (is("kernel_killed")) {
    on::launch(team, s, {2, 1}, wait_for{}, team, team.local(words), std::uint64_t{7});
    for (int i = 0; i < 1000; ++i) upcxx::progress();
    if (me == 1) ::kill(::getpid(), SIGKILL);
  }
  if (is("kernel_left_waiting")) {
    on::launch(team, s, {1, 1}, wait_for{}, team, team.local(words), std::uint64_t{7});
    upcxx::finalize();
    return 0;
  }
  if (is("kernel_unfinished")) {
    if (me != 0) {
      on::launch(team, s, {1, 1}, wait_and_say{}, team, team.local(words));
      upcxx::future<> const end = atl::when(s);
      upcxx::barrier();
      end.wait();
      say("rank 1 goes on\n");
    } else {
      upcxx::barrier();
      static_cast<void>(std::signal(SIGABRT, &await_others));
      UPCXX_ASSERT_ALWAYS(me != 0, "the program has found a mistake of its own");
    }
  }
  if (is("kernel_left_for_ever") || is("kernel_aborted")) {
    on::launch(team, s, {1, 1}, wait_and_say{}, team, team.local(words));
    for (int i = 0; i < 1000; ++i) upcxx::progress();
    if (is("kernel_aborted")) {
      static_cast<void>(std::signal(SIGABRT, &await_kernel));
      UPCXX_ASSERT_ALWAYS(me != 0, "the program has found a mistake of its own");
    }
    upcxx::finalize();
    return 0;
  }
  if (is("kernel_team_forgotten")) {
    atl::make_device_team(gpu).destroy();
    if (me == 0)
      static_cast<void>(upcxx::new_array<char>(100));  // what the program itself has forgotten is apart
    upcxx::finalize();
    return 3;
  }
  if (is("kernel_team_left_open")) {  // no misuse: finalize ends teams, too
    on::launch(team, s, {2, 1}, wait_for{}, team, team.local(words), std::uint64_t{3});
    auto const kept = std::make_shared<int>(0);
    team.on_notice(1, [kept](std::int32_t, std::uint64_t) {});
    upcxx::finalize();
    if (kept.use_count() != 1) return 1;
    upcxx::init();
    gpu = upcxx::make_gpu_allocator(1 << 20);
    atl::make_device_team(gpu).destroy();
    gpu.destroy();
    upcxx::finalize();
    return 0;
  }
  atl::wait(s);
  upcxx::barrier();
  if (is("kernel_segment_gone")) gpu.destroy();
  auto copy = team;
  team.destroy();
  if (is("kernel_team_twice")) team.destroy();
  if (is("kernel_team_copy_twice")) copy.destroy();
  if (is("kernel_team_gone")) on::launch(copy, s, {1, 1}, nothing{});
  if (is("kernel_team_local")) static_cast<void>(copy.local(words));
  gpu.destroy();
  upcxx::finalize();
  return 0;
}
