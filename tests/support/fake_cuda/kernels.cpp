// The library's kernels, known by name.

#include <cstring>

#include "memory/cuda/kernels.hpp"
#include "support/fake_cuda/state.hpp"

namespace fake_cuda {
namespace {

constexpr char const* names[] = {"atoll_copies", "atoll_add", "atoll_box"};
constexpr std::uintptr_t known = 3;

}  // namespace

cu_result module_load(module* made, void const* image) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  if (all().chosen.refuses("kernels")) return not_supported;
  for (char const* const entry :
       {".visible .entry atoll_copies(", ".visible .entry atoll_add(", ".visible .entry atoll_box("}) {
    if (std::strstr(static_cast<char const*>(image), entry) == nullptr) return invalid_value;
  }
  // Measured on a driver of CUDA 13: the call waits for such streams, though what it loads may be what they wait for.
  for (auto const& [name, each] : all().streams) {
    if (each->device != current()) continue;
    for (task const& t : each->tasks) {
      if (t.what == task::sort::wait) {
        misused("a module is loaded beside a stream that waits for a word: the call would wait, too");
      }
    }
  }
  static std::uintptr_t last = 0;
  *made = reinterpret_cast<module>(++last);
  all().modules[*made] = current();
  ++all().counts.modules;
  return success;
}

cu_result module_unload(module gone) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  if (all().modules.erase(gone) == 0) return invalid_handle;
  --all().counts.modules;
  return success;
}

cu_result module_function(function* found, module in, char const* name) {
  std::lock_guard const held(all().lock);
  if (all().modules.count(in) == 0) return invalid_handle;
  for (std::uintptr_t which = 0; which < known; ++which) {
    if (std::strcmp(name, names[which]) != 0) continue;
    *found = reinterpret_cast<function>(known * reinterpret_cast<std::uintptr_t>(in) + which);
    return success;
  }
  return invalid_value;
}

namespace {

/// Each unit as the kernel moves it.
cu_result start_box(stream on, box_copy const& box) {
  for (std::uint32_t i = 0; i < box.units; ++i) {
    std::uint64_t const to = box.place(box.to, box.to_strides, i);
    std::uint64_t const from = box.place(box.from, box.from_strides, i);
    if ((to | from) % box.unit != 0) return invalid_value;  // a device would trap
    if (cu_result const code = start_copy(on, to, nullptr, from, nullptr, box.unit, true); code != success)
      return code;
  }
  ++all().counts.kernels;
  return success;
}

}  // namespace

cu_result launch_kernel(function what, unsigned blocks, unsigned y, unsigned z, unsigned threads,
                        unsigned threads_y, unsigned threads_z, unsigned shared, stream on, void** parameters,
                        void** extra) {
  std::lock_guard const held(all().lock);
  auto const number = reinterpret_cast<std::uintptr_t>(what);
  auto const found = all().modules.find(reinterpret_cast<module>(number / known));
  if (found == all().modules.end() || current() == nullptr) return invalid_handle;
  if (y != 1 || z != 1 || threads_y != 1 || threads_z != 1 || shared != 0 || extra != nullptr)
    return invalid_value;
  char const* const name = names[number % known];
  if (std::strcmp(name, "atoll_add") == 0) {
    if (threads != 1 || blocks != 1) return invalid_value;
    return start_addition(on, *static_cast<pointer const*>(parameters[0]),
                          *static_cast<std::uint64_t const*>(parameters[1]));
  }
  if (std::strcmp(name, "atoll_box") == 0) {
    if (threads != threads_of_copy || blocks == 0 || blocks > most_blocks_of_box) return invalid_value;
    return start_box(on, *static_cast<box_copy const*>(parameters[0]));
  }
  if (threads != threads_of_copy || blocks == 0 || blocks > unsigned{small_copies::most})
    return invalid_value;
  auto const& copies = *static_cast<small_copies const*>(parameters[0]);
  for (unsigned i = 0; i < blocks; ++i) {
    if (cu_result const code =
            start_copy(on, copies.to[i], nullptr, copies.from[i], nullptr, copies.bytes[i]);
        code != success)
      return code;
  }
  ++all().counts.kernels;
  return success;
}

}  // namespace fake_cuda
