// What ze/api.hpp declares beside what Level Zero's own header declares, where that is installed.

#include <cstddef>
#include <string_view>

#include "memory/ze/api.hpp"
#include "unit/memory/alike.hpp"

#if __has_include(<level_zero/ze_api.h>)
#include <level_zero/ze_api.h>

namespace atl::memory::ze {
namespace {

#define VALUE(ours, theirs) static_assert(static_cast<long>(ours) == static_cast<long>(theirs));
VALUE(success, ZE_RESULT_SUCCESS)
VALUE(not_ready, ZE_RESULT_NOT_READY)
VALUE(error_device_lost, ZE_RESULT_ERROR_DEVICE_LOST)
VALUE(error_out_of_host_memory, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)
VALUE(error_out_of_device_memory, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)
VALUE(error_uninitialized, ZE_RESULT_ERROR_UNINITIALIZED)
VALUE(error_unsupported_feature, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
VALUE(error_invalid_argument, ZE_RESULT_ERROR_INVALID_ARGUMENT)
VALUE(init_gpu_only, ZE_INIT_FLAG_GPU_ONLY)
VALUE(device_gpu, ZE_DEVICE_TYPE_GPU)
VALUE(queue_group_compute, ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE)
VALUE(queue_group_copy, ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY)
VALUE(mode_synchronous, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
VALUE(mode_asynchronous, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS)
VALUE(pool_host_visible, ZE_EVENT_POOL_FLAG_HOST_VISIBLE)
VALUE(scope_host, ZE_EVENT_SCOPE_FLAG_HOST)
VALUE(memory_device, ZE_MEMORY_TYPE_DEVICE)
VALUE(tag::device_properties, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES)
VALUE(tag::queue_group_properties, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES)
VALUE(tag::memory_properties, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES)
VALUE(tag::context, ZE_STRUCTURE_TYPE_CONTEXT_DESC)
VALUE(tag::queue, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC)
VALUE(tag::pool, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC)
VALUE(tag::event, ZE_STRUCTURE_TYPE_EVENT_DESC)
VALUE(tag::device_memory, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC)
VALUE(tag::host_memory, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC)
VALUE(tag::allocation_properties, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES)
#undef VALUE

#define TYPE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs));
#define AT(ours, mine, theirs, member) static_assert(offsetof(ours, mine) == offsetof(theirs, member));
TYPE(truth, ze_bool_t)
TYPE(ipc_handle, ze_ipc_mem_handle_t)
TYPE(device_properties, ze_device_properties_t)
AT(device_properties, type, ze_device_properties_t, type)
AT(device_properties, max_allocation, ze_device_properties_t, maxMemAllocSize)
AT(device_properties, timer_resolution, ze_device_properties_t, timerResolution)
AT(device_properties, uuid, ze_device_properties_t, uuid)
AT(device_properties, name, ze_device_properties_t, name)
TYPE(memory_properties, ze_device_memory_properties_t)
AT(memory_properties, bytes, ze_device_memory_properties_t, totalSize)
TYPE(queue_group_properties, ze_command_queue_group_properties_t)
AT(queue_group_properties, flags, ze_command_queue_group_properties_t, flags)
AT(queue_group_properties, queues, ze_command_queue_group_properties_t, numQueues)
TYPE(context_description, ze_context_desc_t)
AT(context_description, flags, ze_context_desc_t, flags)
TYPE(queue_description, ze_command_queue_desc_t)
AT(queue_description, ordinal, ze_command_queue_desc_t, ordinal)
AT(queue_description, index, ze_command_queue_desc_t, index)
AT(queue_description, flags, ze_command_queue_desc_t, flags)
AT(queue_description, mode, ze_command_queue_desc_t, mode)
AT(queue_description, priority, ze_command_queue_desc_t, priority)
TYPE(event_pool_description, ze_event_pool_desc_t)
AT(event_pool_description, flags, ze_event_pool_desc_t, flags)
AT(event_pool_description, count, ze_event_pool_desc_t, count)
TYPE(event_description, ze_event_desc_t)
AT(event_description, index, ze_event_desc_t, index)
AT(event_description, signal, ze_event_desc_t, signal)
AT(event_description, wait, ze_event_desc_t, wait)
TYPE(device_memory_description, ze_device_mem_alloc_desc_t)
AT(device_memory_description, flags, ze_device_mem_alloc_desc_t, flags)
AT(device_memory_description, ordinal, ze_device_mem_alloc_desc_t, ordinal)
TYPE(host_memory_description, ze_host_mem_alloc_desc_t)
AT(host_memory_description, flags, ze_host_mem_alloc_desc_t, flags)
TYPE(allocation_properties, ze_memory_allocation_properties_t)
AT(allocation_properties, type, ze_memory_allocation_properties_t, type)
AT(allocation_properties, id, ze_memory_allocation_properties_t, id)
AT(allocation_properties, page_bytes, ze_memory_allocation_properties_t, pageSize)
#undef AT
#undef TYPE

struct symbols {
#define X(name, symbol, parameters) static constexpr std::string_view name = symbol;
  ATOLL_ZE_FUNCTIONS(X)
#undef X
};

#define SAME(ours, theirs)                 \
  static_assert(symbols::ours == #theirs); \
  static_assert(alike(decltype(api::ours)(), decltype (&(theirs))()));
SAME(init, zeInit)
SAME(driver_get, zeDriverGet)
SAME(driver_api_version, zeDriverGetApiVersion)
SAME(driver_extension, zeDriverGetExtensionFunctionAddress)
SAME(device_get, zeDeviceGet)
SAME(device_facts, zeDeviceGetProperties)
SAME(device_memory, zeDeviceGetMemoryProperties)
SAME(device_queue_groups, zeDeviceGetCommandQueueGroupProperties)
SAME(device_can_access_peer, zeDeviceCanAccessPeer)
SAME(context_create, zeContextCreate)
SAME(context_destroy, zeContextDestroy)
SAME(memory_alloc_device, zeMemAllocDevice)
SAME(memory_alloc_host, zeMemAllocHost)
SAME(memory_free, zeMemFree)
SAME(memory_facts, zeMemGetAllocProperties)
SAME(memory_range, zeMemGetAddressRange)
SAME(ipc_get, zeMemGetIpcHandle)
SAME(ipc_open, zeMemOpenIpcHandle)
SAME(ipc_close, zeMemCloseIpcHandle)
SAME(list_create, zeCommandListCreateImmediate)
SAME(list_destroy, zeCommandListDestroy)
SAME(append_copy, zeCommandListAppendMemoryCopy)
SAME(append_barrier, zeCommandListAppendBarrier)
SAME(pool_create, zeEventPoolCreate)
SAME(pool_destroy, zeEventPoolDestroy)
SAME(event_create, zeEventCreate)
SAME(event_destroy, zeEventDestroy)
SAME(event_reset, zeEventHostReset)
SAME(event_status, zeEventQueryStatus)
#undef SAME

}  // namespace
}  // namespace atl::memory::ze
#endif
