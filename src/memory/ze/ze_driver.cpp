#include "memory/ze/ze_driver.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/settings.hpp"

namespace atl::memory::ze {

using gpu::block;

namespace {

constexpr std::uint32_t events_per_pool = 64;
constexpr std::size_t staged_bytes = std::size_t{4} << 20;

void* place(gpu::address at) noexcept { return reinterpret_cast<void*>(at); }

std::string words(ze_result code) {
  char const* text = "see ze_result_t";
  switch (code) {
    case error_device_lost:
      text = "device lost";
      break;
    case error_out_of_host_memory:
      text = "out of host memory";
      break;
    case error_out_of_device_memory:
      text = "out of device memory";
      break;
    case error_uninitialized:
      text = "not initialised";
      break;
    case error_unsupported_feature:
      text = "unsupported feature";
      break;
    case error_invalid_argument:
      text = "invalid argument";
      break;
    default:
      break;
  }
  return format("%s (0x%x)", text, code);
}

}  // namespace

std::unique_ptr<ze_driver> ze_driver::open(std::string const& library, std::string& why) {
  std::unique_ptr<ze_driver> made(new ze_driver);
  api& ze = made->ze_;
  if (char const* const problem = ze.load(library.c_str())) {
    why = format("no Level Zero loader: %s", problem);
    return nullptr;
  }
  std::uint32_t driver_n = 0;
  ze_result code = ze.init(init_gpu_only);
  if (code == success) code = ze.driver_get(&driver_n, nullptr);
  if (code != success) {
    why = code == error_uninitialized ? std::string("Level Zero finds no driver")
                                      : format("Level Zero does not start: %s", words(code).c_str());
    return nullptr;
  }
  std::vector<ze_driver_handle> drivers(driver_n);
  ze.driver_get(&driver_n, drivers.data());
  // The first driver that has GPUs.
  for (ze_driver_handle const each : drivers) {
    std::uint32_t count = 0;
    if (ze.device_get(each, &count, nullptr) != success) continue;
    std::vector<ze_device> all(count);
    if (ze.device_get(each, &count, all.data()) != success) continue;
    for (ze_device const device : all) {
      device_properties facts;
      if (ze.device_facts(device, &facts) == success && facts.type == device_gpu)
        made->devices_.push_back(device);
    }
    if (made->devices_.empty()) continue;
    made->driver_ = each;
    break;
  }
  if (made->devices_.empty()) {
    why = "Level Zero finds no GPU (does ZE_AFFINITY_MASK hide them?)";
    return nullptr;
  }
  context_description const wanted;
  if ((code = ze.context_create(made->driver_, &wanted, &made->context_)) != success) {
    why = format("Level Zero makes no context: %s", words(code).c_str());
    return nullptr;
  }
  void* import = nullptr;
  void* release = nullptr;
  if (ze.driver_extension(made->driver_, import_pointer_name, &import) == success &&
      ze.driver_extension(made->driver_, release_pointer_name, &release) == success) {
    made->import_pointer_ = reinterpret_cast<import_pointer>(import);
    made->release_pointer_ = reinterpret_cast<release_pointer>(release);
  }
  return made;
}

ze_driver::~ze_driver() {
  for (event_pool const pool : pools_) ze_.pool_destroy(pool);
  if (context_ != nullptr) ze_.context_destroy(context_);
}

void ze_driver::check(ze_result code, char const* what) const {
  if (code != success) throw segment_error(format("Level Zero: cannot %s: %s", what, words(code).c_str()));
}

void ze_driver::fail_copy(ze_result code, char const* what, int device) const {
  fatal("copy", "Level Zero: %s of device %d failed: %s", what, device, words(code).c_str());
}

std::string ze_driver::version() const {
  std::uint32_t number = 0;
  ze_.driver_api_version(driver_, &number);
  return format("Level Zero %u.%u", number >> 16, number & 0xffffU);
}

gpu::device_facts ze_driver::facts(int device) const {
  gpu::device_facts result;
  device_properties all;
  if (ze_.device_facts(at(device), &all) == success) {
    result.name = all.name;
    std::memcpy(result.uuid.data(), all.uuid, sizeof all.uuid);
  }
  std::uint32_t count = 0;
  if (ze_.device_memory(at(device), &count, nullptr) == success) {
    std::vector<memory_properties> memories(count);
    if (ze_.device_memory(at(device), &count, memories.data()) == success) {
      for (memory_properties const& each : memories) result.bytes += each.bytes;
    }
  }
  return result;
}

bool ze_driver::reaches(int device, int other) const noexcept {
  truth can = 0;
  return device == other || (ze_.device_can_access_peer(at(device), at(other), &can) == success && can != 0);
}

// Memory

block ze_driver::create(int device, std::uint64_t bytes) {
  device_memory_description const wanted;
  void* made = nullptr;
  ze_result const code = ze_.memory_alloc_device(context_, &wanted, bytes, 0, at(device), &made);
  if (code != success) {
    throw segment_error(format("Level Zero device %d: cannot allocate %s: %s; the device has %s", device,
                               settings::format_bytes(bytes).c_str(), words(code).c_str(),
                               settings::format_bytes(facts(device).bytes).c_str()));
  }
  return block::own_range(reinterpret_cast<gpu::address>(made), bytes, device, block::origin::created);
}

block ze_driver::adopt(int device, void* memory, std::uint64_t bytes) {
  allocation_properties what;
  ze_device where = nullptr;
  check(ze_.memory_facts(context_, memory, &what, &where), "ask about the program's memory");
  if (what.type != memory_device || where != at(device)) {
    throw segment_error(
        format("Level Zero: %p is not memory of device %d that this library's context knows; "
               "let the library allocate it",
               memory, device));
  }
  void* begin = nullptr;
  std::size_t length = 0;
  auto const start = reinterpret_cast<gpu::address>(memory);
  if (ze_.memory_range(context_, memory, &begin, &length) == success &&
      start + bytes > reinterpret_cast<gpu::address>(begin) + length) {
    throw segment_error(format("Level Zero: %llu bytes at %p reach beyond the allocation there",
                               static_cast<unsigned long long>(bytes), memory));
  }
  return block::own_range(start, bytes, device, block::origin::users);
}

export_record ze_driver::share(block const& own, os::unique_fd& descriptor, std::string& why_not) {
  export_record record;
  record.device = facts(own.device).uuid;
  void* begin = nullptr;
  std::size_t length = 0;
  ipc_handle handle{};
  ze_result code = ze_.memory_range(context_, place(own.base), &begin, &length);
  if (code == success) code = ze_.ipc_get(context_, begin, &handle);
  if (code != success) {
    why_not = words(code);
    return record;
  }
  // On Linux the handle starts with a descriptor, which the driver owns and which has to travel as such.
  int theirs = -1;
  std::memcpy(&theirs, handle.data, sizeof theirs);
  int const copy = fcntl(theirs, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    why_not = "the driver's IPC handles hold no file descriptor";
    return record;
  }
  descriptor.reset(copy);
  static_assert(sizeof record.handle == sizeof handle);
  std::memcpy(record.handle.data(), &handle, sizeof handle);
  record.reach = export_record::way::descriptor;
  record.offset = own.base - reinterpret_cast<gpu::address>(begin);
  record.whole = length;
  return record;
}

block ze_driver::import(export_record const& record, int descriptor, int device) {
  ipc_handle handle{};
  std::memcpy(&handle, record.handle.data(), sizeof handle);
  std::memcpy(handle.data, &descriptor, sizeof descriptor);
  void* opened = nullptr;
  check(ze_.ipc_open(context_, at(device), handle, 0, &opened), "open memory of a peer");
  return block::of_peer(reinterpret_cast<gpu::address>(opened), record, device, block::origin::opened);
}

bool ze_driver::grant(block& memory, int device) noexcept {
  // Within a context, devices that reach each other need no permission.
  return reaches(device, memory.device);
}

void ze_driver::drop(block& memory) noexcept {
  switch (std::exchange(memory.from, block::origin::none)) {
    case block::origin::created:
      ze_.memory_free(context_, place(memory.base));
      break;
    case block::origin::opened:
      ze_.ipc_close(context_, place(memory.mapped));
      break;
    default:
      break;
  }
}

// Host memory

gpu::host_access ze_driver::register_host(void* memory, std::size_t bytes, std::string& why_not) noexcept {
  if (import_pointer_ == nullptr) return gpu::host_access::staged;
  ze_result const code = import_pointer_(driver_, memory, bytes);
  if (code == success) return gpu::host_access::ours;
  why_not = words(code);
  return gpu::host_access::staged;
}

void ze_driver::unregister_host(void* memory) noexcept { release_pointer_(driver_, memory); }

gpu::address ze_driver::device_address(void* registered) {
  return reinterpret_cast<gpu::address>(registered);
}

// Streams: immediate command lists

/// Copy engines, where the device has any apart from those that run kernels.
std::uint32_t ze_driver::copy_group(int device) const {
  std::uint32_t count = 0;
  if (ze_.device_queue_groups(at(device), &count, nullptr) != success) return 0;
  std::vector<queue_group_properties> groups(count);
  if (ze_.device_queue_groups(at(device), &count, groups.data()) != success) return 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if ((groups[i].flags & (queue_group_copy | queue_group_compute)) == queue_group_copy) return i;
  }
  return 0;
}

