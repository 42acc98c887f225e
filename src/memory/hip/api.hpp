#pragma once

/// The part of the HIP runtime's interface that Atoll uses, declared here so that building needs no ROCm.
/// Names and values are those of <hip/hip_runtime_api.h>, in which they are documented; tests/unit compares
/// the two where that header exists. Good for HIP 5, 6 and 7: what differs between them is avoided, or asked
/// for by version.

#include <cstddef>
#include <cstdint>

namespace atl::memory::hip {

using hip_result = int;
using pointer = void*;
using memory_handle = struct memory_handle_data*;
using stream = struct stream_data*;
using event = struct event_data*;

inline constexpr hip_result success = 0;
inline constexpr hip_result error_out_of_memory = 2;
inline constexpr hip_result error_no_device = 100;
inline constexpr hip_result error_not_ready = 600;
inline constexpr hip_result error_host_memory_already_registered = 712;
inline constexpr hip_result error_capture_unsupported = 900;

/// Since HIP 6, as is the layout of allocation_properties.
inline constexpr int attribute_virtual_memory_management = 89;
inline constexpr int attribute_stream_memory_operations = 10013;

inline constexpr unsigned handle_type_posix_descriptor = 1;
inline constexpr unsigned allocation_pinned = 1;
inline constexpr unsigned location_device = 1;
inline constexpr unsigned access_read_write = 3;
inline constexpr unsigned granularity_recommended = 1;

inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_disable_timing = 2;
inline constexpr unsigned host_register_portable = 1;
inline constexpr unsigned host_register_mapped = 2;
inline constexpr unsigned ipc_lazy_peer_access = 1;
inline constexpr unsigned ipc_lazy_peer_access_hip5 = 0;
inline constexpr unsigned copy_any = 4;

inline constexpr unsigned allocation_of_signal = 2;
inline constexpr unsigned wait_at_least = 0;
inline constexpr int capture_is_none = 0;

inline constexpr int pointer_memory_type = 2;
inline constexpr int pointer_device_ordinal = 9;
inline constexpr int pointer_range_begin = 11;
inline constexpr int pointer_range_bytes = 12;
/// Of memory that is not registered, where that is not refused.
inline constexpr unsigned memory_type_none = 0;
inline constexpr unsigned memory_type_device = 2;
inline constexpr unsigned memory_type_device_hip5 = 1;

/// What runtime_version() gives.
constexpr int version_major(int version) { return version / 10'000'000; }

struct uuid {
  char bytes[16];
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
  } flags;
};

struct access_description {
  memory_location location;
  unsigned flags;
};

// X(name here, name in the runtime, parameters), all of which return a hip_result
#define ATOLL_HIP_FUNCTIONS(X)                                                                    \
  X(init, "hipInit", (unsigned))                                                                  \
  X(runtime_version, "hipRuntimeGetVersion", (int*))                                              \
  X(last_error, "hipGetLastError", ())                                                            \
  X(device_count, "hipGetDeviceCount", (int*))                                                    \
  X(device_get, "hipGetDevice", (int*))                                                           \
  X(device_set, "hipSetDevice", (int))                                                            \
  X(device_name, "hipDeviceGetName", (char*, int, int))                                           \
  X(device_uuid, "hipDeviceGetUuid", (uuid*, int))                                                \
  X(device_bus, "hipDeviceGetPCIBusId", (char*, int, int))                                        \
  X(device_total, "hipDeviceTotalMem", (std::size_t*, int))                                       \
  X(device_synchronize, "hipDeviceSynchronize", ())                                               \
  X(device_attribute, "hipDeviceGetAttribute", (int*, int, int))                                  \
  X(device_can_access_peer, "hipDeviceCanAccessPeer", (int*, int, int))                           \
  X(memory_info, "hipMemGetInfo", (std::size_t*, std::size_t*))                                   \
  X(memory_alloc, "hipMalloc", (pointer*, std::size_t))                                           \
  X(memory_free, "hipFree", (pointer))                                                            \
  X(memory_range, "hipMemGetAddressRange", (pointer*, std::size_t*, pointer))                     \
  X(pointer_attribute, "hipPointerGetAttribute", (void*, int, pointer))                           \
  X(ipc_get, "hipIpcGetMemHandle", (ipc_handle*, pointer))                                        \
  X(ipc_open, "hipIpcOpenMemHandle", (pointer*, ipc_handle, unsigned))                            \
  X(ipc_close, "hipIpcCloseMemHandle", (pointer))                                                 \
  X(host_register, "hipHostRegister", (void*, std::size_t, unsigned))                             \
  X(host_unregister, "hipHostUnregister", (void*))                                                \
  X(host_device_pointer, "hipHostGetDevicePointer", (pointer*, void*, unsigned))                  \
  X(stream_create, "hipStreamCreateWithFlags", (stream*, unsigned))                               \
  X(stream_destroy, "hipStreamDestroy", (stream))                                                 \
  X(stream_query, "hipStreamQuery", (stream))                                                     \
  X(stream_write64, "hipStreamWriteValue64", (stream, pointer, std::uint64_t, unsigned))          \
  X(copy_async, "hipMemcpyAsync", (pointer, void const*, std::size_t, unsigned, stream))          \
  X(copy_peer_async, "hipMemcpyPeerAsync", (pointer, int, void const*, int, std::size_t, stream)) \
  X(event_create, "hipEventCreateWithFlags", (event*, unsigned))                                  \
  X(event_destroy, "hipEventDestroy", (event))                                                    \
  X(event_record, "hipEventRecord", (event, stream))                                              \
  X(event_query, "hipEventQuery", (event))

