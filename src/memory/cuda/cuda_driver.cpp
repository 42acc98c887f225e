#include "memory/cuda/cuda_driver.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <atoll/base/round_up.hpp>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "memory/cuda/scopes.hpp"

namespace atl::memory::cuda {

using gpu::block;

std::unique_ptr<cuda_driver> cuda_driver::open(std::string const& library, std::string& why) {
  std::unique_ptr<cuda_driver> made(new cuda_driver);
  api& cu = made->cu_;
  if (char const* const problem = cu.load(library.c_str())) {
    why = format("no CUDA driver: %s", problem);
    return nullptr;
  }
  if (cu_result const code = cu.init(0); code != success) {
    why = code == error_no_device ? std::string("the CUDA driver finds no device")
                                  : format("the CUDA driver does not start: %s", made->words(code).c_str());
    return nullptr;
  }
  cu.load_newer();
  int count = 0;
  if (cu_result const code = cu.device_count(&count); code != success || count == 0) {
    why = "the CUDA driver finds no device (is CUDA_VISIBLE_DEVICES empty?)";
    return nullptr;
  }
  made->contexts_.resize(static_cast<std::size_t>(count));
  made->kernels_.resize(static_cast<std::size_t>(count));
  made->abilities_.resize(static_cast<std::size_t>(count));
  return made;
}

cuda_driver::~cuda_driver() {
  waits_.reset();
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    if (kernels_[i].whole == nullptr) continue;
    use const current(*this, static_cast<int>(i), std::nothrow);
    cu_.module_unload(kernels_[i].whole);
  }
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    if (contexts_[i] != nullptr) cu_.primary_release(static_cast<cu_device>(i));
  }
}

std::string cuda_driver::words(cu_result code) const {
  char const* name = nullptr;
  char const* text = nullptr;
  if (cu_.error_name(code, &name) != success || name == nullptr) name = "unknown error";
  if (cu_.error_string(code, &text) != success || text == nullptr) text = "no description";
  return format("%s (%s)", text, name);
}

void cuda_driver::check(cu_result code, char const* what, std::uint64_t bytes) const {
  if (code == success) return;
  throw segment_error(bytes == 0 ? format("CUDA: cannot %s: %s", what, words(code).c_str())
                                 : format("CUDA: cannot %s %s: %s", what,
                                          settings::format_bytes(bytes).c_str(), words(code).c_str()));
}

namespace {

constexpr char const* earlier_kernel =
    "An error that the driver reports here may come from an earlier kernel of the program; compute-sanitizer finds those";

}  // namespace

void cuda_driver::fail_stream(cu_result code, char const* what, gpu::stream s, int device) const {
  fatal(s.programs ? "stream" : "copy", "CUDA: %s in %sstream %p of device %d failed: %s. %s", what,
        s.programs ? "" : "the library's ", s.handle, device, words(code).c_str(), earlier_kernel);
}

context cuda_driver::primary(int device) {
  context& known = contexts_[static_cast<std::size_t>(device)];
  if (known == nullptr) [[unlikely]] {
    check(cu_.primary_retain(&known, device), "open the device's primary context");
  }
  return known;
}

bool cuda_driver::enter(int device) {
  context const wanted = primary(device);
  context current = nullptr;
  cu_.context_current(&current);
  if (current == wanted) return false;
  check(cu_.context_push(wanted), "enter the device's context");
  return true;
}

void cuda_driver::leave() noexcept {
  context gone = nullptr;
  cu_.context_pop(&gone);
}

int cuda_driver::any_open() const noexcept {
  for (int device = 0; device < device_n(); ++device) {
    if (contexts_[static_cast<std::size_t>(device)] != nullptr) return device;
  }
  return 0;
}

int cuda_driver::attribute(int device, int which) const noexcept {
  int value = 0;
  return cu_.device_attribute(&value, which, device) == success ? value : 0;
}

std::string cuda_driver::version() const {
  int number = 0;
  cu_.driver_version(&number);
  return format("CUDA driver %d.%d", number / 1000, number % 1000 / 10);
}

gpu::device_facts cuda_driver::facts(int device) const {
  gpu::device_facts result;
  char name[256] = "";
  if (cu_.device_name(name, sizeof name, device) == success) result.name = name;
  std::size_t bytes = 0;
  if (cu_.device_total(&bytes, device) == success) result.bytes = bytes;
  uuid id{};
  if (cu_.device_uuid(&id, device) == success) std::memcpy(result.uuid.data(), id.bytes, sizeof id.bytes);
  return result;
}

bool cuda_driver::reaches(int device, int other) const noexcept {
  int can = 0;
  return device == other || (cu_.device_can_access_peer(&can, device, other) == success && can != 0);
}

cuda_driver::abilities cuda_driver::ask_abilities(int device) const {
  abilities found;
  found.writes = attribute(device, attribute_stream_memory_operations_64) != 0;
  found.reduces = attribute(device, attribute_stream_reductions) != 0;
  found.is_atomic_on_host = attribute(device, attribute_host_native_atomics) != 0;
  for (int other = 0; other < device_n(); ++other) {
    int is = 0;
    found.is_atomic_on.push_back(
        other != device &&
        cu_.device_peer_attribute(&is, peer_attribute_native_atomics, device, other) == success && is != 0);
  }
  return found;
}