command_list ze_driver::make_list(int device, std::uint32_t mode) const {
  queue_description wanted;
  wanted.ordinal = copy_group(device);
  wanted.mode = mode;
  command_list made = nullptr;
  check(ze_.list_create(context_, at(device), &wanted, &made), "make a command list");
  return made;
}

gpu::stream ze_driver::make_stream(int device) { return make_list(device, mode_asynchronous); }

void ze_driver::drop_stream(int, gpu::stream s) noexcept { ze_.list_destroy(static_cast<command_list>(s)); }

gpu::event ze_driver::make_event(int) {
  // Those of dropped events are not used again: the kind drops none before its end.
  if (pools_.empty() || events_made_ == events_per_pool) {
    event_pool_description wanted;
    wanted.count = events_per_pool;
    event_pool pool = nullptr;
    check(ze_.pool_create(context_, &wanted, static_cast<std::uint32_t>(devices_.size()), devices_.data(),
                          &pool),
          "make events");
    pools_.push_back(pool);
    events_made_ = 0;
  }
  event_description wanted;
  wanted.index = events_made_;
  ze_event made = nullptr;
  check(ze_.event_create(pools_.back(), &wanted, &made), "make an event");
  ++events_made_;
  return made;
}

void ze_driver::drop_event(int, gpu::event e) noexcept { ze_.event_destroy(static_cast<ze_event>(e)); }

