#pragma once

/// libfabric, opened at run time: the one that is in the process already, where there is one. Most of its interface is calls
/// through tables of its objects; what is looked up by name stands here, and nothing is linked.

#include <string>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

namespace atl::transport::ofi {

struct fabric_functions {
  decltype(&::fi_version) version = nullptr;
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
};

/// Usable once open_libfabric() has succeeded; stays so to the end of the process.
extern fabric_functions fi;

/// Opens it, once a process; returns why that cannot be, or nothing. `file`: instead of libfabric.so.1; may be empty.
std::string open_libfabric(char const* file);

/// The version of its interface that is asked for: what it has, and we were compiled with.
std::uint32_t interface_version();

/// Of an error as calls return it, or as events have it.
inline std::string words_of(long error) { return fi.strerror(static_cast<int>(error < 0 ? -error : error)); }

/// Closes what may not have been opened.
template <class Object>
void close_object(Object*& object) {
  if (object != nullptr) static_cast<void>(fi_close(&object->fid));
  object = nullptr;
}

}  // namespace atl::transport::ofi
