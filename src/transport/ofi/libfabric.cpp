// Opens libfabric. It is never unloaded: its providers load libraries of their own, which do not survive that.

#include "transport/ofi/libfabric.hpp"

#include <dlfcn.h>

#include <cstring>
#include <mutex>

#include "transport/common/kept_signals.hpp"

namespace atl::transport::ofi {

fabric_functions fi;

namespace {

constexpr std::uint32_t oldest = FI_VERSION(1, 12);
constexpr std::uint32_t compiled_with = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);

std::string load(char const* file) {
  char const* const usual = "libfabric.so.1";
  void* found = ::dlopen(usual, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);  // MPI's, for example
  if (found == nullptr) {
    kept_signals const keep;  // libpsm2, which may be linked to it, catches fatal ones
    found = ::dlopen(*file != '\0' ? file : usual, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  }
  if (found == nullptr) {
    char const* const why = ::dlerror();
    return std::string(why != nullptr ? why : "it cannot be opened") +
           " (Debian: libfabric1; ATOLL_OFI_LIBRARY names another file)";
  }
  fabric_functions all;
  std::string missing;
  auto const look = [&](auto& function, char const* name) {
    void* const address = ::dlsym(found, name);
    std::memcpy(&function, &address, sizeof address);
    if (address == nullptr && missing.empty()) missing = name;
  };
  look(all.version, "fi_version");
  look(all.getinfo, "fi_getinfo");
  look(all.freeinfo, "fi_freeinfo");
  look(all.dupinfo, "fi_dupinfo");
  look(all.fabric, "fi_fabric");
  look(all.strerror, "fi_strerror");
  if (!missing.empty()) return "libfabric has no function " + missing;
  std::uint32_t const version = all.version();
  if (FI_VERSION_LT(version, oldest)) {
    return "libfabric is of version " + std::to_string(FI_MAJOR(version)) + "." +
           std::to_string(FI_MINOR(version)) + ", and has to be 1.12 or later";
  }
  fi = all;
  return {};
}

}  // namespace

std::uint32_t interface_version() {
  std::uint32_t const has = fi.version();
  return FI_VERSION_LT(has, compiled_with) ? has : compiled_with;
}

std::string open_libfabric(char const* file) {
  static std::mutex one_at_a_time;
  std::lock_guard const lock(one_at_a_time);
  if (fi.strerror != nullptr) return {};
  return load(file);
}

}  // namespace atl::transport::ofi
