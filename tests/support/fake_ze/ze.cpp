// Level Zero's functions on the devices of the fake CUDA driver. FAKE_CUDA says what there is.

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "memory/ze/api.hpp"
#include "support/fake_cuda/on_device.hpp"

namespace fake_ze {

using namespace atl::memory::ze;
namespace cu = fake_cuda;
using cu::on_device;

#define X(name, symbol, parameters) \
  __attribute__((visibility("default"))) ze_result name parameters asm(symbol);
ATOLL_ZE_FUNCTIONS(X)
#undef X

namespace {

struct allocation {
  cu::memory_handle handle = 0;
  std::size_t whole = 0;
  int device = 0;
  int descriptor = -1;  ///< of its IPC handle
};
struct list {
  int device = 0;
  cu::stream queue = nullptr;
  bool synchronous = false;
};
struct mark {
  int device = -1;  ///< of the list that signals it
  cu::event happened = nullptr;
};

std::mutex lock;
std::map<cu::pointer, allocation> allocations;

ze_result result(cu::cu_result code) {
  return code == cu::success               ? success
         : code == cu::error_out_of_memory ? error_out_of_device_memory
         : code == cu::error_not_ready     ? not_ready
         : code == cu::not_supported       ? error_unsupported_feature
         : code == cu::illegal_address     ? error_device_lost
                                           : error_invalid_argument;
}

cu::pointer number(void const* at) { return reinterpret_cast<cu::pointer>(at); }
int ordinal(ze_device device) { return static_cast<int>(reinterpret_cast<std::intptr_t>(device)) - 1; }
ze_device handle_of(int device) {
  return reinterpret_cast<ze_device>(static_cast<std::intptr_t>(device) + 1);
}
list* of(command_list l) { return reinterpret_cast<list*>(l); }
mark* of(ze_event e) { return reinterpret_cast<mark*>(e); }

/// Maps a memory object for all devices that reach it.
ze_result map(cu::memory_handle handle, std::size_t whole, int device, void** made) {
  cu::pointer at = 0;
  cu::cu_result code = cu::address_reserve(&at, whole, 0, 0, 0);
  if (code == cu::success) code = cu::memory_map(at, whole, 0, handle, 0);
  int count = 0;
  cu::device_count(&count);
  for (int each = 0; code == cu::success && each < count; ++each) {
    int can = 0;
    cu::device_can_access_peer(&can, each, device);
    if (each != device && can == 0) continue;
    cu::access_description const access{{cu::location_device, each}, cu::access_read_write};
    code = cu::memory_set_access(at, whole, &access, 1);
  }
  if (code != cu::success) return result(code);
  std::lock_guard const held(lock);
  allocations[at] = {handle, whole, device, -1};
  *made = reinterpret_cast<void*>(at);
  return success;
}

ze_result end(void const* at) {
  std::lock_guard const held(lock);
  auto const found = allocations.find(number(at));
  if (found == allocations.end()) return error_invalid_argument;
  allocation const gone = found->second;
  allocations.erase(found);
  on_device const here(gone.device);
  cu::memory_unmap(number(at), gone.whole);
  cu::address_free(number(at), gone.whole);
  if (gone.descriptor >= 0) close(gone.descriptor);
  return result(cu::memory_release(gone.handle));
}

ze_result import_external(ze_driver_handle, void* memory, std::size_t bytes) {
  on_device const here(0);
  return result(cu::host_register(memory, bytes, 0));
}
ze_result release_external(ze_driver_handle, void* memory) {
  on_device const here(0);
  return result(cu::host_unregister(memory));
}

}  // namespace

ze_result init(std::uint32_t flags) {
  cu::cu_result const code = flags == init_gpu_only ? cu::init(0) : cu::invalid_value;
  return code == cu::error_no_device ? error_uninitialized : result(code);
}
ze_result driver_get(std::uint32_t* count, ze_driver_handle* drivers) {
  *count = 1;
  if (drivers != nullptr) *drivers = reinterpret_cast<ze_driver_handle>(&lock);
  return success;
}
ze_result driver_api_version(ze_driver_handle, std::uint32_t* version) {
  *version = 1U << 16 | 3;
  return success;
}
ze_result driver_extension(ze_driver_handle, char const* name, void** found) {
  *found = std::strcmp(name, import_pointer_name) == 0    ? reinterpret_cast<void*>(&import_external)
           : std::strcmp(name, release_pointer_name) == 0 ? reinterpret_cast<void*>(&release_external)
                                                          : nullptr;
  return *found == nullptr ? error_invalid_argument : success;
}
ze_result device_get(ze_driver_handle, std::uint32_t* count, ze_device* devices) {
  int n = 0;
  cu::device_count(&n);
  *count = static_cast<std::uint32_t>(n);
  for (int i = 0; devices != nullptr && i < n; ++i) devices[i] = handle_of(i);
  return success;
}
ze_result device_facts(ze_device device, device_properties* facts) {
  if (facts->what != tag::device_properties) return error_invalid_argument;
  facts->type = device_gpu;
  cu::uuid id{};
  cu::device_uuid(&id, ordinal(device));
  std::memcpy(facts->uuid, id.bytes, sizeof facts->uuid);
  return result(cu::device_name(facts->name, sizeof facts->name, ordinal(device)));
}
ze_result device_memory(ze_device device, std::uint32_t* count, memory_properties* memories) {
  *count = 1;
  if (memories == nullptr) return success;
  if (memories->what != tag::memory_properties) return error_invalid_argument;
  return result(cu::device_total(&memories->bytes, ordinal(device)));
}
ze_result device_queue_groups(ze_device, std::uint32_t* count, queue_group_properties* groups) {
  *count = 2;
  if (groups == nullptr) return success;
  groups[0].flags = queue_group_compute | queue_group_copy;
  groups[1].flags = queue_group_copy;
  return groups[1].what == tag::queue_group_properties ? success : error_invalid_argument;
}
ze_result device_can_access_peer(ze_device device, ze_device other, truth* can) {
  int answer = 0;
  cu::cu_result const code = cu::device_can_access_peer(&answer, ordinal(device), ordinal(other));
  *can = static_cast<truth>(answer);
  return result(code);
}
ze_result context_create(ze_driver_handle, context_description const* wanted, ze_context* made) {
  if (wanted->what != tag::context) return error_invalid_argument;
  *made = reinterpret_cast<ze_context>(&allocations);
  return success;
}
ze_result context_destroy(ze_context) { return success; }

ze_result memory_alloc_device(ze_context, device_memory_description const* wanted, std::size_t bytes,
                              std::size_t, ze_device device, void** made) {
  if (wanted->what != tag::device_memory || bytes == 0) return error_invalid_argument;
  cu::allocation_properties what{};
  what.type = cu::allocation_pinned;
  what.location = {cu::location_device, ordinal(device)};
  std::size_t grain = 0;
  cu::memory_handle handle = 0;
  cu::cu_result code = cu::granularity(&grain, &what, 0);
  std::size_t const whole = code == cu::success ? (bytes + grain - 1) / grain * grain : 0;
  if (code == cu::success) code = cu::memory_create(&handle, whole, &what, 0);
  return code == cu::success ? map(handle, whole, ordinal(device), made) : result(code);
}
ze_result memory_alloc_host(ze_context, host_memory_description const* wanted, std::size_t bytes, std::size_t,
                            void** made) {
  if (wanted->what != tag::host_memory) return error_invalid_argument;
  *made = std::malloc(bytes);
  return success;
}
ze_result memory_free(ze_context, void* at) {
  if (end(at) != success) std::free(at);
  return success;
}
ze_result memory_facts(ze_context, void const* at, allocation_properties* facts, ze_device* device) {
  if (facts->what != tag::allocation_properties) return error_invalid_argument;
  std::lock_guard const held(lock);
  facts->type = 0;
  *device = nullptr;
  for (auto const& [begin, each] : allocations) {
    if (number(at) < begin || number(at) - begin >= each.whole) continue;
    facts->type = memory_device;
    *device = handle_of(each.device);
  }
  return success;
}
ze_result memory_range(ze_context, void const* at, void** begin, std::size_t* bytes) {
  on_device const here(0);
  return result(cu::memory_range(reinterpret_cast<cu::pointer*>(begin), bytes, number(at)));
}

ze_result ipc_get(ze_context, void const* at, ipc_handle* handle) {
  std::lock_guard const held(lock);
  auto const found = allocations.find(number(at));
  if (found == allocations.end()) return error_invalid_argument;
  allocation& what = found->second;
  if (what.descriptor < 0) {
    on_device const here(what.device);
    cu::cu_result const code =
        cu::memory_export(&what.descriptor, what.handle, cu::handle_type_posix_descriptor, 0);
    if (code != cu::success) return result(code);
  }
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle->data, &what.descriptor, sizeof what.descriptor);
  std::memcpy(handle->data + 8, &what.whole, sizeof what.whole);
  return success;
}
ze_result ipc_open(ze_context, ze_device device, ipc_handle handle, std::uint32_t flags, void** opened) {
  int descriptor = -1;
  std::size_t whole = 0;
  std::memcpy(&descriptor, handle.data, sizeof descriptor);
  std::memcpy(&whole, handle.data + 8, sizeof whole);
  on_device const here(ordinal(device));
  cu::memory_handle made = 0;
  cu::cu_result const code =
      cu::memory_import(&made, reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor)),
                        cu::handle_type_posix_descriptor);
  return code == cu::success && flags == 0 ? map(made, whole, ordinal(device), opened)
                                           : error_invalid_argument;
}
ze_result ipc_close(ze_context, void const* at) { return end(at); }

