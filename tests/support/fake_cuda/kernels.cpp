// The library's kernels, known by name.

#include <cstring>
#include <iterator>
#include <string>

#include "memory/array_reduction.hpp"
#include "memory/cuda/kernels.hpp"
#include "memory/played_exchange.hpp"
#include "support/fake_cuda/state.hpp"

namespace fake_cuda {
namespace {

constexpr char const* names[] = {"atoll_copies",   "atoll_add",          "atoll_box",
                                 "atoll_exchange", "atoll_exchange_few", "atoll_reduce"};
constexpr std::uintptr_t known = std::size(names);

}  // namespace

cu_result module_load(module* made, void const* image) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  if (all().chosen.refuses("kernels")) return not_supported;
  for (char const* const name : names) {
    std::string const entry = std::string(".visible .entry ") + name + "(";
    if (std::strstr(static_cast<char const*>(image), entry.c_str()) == nullptr) return invalid_value;
  }
  refuse_beside_waits(current(), "a module is loaded");
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

/// In the steps that a host can play, each of which waits for other ranks' in the stream.
cu_result start_exchange(stream on, atl::memory::rank_exchange x) {
  if (x.ranks < 2 || x.ranks > atl::memory::rank_exchange::most_ranks) return invalid_value;
  auto const stream_of = all().streams.find(on);
  if (stream_of == all().streams.end()) return invalid_handle;
  std::vector<std::shared_ptr<mapping>> used;
  // Other memory than that of devices the kernel is not given.
  auto const find = [&](std::uint64_t& place, std::size_t bytes) {
    end_of_copy end;
    cu_result const code = resolve(place, bytes, *stream_of->second->device, end);
    if (code != success || end.memory == nullptr) return false;
    place = reinterpret_cast<std::uintptr_t>(end.at);
    used.push_back(end.memory);
    return true;
  };
  auto const ranks = static_cast<std::size_t>(x.ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!find(x.to[r], (x.root < 0 ? ranks : 1) * x.bytes) ||
        !find(x.words[r], atl::memory::rank_exchange::words_for(ranks) * sizeof(std::uint64_t)) ||
        (x.few && !find(x.landing[r], atl::memory::rank_exchange::landing_bytes)))
      return illegal_address;
  }
  bool const reads = (x.steps & atl::memory::rank_exchange::moves) != 0 && (x.root < 0 || x.root == x.me);
  if (reads && !find(x.from, (x.in_parts ? ranks : 1) * x.bytes)) return illegal_address;
  auto const kept = std::make_shared<atl::memory::rank_exchange const>(x);
  for (int step = 0; step < atl::memory::played_exchange::steps; ++step) {
    task t;
    t.what = task::sort::exchange;
    t.value = static_cast<std::uint64_t>(step);
    t.more_ends = used;
    t.exchange = kept;
    enqueue(on, std::move(t));
  }
  ++all().counts.kernels;
  return success;
}

cu_result start_reduction(stream on, atl::memory::array_reduction x) {
  auto const stream_of = all().streams.find(on);
  if (stream_of == all().streams.end()) return invalid_handle;
  if (x.count == 0 || x.arrays == 0) return invalid_value;
  std::uint64_t const bytes = x.count * x.bytes_of_element();
  if ((x.to | x.from | x.stride) % x.bytes_of_element() != 0) return invalid_value;  // a device would trap
  end_of_copy to;
  end_of_copy from;
  device_state const& device = *stream_of->second->device;
  cu_result code = resolve(x.to, bytes, device, to);
  if (code == success) code = resolve(x.from, (x.arrays - 1) * x.stride + bytes, device, from);
  if (code != success) return code;
  if (to.memory == nullptr || from.memory == nullptr) return illegal_address;
  x.to = reinterpret_cast<std::uintptr_t>(to.at);
  x.from = reinterpret_cast<std::uintptr_t>(from.at);
  task t;
  t.what = task::sort::reduce;
  t.more_ends = {to.memory, from.memory};
  t.reduction = std::make_shared<atl::memory::array_reduction const>(x);
  enqueue(on, std::move(t));
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
  if (std::strcmp(name, "atoll_reduce") == 0) {
    auto const& x = *static_cast<atl::memory::array_reduction const*>(parameters[0]);
    if (threads != atl::memory::array_reduction::threads || blocks != x.blocks()) return invalid_value;
    return start_reduction(on, x);
  }
  if (bool const few = std::strcmp(name, "atoll_exchange_few") == 0;
      few || std::strcmp(name, "atoll_exchange") == 0) {
    auto const& x = *static_cast<atl::memory::rank_exchange const*>(parameters[0]);
    if (x.few != few) return invalid_value;
    if (threads != atl::memory::rank_exchange::threads || blocks != x.blocks) return invalid_value;
    return start_exchange(on, x);
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