// Without these there are no memory objects that travel by descriptor.
#define ATOLL_HIP_OPTIONAL_FUNCTIONS(X)                                                                    \
  X(granularity, "hipMemGetAllocationGranularity", (std::size_t*, allocation_properties const*, unsigned)) \
  X(memory_create, "hipMemCreate",                                                                         \
    (memory_handle*, std::size_t, allocation_properties const*, unsigned long long))                       \
  X(memory_release, "hipMemRelease", (memory_handle))                                                      \
  X(address_reserve, "hipMemAddressReserve",                                                               \
    (pointer*, std::size_t, std::size_t, pointer, unsigned long long))                                     \
  X(address_free, "hipMemAddressFree", (pointer, std::size_t))                                             \
  X(memory_map, "hipMemMap", (pointer, std::size_t, std::size_t, memory_handle, unsigned long long))       \
  X(memory_unmap, "hipMemUnmap", (pointer, std::size_t))                                                   \
  X(memory_set_access, "hipMemSetAccess", (pointer, std::size_t, access_description const*, std::size_t))  \
  X(memory_export, "hipMemExportToShareableHandle", (void*, memory_handle, unsigned, unsigned long long))  \
  X(memory_import, "hipMemImportFromShareableHandle", (memory_handle*, void*, unsigned))

// Without these there is no work in streams of the program.
#define ATOLL_HIP_STREAM_FUNCTIONS(X)                                                                 \
  X(stream_device, "hipStreamGetDevice", (stream, int*))                                              \
  X(stream_is_capturing, "hipStreamIsCapturing", (stream, int*))                                      \
  X(stream_wait64, "hipStreamWaitValue64", (stream, pointer, std::uint64_t, unsigned, std::uint64_t)) \
  X(memory_alloc_as, "hipExtMallocWithFlags", (pointer*, std::size_t, unsigned))

/// The runtime's functions in this process.
struct api {
#define X(name, symbol, parameters) hip_result(*name) parameters = nullptr;
  ATOLL_HIP_FUNCTIONS(X)
  ATOLL_HIP_OPTIONAL_FUNCTIONS(X)
  ATOLL_HIP_STREAM_FUNCTIONS(X)
#undef X
  char const* (*error_name)(hip_result) = nullptr;
  char const* (*error_string)(hip_result) = nullptr;
  bool has_memory_objects = false;          ///< all of the optional functions are there
  char const* lacks_for_streams = nullptr;  ///< one of those for streams of the program that is not there

  /// Opens the runtime's library. The text says why that was not possible; null when it was.
  char const* load(char const* library) noexcept;
};

}  // namespace atl::memory::hip