ze_result list_create(ze_context, ze_device device, queue_description const* wanted, command_list* made) {
  if (wanted->what != tag::queue || wanted->ordinal != 1 || wanted->index != 0) return error_invalid_argument;
  auto* const l = new list;
  l->device = ordinal(device);
  l->synchronous = wanted->mode == mode_synchronous;
  *made = reinterpret_cast<command_list>(l);
  on_device const here(l->device);
  return result(cu::stream_create(&l->queue, cu::stream_non_blocking));
}
ze_result list_destroy(command_list gone) {
  on_device const here(of(gone)->device);
  cu::cu_result const code = cu::stream_destroy(of(gone)->queue);
  delete of(gone);
  return result(code);
}
ze_result append_copy(command_list on, void* to, void const* from, std::size_t bytes, ze_event signal,
                      std::uint32_t wait_n, ze_event*) {
  if (signal != nullptr || wait_n != 0) return error_unsupported_feature;
  on_device const here(of(on)->device);
  cu::cu_result code = cu::copy_async(number(to), number(from), bytes, of(on)->queue);
  if (code == cu::success && of(on)->synchronous) {
    while ((code = cu::stream_query(of(on)->queue)) == cu::error_not_ready) std::this_thread::yield();
  }
  return result(code);
}
ze_result append_barrier(command_list on, ze_event signal, std::uint32_t wait_n, ze_event*) {
  mark* const m = of(signal);
  if (wait_n != 0 || m->happened != nullptr) return error_invalid_argument;  // not reset
  m->device = of(on)->device;
  on_device const here(m->device);
  cu::event_create(&m->happened, cu::event_disable_timing);
  return result(cu::event_record(m->happened, of(on)->queue));
}

