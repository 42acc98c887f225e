// Opens libucp. Its libraries catch fatal signals when they are loaded (UCX_HANDLE_ERRORS), which is the program's and
// Atoll's business; so signals are put back as they were. They are never unloaded: UCX does not survive that.
// And when it is loaded it decides whether to look whose memory it gets, or to keep a list of what it has seen being allocated
// (UCX_MEMTYPE_CACHE). Device memory that is older than its context is not on that list, and is read as the host's, which is a
// fault. As all calls here say what memory is, looking costs nothing.

#include "transport/ucx/ucp.hpp"

#include <dlfcn.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "transport/common/kept_signals.hpp"

namespace atl::transport::ucx {

ucp_functions ucp;

namespace {

constexpr unsigned oldest_minor = 12;

/// UCX 1.13 copies the name of the host into an array that has no room for the end of a string behind the longest one, when it is loaded:
/// "buffer overflow detected", and the process is gone.
bool name_is_too_long() {
  utsname names{};
  return ::uname(&names) == 0 && std::strlen(names.nodename) >= HOST_NAME_MAX;
}

std::string load(char const* file) {
  char const* const usual = "libucp.so.0";
  void* found = ::dlopen(usual, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);  // MPI's, for example
  if (found == nullptr && name_is_too_long())
    return "this host's name has " + std::to_string(HOST_NAME_MAX) +
           " characters, at which UCX ends the program; one that is shorter by a character will do";
  if (found == nullptr) {
    kept_signals const keep;
    bool const left_open = std::getenv("UCX_MEMTYPE_CACHE") == nullptr;
    if (left_open) ::setenv("UCX_MEMTYPE_CACHE", "n", 1);
    found = ::dlopen(*file != '\0' ? file : usual, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (left_open) ::unsetenv("UCX_MEMTYPE_CACHE");
  }
  if (found == nullptr) {
    char const* const why = ::dlerror();
    return std::string(why != nullptr ? why : "it cannot be opened") +
           " (Debian: libucx0; ATOLL_UCX_LIBRARY names another file)";
  }
  ucp_functions all;
  std::string missing;
  auto const look = [&](auto& function, char const* name) {
    void* const address = ::dlsym(found, name);
    std::memcpy(&function, &address, sizeof address);
    if (address == nullptr && missing.empty()) missing = name;
  };
#define ATOLL_UCP_LOOK(name) look(all.name, "ucp_" #name);
  ATOLL_UCP_FUNCTIONS(ATOLL_UCP_LOOK)
#undef ATOLL_UCP_LOOK
  look(all.status_string, "ucs_status_string");
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  if (all.get_version != nullptr) all.get_version(&major, &minor, &release);
  std::string const version =
      std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
  if (major != 1 || minor < oldest_minor)
    return "libucp is of version " + version + ", and has to be 1.12 or later 1.x";
  if (!missing.empty()) return "libucp " + version + " has no function " + missing;
  ucp = all;
  return {};
}

}  // namespace

unsigned ucp_minor() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp.get_version(&major, &minor, &release);
  return minor;
}

bool has_module(std::string const& name) {
  Dl_info library{};
  if (::dladdr(reinterpret_cast<void const*>(ucp.status_string), &library) == 0) return false;
  std::string folder = library.dli_fname;
  folder.erase(folder.find_last_of('/') + 1);
  return ::access((folder + "ucx/lib" + name + ".so.0").c_str(), F_OK) == 0;
}

std::string open_ucp(char const* file) {
  static std::mutex one_at_a_time;
  std::lock_guard const lock(one_at_a_time);
  if (ucp.status_string != nullptr) return {};
  return load(file);
}

}  // namespace atl::transport::ucx
