#pragma once

/// The part of Level Zero's interface that Atoll uses, declared here so that building needs no headers of it.
/// Names and values are those of <level_zero/ze_api.h>, in which they are documented; tests/unit compares the
/// two where that header exists.

#include <cstddef>
#include <cstdint>

namespace atl::memory::ze {

using ze_result = std::uint32_t;
using ze_driver_handle = struct driver_data*;
using ze_device = struct device_data*;
using ze_context = struct context_data*;
using command_list = struct command_list_data*;
using event_pool = struct event_pool_data*;
using ze_event = struct event_data*;
using truth = std::uint8_t;

inline constexpr ze_result success = 0;
inline constexpr ze_result not_ready = 1;
inline constexpr ze_result error_device_lost = 0x70000001;
inline constexpr ze_result error_out_of_host_memory = 0x70000002;
inline constexpr ze_result error_out_of_device_memory = 0x70000003;
inline constexpr ze_result error_uninitialized = 0x78000001;
inline constexpr ze_result error_unsupported_feature = 0x78000003;
inline constexpr ze_result error_invalid_argument = 0x78000004;

inline constexpr std::uint32_t init_gpu_only = 1;
inline constexpr std::uint32_t device_gpu = 1;
inline constexpr std::uint32_t queue_group_compute = 1;
inline constexpr std::uint32_t queue_group_copy = 2;
inline constexpr std::uint32_t mode_synchronous = 1;
inline constexpr std::uint32_t mode_asynchronous = 2;
inline constexpr std::uint32_t pool_host_visible = 1;
inline constexpr std::uint32_t scope_host = 4;
inline constexpr std::uint32_t memory_device = 2;

/// The first member of each structure says which it is.
enum class tag : std::uint32_t {
  device_properties = 0x3,
  queue_group_properties = 0x6,
  memory_properties = 0x7,
  context = 0xd,
  queue = 0xe,
  pool = 0x10,
  event = 0x11,
  device_memory = 0x15,
  host_memory = 0x16,
  allocation_properties = 0x17,
};

struct device_properties {
  tag what = tag::device_properties;
  void* next = nullptr;
  std::uint32_t type = 0;
  std::uint32_t vendor = 0;
  std::uint32_t id = 0;
  std::uint32_t flags = 0;
  std::uint32_t subdevice = 0;
  std::uint32_t core_clock = 0;
  std::uint64_t max_allocation = 0;
  std::uint32_t max_contexts = 0;
  std::uint32_t max_priority = 0;
  std::uint32_t threads = 0;
  std::uint32_t simd_width = 0;
  std::uint32_t units = 0;
  std::uint32_t subslices = 0;
  std::uint32_t slices = 0;
  std::uint64_t timer_resolution = 0;
  std::uint32_t timestamp_bits = 0;
  std::uint32_t kernel_timestamp_bits = 0;
  unsigned char uuid[16] = {};
  char name[256] = {};
};

struct memory_properties {
  tag what = tag::memory_properties;
  void* next = nullptr;
  std::uint32_t flags = 0;
  std::uint32_t max_clock = 0;
  std::uint32_t bus_width = 0;
  std::uint64_t bytes = 0;
  char name[256] = {};
};

struct queue_group_properties {
  tag what = tag::queue_group_properties;
  void* next = nullptr;
  std::uint32_t flags = 0;
  std::size_t max_fill_pattern = 0;
  std::uint32_t queues = 0;
};

struct context_description {
  tag what = tag::context;
  void const* next = nullptr;
  std::uint32_t flags = 0;
};

struct queue_description {
  tag what = tag::queue;
  void const* next = nullptr;
  std::uint32_t ordinal = 0;  ///< of the group
  std::uint32_t index = 0;
  std::uint32_t flags = 0;
  std::uint32_t mode = mode_asynchronous;
  std::uint32_t priority = 0;
};

struct event_pool_description {
  tag what = tag::pool;
  void const* next = nullptr;
  std::uint32_t flags = pool_host_visible;
  std::uint32_t count = 0;
};

struct event_description {
  tag what = tag::event;
  void const* next = nullptr;
  std::uint32_t index = 0;
  std::uint32_t signal = scope_host;
  std::uint32_t wait = scope_host;
};

struct device_memory_description {
  tag what = tag::device_memory;
  void const* next = nullptr;
  std::uint32_t flags = 0;
  std::uint32_t ordinal = 0;
};

struct host_memory_description {
  tag what = tag::host_memory;
  void const* next = nullptr;
  std::uint32_t flags = 0;
};

struct allocation_properties {
  tag what = tag::allocation_properties;
  void* next = nullptr;
  std::uint32_t type = 0;
  std::uint64_t id = 0;
  std::uint64_t page_bytes = 0;
};

struct ipc_handle {
  char data[64];
};

// X(name here, name in the library, parameters), all of which return a ze_result
#define ATOLL_ZE_FUNCTIONS(X)                                                                               \
  X(init, "zeInit", (std::uint32_t))                                                                        \
  X(driver_get, "zeDriverGet", (std::uint32_t*, ze_driver_handle*))                                         \
  X(driver_api_version, "zeDriverGetApiVersion", (ze_driver_handle, std::uint32_t*))                        \
  X(driver_extension, "zeDriverGetExtensionFunctionAddress", (ze_driver_handle, char const*, void**))       \
  X(device_get, "zeDeviceGet", (ze_driver_handle, std::uint32_t*, ze_device*))                              \
  X(device_facts, "zeDeviceGetProperties", (ze_device, device_properties*))                                 \
  X(device_memory, "zeDeviceGetMemoryProperties", (ze_device, std::uint32_t*, memory_properties*))          \
  X(device_queue_groups, "zeDeviceGetCommandQueueGroupProperties",                                          \
    (ze_device, std::uint32_t*, queue_group_properties*))                                                   \
  X(device_can_access_peer, "zeDeviceCanAccessPeer", (ze_device, ze_device, truth*))                        \
  X(context_create, "zeContextCreate", (ze_driver_handle, context_description const*, ze_context*))         \
  X(context_destroy, "zeContextDestroy", (ze_context))                                                      \
  X(memory_alloc_device, "zeMemAllocDevice",                                                                \
    (ze_context, device_memory_description const*, std::size_t, std::size_t, ze_device, void**))            \
  X(memory_alloc_host, "zeMemAllocHost",                                                                    \
    (ze_context, host_memory_description const*, std::size_t, std::size_t, void**))                         \
  X(memory_free, "zeMemFree", (ze_context, void*))                                                          \
  X(memory_facts, "zeMemGetAllocProperties", (ze_context, void const*, allocation_properties*, ze_device*)) \
  X(memory_range, "zeMemGetAddressRange", (ze_context, void const*, void**, std::size_t*))                  \
  X(ipc_get, "zeMemGetIpcHandle", (ze_context, void const*, ipc_handle*))                                   \
  X(ipc_open, "zeMemOpenIpcHandle", (ze_context, ze_device, ipc_handle, std::uint32_t, void**))             \
  X(ipc_close, "zeMemCloseIpcHandle", (ze_context, void const*))                                            \
  X(list_create, "zeCommandListCreateImmediate",                                                            \
    (ze_context, ze_device, queue_description const*, command_list*))                                       \
  X(list_destroy, "zeCommandListDestroy", (command_list))                                                   \
  X(append_copy, "zeCommandListAppendMemoryCopy",                                                           \
    (command_list, void*, void const*, std::size_t, ze_event, std::uint32_t, ze_event*))                    \
  X(append_barrier, "zeCommandListAppendBarrier", (command_list, ze_event, std::uint32_t, ze_event*))       \
  X(pool_create, "zeEventPoolCreate",                                                                       \
    (ze_context, event_pool_description const*, std::uint32_t, ze_device*, event_pool*))                    \
  X(pool_destroy, "zeEventPoolDestroy", (event_pool))                                                       \
  X(event_create, "zeEventCreate", (event_pool, event_description const*, ze_event*))                       \
  X(event_destroy, "zeEventDestroy", (ze_event))                                                            \
  X(event_reset, "zeEventHostReset", (ze_event))                                                            \
  X(event_status, "zeEventQueryStatus", (ze_event))

/// Extensions of Intel's driver, which the driver itself finds.
using import_pointer = ze_result (*)(ze_driver_handle, void*, std::size_t);
using release_pointer = ze_result (*)(ze_driver_handle, void*);
inline constexpr char const* import_pointer_name = "zexDriverImportExternalPointer";
inline constexpr char const* release_pointer_name = "zexDriverReleaseImportedPointer";

/// The loader's functions in this process.
struct api {
#define X(name, symbol, parameters) ze_result(*name) parameters = nullptr;
  ATOLL_ZE_FUNCTIONS(X)
#undef X

  /// Opens the loader's library. The text says why that was not possible; null when it was.
  char const* load(char const* library) noexcept;
};

}  // namespace atl::memory::ze