ze_result pool_create(ze_context, event_pool_description const* wanted, std::uint32_t, ze_device*,
                      event_pool* made) {
  if (wanted->what != tag::pool || wanted->flags != pool_host_visible) return error_invalid_argument;
  *made = reinterpret_cast<event_pool>(new std::uint32_t(wanted->count));
  return success;
}
ze_result pool_destroy(event_pool gone) {
  delete reinterpret_cast<std::uint32_t*>(gone);
  return success;
}
ze_result event_create(event_pool pool, event_description const* wanted, ze_event* made) {
  if (wanted->what != tag::event || wanted->index >= *reinterpret_cast<std::uint32_t*>(pool)) {
    return error_invalid_argument;
  }
  *made = reinterpret_cast<ze_event>(new mark);
  return success;
}
ze_result event_reset(ze_event e) {
  if (of(e)->happened == nullptr) return success;
  on_device const here(of(e)->device);
  cu::cu_result const code = cu::event_destroy(of(e)->happened);
  of(e)->happened = nullptr;
  return result(code);
}
ze_result event_destroy(ze_event e) {
  event_reset(e);
  delete of(e);
  return success;
}
ze_result event_status(ze_event e) {
  return of(e)->happened == nullptr ? not_ready : result(cu::event_query(of(e)->happened));
}

}  // namespace fake_ze
