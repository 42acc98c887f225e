// Streams, of the library and of programs: what is started there, and the library's kernels.

#include <algorithm>
#include <utility>

#include <atoll/base/check.hpp>

#include "base/error.hpp"
#include "memory/cuda/cuda_driver.hpp"
#include "memory/cuda/kernels.hpp"
#include "memory/cuda/scopes.hpp"

namespace atl::memory::cuda {

/// Streams know their context, and without a current one the driver starts copies a seventh faster (1.15
/// instead of 1.34 us on an H200 with a driver of CUDA 13). One that insists gets the device's. So do streams of programs: the common ones are
/// those of the current context, and copies that were captured without one may make a graph that cannot be instantiated.
template <class Call>
cu_result cuda_driver::on_stream(int device, gpu::stream s, Call&& call) {
  if (streams_suffice_ && !s.programs) [[likely]] {
    no_context const none(cu_);
    if (none.is_so()) [[likely]] {
      cu_result const code = call();
      if (code != error_invalid_context) [[likely]]
        return code;
      streams_suffice_ = false;
    }
  }
  use const current(*this, device);
  return call();
}

gpu::stream cuda_driver::make_stream(int device) {
  use const current(*this, device);
  stream made = nullptr;
  check(cu_.stream_create(&made, stream_non_blocking), "make a stream");
  return made;
}

void cuda_driver::drop_stream(int device, gpu::stream s) noexcept {
  use const current(*this, device, std::nothrow);
  cu_.stream_destroy(static_cast<stream>(s));
}

gpu::event cuda_driver::make_event(int device) {
  use const current(*this, device);
  event made = nullptr;
  check(cu_.event_create(&made, event_disable_timing), "make an event");
  return made;
}

void cuda_driver::drop_event(int device, gpu::event e) noexcept {
  use const current(*this, device, std::nothrow);
  cu_.event_destroy(static_cast<event>(e));
}

void cuda_driver::copy(int device, gpu::stream s, gpu::address to, gpu::address from, std::size_t bytes) {
  check_stream(on_stream(device, s, [&] { return cu_.copy_async(to, from, bytes, static_cast<stream>(s)); }),
               "starting a copy", s, device);
}

void cuda_driver::copy_all(int device, gpu::stream s, std::span<gpu::copy_range const> ranges) {
  if (ranges.size() > 1 && cu_.copy_batch != nullptr) {
    batch_to_.clear();
    batch_from_.clear();
    batch_bytes_.clear();
    for (gpu::copy_range const& r : ranges) {
      batch_to_.push_back(r.to);
      batch_from_.push_back(r.from);
      batch_bytes_.push_back(r.bytes);
    }
    copy_attributes how{};
    how.source_order = source_order_stream;
    std::size_t first = 0;
    std::size_t failed = 0;
    use const current(*this, device);  // this call does need it
    cu_result const code = cu_.copy_batch(batch_to_.data(), batch_from_.data(), batch_bytes_.data(),
                                          ranges.size(), &how, &first, 1, &failed, static_cast<stream>(s));
    if (code == success) return;
    if (code != error_not_supported && code != error_invalid_value)
      fail_stream(code, "starting copies", s, device);
    // This system does not take them together. Copies that were started all the same may be repeated.
    cu_.copy_batch = nullptr;
  }
  for (gpu::copy_range const& r : ranges) copy(device, s, r.to, r.from, r.bytes);
}

void cuda_driver::copy_across(int device, gpu::stream s, gpu::address to, int to_device, gpu::address from,
                              int from_device, std::size_t bytes) {
  use const current(*this, device);
  check_stream(
      cu_.copy_peer_async(to, primary(to_device), from, primary(from_device), bytes, static_cast<stream>(s)),
      "starting a copy between devices", s, device);
}

void cuda_driver::write(int device, gpu::stream s, gpu::address word, std::uint64_t value) {
  cu_result const code =
      on_stream(device, s, [&] { return cu_.stream_write64(static_cast<stream>(s), word, value, 0); });
  if (code != success) [[unlikely]]
    fail_stream(code, "a write of a word", s, device);
}

// Kernels of the library

/// With the device's context current, or behind prepare(). Says once if there are none, of those who want any.
cuda_driver::loaded const& cuda_driver::kernels_on(int device) {
  loaded& known = load_kernels(device);
  if (known.code != success && !std::exchange(known.told, true)) [[unlikely]] {
    warn(
        "device",
        "the CUDA driver does not take the library's kernels for device %d: %s; small copies go one by one, and others add to signals for it",
        device, words(known.code).c_str());
  }
  return known;
}

cuda_driver::loaded& cuda_driver::load_kernels(int device) {
  loaded& known = kernels_[static_cast<std::size_t>(device)];
  if (std::exchange(known.tried, true)) return known;
  cu_result code = cu_.module_load(&known.whole, kernels_ptx);
  if (code == success) code = cu_.module_function(&known.add, known.whole, "atoll_add");
  if (code == success) code = cu_.module_function(&known.copies, known.whole, "atoll_copies");
  if (code == success) code = cu_.module_function(&known.box, known.whole, "atoll_box");
  if (code == success) code = cu_.module_function(&known.exchange, known.whole, "atoll_exchange");
  if (code == success) code = cu_.module_function(&known.exchange_few, known.whole, "atoll_exchange_few");
  if (code == success) code = cu_.module_function(&known.reduce, known.whole, "atoll_reduce");
  known.code = code;
  return known;
}

bool cuda_driver::has(int device, function loaded::*which) {
  prepare(device);
  return kernels_on(device).*which != nullptr;
}

/// With the device's context current.
template <class... Parameter>
void cuda_driver::start_kernel(int device, gpu::stream s, function kernel, unsigned blocks, unsigned threads,
                               char const* what, Parameter const&... parameters) {
  void* all[] = {const_cast<Parameter*>(&parameters)...};
  cu_result const code =
      cu_.launch_kernel(kernel, blocks, 1, 1, threads, 1, 1, 0, static_cast<stream>(s), all, nullptr);
  check_stream(code, what, s, device);
}

bool cuda_driver::copy_small(int device, gpu::stream s, std::span<gpu::copy_range const> ranges) {
  use const current(*this, device);
  function const kernel = kernels_on(device).copies;
  if (kernel == nullptr) return false;
  while (!ranges.empty()) {
    auto const some = ranges.first(std::min(ranges.size(), std::size_t{small_copies::most}));
    ranges = ranges.subspan(some.size());
    small_copies all{};
    for (std::size_t i = 0; i < some.size(); ++i) {
      all.to[i] = some[i].to;
      all.from[i] = some[i].from;
      all.bytes[i] = static_cast<std::uint32_t>(some[i].bytes);
    }
    start_kernel(device, s, kernel, static_cast<unsigned>(some.size()), threads_of_copy, "a kernel of copies",
                 all);
  }
  return true;
}

bool cuda_driver::copy_box(int device, gpu::stream s, gpu::address to, gpu::address from,
                           box_shape const& box) {
  box_copy all{};
  all.to = to;
  all.from = from;
  std::uint64_t divisible = to | from | box.run;
  std::uint64_t runs = 1;
  for (std::size_t d = 0; d < box.dimensions.size(); ++d) {
    auto const& [to_stride, from_stride, extent] = box.dimensions[d];
    if (extent != 1) divisible |= static_cast<std::uint64_t>(to_stride | from_stride);
    if (extent > most_units_of_box / runs) return false;
    runs *= extent;
    all.extents[d] = static_cast<std::uint32_t>(extent);
    all.to_strides[d] = to_stride;
    all.from_strides[d] = from_stride;
  }
  std::uint64_t const unit = std::min<std::uint64_t>(divisible & -divisible, 16);
  if (box.run / unit > most_units_of_box / runs) return false;
  all.unit = static_cast<std::uint32_t>(unit);
  all.run = static_cast<std::uint32_t>(box.run / unit);
  all.units = static_cast<std::uint32_t>(runs) * all.run;
  use const current(*this, device);
  function const kernel = kernels_on(device).box;
  if (kernel == nullptr) return false;
  unsigned const blocks = std::min((all.units - 1) / threads_of_copy + 1, most_blocks_of_box);
  start_kernel(device, s, kernel, blocks, threads_of_copy, "a kernel that copies a box", all);
  return true;
}

bool cuda_driver::can_exchange(int device) { return has(device, &loaded::exchange_few); }

void cuda_driver::exchange(int device, gpu::stream s, rank_exchange const& what) {
  use const current(*this, device);
  loaded const& kernels = kernels_on(device);
  start_kernel(device, s, what.few ? kernels.exchange_few : kernels.exchange, what.blocks,
               rank_exchange::threads, "a kernel of a collective", what);
}

bool cuda_driver::can_add(int device) { return abilities_of(device).reduces || has(device, &loaded::add); }

bool cuda_driver::can_reduce(int device) { return has(device, &loaded::reduce); }

void cuda_driver::reduce(int device, gpu::stream s, array_reduction const& what) {
  use const current(*this, device);
  start_kernel(device, s, kernels_on(device).reduce, what.blocks(), array_reduction::threads,
               "a kernel of a reduction", what);
}

bool cuda_driver::add(int device, gpu::stream s, gpu::address word, std::uint64_t value) {
  use const current(*this, device);
  if (abilities_of(device).reduces) {
    // Of a reduction alone the driver does not say what it is ordered after.
    stream_operation both[2] = {};
    both[0].barrier = {operation_barrier, barrier_for_system};
    both[1].reduce = {operation_reduce, 0, reduction_add, reduction_unsigned_64, word, value, 0};
    cu_result const code = cu_.stream_operations(static_cast<stream>(s), 2, both, 0);
    if (code == success) return true;
    if (code != error_not_supported) fail_stream(code, "an addition to a signal", s, device);
  }
  function const kernel = kernels_on(device).add;
  if (kernel == nullptr) return false;
  start_kernel(device, s, kernel, 1, 1, "a kernel that adds to a signal", word, value);
  return true;
}

int cuda_driver::device_of(gpu::stream s) {
  context found = nullptr;
  cu_result code = cu_.stream_context(static_cast<stream>(s), &found);
  if (code == success) {
    auto const known = std::find(contexts_.begin(), contexts_.end(), found);
    if (known != contexts_.end()) [[likely]]
      return static_cast<int>(known - contexts_.begin());
    // The program uses a device that the library has not. Asking all would open them, which takes long.
    cu_device device = -1;
    context popped = nullptr;
    code = cu_.context_push(found);
    if (code == success) code = cu_.context_device(&device);
    cu_.context_pop(&popped);
    if (code == success && contexts_[static_cast<std::size_t>(device)] == nullptr && primary(device) == found)
      return device;
  }
  if (code == error_capture_invalidated) {
    check_failed(
        "stream: the driver has given up the capture of %p (%s): a call that may not be captured, such as a wait for the device, has failed in it. "
        "Look at what calls of CUDA return; atl::capture() ends by an exception that is thrown then",
        s.handle, words(code).c_str());
  }
  check_failed(
      "stream: %p is no stream of a device's primary context, which the CUDA run time uses%s%s. Handles 0, 1 and 2 mean the device that is "
      "current in this thread (cudaSetDevice)",
      s.handle, code == success ? "" : ": ", code == success ? "" : words(code).c_str());
}

std::uint64_t cuda_driver::number_of(gpu::stream s) {
  unsigned long long number = 0;
  cu_result const code = cu_.stream_number(static_cast<stream>(s), &number);
  return code == success ? number + 1 : reinterpret_cast<std::uintptr_t>(s.handle);
}

bool cuda_driver::is_captured(gpu::stream s) {
  int status = 0;
  cu_result const code = cu_.stream_is_capturing(static_cast<stream>(s), &status);
  // A common stream beside one that is captured in a mode that forbids it.
  return code != success || status != 0;
}

std::uint64_t cuda_driver::capture_of(gpu::stream s) {
  int status = 0;
  unsigned long long number = 0;
  cu_result const code =
      cu_.stream_capture_info(static_cast<stream>(s), &status, &number, nullptr, nullptr, nullptr);
  return code == success && status == capture_is_active ? number + 1 : 0;
}

bool cuda_driver::keep_for_graph(gpu::stream s, std::shared_ptr<void> held) {
  int status = 0;
  graph into = nullptr;
  user_object made = nullptr;
  // A thread of the driver lets go of it, and may not call the driver.
  auto* const owned = new std::shared_ptr<void>(std::move(held));
  auto const let_go = [](void* what) { delete static_cast<std::shared_ptr<void>*>(what); };
  cu_result code = cu_.stream_capture_info(static_cast<stream>(s), &status, nullptr, &into, nullptr, nullptr);
  if (code == success) code = cu_.user_object_create(&made, owned, let_go, 1, user_object_without_waiting);
  if (code != success) let_go(owned);
  if (code == success) {
    code = cu_.graph_retain(into, made, 1, graph_takes_reference);
    if (code != success) cu_.user_object_release(made, 1);
  }
  if (code != success && std::exchange(graphs_keep_, false)) {
    warn(
        "device",
        "the CUDA driver does not keep memory for graphs: %s. Destroy graphs before the memory that they use",
        words(code).c_str());
  }
  return code == success;
}

bool cuda_driver::is_pinned(void const* memory) {
  unsigned type = 0;
  return cu_.pointer_attribute(&type, pointer_memory_type, reinterpret_cast<pointer>(memory)) == success;
}

void cuda_driver::prepare(int device) {
  if (kernels_[static_cast<std::size_t>(device)].tried) [[likely]]
    return;
  use const current(*this, device);
  load_kernels(device);
}

void cuda_driver::wait(int device, gpu::stream s, gpu::address word, std::uint64_t value, comparison c) {
  prepare(device);
  cu_result const code = on_stream(device, s, [&] {
    return cu_.stream_wait64(static_cast<stream>(s), word, value,
                             c == comparison::equal ? wait_equal : wait_at_least);
  });
  if (code != success) fail_stream(code, "a wait for a signal", s, device);
}

void cuda_driver::wait_and_write(int device, gpu::stream s, gpu::address word, std::uint64_t value,
                                 comparison c, std::uint64_t then) {
  prepare(device);
  stream_operation both[2] = {};
  both[0].on_word = {operation_wait, word, value, c == comparison::equal ? wait_equal : wait_at_least, 0};
  both[1].on_word = {operation_write, word, then, 0, 0};
  cu_result const code =
      on_stream(device, s, [&] { return cu_.stream_operations(static_cast<stream>(s), 2, both, 0); });
  if (code != success) fail_stream(code, "a wait for a signal and a write of it", s, device);
}

void cuda_driver::check_stream(gpu::stream s, int device) {
  beside_captures const allowed(cu_);
  cu_result const code = cu_.stream_query(static_cast<stream>(s));
  if (code != error_not_ready) check_stream(code, "a copy", s, device);
}

void cuda_driver::record(int device, gpu::event e, gpu::stream s) {
  check_stream(
      on_stream(device, s, [&] { return cu_.event_record(static_cast<event>(e), static_cast<stream>(s)); }),
      s.programs ? "a mark" : "marking a copy", s, device);
}

bool cuda_driver::happened(gpu::event e, int device, gpu::stream s) {
  beside_captures const allowed(cu_);
  cu_result const code = cu_.event_query(static_cast<event>(e));
  if (code == error_not_ready) return false;
  check_stream(code, s.programs ? "what was started" : "a copy", s, device);
  return true;
}

}  // namespace atl::memory::cuda