// Memory

block cuda_driver::map(memory_handle handle, std::uint64_t whole, int device) {
  block made;
  made.handle = handle;
  made.whole = whole;
  made.device = device;
  pointer at = 0;
  check(cu_.address_reserve(&at, whole, 0, 0, 0), "reserve addresses for", whole);
  if (cu_result const code = cu_.memory_map(at, whole, 0, handle, 0); code != success) {
    cu_.address_free(at, whole);
    check(code, "map", whole);
  }
  made.mapped = made.base = at;
  access_description const access{{location_device, device}, access_read_write};
  if (cu_result const code = cu_.memory_set_access(at, whole, &access, 1); code != success) {
    cu_.memory_unmap(at, whole);
    cu_.address_free(at, whole);
    check(code, "reach the memory from the device");
  }
  return made;
}

block cuda_driver::create(int device, std::uint64_t bytes) {
  use const current(*this, device);
  std::size_t free = 0;
  std::size_t total = 0;
  check(cu_.memory_info(&free, &total), "ask for free memory");
  auto const refuse = [&](cu_result code) {
    cu_.memory_info(&free, &total);
    throw segment_error(format("CUDA device %d: cannot allocate %s: %s; %s of %s are free", device,
                               settings::format_bytes(bytes).c_str(), words(code).c_str(),
                               settings::format_bytes(free).c_str(), settings::format_bytes(total).c_str()));
  };
  if (attribute(device, attribute_virtual_memory_management) == 0 ||
      attribute(device, attribute_handle_type_posix_descriptor) == 0 || !settings::gpu_descriptors()) {
    pointer at = 0;
    if (cu_result const code = cu_.memory_alloc(&at, bytes); code != success) refuse(code);
    return block::own_range(at, bytes, device, block::origin::plain);
  }
  allocation_properties wanted{};
  wanted.type = allocation_pinned;
  wanted.requested_handle_types = handle_type_posix_descriptor;
  wanted.location = {location_device, device};
  // So that adapters of networks may read and write it, too.
  if (attribute(device, attribute_network_with_virtual_memory) != 0) wanted.flags.gpu_direct_rdma_capable = 1;
  std::size_t grain = 0;
  check(cu_.granularity(&grain, &wanted, granularity_recommended), "ask for the granularity of memory");
  std::uint64_t const whole = round_up<std::uint64_t>(bytes, grain);
  memory_handle handle = 0;
  if (cu_result const code = cu_.memory_create(&handle, whole, &wanted, 0); code != success) refuse(code);
  try {
    block made = map(handle, whole, device);
    made.bytes = bytes;
    made.from = block::origin::created;
    return made;
  } catch (...) {
    cu_.memory_release(handle);
    throw;
  }
}

block cuda_driver::adopt(int device, void* memory, std::uint64_t bytes) {
  use const current(*this, device);
  auto const at = reinterpret_cast<pointer>(memory);
  unsigned type = 0;
  int where = -1;
  if (cu_.pointer_attribute(&type, pointer_memory_type, at) != success || type != memory_type_device ||
      cu_.pointer_attribute(&where, pointer_device_ordinal, at) != success || where != device) {
    throw segment_error(format("CUDA: %p is not memory of device %d%s", memory, device,
                               where >= 0 ? format(" but of device %d", where).c_str() : ""));
  }
  pointer begin = 0;
  std::size_t length = 0;
  if (cu_.memory_range(&begin, &length, at) == success && at + bytes > begin + length) {
    throw segment_error(format("CUDA: %llu bytes at %p reach beyond the allocation there, which has %zu",
                               static_cast<unsigned long long>(bytes), memory,
                               static_cast<std::size_t>(begin + length - at)));
  }
  return block::own_range(at, bytes, device, block::origin::users);
}

export_record cuda_driver::share(block const& own, os::unique_fd& descriptor, std::string& why_not) {
  export_record record;
  record.device = facts(own.device).uuid;
  use const current(*this, own.device);
  if (own.from == block::origin::created) {
    int fd = -1;
    cu_result const code = cu_.memory_export(&fd, own.handle, handle_type_posix_descriptor, 0);
    if (code != success) {
      why_not = words(code);
      return record;
    }
    descriptor.reset(fd);
    record.reach = export_record::way::descriptor;
    record.whole = own.whole;
    return record;
  }
  // Handles stand for the whole allocation that an address lies in.
  ipc_handle handle{};
  pointer begin = 0;
  std::size_t length = 0;
  cu_result code = cu_.ipc_get(&handle, own.base);
  if (code == success) code = cu_.memory_range(&begin, &length, own.base);
  if (code != success) {
    why_not = words(code);
    return record;
  }
  static_assert(sizeof record.handle == sizeof handle);
  std::memcpy(record.handle.data(), &handle, sizeof handle);
  record.reach = export_record::way::handle;
  record.offset = own.base - begin;
  record.whole = length;
  return record;
}

