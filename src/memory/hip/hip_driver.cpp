#include "memory/hip/hip_driver.hpp"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include <atoll/base/round_up.hpp>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "memory/hip/scopes.hpp"

namespace atl::memory::hip {

using gpu::block;

namespace {

/// What hipMemImportFromShareableHandle is given for a descriptor. Some versions want the descriptor in place
/// of the pointer, others a pointer to it, and no version says which; so this is an address whose low half is
/// the descriptor, and the descriptor is there.
class descriptor_argument {
 public:
  explicit descriptor_argument(int descriptor) noexcept {
    auto const low = static_cast<std::uintptr_t>(descriptor);
    // From where hardly anything lies to where even small address spaces reach.
    for (std::uintptr_t high = 0x2fff; high >= 0x10 && page_ == MAP_FAILED; --high) {
      void* const wanted = reinterpret_cast<void*>(high << 32 | (low & ~(page_bytes - 1)));
      page_ = mmap(wanted, 2 * page_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (page_ != MAP_FAILED && page_ != wanted) {  // of an old kernel, which does not know the flag
        munmap(page_, 2 * page_bytes);
        page_ = MAP_FAILED;
      }
    }
    if (page_ == MAP_FAILED) return;
    value_ = static_cast<char*>(page_) + (low & (page_bytes - 1));
    std::memcpy(value_, &descriptor, sizeof descriptor);
  }
  ~descriptor_argument() {
    if (page_ != MAP_FAILED) munmap(page_, 2 * page_bytes);
  }
  descriptor_argument(descriptor_argument const&) = delete;
  descriptor_argument& operator=(descriptor_argument const&) = delete;
  /// Null if there is no such address.
  [[nodiscard]] void* value() const noexcept { return value_; }

 private:
  static constexpr std::uintptr_t page_bytes = 65536;  // the largest page of any host
  void* page_ = MAP_FAILED;
  void* value_ = nullptr;
};

}  // namespace

std::unique_ptr<hip_driver> hip_driver::open(std::string const& library, std::string& why) {
  std::unique_ptr<hip_driver> made(new hip_driver);
  api& hip = made->hip_;
  if (char const* const problem = hip.load(library.c_str())) {
    why = format("no HIP runtime: %s", problem);
    bool loaded = false;
    if (library == "libamdhip64.so.6") {
      for (char const* const other : {"libamdhip64.so.7", "libamdhip64.so.5", "libamdhip64.so"}) {
        if ((loaded = hip.load(other) == nullptr)) break;
      }
    }
    if (!loaded) return nullptr;
  }
  int count = 0;
  hip_result code = hip.init(0);
  if (code == success) code = hip.device_count(&count);
  if (!made->good(code) && code != error_no_device) {
    why = format("the HIP runtime does not start: %s", made->words(code).c_str());
    return nullptr;
  }
  if (count == 0) {
    why = "the HIP runtime finds no device (are ROCR_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES empty?)";
    return nullptr;
  }
  made->device_n_ = count;
  made->used_.resize(static_cast<std::size_t>(count));
  made->good(hip.runtime_version(&made->version_));
  why.clear();
  return made;
}

std::string hip_driver::words(hip_result code) const {
  char const* const name = hip_.error_name(code);
  char const* const text = hip_.error_string(code);
  return format("%s (%s)", text == nullptr ? "no description" : text,
                name == nullptr ? "unknown error" : name);
}

bool hip_driver::good(hip_result code) const noexcept {
  if (code == success) return true;
  hip_.last_error();
  return false;
}

void hip_driver::check(hip_result code, char const* what, std::uint64_t bytes) const {
  if (good(code)) return;
  throw segment_error(bytes == 0 ? format("HIP: cannot %s: %s", what, words(code).c_str())
                                 : format("HIP: cannot %s %s: %s", what,
                                          settings::format_bytes(bytes).c_str(), words(code).c_str()));
}

int hip_driver::attribute(int device, int which) const noexcept {
  int value = 0;
  return good(hip_.device_attribute(&value, which, device)) ? value : 0;
}

bool hip_driver::has_memory_objects(int device) const noexcept {
  return hip_.has_memory_objects && version_major(version_) >= 6 &&
         attribute(device, attribute_virtual_memory_management) != 0;
}

std::string hip_driver::version() const {
  return format("HIP runtime %d.%d", version_major(version_), version_ / 100'000 % 100);
}

gpu::device_facts hip_driver::facts(int device) const {
  gpu::device_facts result;
  char name[256] = "";
  if (good(hip_.device_name(name, sizeof name, device))) result.name = name;
  std::size_t bytes = 0;
  if (good(hip_.device_total(&bytes, device))) result.bytes = bytes;
  uuid id{};
  if (good(hip_.device_uuid(&id, device))) std::memcpy(result.uuid.data(), id.bytes, sizeof id.bytes);
  if (result.uuid == device_uuid{}) {
    // Devices without serial number: their place will do for the processes of one host.
    char bus[16] = "";
    if (good(hip_.device_bus(bus, sizeof bus, device))) std::memcpy(result.uuid.data(), bus, sizeof bus);
  }
  return result;
}

bool hip_driver::reaches(int device, int other) const noexcept {
  int can = 0;
  return device == other || (good(hip_.device_can_access_peer(&can, device, other)) && can != 0);
}

// Memory

block hip_driver::map(memory_handle handle, std::uint64_t whole, int device) {
  block made;
  made.handle = reinterpret_cast<std::uint64_t>(handle);
  made.whole = whole;
  made.device = device;
  pointer at = nullptr;
  check(hip_.address_reserve(&at, whole, 0, nullptr, 0), "reserve addresses for", whole);
  if (hip_result const code = hip_.memory_map(at, whole, 0, handle, 0); code != success) {
    hip_.address_free(at, whole);
    check(code, "map", whole);
  }
  made.mapped = made.base = number(at);
  access_description const access{{location_device, device}, access_read_write};
  if (hip_result const code = hip_.memory_set_access(at, whole, &access, 1); code != success) {
    hip_.memory_unmap(at, whole);
    hip_.address_free(at, whole);
    check(code, "reach the memory from the device");
  }
  return made;
}

block hip_driver::create(int device, std::uint64_t bytes) {
  note_used(device);
  use const current(*this, device);
  auto const refuse = [&](hip_result code) {
    good(code);
    std::size_t free = 0;
    std::size_t total = 0;
    good(hip_.memory_info(&free, &total));
    throw segment_error(format("HIP device %d: cannot allocate %s: %s; %s of %s are free", device,
                               settings::format_bytes(bytes).c_str(), words(code).c_str(),
                               settings::format_bytes(free).c_str(), settings::format_bytes(total).c_str()));
  };
  if (!has_memory_objects(device) || !settings::gpu_descriptors()) {
    pointer at = nullptr;
    if (hip_result const code = hip_.memory_alloc(&at, bytes); code != success) refuse(code);
    return block::own_range(number(at), bytes, device, block::origin::plain);
  }
  allocation_properties wanted{};
  wanted.type = allocation_pinned;
  wanted.requested_handle_types = handle_type_posix_descriptor;
  wanted.location = {location_device, device};
  std::size_t grain = 0;
  check(hip_.granularity(&grain, &wanted, granularity_recommended), "ask for the granularity of memory");
  std::uint64_t const whole = round_up<std::uint64_t>(bytes, grain);
  memory_handle handle = nullptr;
  if (hip_result const code = hip_.memory_create(&handle, whole, &wanted, 0); code != success) refuse(code);
  try {
    block made = map(handle, whole, device);
    made.bytes = bytes;
    made.from = block::origin::created;
    return made;
  } catch (...) {
    hip_.memory_release(handle);
    throw;
  }
}

block hip_driver::adopt(int device, void* memory, std::uint64_t bytes) {
  note_used(device);
  use const current(*this, device);
  unsigned const device_memory = version_major(version_) < 6 ? memory_type_device_hip5 : memory_type_device;
  unsigned type = ~0U;
  int where = -1;
  if (!good(hip_.pointer_attribute(&type, pointer_memory_type, memory)) || type != device_memory ||
      !good(hip_.pointer_attribute(&where, pointer_device_ordinal, memory)) || where != device) {
    throw segment_error(format("HIP: %p is not memory of device %d%s", memory, device,
                               where >= 0 ? format(" but of device %d", where).c_str() : ""));
  }
  pointer begin = nullptr;
  std::size_t length = 0;
  if (good(hip_.memory_range(&begin, &length, memory)) && number(memory) + bytes > number(begin) + length) {
    throw segment_error(format("HIP: %llu bytes at %p reach beyond the allocation there, which has %zu",
                               static_cast<unsigned long long>(bytes), memory,
                               static_cast<std::size_t>(number(begin) + length - number(memory))));
  }
  return block::own_range(number(memory), bytes, device, block::origin::users);
}

export_record hip_driver::share(block const& own, os::unique_fd& descriptor, std::string& why_not) {
  export_record record;
  record.device = facts(own.device).uuid;
  use const current(*this, own.device);
  if (own.from == block::origin::created) {
    int fd = -1;
    hip_result const code =
        hip_.memory_export(&fd, reinterpret_cast<memory_handle>(own.handle), handle_type_posix_descriptor, 0);
    if (!good(code)) {
      why_not = words(code);
      return record;
    }
    descriptor.reset(fd);
    record.reach = export_record::way::descriptor;
    record.whole = own.whole;
    return record;
  }
  // Handles stand for the whole allocation that an address lies in.
  ipc_handle handle{};
  pointer begin = nullptr;
  std::size_t length = 0;
  hip_result code = hip_.memory_range(&begin, &length, place(own.base));
  if (code == success) code = hip_.ipc_get(&handle, begin);
  if (!good(code)) {
    why_not = words(code);
    return record;
  }
  static_assert(sizeof record.handle == sizeof handle);
  std::memcpy(record.handle.data(), &handle, sizeof handle);
  record.reach = export_record::way::handle;
  record.offset = own.base - number(begin);
  record.whole = length;
  return record;
}

block hip_driver::import(export_record const& record, int descriptor, int device) {
  note_used(device);
  use const current(*this, device);
  if (record.reach == export_record::way::descriptor) {
    if (!has_memory_objects(device)) throw segment_error("HIP: the device has no virtual memory management");
    descriptor_argument const argument(descriptor);
    if (argument.value() == nullptr) throw segment_error("HIP: no address for an argument");
    memory_handle handle = nullptr;
    check(hip_.memory_import(&handle, argument.value(), handle_type_posix_descriptor),
          "import memory of a peer");
    gpu::address mapped = 0;
    try {
      mapped = map(handle, record.whole, device).mapped;
    } catch (...) {
      hip_.memory_release(handle);
      throw;
    }
    hip_.memory_release(handle);  // the mapping keeps it
    return block::of_peer(mapped, record, device, block::origin::imported);
  }
  ipc_handle handle{};
  std::memcpy(&handle, record.handle.data(), sizeof handle);
  pointer at = nullptr;
  if (!good(hip_.ipc_open(&at, handle, ipc_lazy_peer_access))) {
    check(hip_.ipc_open(&at, handle, ipc_lazy_peer_access_hip5), "open memory of a peer");
  }
  return block::of_peer(number(at), record, device, block::origin::opened);
}

bool hip_driver::grant(block& memory, int device) noexcept {
  if (memory.from != block::origin::created && memory.from != block::origin::imported) return false;
  access_description const access{{location_device, device}, access_read_write};
  return good(hip_.memory_set_access(place(memory.mapped), memory.whole, &access, 1));
}

void hip_driver::drop(block& memory) noexcept {
  // Nothing to be done about errors: after a failed kernel every call reports it.
  use const current(*this, memory.device);
  block::origin const from = std::exchange(memory.from, block::origin::none);
  switch (from) {
    case block::origin::created:
    case block::origin::imported:
      good(hip_.memory_unmap(place(memory.mapped), memory.whole));
      good(hip_.address_free(place(memory.mapped), memory.whole));
      if (from == block::origin::created) {
        good(hip_.memory_release(reinterpret_cast<memory_handle>(memory.handle)));
      }
      break;
    case block::origin::plain:
      good(hip_.memory_free(place(memory.base)));
      break;
    case block::origin::opened:
      good(hip_.ipc_close(place(memory.mapped)));
      break;
    case block::origin::none:
    case block::origin::users:
      break;
  }
}

/// hipMemUnmap does not say that it waits for kernels.
std::uint64_t hip_driver::begin_waiting() {
  return waits_.begin([this, used = used_] {
    bool waited = true;
    for (int device = 0; device < device_n_; ++device) {
      if (!used[static_cast<std::size_t>(device)]) continue;
      use const current(*this, device);
      // Another error comes from earlier work, which reports it, too.
      hip_result const code = hip_.device_synchronize();
      if (!good(code) && code == error_capture_unsupported) waited = false;
    }
    return waited;
  });
}

// Host memory

bool hip_driver::is_registered(void* memory, std::size_t bytes) const noexcept {
  pointer begin = nullptr;
  std::size_t length = 0;
  return good(hip_.pointer_attribute(&begin, pointer_range_begin, memory)) &&
         good(hip_.pointer_attribute(&length, pointer_range_bytes, memory)) &&
         bytes <= length - (number(memory) - number(begin));
}

gpu::host_access hip_driver::register_host(void* memory, std::size_t bytes, std::string& why_not) noexcept {
  hip_result const code = hip_.host_register(memory, bytes, host_register_portable | host_register_mapped);
  if (good(code)) return gpu::host_access::ours;
  if (code == error_host_memory_already_registered && is_registered(memory, bytes))
    return gpu::host_access::others;
  why_not = words(code);
  return gpu::host_access::staged;
}

void hip_driver::unregister_host(void* memory) noexcept { good(hip_.host_unregister(memory)); }

gpu::address hip_driver::device_address(void* registered) {
  pointer result = nullptr;
  check(hip_.host_device_pointer(&result, registered, 0), "reach host memory from the device");
  return number(result);
}

}  // namespace atl::memory::hip