void ze_driver::copy(int device, gpu::stream s, gpu::address to, gpu::address from, std::size_t bytes) {
  check_copy(
      ze_.append_copy(static_cast<command_list>(s), place(to), place(from), bytes, nullptr, 0, nullptr),
      "starting a copy", device);
}

void ze_driver::copy_across(int, gpu::stream, gpu::address to, int to_device, gpu::address from,
                            int from_device, std::size_t bytes) {
  std::size_t const chunk = std::min(bytes, staged_bytes);
  host_memory_description const wanted;
  void* buffer = nullptr;
  check_copy(ze_.memory_alloc_host(context_, &wanted, chunk, 0, &buffer), "allocating memory for a copy",
             from_device);
  command_list const out = make_list(from_device, mode_synchronous);
  command_list const in = make_list(to_device, mode_synchronous);
  for (std::size_t done = 0; done < bytes; done += chunk) {
    std::size_t const now = std::min(chunk, bytes - done);
    check_copy(ze_.append_copy(out, buffer, place(from + done), now, nullptr, 0, nullptr),
               "a copy to the host", from_device);
    check_copy(ze_.append_copy(in, place(to + done), buffer, now, nullptr, 0, nullptr),
               "a copy from the host", to_device);
  }
  ze_.list_destroy(out);
  ze_.list_destroy(in);
  ze_.memory_free(context_, buffer);
}

void ze_driver::write(int device, gpu::stream, gpu::address, std::uint64_t) {
  fail_copy(error_unsupported_feature, "announcing a copy", device);
}

void ze_driver::record(int device, gpu::event e, gpu::stream s) {
  // Lists need not execute in order; a barrier waits for everything before it.
  check_copy(ze_.event_reset(static_cast<ze_event>(e)), "marking a copy", device);
  check_copy(ze_.append_barrier(static_cast<command_list>(s), static_cast<ze_event>(e), 0, nullptr),
             "marking a copy", device);
}

bool ze_driver::happened(gpu::event e, int device, gpu::stream) {
  ze_result const code = ze_.event_status(static_cast<ze_event>(e));
  if (code == not_ready) return false;
  check_copy(code, "a copy", device);
  return true;
}

}  // namespace atl::memory::ze
