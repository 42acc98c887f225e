// Kernels of the program that communicate: see the header.

#include <atoll/base/check.hpp>
#include <atoll/engine/kernels.hpp>

#include <atomic>

#include <atoll/engine/job.hpp>

#include "base/error.hpp"
#include "engine/copies/copies.hpp"
#include "engine/progress/guard.hpp"

namespace atl::engine {
namespace {

memory::kind& kind_at(unsigned id) {
  memory::kind* const kind = device_copies::here().segments().find_kind(static_cast<memory::kind_id>(id));
  if (kind == nullptr) {
    check_failed("device_team: this process has no device of that kind: %s; see `atoll info`",
                 memory::why_absent(static_cast<memory::kind_id>(id)).c_str());
  }
  return *kind;
}

}  // namespace

kernel_range range_for_kernels(unsigned kind, int device, std::uint64_t owner) {
  guard const held;
  return device_copies::here().segments().range_for_kernels(kind_at(kind), device, owner);
}

void forget_range(std::uint64_t owner) {
  guard const held;
  device_copies::here().segments().forget_range(owner);
}

int ranks_on_device(std::uint64_t owner) {
  guard const held;
  return device_copies::here().segments().ranks_on_device(owner);
}

std::uint64_t end_word_for_kernels(unsigned kind, int device) {
  guard const held;
  std::uint64_t& word = progress_engine::here().host.own_page().kernels_end;
  return kind_at(kind).view_for_kernels(device, {nullptr, reinterpret_cast<std::uintptr_t>(&word)}).address;
}

bool enter_device(unsigned kind, int device) {
  guard const held;
  try {
    return kind_at(kind).enter(device);
  } catch (memory::segment_error const& error) {
    fatal("device", "a kernel of the program cannot be launched on device %d: %s", device, error.what());
  }
}

void leave_device(unsigned kind) noexcept {
  guard const held;
  kind_at(kind).leave();
}

std::uint64_t new_kernel_team() noexcept {
  static std::atomic<std::uint32_t> made{0};
  return std::uint64_t{++made} << 32 | static_cast<std::uint32_t>(job.rank_me);
}

bool host_plays_kernels(unsigned kind) {
  guard const held;
  return kind_at(kind).host_plays_kernels();
}

void serve_kernels(kernel_mailbox* box, std::uint64_t team, notice_listener* listener) {
  guard const held;
  device_copies::here().kernels().serve(box, team, listener);
}

void end_service(kernel_mailbox* box) {
  guard const held;
  device_copies::here().kernels().end(box);
}

bool is_listening(notice_listener const* listener) {
  if (!device_copies::exists()) return false;
  guard const held;
  return device_copies::here().kernels().is_listening(listener);
}

bool owes_kernels(kernel_mailbox* box) {
  guard const held;
  return device_copies::here().kernels().owes(box);
}

}  // namespace atl::engine
