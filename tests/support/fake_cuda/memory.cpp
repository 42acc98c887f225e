// Memory of devices: objects, addresses, sharing between processes, registered host memory.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "support/fake_cuda/state.hpp"

namespace fake_cuda {
namespace {

constexpr std::size_t grain = std::size_t{2} << 20;

/// What cuIpcGetMemHandle writes: where other processes find the memory object.
struct ipc_content {
  char magic[8];
  int process;
  int descriptor;
  int physical;
  std::size_t bytes;
};
static_assert(sizeof(ipc_content) <= sizeof(ipc_handle));

constexpr std::uint64_t bit(int physical) { return std::uint64_t{1} << physical; }

std::shared_ptr<object> wrap(int descriptor, int physical, std::size_t bytes) {
  auto made = std::make_shared<object>();
  ++all().counts.objects;
  made->descriptor = descriptor;
  made->physical = physical;
  made->bytes = bytes;
  return made;
}

/// New memory; null if the device has not that much.
std::shared_ptr<object> make_object(device_state& device, std::size_t bytes) {
  if (bytes > all().chosen.memory - device.used) return nullptr;
  // The name goes with the descriptor to other processes.
  std::string const name = "fake-cuda-" + std::to_string(device.physical);
  int const descriptor = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) misused("no memory object");
  auto made = wrap(descriptor, device.physical, bytes);
  made->charged = &device;
  device.used += bytes;
  return made;
}

pointer reserve(std::size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return 0;
  auto const begin = reinterpret_cast<pointer>(at);
  all().reserved[begin] = bytes;
  ++all().counts.reservations;
  return begin;
}

bool unreserve(pointer at) {
  auto const found = all().reserved.find(at);
  if (found == all().reserved.end()) return false;
  munmap(reinterpret_cast<void*>(at), found->second);
  all().reserved.erase(found);
  --all().counts.reservations;
  return true;
}

std::shared_ptr<mapping> map_object(std::shared_ptr<object> what, pointer at) {
  auto made = std::make_shared<mapping>();
  void* const alias = mmap(nullptr, what->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, what->descriptor, 0);
  if (alias == MAP_FAILED) misused("cannot map a memory object");
  madvise(alias, what->bytes, MADV_DONTDUMP);
  if (all().chosen.reachable) {
    mmap(reinterpret_cast<void*>(at), what->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
         what->descriptor, 0);
  }
  made->alias = static_cast<std::byte*>(alias);
  made->at = at;
  made->bytes = what->bytes;
  made->what = std::move(what);
  ++all().counts.mappings;
  all().mapped[at] = made;
  return made;
}

void unmap(std::shared_ptr<mapping> const& gone) {
  if (gone->in_flight != 0) misused("memory goes while a copy needs it");
  all().mapped.erase(gone->at);
}

/// A mapping by its first address and sort, or null.
std::shared_ptr<mapping> mapping_at(pointer at, mapping::sort from) {
  auto const found = all().mapped.find(at);
  return found == all().mapped.end() || found->second->from != from ? nullptr : found->second;
}

bool reaches(device_state const& device, int physical) {
  return device.physical == physical || !all().chosen.refuses("peer");
}

int ordinal_of(int physical) {
  auto const& devices = all().devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i]->physical == physical) return static_cast<int>(i);
  }
  return -2;
}

}  // namespace

object::~object() {
  close(descriptor);
  if (charged != nullptr) charged->used -= bytes;
  --all().counts.objects;
}

mapping::~mapping() {
  munmap(alias, bytes);
  --all().counts.mappings;
}

std::shared_ptr<mapping> find_mapping(pointer at) {
  auto after = all().mapped.upper_bound(at);
  if (after == all().mapped.begin()) return nullptr;
  auto const& before = std::prev(after)->second;
  return at - before->at < before->bytes ? before : nullptr;
}

bool is_reserved(pointer at) {
  auto after = all().reserved.upper_bound(at);
  return after != all().reserved.begin() && at - std::prev(after)->first < std::prev(after)->second;
}

bool is_registered(pointer at, std::size_t bytes) {
  std::shared_ptr<registration> found;
  return find_registration(at, bytes, found) && found != nullptr;
}

bool find_registration(pointer at, std::size_t bytes, std::shared_ptr<registration>& found) {
  for (auto const& [memory, each] : all().registered) {
    auto const begin = reinterpret_cast<pointer>(memory);
    if (at + bytes <= begin || begin + each->bytes <= at) continue;
    found = each;
    return begin <= at && at + bytes <= begin + each->bytes;
  }
  return true;
}

/// The registration that holds an address.
std::pair<pointer, std::size_t> registered_range(pointer at) {
  for (auto const& [begin, each] : all().registered) {
    auto const first = reinterpret_cast<pointer>(begin);
    if (at - first < each->bytes) return {first, each->bytes};
  }
  return {};
}

cu_result memory_info(std::size_t* free, std::size_t* total) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  *free = all().chosen.memory - current()->used;
  *total = all().chosen.memory;
  return success;
}

