// The library's kernels, known by name.

#include <cstring>

#include "memory/cuda/kernels.hpp"
#include "support/fake_cuda/state.hpp"

namespace fake_cuda {

cu_result module_load(module* made, void const* image) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  if (all().chosen.refuses("kernels")) return not_supported;
  for (char const* const entry : {".visible .entry atoll_copies(", ".visible .entry atoll_add("}) {
    if (std::strstr(static_cast<char const*>(image), entry) == nullptr) return invalid_value;
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
  bool const adds = std::strcmp(name, "atoll_add") == 0;
  if (!adds && std::strcmp(name, "atoll_copies") != 0) return invalid_value;
  *found = reinterpret_cast<function>(2 * reinterpret_cast<std::uintptr_t>(in) + (adds ? 1 : 0));
  return success;
}

cu_result launch_kernel(function what, unsigned blocks, unsigned y, unsigned z, unsigned threads,
                        unsigned threads_y, unsigned threads_z, unsigned shared, stream on, void** parameters,
                        void** extra) {
  std::lock_guard const held(all().lock);
  auto const number = reinterpret_cast<std::uintptr_t>(what);
  auto const found = all().modules.find(reinterpret_cast<module>(number / 2));
  if (found == all().modules.end() || current() == nullptr) return invalid_handle;
  if (y != 1 || z != 1 || threads_y != 1 || threads_z != 1 || shared != 0 || extra != nullptr)
    return invalid_value;
  if (number % 2 != 0) {
    if (threads != 1 || blocks != 1) return invalid_value;
    return start_addition(on, *static_cast<pointer const*>(parameters[0]),
                          *static_cast<std::uint64_t const*>(parameters[1]));
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
