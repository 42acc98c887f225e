// The HIP runtime's functions on the devices of the fake CUDA driver: each thread has a current device and a
// last error instead of contexts. FAKE_CUDA says what there is; FAKE_HIP=5 plays HIP 5, FAKE_HIP=by_value a
// runtime that takes descriptors to import by value, FAKE_HIP=no_signals one without memory of signals. Streams wait for that alone, as
// HIP documents.

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "memory/hip/api.hpp"
#include "support/fake_cuda/on_device.hpp"

namespace fake_hip {

using namespace atl::memory::hip;
namespace cu = fake_cuda;
using cu::on_device;

#define X(name, symbol, parameters) \
  __attribute__((visibility("default"))) hip_result name parameters asm(symbol);
ATOLL_HIP_FUNCTIONS(X)
ATOLL_HIP_OPTIONAL_FUNCTIONS(X)
ATOLL_HIP_STREAM_FUNCTIONS(X)
#undef X
/// What programs call and the library does not.
__attribute__((visibility("default"))) hip_result begin_capture(stream on,
                                                                int mode) asm("hipStreamBeginCapture");
__attribute__((visibility("default"))) char const* error_name(hip_result code) asm("hipGetErrorName");
__attribute__((visibility("default"))) char const* error_string(hip_result code) asm("hipGetErrorString");

namespace {

thread_local int current = 0;
thread_local hip_result last = success;

std::mutex lock;
std::set<pointer> signals;

bool plays(char const* what) {
  char const* const text = std::getenv("FAKE_HIP");
  return text != nullptr && std::strcmp(text, what) == 0;
}

hip_result result(cu::cu_result code) {
  if (code != success) last = code;
  return code;
}

cu::pointer number(void const* at) { return reinterpret_cast<cu::pointer>(at); }
cu::memory_handle number(memory_handle handle) { return reinterpret_cast<cu::memory_handle>(handle); }
cu::stream theirs(stream s) { return reinterpret_cast<cu::stream>(s); }
cu::event theirs(event e) { return reinterpret_cast<cu::event>(e); }

cu::allocation_properties theirs(allocation_properties const& wanted) {
  cu::allocation_properties same{};
  same.type = wanted.type;
  same.requested_handle_types = wanted.requested_handle_types;
  same.location = {wanted.location.type, wanted.location.id};
  return same;
}

}  // namespace

hip_result init(unsigned flags) { return result(cu::init(flags)); }
hip_result runtime_version(int* version) {
  *version = plays("5") ? 50'220'000 : 60'240'000;
  return success;
}
hip_result last_error() { return std::exchange(last, success); }
char const* error_name(hip_result code) {
  char const* text = nullptr;
  cu::error_name(code, &text);
  return text;
}
char const* error_string(hip_result code) {
  char const* text = nullptr;
  cu::error_string(code, &text);
  return text;
}

hip_result device_count(int* count) { return result(cu::device_count(count)); }
hip_result device_get(int* device) {
  *device = current;
  return success;
}
hip_result device_set(int device) {
  std::size_t bytes = 0;
  cu::cu_result const code = cu::device_total(&bytes, device);
  if (code == success) current = device;
  return result(code);
}
hip_result device_name(char* name, int bytes, int device) {
  return result(cu::device_name(name, bytes, device));
}
hip_result device_uuid(uuid* id, int device) {
  // Of the second device nothing is known but its place.
  cu::uuid same{};
  cu::cu_result const code = cu::device_uuid(&same, device);
  if (same.bytes[15] == 1) same = {};
  std::memcpy(id->bytes, same.bytes, sizeof id->bytes);
  return result(code);
}
hip_result device_bus(char* name, int bytes, int device) {
  cu::uuid id{};
  cu::cu_result const code = cu::device_uuid(&id, device);
  if (bytes < 13) return result(cu::invalid_value);
  std::memcpy(name, "0000:0a:00.0", 13);
  name[6] = static_cast<char>('a' + id.bytes[15]);
  return result(code);
}
hip_result device_total(std::size_t* bytes, int device) { return result(cu::device_total(bytes, device)); }
hip_result device_attribute(int* value, int attribute, int device) {
  int const same = attribute == attribute_virtual_memory_management ? cu::attribute_virtual_memory_management
                   : attribute == attribute_stream_memory_operations
                       ? cu::attribute_stream_memory_operations_64
                       : -1;
  return result(cu::device_attribute(value, same, device));
}
hip_result device_can_access_peer(int* can, int device, int other) {
  return result(cu::device_can_access_peer(can, device, other));
}

hip_result memory_info(std::size_t* free, std::size_t* total) {
  on_device const here(current);
  return result(cu::memory_info(free, total));
}
hip_result memory_alloc(pointer* made, std::size_t bytes) {
  on_device const here(current);
  return result(cu::memory_alloc(reinterpret_cast<cu::pointer*>(made), bytes));
}
hip_result memory_alloc_as(pointer* made, std::size_t bytes, unsigned flags) {
  if (flags != allocation_of_signal || bytes != 8 || plays("no_signals")) return result(cu::invalid_value);
  if (hip_result const code = memory_alloc(made, bytes); code != success) return code;
  // It holds anything.
  on_device const here(current);
  cu::stream on = nullptr;
  cu::stream_create(&on, cu::stream_non_blocking);
  cu::stream_write64(on, number(*made), std::uint64_t{1} << 40, 0);
  while (cu::stream_query(on) == cu::error_not_ready) std::this_thread::yield();
  cu::stream_destroy(on);
  std::lock_guard const held(lock);
  signals.insert(*made);
  return success;
}
hip_result memory_free(pointer at) {
  {
    std::lock_guard const held(lock);
    signals.erase(at);
  }
  on_device const here(current);
  return result(cu::memory_free(number(at)));
}
hip_result memory_range(pointer* begin, std::size_t* bytes, pointer at) {
  on_device const here(current);
  return result(cu::memory_range(reinterpret_cast<cu::pointer*>(begin), bytes, number(at)));
}
hip_result pointer_attribute(void* value, int attribute, pointer at) {
  cu::cu_result const code = cu::pointer_attribute(value, attribute, number(at));
  if (code == success && attribute == pointer_memory_type && plays("5")) --*static_cast<unsigned*>(value);
  return result(code);
}
hip_result ipc_get(ipc_handle* handle, pointer at) {
  on_device const here(current);
  return result(cu::ipc_get(reinterpret_cast<cu::ipc_handle*>(handle), number(at)));
}
hip_result ipc_open(pointer* opened, ipc_handle handle, unsigned flags) {
  on_device const here(current);
  if (flags != (plays("5") ? ipc_lazy_peer_access_hip5 : ipc_lazy_peer_access))
    return result(cu::invalid_value);
  cu::ipc_handle same{};
  std::memcpy(&same, &handle, sizeof same);
  return result(cu::ipc_open(reinterpret_cast<cu::pointer*>(opened), same, cu::ipc_lazy_peer_access));
}
hip_result ipc_close(pointer at) {
  on_device const here(current);
  return result(cu::ipc_close(number(at)));
}
hip_result host_register(void* memory, std::size_t bytes, unsigned flags) {
  on_device const here(current);
  return result(cu::host_register(memory, bytes, flags));
}
hip_result host_unregister(void* memory) {
  on_device const here(current);
  return result(cu::host_unregister(memory));
}
hip_result host_device_pointer(pointer* found, void* memory, unsigned flags) {
  on_device const here(current);
  return result(cu::host_device_pointer(reinterpret_cast<cu::pointer*>(found), memory, flags));
}

hip_result granularity(std::size_t* bytes, allocation_properties const* wanted, unsigned which) {
  cu::allocation_properties const same = theirs(*wanted);
  return result(cu::granularity(bytes, &same, which));
}
hip_result memory_create(memory_handle* made, std::size_t bytes, allocation_properties const* wanted,
                         unsigned long long flags) {
  cu::allocation_properties const same = theirs(*wanted);
  return result(cu::memory_create(reinterpret_cast<cu::memory_handle*>(made), bytes, &same, flags));
}
hip_result memory_release(memory_handle handle) { return result(cu::memory_release(number(handle))); }
hip_result address_reserve(pointer* made, std::size_t bytes, std::size_t alignment, pointer wanted,
                           unsigned long long flags) {
  return result(
      cu::address_reserve(reinterpret_cast<cu::pointer*>(made), bytes, alignment, number(wanted), flags));
}
hip_result address_free(pointer at, std::size_t bytes) { return result(cu::address_free(number(at), bytes)); }
hip_result memory_map(pointer at, std::size_t bytes, std::size_t offset, memory_handle handle,
                      unsigned long long flags) {
  return result(cu::memory_map(number(at), bytes, offset, number(handle), flags));
}
hip_result memory_unmap(pointer at, std::size_t bytes) { return result(cu::memory_unmap(number(at), bytes)); }
hip_result memory_set_access(pointer at, std::size_t bytes, access_description const* wanted,
                             std::size_t count) {
  cu::access_description const same{{wanted->location.type, wanted->location.id}, wanted->flags};
  return result(count == 1 ? cu::memory_set_access(number(at), bytes, &same, 1) : cu::invalid_value);
}
hip_result memory_export(void* descriptor, memory_handle handle, unsigned type, unsigned long long flags) {
  return result(cu::memory_export(descriptor, number(handle), type, flags));
}
hip_result memory_import(memory_handle* made, void* descriptor, unsigned type) {
  on_device const here(current);
  void* value = descriptor;
  if (!plays("by_value")) {
    int there = -1;
    std::memcpy(&there, descriptor, sizeof there);
    value = reinterpret_cast<void*>(static_cast<std::uintptr_t>(there));
  }
  return result(cu::memory_import(reinterpret_cast<cu::memory_handle*>(made), value, type));
}

hip_result stream_create(stream* made, unsigned flags) {
  on_device const here(current);
  return result(cu::stream_create(reinterpret_cast<cu::stream*>(made), flags));
}
hip_result stream_destroy(stream gone) {
  on_device const here(current);
  return result(cu::stream_destroy(theirs(gone)));
}
hip_result device_synchronize() {
  on_device const here(current);
  return result(cu::context_synchronize());
}
hip_result stream_device(stream on, int* device) {
  on_device const here(current);
  cu::context found = nullptr;
  cu::cu_result const code = cu::stream_context(theirs(on), &found);
  int count = 0;
  cu::device_count(&count);
  for (*device = 0; code == success && *device < count; ++*device) {
    cu::context primary = nullptr;
    cu::primary_retain(&primary, *device);
    cu::primary_release(*device);
    if (primary == found) break;
  }
  return result(code);
}
hip_result stream_is_capturing(stream on, int* status) {
  on_device const here(current);
  return result(cu::stream_is_capturing(theirs(on), status));
}
hip_result begin_capture(stream on, int mode) {
  return result(cu::begin_capture(theirs(on), static_cast<cu::capture_mode>(mode)));
}
hip_result stream_wait64(stream on, pointer word, std::uint64_t value, unsigned flags, std::uint64_t mask) {
  {
    std::lock_guard const held(lock);
    if (signals.count(word) == 0 || mask != ~std::uint64_t{0}) return result(cu::invalid_value);
  }
  on_device const here(current);
  return result(cu::stream_wait64(theirs(on), number(word), value, flags));
}
hip_result stream_query(stream on) { return result(cu::stream_query(theirs(on))); }
hip_result stream_write64(stream on, pointer word, std::uint64_t value, unsigned flags) {
  on_device const here(current);
  return result(cu::stream_write64(theirs(on), number(word), value, flags));
}
hip_result copy_async(pointer to, void const* from, std::size_t bytes, unsigned kind, stream on) {
  on_device const here(current);
  return result(kind == copy_any ? cu::copy_async(number(to), number(from), bytes, theirs(on))
                                 : cu::invalid_value);
}
hip_result copy_peer_async(pointer to, int to_device, void const* from, int from_device, std::size_t bytes,
                           stream on) {
  cu::context to_context = nullptr;
  cu::context from_context = nullptr;
  cu::primary_retain(&to_context, to_device);
  cu::primary_retain(&from_context, from_device);
  cu::cu_result code = success;
  {
    on_device const here(current);
    code = cu::copy_peer_async(number(to), to_context, number(from), from_context, bytes, theirs(on));
  }
  cu::primary_release(to_device);
  cu::primary_release(from_device);
  return result(code);
}
hip_result event_create(event* made, unsigned flags) {
  on_device const here(current);
  return result(cu::event_create(reinterpret_cast<cu::event*>(made), flags));
}
hip_result event_destroy(event gone) {
  on_device const here(current);
  return result(cu::event_destroy(theirs(gone)));
}
hip_result event_record(event mark, stream on) {
  on_device const here(current);
  return result(cu::event_record(theirs(mark), theirs(on)));
}
hip_result event_query(event mark) { return result(cu::event_query(theirs(mark))); }

}  // namespace fake_hip
