#include "engine/copies/kernel_waits.hpp"

#include <atomic>
#include <ctime>

#include "base/error.hpp"
#include "base/os/await_end.hpp"
#include "bootstrap/crash.hpp"
#include "engine/progress/progress_engine.hpp"

namespace atl::engine {
namespace {

void end_waits_of(rank_page& page, std::uint64_t why) noexcept {
  // Release: a kernel that has given up may read what this rank wrote before.
  std::atomic_ref(page.kernels_end).store(why, std::memory_order_release);
}

/// Of all ranks of the host: launchers end the others, perhaps without asking. A process that dies beside kernels of its own may take the
/// multi-process service along, and with it other processes of the device.
void end_waits_of_host() noexcept {
  host_domain const& host = progress_engine::here().host;
  for (std::uint32_t r = 0; r < host.count(); ++r) end_waits_of(host.page(r), kernels_end_with_job);
  constexpr timespec until_they_look{0, 20'000'000};
  ::nanosleep(&until_they_look, nullptr);
}

}  // namespace

void end_kernel_waits() noexcept { end_waits_of(progress_engine::here().host.own_page(), kernels_end_alone); }

void stop_if_job_ends() noexcept {
  // Acquire: whoever knows that a kernel has given up, because of this word, finds it here.
  if (std::atomic_ref(progress_engine::here().host.own_page().kernels_end).load(std::memory_order_acquire) !=
      kernels_end_with_job) [[likely]]
    return;
  // Whoever fails ends the job, and with it this process; perhaps only after a debugger has let it go.
  os::await_end();
}

void release_kernels_at_death(bool some) noexcept {
  release_hook = some ? &end_waits_of_host : nullptr;
  if (some) bootstrap::install_termination_handler();
}

}  // namespace atl::engine
