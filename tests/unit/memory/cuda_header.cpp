// What api.hpp declares beside what the driver's own header declares, where that is installed.

#include <cstddef>
#include <string_view>

#include "memory/cuda/api.hpp"
#include "unit/memory/alike.hpp"

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace atl::memory::cuda {
namespace {

#define VALUE(ours, theirs) static_assert(static_cast<long>(ours) == static_cast<long>(theirs));
VALUE(success, CUDA_SUCCESS)
VALUE(error_invalid_value, CUDA_ERROR_INVALID_VALUE)
VALUE(error_not_supported, CUDA_ERROR_NOT_SUPPORTED)
VALUE(error_out_of_memory, CUDA_ERROR_OUT_OF_MEMORY)
VALUE(error_invalid_context, CUDA_ERROR_INVALID_CONTEXT)
VALUE(error_no_device, CUDA_ERROR_NO_DEVICE)
VALUE(error_host_memory_already_registered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
VALUE(error_not_ready, CUDA_ERROR_NOT_READY)
VALUE(attribute_stream_memory_operations_64, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS)
VALUE(attribute_virtual_memory_management, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
VALUE(attribute_handle_type_posix_descriptor, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)
VALUE(attribute_host_native_atomics, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED)
VALUE(peer_attribute_native_atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)
VALUE(operation_wait, CU_STREAM_MEM_OP_WAIT_VALUE_64)
VALUE(operation_write, CU_STREAM_MEM_OP_WRITE_VALUE_64)
VALUE(operation_barrier, CU_STREAM_MEM_OP_BARRIER)
VALUE(barrier_for_system, CU_STREAM_MEMORY_BARRIER_TYPE_SYS)
VALUE(attribute_network_with_virtual_memory, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED)
VALUE(attribute_flush_options, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS)
VALUE(attribute_writes_ordering, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING)
VALUE(flush_option_host, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST)
VALUE(writes_ordered_for_owner, CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER)
VALUE(flush_target_current_context, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX)
VALUE(flush_to_owner, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER)
VALUE(handle_type_posix_descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
VALUE(allocation_pinned, CU_MEM_ALLOCATION_TYPE_PINNED)
VALUE(location_device, CU_MEM_LOCATION_TYPE_DEVICE)
VALUE(access_read_write, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
VALUE(granularity_recommended, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
VALUE(stream_non_blocking, CU_STREAM_NON_BLOCKING)
VALUE(event_disable_timing, CU_EVENT_DISABLE_TIMING)
VALUE(host_register_portable, CU_MEMHOSTREGISTER_PORTABLE)
VALUE(host_register_device_map, CU_MEMHOSTREGISTER_DEVICEMAP)
VALUE(ipc_lazy_peer_access, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
VALUE(wait_at_least, CU_STREAM_WAIT_VALUE_GEQ)
VALUE(wait_equal, CU_STREAM_WAIT_VALUE_EQ)
VALUE(pointer_memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
VALUE(pointer_device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
VALUE(pointer_range_begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
VALUE(pointer_range_bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE)
VALUE(error_capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
VALUE(capture_global, CU_STREAM_CAPTURE_MODE_GLOBAL)
VALUE(capture_thread_local, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
VALUE(capture_relaxed, CU_STREAM_CAPTURE_MODE_RELAXED)
VALUE(capture_is_active, CU_STREAM_CAPTURE_STATUS_ACTIVE)
VALUE(user_object_without_waiting, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
VALUE(graph_takes_reference, CU_GRAPH_USER_OBJECT_MOVE)
VALUE(memory_type_device, CU_MEMORYTYPE_DEVICE)

#define TYPE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs));
TYPE(cu_result, CUresult)
TYPE(cu_device, CUdevice)
TYPE(pointer, CUdeviceptr)
TYPE(memory_handle, CUmemGenericAllocationHandle)
TYPE(context, CUcontext)
TYPE(stream, CUstream)
TYPE(event, CUevent)
TYPE(graph, CUgraph)
TYPE(graph_node, CUgraphNode)
TYPE(user_object, CUuserObject)
TYPE(module, CUmodule)
TYPE(function, CUfunction)
TYPE(uuid, CUuuid)
TYPE(ipc_handle, CUipcMemHandle)
TYPE(memory_location, CUmemLocation)
TYPE(allocation_properties, CUmemAllocationProp)
TYPE(access_description, CUmemAccessDesc)
TYPE(stream_operation, CUstreamBatchMemOpParams)
#if CUDA_VERSION >= 12080
TYPE(copy_attributes, CUmemcpyAttributes)
static_assert(source_order_stream == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
static_assert(offsetof(copy_attributes, flags) == offsetof(CUmemcpyAttributes, flags));
#if CUDA_VERSION < 13000
static_assert(alike(static_cast<copy_batch_function*>(nullptr), &cuMemcpyBatchAsync));
#endif
#endif
#undef TYPE

#define PLACE(ours, theirs) \
  static_assert(offsetof(stream_operation, ours) == offsetof(CUstreamBatchMemOpParams, theirs));
PLACE(on_word.word, waitValue.address)
PLACE(on_word.value, waitValue.value64)
PLACE(on_word.flags, waitValue.flags)
PLACE(on_word.word, writeValue.address)
PLACE(on_word.value, writeValue.value64)
PLACE(on_word.flags, writeValue.flags)
PLACE(barrier.flags, memoryBarrier.flags)
#if CUDA_VERSION >= 13010
VALUE(attribute_stream_reductions, CU_DEVICE_ATTRIBUTE_ATOMIC_REDUCTION_SUPPORTED)
VALUE(operation_reduce, CU_STREAM_MEM_OP_ATOMIC_REDUCTION)
VALUE(reduction_add, CU_STREAM_ATOMIC_REDUCTION_OP_ADD)
VALUE(reduction_unsigned_64, CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64)
PLACE(reduce.flags, atomicReduction.flags)
PLACE(reduce.reduction, atomicReduction.reductionOp)
PLACE(reduce.type, atomicReduction.dataType)
PLACE(reduce.word, atomicReduction.address)
PLACE(reduce.value, atomicReduction.value)
#endif
#undef PLACE
#undef VALUE

static_assert(offsetof(memory_location, id) == offsetof(CUmemLocation, id));
static_assert(offsetof(access_description, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(offsetof(allocation_properties, requested_handle_types) ==
              offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(allocation_properties, location) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(allocation_properties, flags) == offsetof(CUmemAllocationProp, allocFlags));
static_assert(offsetof(allocation_properties, flags.gpu_direct_rdma_capable) ==
              offsetof(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable));

struct symbols {
#define X(name, symbol, parameters) static constexpr std::string_view name = symbol;
  ATOLL_CUDA_FUNCTIONS(X)
#undef X
};

// The header renames functions to their versions by macros.
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define SAME(ours, theirs)                      \
  static_assert(symbols::ours == TEXT(theirs)); \
  static_assert(alike(decltype(api::ours)(), decltype (&theirs)()));
SAME(init, cuInit)
SAME(driver_version, cuDriverGetVersion)
SAME(function_of_version, cuGetProcAddress)
SAME(error_name, cuGetErrorName)
SAME(error_string, cuGetErrorString)
SAME(device_count, cuDeviceGetCount)
SAME(device_name, cuDeviceGetName)
SAME(device_uuid, cuDeviceGetUuid)
SAME(device_total, cuDeviceTotalMem)
SAME(device_attribute, cuDeviceGetAttribute)
SAME(device_can_access_peer, cuDeviceCanAccessPeer)
SAME(device_peer_attribute, cuDeviceGetP2PAttribute)
SAME(primary_retain, cuDevicePrimaryCtxRetain)
SAME(primary_release, cuDevicePrimaryCtxRelease)
SAME(context_current, cuCtxGetCurrent)
SAME(context_push, cuCtxPushCurrent)
SAME(context_pop, cuCtxPopCurrent)
SAME(context_device, cuCtxGetDevice)
SAME(context_synchronize, cuCtxSynchronize)
SAME(memory_info, cuMemGetInfo)
SAME(memory_alloc, cuMemAlloc)
SAME(memory_free, cuMemFree)
SAME(memory_range, cuMemGetAddressRange)
SAME(pointer_attribute, cuPointerGetAttribute)
SAME(granularity, cuMemGetAllocationGranularity)
SAME(memory_create, cuMemCreate)
SAME(memory_release, cuMemRelease)
SAME(address_reserve, cuMemAddressReserve)
SAME(address_free, cuMemAddressFree)
SAME(memory_map, cuMemMap)
SAME(memory_unmap, cuMemUnmap)
SAME(memory_set_access, cuMemSetAccess)
SAME(memory_export, cuMemExportToShareableHandle)
SAME(memory_import, cuMemImportFromShareableHandle)
SAME(flush_writes, cuFlushGPUDirectRDMAWrites)
SAME(ipc_get, cuIpcGetMemHandle)
SAME(ipc_open, cuIpcOpenMemHandle)
SAME(ipc_close, cuIpcCloseMemHandle)
SAME(host_register, cuMemHostRegister)
SAME(host_unregister, cuMemHostUnregister)
SAME(host_device_pointer, cuMemHostGetDevicePointer)
SAME(stream_create, cuStreamCreate)
SAME(stream_destroy, cuStreamDestroy)
SAME(stream_query, cuStreamQuery)
SAME(exchange_capture_mode, cuThreadExchangeStreamCaptureMode)
SAME(module_load, cuModuleLoadData)
SAME(module_unload, cuModuleUnload)
SAME(module_function, cuModuleGetFunction)
SAME(launch_kernel, cuLaunchKernel)
SAME(stream_write64, cuStreamWriteValue64)
SAME(stream_wait64, cuStreamWaitValue64)
#if CUDA_VERSION < 13000  // it names version 3, and drivers have both
SAME(stream_capture_info, cuStreamGetCaptureInfo)
#endif
SAME(user_object_create, cuUserObjectCreate)
SAME(user_object_release, cuUserObjectRelease)
SAME(graph_retain, cuGraphRetainUserObject)
SAME(stream_operations, cuStreamBatchMemOp)
SAME(stream_context, cuStreamGetCtx)
SAME(stream_number, cuStreamGetId)
SAME(stream_is_capturing, cuStreamIsCapturing)
SAME(copy_async, cuMemcpyAsync)
SAME(copy_peer_async, cuMemcpyPeerAsync)
SAME(event_create, cuEventCreate)
SAME(event_destroy, cuEventDestroy)
SAME(event_record, cuEventRecord)
SAME(event_query, cuEventQuery)
#undef SAME

}  // namespace
}  // namespace atl::memory::cuda
#endif
