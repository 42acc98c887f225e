// Starting, devices, contexts.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/fake_cuda/state.hpp"

namespace fake_cuda {
namespace {

/// Of this thread, the current one last.
thread_local std::vector<device_state*> contexts;

settings read_settings() {
  settings s;
  s.refused = ",";
  char const* const text = std::getenv("FAKE_CUDA");
  std::string const words = text == nullptr ? "" : text;
  for (std::size_t begin = 0; begin < words.size();) {
    std::size_t const end = std::min(words.find(',', begin), words.size());
    std::string const word = words.substr(begin, end - begin);
    std::size_t const equal = word.find('=');
    std::string const name = word.substr(0, equal);
    std::string const value = equal == std::string::npos ? "" : word.substr(equal + 1);
    std::uint64_t const number = std::strtoull(value.c_str(), nullptr, 10);
    if (name == "devices") {
      s.devices = static_cast<int>(number);
    } else if (name == "memory") {
      s.memory = number;
    } else if (name == "lockable") {
      s.lockable = number;
    } else if (name == "seed") {
      s.seed = number;
    } else if (name == "fail_copy") {
      s.fail_copy = number;
    } else if (name == "reachable") {
      s.reachable = true;
    } else if (name == "host_atomics") {
      s.host_atomics = true;
    } else if (name == "reductions") {
      s.reductions = true;
    } else if (name == "unordered") {
      s.unordered = true;
    } else if (name == "refuse") {
      s.refused += value + ',';
    } else {
      misused(("FAKE_CUDA: unknown word '" + word + "'").c_str());
    }
    begin = end + 1;
  }
  return s;
}

/// As CUDA_VISIBLE_DEVICES says; what follows a wrong number is not seen.
std::vector<int> visible_devices(int there) {
  std::vector<int> seen;
  char const* at = std::getenv("CUDA_VISIBLE_DEVICES");
  if (at == nullptr) {
    for (int i = 0; i < there; ++i) seen.push_back(i);
    return seen;
  }
  while (*at != '\0') {
    char* end = nullptr;
    long const number = std::strtol(at, &end, 10);
    if (end == at || number < 0 || number >= there) break;
    seen.push_back(static_cast<int>(number));
    at = *end == ',' ? end + 1 : end;
  }
  return seen;
}

struct text {
  cu_result code;
  char const* name;
  char const* words;
};
constexpr text texts[] = {
    {success, "CUDA_SUCCESS", "no error"},
    {invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {error_out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {error_no_device, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {peer_access_unsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these two devices"},
    {invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {error_not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
    {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {error_host_memory_already_registered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {not_registered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {not_supported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

text const* find_text(cu_result code) {
  for (text const& each : texts) {
    if (each.code == code) return &each;
  }
  return nullptr;
}

}  // namespace

state& all() {
  static auto* const everything = new state;
  return *everything;
}

void misused(char const* what) {
  std::fprintf(stderr, "fake CUDA driver: %s\n", what);
  std::abort();
}

device_state* current() { return contexts.empty() ? nullptr : contexts.back(); }

device_state* device_at(int ordinal) {
  auto const& devices = all().devices;
  return ordinal < 0 || static_cast<std::size_t>(ordinal) >= devices.size()
             ? nullptr
             : devices[static_cast<std::size_t>(ordinal)].get();
}

cu_result init(unsigned flags) {
  state& s = all();
  std::lock_guard const held(s.lock);
  if (flags != 0) return invalid_value;
  if (s.started) return success;
  s.chosen = read_settings();
  if (s.chosen.refuses("start")) return not_supported;
  std::vector<int> const seen = visible_devices(s.chosen.devices);
  if (seen.empty()) return error_no_device;
  for (int const physical : seen) {
    s.devices.push_back(std::make_unique<device_state>());
    s.devices.back()->physical = physical;
  }
  s.started = true;
  return success;
}

cu_result driver_version(int* version) {
  *version = 13000;
  return success;
}

cu_result error_name(cu_result code, char const** name) {
  text const* const found = find_text(code);
  *name = found == nullptr ? nullptr : found->name;
  return found == nullptr ? invalid_value : success;
}

cu_result error_string(cu_result code, char const** words) {
  text const* const found = find_text(code);
  *words = found == nullptr ? nullptr : found->words;
  return found == nullptr ? invalid_value : success;
}

cu_result device_count(int* count) {
  if (!all().started) return not_initialized;
  *count = static_cast<int>(all().devices.size());
  return success;
}

cu_result device_name(char* name, int bytes, cu_device ordinal) {
  device_state const* const device = device_at(ordinal);
  if (device == nullptr) return invalid_device;
  std::snprintf(name, static_cast<std::size_t>(bytes), "fake device %d", device->physical);
  return success;
}

cu_result device_uuid(uuid* id, cu_device ordinal) {
  device_state const* const device = device_at(ordinal);
  if (device == nullptr) return invalid_device;
  std::memset(id->bytes, 0xfa, sizeof id->bytes);
  id->bytes[15] = static_cast<unsigned char>(device->physical);
  return success;
}

cu_result device_total(std::size_t* bytes, cu_device ordinal) {
  if (device_at(ordinal) == nullptr) return invalid_device;
  *bytes = all().chosen.memory;
  return success;
}

cu_result device_attribute(int* value, int attribute, cu_device ordinal) {
  ++all().counts.attributes;
  if (device_at(ordinal) == nullptr) return invalid_device;
  settings const& chosen = all().chosen;
  switch (attribute) {
    case attribute_virtual_memory_management:
    case attribute_handle_type_posix_descriptor:
      *value = chosen.refuses("vmm") ? 0 : 1;
      return success;
    case attribute_network_with_virtual_memory:
    case attribute_flush_options:
      *value = 1;
      return success;
    case attribute_writes_ordering:
      *value = chosen.unordered ? 0 : writes_ordered_for_owner;
      return success;
    case attribute_stream_memory_operations_64:
      *value = chosen.refuses("write") ? 0 : 1;
      return success;
    case attribute_host_native_atomics:
      *value = chosen.host_atomics ? 1 : 0;
      return success;
    case attribute_stream_reductions:
      if (!chosen.reductions) return invalid_value;  // as of a driver that does not know it
      *value = 1;
      return success;
    default:
      return invalid_value;
  }
}

cu_result device_can_access_peer(int* can, cu_device ordinal, cu_device other) {
  if (device_at(ordinal) == nullptr || device_at(other) == nullptr) return invalid_device;
  *can = ordinal != other && !all().chosen.refuses("peer") ? 1 : 0;
  return success;
}

cu_result device_peer_attribute(int* value, int attribute, cu_device ordinal, cu_device other) {
  ++all().counts.attributes;
  if (device_at(ordinal) == nullptr || device_at(other) == nullptr) return invalid_device;
  if (attribute != peer_attribute_native_atomics || ordinal == other) return invalid_value;
  *value = !all().chosen.refuses("peer") && !all().chosen.refuses("atomics") ? 1 : 0;
  return success;
}

cu_result primary_retain(context* made, cu_device ordinal) {
  std::lock_guard const held(all().lock);
  device_state* const device = device_at(ordinal);
  if (device == nullptr) return invalid_device;
  if (device->retained++ == 0) {
    ++all().counts.contexts;
    ++all().counts.contexts_ever;
  }
  *made = reinterpret_cast<context>(device);
  return success;
}

cu_result primary_release(cu_device ordinal) {
  std::lock_guard const held(all().lock);
  device_state* const device = device_at(ordinal);
  if (device == nullptr) return invalid_device;
  if (device->retained == 0) return invalid_context;
  if (--device->retained == 0) --all().counts.contexts;
  return success;
}

cu_result context_current(context* found) {
  *found = reinterpret_cast<context>(current());
  return success;
}

cu_result context_device(cu_device* ordinal) {
  std::lock_guard const held(all().lock);
  for (*ordinal = 0; device_at(*ordinal) != nullptr; ++*ordinal) {
    if (device_at(*ordinal) == current()) return success;
  }
  return invalid_context;
}

cu_result context_push(context wanted) {
  auto* const device = reinterpret_cast<device_state*>(wanted);
  if (device == nullptr || device->retained == 0) return invalid_context;
  contexts.push_back(device);
  return success;
}

cu_result context_pop(context* gone) {
  if (contexts.empty()) return invalid_context;
  *gone = reinterpret_cast<context>(contexts.back());
  contexts.pop_back();
  return success;
}

}  // namespace fake_cuda