block cuda_driver::import(export_record const& record, int descriptor, int device) {
  use const current(*this, device);
  if (record.reach == export_record::way::descriptor) {
    memory_handle handle = 0;
    auto* const as_pointer = reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor));
    check(cu_.memory_import(&handle, as_pointer, handle_type_posix_descriptor), "import memory of a peer");
    gpu::address mapped = 0;
    try {
      mapped = map(handle, record.whole, device).mapped;
    } catch (...) {
      cu_.memory_release(handle);
      throw;
    }
    cu_.memory_release(handle);  // the mapping keeps it
    return block::of_peer(mapped, record, device, block::origin::imported);
  }
  ipc_handle handle{};
  std::memcpy(&handle, record.handle.data(), sizeof handle);
  pointer at = 0;
  check(cu_.ipc_open(&at, handle, ipc_lazy_peer_access), "open memory of a peer");
  return block::of_peer(at, record, device, block::origin::opened);
}

bool cuda_driver::grant(block& memory, int device) noexcept {
  if (memory.from != block::origin::created && memory.from != block::origin::imported) return false;
  access_description const access{{location_device, device}, access_read_write};
  return cu_.memory_set_access(memory.mapped, memory.whole, &access, 1) == success;
}

void cuda_driver::drop(block& memory) noexcept {
  // Nothing to be done about errors: after a failed kernel every call reports it.
  switch (std::exchange(memory.from, block::origin::none)) {
    case block::origin::created:
      cu_.memory_unmap(memory.mapped, memory.whole);
      cu_.address_free(memory.mapped, memory.whole);
      cu_.memory_release(memory.handle);
      break;
    case block::origin::imported:
      cu_.memory_unmap(memory.mapped, memory.whole);
      cu_.address_free(memory.mapped, memory.whole);
      break;
    case block::origin::plain: {
      use const current(*this, memory.device, std::nothrow);
      cu_.memory_free(memory.base);
      break;
    }
    case block::origin::opened: {
      use const current(*this, memory.device, std::nothrow);
      cu_.ipc_close(memory.mapped);
      break;
    }
    case block::origin::none:
    case block::origin::users:
      break;
  }
}

// Waiting for devices. cuMemFree waits for kernels by itself, cuMemUnmap does not.

bool cuda_driver::wait_for_all(std::vector<context> const& open) const {
  bool waited = true;
  for (context const each : open) {
    context gone = nullptr;
    if (cu_.context_push(each) != success) continue;
    // Another error comes from earlier work, which reports it, too.
    if (cu_.context_synchronize() == error_capture_unsupported) waited = false;
    cu_.context_pop(&gone);
  }
  return waited;
}

std::uint64_t cuda_driver::begin_waiting() {
  std::vector<context> open = contexts_;
  std::erase(open, nullptr);
  if (open.empty()) return 0;
  return waits_->begin([this, all = std::move(open)] { return wait_for_all(all); });
}

// What networks write

bool cuda_driver::must_flush(int device) const noexcept {
  return attribute(device, attribute_writes_ordering) < writes_ordered_for_owner &&
         (attribute(device, attribute_flush_options) & flush_option_host) != 0;
}

void cuda_driver::flush(int device) {
  use const current(*this, device);
  cu_result const code = cu_.flush_writes(flush_target_current_context, flush_to_owner);
  if (code == success) return;
  fatal("copy", "CUDA: making data from a network visible to device %d failed: %s. %s", device,
        words(code).c_str(), earlier_kernel);
}

// Host memory

bool cuda_driver::is_registered(void* memory, std::size_t bytes) const noexcept {
  auto const at = reinterpret_cast<pointer>(memory);
  pointer begin = 0;
  std::size_t length = 0;
  return cu_.pointer_attribute(&begin, pointer_range_begin, at) == success &&
         cu_.pointer_attribute(&length, pointer_range_bytes, at) == success && bytes <= length - (at - begin);
}

gpu::host_access cuda_driver::register_host(void* memory, std::size_t bytes, std::string& why_not) noexcept {
  try {
    use const current(*this, any_open());
    cu_result const code =
        cu_.host_register(memory, bytes, host_register_portable | host_register_device_map);
    if (code == success) return gpu::host_access::ours;
    if (code == error_host_memory_already_registered && is_registered(memory, bytes))
      return gpu::host_access::others;
    why_not = words(code);
  } catch (segment_error const& error) {
    why_not = error.what();
  }
  return gpu::host_access::staged;
}

void cuda_driver::unregister_host(void* memory) noexcept {
  use const current(*this, any_open(), std::nothrow);
  cu_.host_unregister(memory);
}

gpu::address cuda_driver::device_address(void* registered) {
  use const current(*this, any_open());
  pointer result = 0;
  check(cu_.host_device_pointer(&result, registered, 0), "reach host memory from the device");
  return result;
}

}  // namespace atl::memory::cuda