cu_result memory_alloc(pointer* made, std::size_t bytes) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  if (cu_result const code = admit_waiting(); code != success) return code;
  if (bytes == 0) return invalid_value;
  auto what = make_object(*current(), (bytes + 4095) / 4096 * 4096);
  if (what == nullptr) return error_out_of_memory;
  auto const mapped = map_object(what, reserve(what->bytes));
  mapped->from = mapping::sort::plain;
  mapped->access = bit(what->physical);
  *made = mapped->at;
  return success;
}

cu_result memory_free(pointer at) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  if (cu_result const code = admit_waiting(); code != success) return code;
  auto const gone = mapping_at(at, mapping::sort::plain);
  if (gone == nullptr) return invalid_value;
  unmap(gone);
  unreserve(at);
  return success;
}

cu_result memory_range(pointer* begin, std::size_t* bytes, pointer at) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  auto const found = find_mapping(at);
  if (found == nullptr) return invalid_value;
  *begin = found->at;
  *bytes = found->bytes;
  return success;
}

cu_result pointer_attribute(void* value, int attribute, pointer at) {
  std::lock_guard const held(all().lock);
  auto const found = find_mapping(at);
  if (found == nullptr && !is_registered(at, 1)) return invalid_value;
  if (attribute == pointer_memory_type) {
    *static_cast<unsigned*>(value) = found != nullptr ? memory_type_device : 1;
  } else if (attribute == pointer_device_ordinal) {
    *static_cast<int*>(value) = found != nullptr ? ordinal_of(found->what->physical) : 0;
  } else if (attribute == pointer_range_begin || attribute == pointer_range_bytes) {
    auto const [begin, bytes] = found != nullptr ? std::pair(found->at, found->bytes) : registered_range(at);
    std::uint64_t const answer = attribute == pointer_range_begin ? begin : bytes;
    std::memcpy(value, &answer, sizeof answer);
  } else {
    return invalid_value;
  }
  return success;
}

cu_result granularity(std::size_t* bytes, allocation_properties const* wanted, unsigned /*which*/) {
  if (device_at(wanted->location.id) == nullptr) return invalid_device;
  *bytes = grain;
  return success;
}

cu_result memory_create(memory_handle* made, std::size_t bytes, allocation_properties const* wanted,
                        unsigned long long flags) {
  std::lock_guard const held(all().lock);
  if (all().chosen.refuses("vmm")) return not_supported;
  device_state* const device = device_at(wanted->location.id);
  if (device == nullptr || wanted->location.type != location_device) return invalid_device;
  if (wanted->type != allocation_pinned || bytes == 0 || bytes % grain != 0 || flags != 0)
    return invalid_value;
  auto what = make_object(*device, bytes);
  if (what == nullptr) return error_out_of_memory;
  if (wanted->flags.gpu_direct_rdma_capable != 0) ++all().counts.for_networks;
  *made = all().next_handle++;
  all().handles[*made] = std::move(what);
  return success;
}

cu_result flush_writes(unsigned target, unsigned scope) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  if (target != flush_target_current_context || scope != flush_to_owner) return invalid_value;
  ++all().counts.flushes;
  return success;
}

cu_result memory_release(memory_handle handle) {
  std::lock_guard const held(all().lock);
  return all().handles.erase(handle) == 1 ? success : invalid_value;
}

cu_result address_reserve(pointer* made, std::size_t bytes, std::size_t /*alignment*/, pointer /*wanted*/,
                          unsigned long long flags) {
  std::lock_guard const held(all().lock);
  if (bytes == 0 || bytes % grain != 0 || flags != 0) return invalid_value;
  *made = reserve(bytes);
  return *made == 0 ? error_out_of_memory : success;
}

cu_result address_free(pointer at, std::size_t bytes) {
  std::lock_guard const held(all().lock);
  auto const found = all().reserved.find(at);
  if (found == all().reserved.end() || found->second != bytes || find_mapping(at) != nullptr) {
    return invalid_value;
  }
  unreserve(at);
  return success;
}

cu_result memory_map(pointer at, std::size_t bytes, std::size_t offset, memory_handle handle,
                     unsigned long long flags) {
  std::lock_guard const held(all().lock);
  auto const what = all().handles.find(handle);
  if (what == all().handles.end() || what->second->bytes != bytes || offset != 0 || flags != 0) {
    return invalid_value;
  }
  auto const place = all().reserved.find(at);
  if (place == all().reserved.end() || place->second < bytes || find_mapping(at) != nullptr) {
    return invalid_value;
  }
  map_object(what->second, at);
  return success;
}

cu_result memory_unmap(pointer at, std::size_t bytes) {
  std::lock_guard const held(all().lock);
  auto const gone = mapping_at(at, mapping::sort::object);
  if (gone == nullptr || gone->bytes != bytes) return invalid_value;
  unmap(gone);
  return success;
}

cu_result memory_set_access(pointer at, std::size_t bytes, access_description const* wanted,
                            std::size_t count) {
  std::lock_guard const held(all().lock);
  auto const found = mapping_at(at, mapping::sort::object);
  if (found == nullptr || found->bytes != bytes) return invalid_value;
  for (std::size_t i = 0; i < count; ++i) {
    device_state const* const device = device_at(wanted[i].location.id);
    if (device == nullptr || !reaches(*device, found->what->physical)) return invalid_device;
    if (wanted[i].flags != access_read_write) return invalid_value;
    found->access |= bit(device->physical);
  }
  return success;
}

