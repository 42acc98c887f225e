// libfabric whose providers say that they take device memory (FI_HMEM), for ATOLL_OFI_LIBRARY. What is behind is the real one,
// which is told of host memory: that of a fake CUDA driver with FAKE_CUDA=reachable is such. Memory of other devices is refused.
//
// FAKE_HMEM_EXPECTS=N ends the process with words if fewer than N pieces of device memory have been registered.

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<long> registered{0};

/// A function of the real library.
template <class Function>
Function real(char const* name) {
  static void* const library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  Function found = nullptr;
  void* const address = library != nullptr ? dlsym(library, name) : nullptr;
  if (address == nullptr) {
    std::fprintf(stderr, "fake_hmem: libfabric has no %s\n", name);
    std::abort();
  }
  std::memcpy(&found, &address, sizeof address);
  return found;
}

/// What the real library is told.
struct plain_info {
  fi_info* info;
  explicit plain_info(fi_info const* of)
      : info(of != nullptr ? real<decltype(&fi_dupinfo)>("fi_dupinfo")(of) : nullptr) {
    if (info == nullptr) return;
    info->handle = of->handle;
    info->caps &= ~FI_HMEM;
    if (info->domain_attr != nullptr) {
      info->domain_attr->caps &= ~FI_HMEM;
      info->domain_attr->mr_mode &= ~FI_MR_HMEM;
      info->domain_attr->domain = of->domain_attr->domain;
    }
    if (info->fabric_attr != nullptr) info->fabric_attr->fabric = of->fabric_attr->fabric;
  }
  plain_info(plain_info const&) = delete;
  plain_info& operator=(plain_info const&) = delete;
  ~plain_info() {
    if (info != nullptr) real<decltype(&fi_freeinfo)>("fi_freeinfo")(info);
  }
};

fi_ops_fabric* fabric_before = nullptr;
fi_ops_domain* domain_before = nullptr;
fi_ops_mr* memory_before = nullptr;
fi_ops_fabric fabric_now;
fi_ops_domain domain_now;
fi_ops_mr memory_now;

int register_memory(fid* domain, fi_mr_attr const* how, std::uint64_t flags, fid_mr** made) {
  fi_mr_attr plain = *how;
  if (how->iface != FI_HMEM_SYSTEM) {
    if (how->iface != FI_HMEM_CUDA || how->device.cuda < 0) return -FI_ENOSYS;
    ++registered;
    plain.iface = FI_HMEM_SYSTEM;
    plain.device.reserved = 0;
  }
  return memory_before->regattr(domain, &plain, flags, made);
}

int make_endpoint(fid_domain* domain, fi_info* info, fid_ep** made, void* context) {
  return domain_before->endpoint(domain, plain_info(info).info, made, context);
}

int make_listener(fid_fabric* fabric, fi_info* info, fid_pep** made, void* context) {
  return fabric_before->passive_ep(fabric, plain_info(info).info, made, context);
}

int make_domain(fid_fabric* fabric, fi_info* info, fid_domain** made, void* context) {
  int const e = fabric_before->domain(fabric, plain_info(info).info, made, context);
  if (e != 0) return e;
  domain_before = (*made)->ops;
  domain_now = *domain_before;
  domain_now.endpoint = &make_endpoint;
  (*made)->ops = &domain_now;
  memory_before = (*made)->mr;
  memory_now = *memory_before;
  memory_now.regattr = &register_memory;
  (*made)->mr = &memory_now;
  return 0;
}

struct at_end {
  ~at_end() {
    char const* const least = std::getenv("FAKE_HMEM_EXPECTS");
    if (least == nullptr || registered >= std::atol(least)) return;
    std::fprintf(stderr, "fake_hmem: %ld pieces of device memory were registered, and %s should have been\n",
                 registered.load(), least);
    _exit(1);
  }
} const looks_at_end;

}  // namespace

extern "C" {

std::uint32_t fi_version() { return real<decltype(&fi_version)>("fi_version")(); }
char const* fi_strerror(int error) { return real<decltype(&fi_strerror)>("fi_strerror")(error); }
void fi_freeinfo(fi_info* info) { real<decltype(&fi_freeinfo)>("fi_freeinfo")(info); }
fi_info* fi_dupinfo(fi_info const* info) { return real<decltype(&fi_dupinfo)>("fi_dupinfo")(info); }

int fi_getinfo(std::uint32_t version, char const* node, char const* service, std::uint64_t flags,
               fi_info const* hints, fi_info** list) {
  plain_info const plain(hints);
  int const e = real<decltype(&fi_getinfo)>("fi_getinfo")(version, node, service, flags, plain.info, list);
  if (e != 0 || hints == nullptr || (hints->caps & FI_HMEM) == 0) return e;
  for (fi_info* each = *list; each != nullptr; each = each->next) {
    each->caps |= FI_HMEM;
    each->domain_attr->mr_mode |= FI_MR_HMEM;
  }
  return 0;
}

int fi_fabric(fi_fabric_attr* how, fid_fabric** made, void* context) {
  int const e = real<decltype(&fi_fabric)>("fi_fabric")(how, made, context);
  if (e != 0) return e;
  fabric_before = (*made)->ops;
  fabric_now = *fabric_before;
  fabric_now.domain = &make_domain;
  fabric_now.passive_ep = &make_listener;
  (*made)->ops = &fabric_now;
  return 0;
}

}  // extern "C"
