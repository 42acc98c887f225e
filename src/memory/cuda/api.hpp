#pragma once

/// The part of the CUDA driver's interface that Atoll uses, declared here so that building needs no toolkit.
/// Names and values are those of <cuda.h>, in which they are documented; tests/unit compares the two where
/// that header exists. Good for drivers of CUDA 12 and 13.

#include <cstddef>
#include <cstdint>

namespace atl::memory::cuda {

using cu_result = int;
using cu_device = int;
using pointer = unsigned long long;
using memory_handle = unsigned long long;
using context = struct context_data*;
using stream = struct stream_data*;
using event = struct event_data*;
using graph = struct graph_data*;
using graph_node = struct graph_node_data*;
using graph_executable = struct graph_executable_data*;
using user_object = struct user_object_data*;
using module = struct module_data*;
using function = struct function_data*;

inline constexpr cu_result success = 0;
inline constexpr cu_result error_invalid_value = 1;
inline constexpr cu_result error_out_of_memory = 2;
inline constexpr cu_result error_no_device = 100;
inline constexpr cu_result error_host_memory_already_registered = 712;
inline constexpr cu_result error_invalid_context = 201;
inline constexpr cu_result error_not_ready = 600;
inline constexpr cu_result error_not_supported = 801;
inline constexpr cu_result error_capture_unsupported = 900;
inline constexpr cu_result error_capture_invalidated = 901;

inline constexpr int attribute_stream_memory_operations_64 = 122;
inline constexpr int attribute_host_native_atomics = 86;
inline constexpr int attribute_virtual_memory_management = 102;
inline constexpr int attribute_handle_type_posix_descriptor = 103;

inline constexpr int peer_attribute_native_atomics = 3;
inline constexpr int attribute_stream_reductions = 148;  ///< from CUDA 13.1 on

inline constexpr int attribute_network_with_virtual_memory = 110;
inline constexpr int attribute_flush_options = 117;
inline constexpr int attribute_writes_ordering = 118;

/// Of what other hardware writes into a device's memory.
inline constexpr int flush_option_host = 1;
inline constexpr int writes_ordered_for_owner = 100;
inline constexpr unsigned flush_target_current_context = 0;
inline constexpr unsigned flush_to_owner = 100;

inline constexpr unsigned handle_type_posix_descriptor = 1;
inline constexpr unsigned allocation_pinned = 1;
inline constexpr unsigned location_device = 1;
inline constexpr unsigned access_read_write = 3;
inline constexpr unsigned granularity_recommended = 1;

inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_disable_timing = 2;
inline constexpr unsigned wait_at_least = 0;
inline constexpr unsigned wait_equal = 1;
inline constexpr unsigned host_register_portable = 1;
inline constexpr unsigned host_register_device_map = 2;
inline constexpr unsigned ipc_lazy_peer_access = 1;

/// Of several things on words of memory that are one call in a stream, and one node of a graph.
enum operation : unsigned {
  operation_wait = 4,
  operation_write = 5,
  operation_barrier = 6,
  operation_reduce = 8
};
inline constexpr unsigned barrier_for_system = 0;
inline constexpr unsigned reduction_add = 0;
inline constexpr unsigned reduction_unsigned_64 = 22;
union stream_operation {
  operation what;
  struct {
    operation what;
    pointer word;
    std::uint64_t value;
    unsigned flags;  ///< of a wait; else 0
    pointer alias;   ///< the driver's, as below
  } on_word;         ///< wait or write
  struct {
    operation what;
    unsigned flags;
  } barrier;
  struct {
    operation what;
    unsigned flags;
    unsigned reduction;
    unsigned type;
    pointer word;
    std::uint64_t value;
    pointer alias;
  } reduce;  ///< on devices that have the attribute
  std::uint64_t room[6];
};

/// How a thread behaves while streams are captured into graphs.
enum capture_mode : int { capture_global = 0, capture_thread_local = 1, capture_relaxed = 2 };

inline constexpr int capture_is_active = 1;
inline constexpr unsigned user_object_without_waiting = 1;
inline constexpr unsigned graph_takes_reference = 1;

inline constexpr int pointer_memory_type = 2;
inline constexpr int pointer_device_ordinal = 9;
inline constexpr int pointer_range_begin = 11;
inline constexpr int pointer_range_bytes = 12;
inline constexpr unsigned memory_type_device = 2;

struct uuid {
  unsigned char bytes[16];
};

struct ipc_handle {
  char reserved[64];
};

struct memory_location {
  unsigned type;
  int id;
};

struct allocation_properties {
  unsigned type;
  unsigned requested_handle_types;
  memory_location location;
  void* win32_meta_data;
  struct {
    unsigned char compression_type;
    unsigned char gpu_direct_rdma_capable;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
};

struct access_description {
  memory_location location;
  unsigned flags;
};

/// Of copies in one call: the source is read in the stream's order.
inline constexpr unsigned source_order_stream = 1;
struct copy_attributes {
  unsigned source_order;
  memory_location source_hint;
  memory_location destination_hint;
  unsigned flags;
};
/// cuMemcpyBatchAsync as CUDA 12.8 introduced it; drivers that have it know it by that version.
inline constexpr int version_of_copy_batch = 12080;
using copy_batch_function = cu_result(pointer* to, pointer* from, std::size_t* bytes, std::size_t count,
                                      copy_attributes* attributes, std::size_t* first_with_attributes,
                                      std::size_t attributes_count, std::size_t* failed, stream);

// X(name here, name in the driver, parameters)
#define ATOLL_CUDA_FUNCTIONS(X)                                                                           \
  X(init, "cuInit", (unsigned))                                                                           \
  X(driver_version, "cuDriverGetVersion", (int*))                                                         \
  X(function_of_version, "cuGetProcAddress_v2", (char const*, void**, int, std::uint64_t, int*))          \
  X(error_name, "cuGetErrorName", (cu_result, char const**))                                              \
  X(error_string, "cuGetErrorString", (cu_result, char const**))                                          \
  X(device_count, "cuDeviceGetCount", (int*))                                                             \
  X(device_name, "cuDeviceGetName", (char*, int, cu_device))                                              \
  X(device_uuid, "cuDeviceGetUuid_v2", (uuid*, cu_device))                                                \
  X(device_total, "cuDeviceTotalMem_v2", (std::size_t*, cu_device))                                       \
  X(device_attribute, "cuDeviceGetAttribute", (int*, int, cu_device))                                     \
  X(device_peer_attribute, "cuDeviceGetP2PAttribute", (int*, int, cu_device, cu_device))                  \
  X(device_can_access_peer, "cuDeviceCanAccessPeer", (int*, cu_device, cu_device))                        \
  X(primary_retain, "cuDevicePrimaryCtxRetain", (context*, cu_device))                                    \
  X(primary_release, "cuDevicePrimaryCtxRelease_v2", (cu_device))                                         \
  X(context_current, "cuCtxGetCurrent", (context*))                                                       \
  X(context_push, "cuCtxPushCurrent_v2", (context))                                                       \
  X(context_pop, "cuCtxPopCurrent_v2", (context*))                                                        \
  X(context_device, "cuCtxGetDevice", (cu_device*))                                                       \
  X(context_synchronize, "cuCtxSynchronize", ())                                                          \
  X(memory_info, "cuMemGetInfo_v2", (std::size_t*, std::size_t*))                                         \
  X(memory_alloc, "cuMemAlloc_v2", (pointer*, std::size_t))                                               \
  X(memory_free, "cuMemFree_v2", (pointer))                                                               \
  X(memory_range, "cuMemGetAddressRange_v2", (pointer*, std::size_t*, pointer))                           \
  X(pointer_attribute, "cuPointerGetAttribute", (void*, int, pointer))                                    \
  X(granularity, "cuMemGetAllocationGranularity", (std::size_t*, allocation_properties const*, unsigned)) \
  X(memory_create, "cuMemCreate",                                                                         \
    (memory_handle*, std::size_t, allocation_properties const*, unsigned long long))                      \
  X(memory_release, "cuMemRelease", (memory_handle))                                                      \
  X(address_reserve, "cuMemAddressReserve",                                                               \
    (pointer*, std::size_t, std::size_t, pointer, unsigned long long))                                    \
  X(address_free, "cuMemAddressFree", (pointer, std::size_t))                                             \
  X(memory_map, "cuMemMap", (pointer, std::size_t, std::size_t, memory_handle, unsigned long long))       \
  X(memory_unmap, "cuMemUnmap", (pointer, std::size_t))                                                   \
  X(memory_set_access, "cuMemSetAccess", (pointer, std::size_t, access_description const*, std::size_t))  \
  X(memory_export, "cuMemExportToShareableHandle", (void*, memory_handle, unsigned, unsigned long long))  \
  X(memory_import, "cuMemImportFromShareableHandle", (memory_handle*, void*, unsigned))                   \
  X(flush_writes, "cuFlushGPUDirectRDMAWrites", (unsigned, unsigned))                                     \
  X(ipc_get, "cuIpcGetMemHandle", (ipc_handle*, pointer))                                                 \
  X(ipc_open, "cuIpcOpenMemHandle_v2", (pointer*, ipc_handle, unsigned))                                  \
  X(ipc_close, "cuIpcCloseMemHandle", (pointer))                                                          \
  X(host_register, "cuMemHostRegister_v2", (void*, std::size_t, unsigned))                                \
  X(host_unregister, "cuMemHostUnregister", (void*))                                                      \
  X(host_device_pointer, "cuMemHostGetDevicePointer_v2", (pointer*, void*, unsigned))                     \
  X(stream_create, "cuStreamCreate", (stream*, unsigned))                                                 \
  X(stream_destroy, "cuStreamDestroy_v2", (stream))                                                       \
  X(stream_query, "cuStreamQuery", (stream))                                                              \
  X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (capture_mode*))                          \
  X(stream_begin_capture, "cuStreamBeginCapture_v2", (stream, capture_mode))                              \
  X(stream_end_capture, "cuStreamEndCapture", (stream, graph*))                                           \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", (graph_executable*, graph, unsigned long long))     \
  X(graph_launch, "cuGraphLaunch", (graph_executable, stream))                                            \
  X(graph_executable_destroy, "cuGraphExecDestroy", (graph_executable))                                   \
  X(graph_destroy, "cuGraphDestroy", (graph))                                                             \
  X(stream_context, "cuStreamGetCtx", (stream, context*))                                                 \
  X(stream_number, "cuStreamGetId", (stream, unsigned long long*))                                        \
  X(stream_is_capturing, "cuStreamIsCapturing", (stream, int*))                                           \
  X(stream_capture_info, "cuStreamGetCaptureInfo_v2",                                                     \
    (stream, int*, unsigned long long*, graph*, graph_node const**, std::size_t*))                        \
  X(user_object_create, "cuUserObjectCreate", (user_object*, void*, void (*)(void*), unsigned, unsigned)) \
  X(user_object_release, "cuUserObjectRelease", (user_object, unsigned))                                  \
  X(graph_retain, "cuGraphRetainUserObject", (graph, user_object, unsigned, unsigned))                    \
  X(stream_wait64, "cuStreamWaitValue64_v2", (stream, pointer, std::uint64_t, unsigned))                  \
  X(stream_write64, "cuStreamWriteValue64_v2", (stream, pointer, std::uint64_t, unsigned))                \
  X(stream_operations, "cuStreamBatchMemOp_v2", (stream, unsigned, stream_operation*, unsigned))          \
  X(copy_async, "cuMemcpyAsync", (pointer, pointer, std::size_t, stream))                                 \
  X(copy_peer_async, "cuMemcpyPeerAsync", (pointer, context, pointer, context, std::size_t, stream))      \
  X(module_load, "cuModuleLoadData", (module*, void const*))                                              \
  X(module_unload, "cuModuleUnload", (module))                                                            \
  X(module_function, "cuModuleGetFunction", (function*, module, char const*))                             \
  X(launch_kernel, "cuLaunchKernel",                                                                      \
    (function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, stream, void**,      \
     void**))                                                                                             \
  X(event_create, "cuEventCreate", (event*, unsigned))                                                    \
  X(event_destroy, "cuEventDestroy_v2", (event))                                                          \
  X(event_record, "cuEventRecord", (event, stream))                                                       \
  X(event_query, "cuEventQuery", (event))

/// The driver's functions in this process.
struct api {
#define X(name, symbol, parameters) cu_result(*name) parameters = nullptr;
  ATOLL_CUDA_FUNCTIONS(X)
#undef X
  copy_batch_function* copy_batch = nullptr;  ///< null: the driver is older than it

  /// Opens the driver's library. The text says why that was not possible; empty when it was.
  char const* load(char const* library) noexcept;
  /// What only newer drivers have; after init().
  void load_newer() noexcept;
};

}  // namespace atl::memory::cuda