cu_result memory_export(void* descriptor, memory_handle handle, unsigned type, unsigned long long flags) {
  std::lock_guard const held(all().lock);
  auto const what = all().handles.find(handle);
  if (what == all().handles.end() || type != handle_type_posix_descriptor || flags != 0) return invalid_value;
  if (all().chosen.refuses("export")) return not_supported;
  int const made = dup(what->second->descriptor);
  std::memcpy(descriptor, &made, sizeof made);
  return success;
}

cu_result memory_import(memory_handle* made, void* descriptor, unsigned type) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  int const theirs = static_cast<int>(reinterpret_cast<std::uintptr_t>(descriptor));
  char name[64] = "";
  std::string const link = "/proc/self/fd/" + std::to_string(theirs);
  int physical = -1;
  if (readlink(link.c_str(), name, sizeof name - 1) < 0 ||
      std::sscanf(name, "/memfd:fake-cuda-%d", &physical) != 1 || type != handle_type_posix_descriptor) {
    return invalid_value;
  }
  struct stat facts {};
  fstat(theirs, &facts);
  *made = all().next_handle++;
  all().handles[*made] =
      wrap(fcntl(theirs, F_DUPFD_CLOEXEC, 0), physical, static_cast<std::size_t>(facts.st_size));
  return success;
}

cu_result ipc_get(ipc_handle* handle, pointer at) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  auto const found = find_mapping(at);
  if (found == nullptr || found->from != mapping::sort::plain || all().chosen.refuses("ipc")) {
    return invalid_value;
  }
  ipc_content content{};
  std::memcpy(content.magic, "fakeipc", 8);
  content.process = getpid();
  content.descriptor = found->what->descriptor;
  content.physical = found->what->physical;
  content.bytes = found->bytes;
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &content, sizeof content);
  return success;
}

cu_result ipc_open(pointer* opened, ipc_handle handle, unsigned flags) {
  std::lock_guard const held(all().lock);
  ipc_content content{};
  std::memcpy(&content, &handle, sizeof content);
  if (current() == nullptr || content.process == getpid()) return invalid_context;
  if (std::memcmp(content.magic, "fakeipc", 8) != 0 || flags != ipc_lazy_peer_access) return invalid_value;
  if (ordinal_of(content.physical) < 0) return invalid_device;
  if (!reaches(*current(), content.physical)) return peer_access_unsupported;
  std::string const key(handle.reserved, sizeof handle.reserved);
  for (auto const& [at, each] : all().mapped) {
    if (each->key != key) continue;
    if ((each->access & bit(current()->physical)) == 0) return invalid_context;  // one context a process
    ++each->opened;
    *opened = at;
    return success;
  }
  std::string const path =
      "/proc/" + std::to_string(content.process) + "/fd/" + std::to_string(content.descriptor);
  int const descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return invalid_value;
  auto const made = map_object(wrap(descriptor, content.physical, content.bytes), reserve(content.bytes));
  made->from = mapping::sort::ipc;
  made->access = bit(current()->physical);
  made->key = key;
  made->opened = 1;
  *opened = made->at;
  return success;
}

cu_result ipc_close(pointer at) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  auto const gone = mapping_at(at, mapping::sort::ipc);
  if (gone == nullptr) return invalid_value;
  if (--gone->opened > 0) return success;
  unmap(gone);
  unreserve(at);
  return success;
}

cu_result host_register(void* memory, std::size_t bytes, unsigned /*flags*/) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  if (cu_result const code = admit_waiting(); code != success) return code;
  if (all().chosen.refuses("register")) return not_supported;
  auto* const begin = static_cast<std::byte*>(memory);
  std::size_t locked = bytes;
  for (auto const& [other, each] : all().registered) {
    if (begin < other + each->bytes && other < begin + bytes) return error_host_memory_already_registered;
    locked += each->bytes;
  }
  if (locked > all().chosen.lockable) return error_out_of_memory;
  all().registered[begin] = std::make_shared<registration>(registration{bytes});
  ++all().counts.registrations;
  return success;
}

cu_result host_unregister(void* memory) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  if (cu_result const code = admit_waiting(); code != success) return code;
  auto const found = all().registered.find(static_cast<std::byte*>(memory));
  if (found == all().registered.end()) return not_registered;
  if (found->second->in_flight != 0) misused("host memory is unregistered while a copy needs it");
  refuse_beside_waits(nullptr, "host memory is unregistered");
  all().registered.erase(found);
  --all().counts.registrations;
  return success;
}

cu_result host_device_pointer(pointer* result, void* memory, unsigned flags) {
  std::lock_guard const held(all().lock);
  if (current() == nullptr) return invalid_context;
  auto const at = reinterpret_cast<pointer>(memory);
  if (flags != 0 || !is_registered(at, 1)) return invalid_value;
  *result = at;
  return success;
}

}  // namespace fake_cuda
