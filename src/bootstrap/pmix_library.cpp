#include <dlfcn.h>

#include "base/error.hpp"
#include "bootstrap/pmix_api.hpp"

namespace atl::bootstrap::pmix_api {
namespace {

template <class Function>
void find(void* library, Function*& into, char const* name) {
  into = reinterpret_cast<Function*>(::dlsym(library, name));
  if (into == nullptr) throw startup_error(format("libpmix.so.2 has no %s", name));
}

}  // namespace

functions const& library() {
  static functions const loaded = [] {
    // Global, because the plugins of some builds of libpmix expect to find its symbols there.
    void* const handle = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) {
      throw startup_error(format(
          "cannot open libpmix.so.2: %s. Install it (Debian: libpmix2), let LD_LIBRARY_PATH name the "
          "launcher's folder of it, or use a launcher that speaks PMI (mpiexec of MPICH, srun --mpi=pmi2)",
          ::dlerror()));
    }
    functions f{};
    find(handle, f.init, "PMIx_Init");
    find(handle, f.finalize, "PMIx_Finalize");
    find(handle, f.get, "PMIx_Get");
    find(handle, f.put, "PMIx_Put");
    find(handle, f.commit, "PMIx_Commit");
    find(handle, f.fence, "PMIx_Fence");
    find(handle, f.abort, "PMIx_Abort");
    find(handle, f.error_string, "PMIx_Error_string");
    find(handle, f.version, "PMIx_Get_version");
    return f;
  }();
  return loaded;
}

}  // namespace atl::bootstrap::pmix_api
