// What hip/api.hpp declares beside what the runtime's own header declares, where that is installed.

#include <cstddef>
#include <string_view>

#include "memory/hip/api.hpp"
#include "unit/memory/alike.hpp"

#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__ 1  // NOLINT: what the header asks for
#include <hip/hip_runtime_api.h>

namespace atl::memory::hip {
namespace {

#define VALUE(ours, theirs) static_assert(static_cast<long>(ours) == static_cast<long>(theirs));
VALUE(success, hipSuccess)
VALUE(error_out_of_memory, hipErrorOutOfMemory)
VALUE(error_no_device, hipErrorNoDevice)
VALUE(error_not_ready, hipErrorNotReady)
VALUE(error_host_memory_already_registered, hipErrorHostMemoryAlreadyRegistered)
VALUE(error_capture_unsupported, hipErrorStreamCaptureUnsupported)
VALUE(allocation_of_signal, hipMallocSignalMemory)
VALUE(wait_at_least, hipStreamWaitValueGte)
VALUE(capture_is_none, hipStreamCaptureStatusNone)
VALUE(attribute_stream_memory_operations, hipDeviceAttributeCanUseStreamWaitValue)
VALUE(handle_type_posix_descriptor, hipMemHandleTypePosixFileDescriptor)
VALUE(allocation_pinned, hipMemAllocationTypePinned)
VALUE(location_device, hipMemLocationTypeDevice)
VALUE(access_read_write, hipMemAccessFlagsProtReadWrite)
VALUE(granularity_recommended, hipMemAllocationGranularityRecommended)
VALUE(stream_non_blocking, hipStreamNonBlocking)
VALUE(event_disable_timing, hipEventDisableTiming)
VALUE(host_register_portable, hipHostRegisterPortable)
VALUE(host_register_mapped, hipHostRegisterMapped)
VALUE(copy_any, hipMemcpyDefault)
VALUE(pointer_memory_type, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE)
VALUE(pointer_device_ordinal, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
VALUE(pointer_range_begin, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR)
VALUE(pointer_range_bytes, HIP_POINTER_ATTRIBUTE_RANGE_SIZE)
VALUE(version_major(HIP_VERSION), HIP_VERSION_MAJOR)
#if HIP_VERSION_MAJOR < 6
VALUE(memory_type_device_hip5, hipMemoryTypeDevice)
static_assert(ipc_lazy_peer_access_hip5 == hipIpcMemLazyEnablePeerAccess ||
              ipc_lazy_peer_access == hipIpcMemLazyEnablePeerAccess);
#else
VALUE(memory_type_device, hipMemoryTypeDevice)
VALUE(memory_type_none, hipMemoryTypeUnregistered)
VALUE(attribute_virtual_memory_management, hipDeviceAttributeVirtualMemoryManagementSupported)
static_assert(sizeof(allocation_properties) == sizeof(hipMemAllocationProp));
static_assert(offsetof(allocation_properties, location) == offsetof(hipMemAllocationProp, location));
static_assert(offsetof(allocation_properties, flags) == offsetof(hipMemAllocationProp, allocFlags));
#endif
#undef VALUE

#define TYPE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs));
TYPE(hip_result, hipError_t)
TYPE(pointer, hipDeviceptr_t)
TYPE(memory_handle, hipMemGenericAllocationHandle_t)
TYPE(stream, hipStream_t)
TYPE(event, hipEvent_t)
TYPE(uuid, hipUUID)
TYPE(ipc_handle, hipIpcMemHandle_t)
TYPE(memory_location, hipMemLocation)
TYPE(access_description, hipMemAccessDesc)
#undef TYPE
static_assert(offsetof(memory_location, id) == offsetof(hipMemLocation, id));
static_assert(offsetof(access_description, flags) == offsetof(hipMemAccessDesc, flags));

struct symbols {
#define X(name, symbol, parameters) static constexpr std::string_view name = symbol;
  ATOLL_HIP_FUNCTIONS(X)
  ATOLL_HIP_OPTIONAL_FUNCTIONS(X)
  ATOLL_HIP_STREAM_FUNCTIONS(X)
#undef X
};

#define SAME(ours, theirs)                 \
  static_assert(symbols::ours == #theirs); \
  static_assert(alike(decltype(api::ours)(), static_cast<decltype(&(theirs))>(nullptr)));
SAME(init, hipInit)
SAME(runtime_version, hipRuntimeGetVersion)
SAME(last_error, hipGetLastError)
SAME(device_count, hipGetDeviceCount)
SAME(device_get, hipGetDevice)
SAME(device_set, hipSetDevice)
SAME(device_name, hipDeviceGetName)
SAME(device_uuid, hipDeviceGetUuid)
SAME(device_bus, hipDeviceGetPCIBusId)
SAME(device_total, hipDeviceTotalMem)
SAME(device_attribute, hipDeviceGetAttribute)
SAME(device_can_access_peer, hipDeviceCanAccessPeer)
SAME(device_synchronize, hipDeviceSynchronize)
SAME(memory_info, hipMemGetInfo)
SAME(memory_free, hipFree)
SAME(memory_range, hipMemGetAddressRange)
SAME(pointer_attribute, hipPointerGetAttribute)
SAME(ipc_get, hipIpcGetMemHandle)
SAME(ipc_open, hipIpcOpenMemHandle)
SAME(ipc_close, hipIpcCloseMemHandle)
SAME(host_register, hipHostRegister)
SAME(host_unregister, hipHostUnregister)
SAME(host_device_pointer, hipHostGetDevicePointer)
SAME(stream_create, hipStreamCreateWithFlags)
SAME(stream_destroy, hipStreamDestroy)
SAME(stream_query, hipStreamQuery)
SAME(stream_write64, hipStreamWriteValue64)
SAME(copy_async, hipMemcpyAsync)
SAME(copy_peer_async, hipMemcpyPeerAsync)
SAME(event_create, hipEventCreateWithFlags)
SAME(event_destroy, hipEventDestroy)
SAME(event_record, hipEventRecord)
SAME(event_query, hipEventQuery)
SAME(granularity, hipMemGetAllocationGranularity)
SAME(memory_create, hipMemCreate)
SAME(memory_release, hipMemRelease)
SAME(address_reserve, hipMemAddressReserve)
SAME(address_free, hipMemAddressFree)
SAME(memory_map, hipMemMap)
SAME(memory_unmap, hipMemUnmap)
SAME(memory_set_access, hipMemSetAccess)
SAME(memory_export, hipMemExportToShareableHandle)
SAME(memory_import, hipMemImportFromShareableHandle)
SAME(stream_is_capturing, hipStreamIsCapturing)
SAME(stream_wait64, hipStreamWaitValue64)
SAME(memory_alloc_as, hipExtMallocWithFlags)
#if HIP_VERSION_MAJOR >= 6
SAME(stream_device, hipStreamGetDevice)
#endif
#undef SAME
// Overloaded for C++.
static_assert(static_cast<hipError_t (*)(void**, std::size_t)>(&hipMalloc) != nullptr);

}  // namespace
}  // namespace atl::memory::hip
#endif
